package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// generated is a generated file. Its path is relative to the repository's root.
type generated struct {
	path string
	text []byte // nil: the file must not exist
}

func (g generated) write() error {
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

// addRemovals adds the files that match a pattern but are no longer generated, so that they are
// removed.
func addRemovals(out []generated, patterns ...string) ([]generated, error) {
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			path = filepath.ToSlash(path)
			if !slices.ContainsFunc(out, func(g generated) bool { return g.path == path }) {
				out = append(out, generated{path: path})
			}
		}
	}
	slices.SortFunc(out, func(a, b generated) int { return strings.Compare(a.path, b.path) })
	return out, nil
}
