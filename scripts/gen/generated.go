package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// generatedFile is a file to write or remove. Its path is relative to the repository's root.
type generatedFile struct {
	path string
	text []byte // the file's content; nil: the file must be removed
}

func (g generatedFile) write() error {
	if g.text == nil {
		fmt.Println("removed", g.path)
		return os.Remove(g.path)
	}
	if err := os.MkdirAll(filepath.Dir(g.path), 0o755); err != nil {
		return err
	}
	fmt.Println("wrote", g.path)
	return os.WriteFile(g.path, g.text, 0o644)
}

// addRemovals adds a removal for each existing file that matches one of the patterns but is not in
// out.
func addRemovals(out []generatedFile, patterns ...string) ([]generatedFile, error) {
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			path = filepath.ToSlash(path)
			if !slices.ContainsFunc(out, func(g generatedFile) bool { return g.path == path }) {
				out = append(out, generatedFile{path: path})
			}
		}
	}
	slices.SortFunc(out, func(a, b generatedFile) int { return strings.Compare(a.path, b.path) })
	return out, nil
}
