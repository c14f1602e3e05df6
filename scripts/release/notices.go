package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// notices returns the licences of Go, of Scalar's script and of all modules that are linked into the
// command-line program of a platform. Most of these licences require that their text is distributed
// with the program.
func (r *release) notices(ctx context.Context, platform string) ([]byte, error) {
	licenseTool, err := goLicenses.install(ctx)
	if err != nil {
		return nil, err
	}
	root, err := output(ctx, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	root = strings.TrimSpace(root)
	goos, goarch, _ := strings.Cut(platform, "/")
	dir := filepath.Join(r.tmp, "licences-"+goos+"-"+goarch)
	// Without GOROOT, the tool mistakes every module for a part of the standard library and finds
	// nothing.
	_, err = outputIn(ctx, "", []string{"GOROOT=" + root, "GOFLAGS=", "CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + goarch},
		licenseTool, "save", "./scripts/workspace", "--ignore", "growthworkspace", "--save_path", dir)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	add := func(title, file string) error {
		text, err := os.ReadFile(file)
		if err == nil {
			fmt.Fprintf(&out, "%s\n%s\n\n%s\n\n", title, strings.Repeat("=", len(title)), bytes.TrimSpace(text))
		}
		return err
	}
	if err := add("Go", filepath.Join(root, "LICENSE")); err != nil {
		return nil, err
	}
	if err := add("Scalar", "shared/scalar/LICENSE.txt"); err != nil {
		return nil, err
	}
	count := 0
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		count++
		title, err := filepath.Rel(dir, filepath.Dir(file))
		if err != nil {
			return err
		}
		return add(filepath.ToSlash(title), file)
	})
	if err == nil && count < noticesMin {
		err = fmt.Errorf("%d licences were found, which cannot be all", count)
	}
	return out.Bytes(), err
}

// noticesMin is the minimum number of licences. If the tool finds fewer, it has missed some.
const noticesMin = 20
