//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// goBuild is how scripts/build builds a function, for this machine.
func goBuild(ctx context.Context, dir, into, overlay string, packages ...string) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w -buildid=", "-o", into}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %v: %w\n%s", packages, err, out)
	}
	return nil
}

// functions builds functions of ours. Beside Amazon's roots they embed the one of the benchmark's authority: what is
// measured is a server that an embedded root verifies, as DynamoDB is.
func (s *stage) functions(ctx context.Context, root string, a *authority, names ...string) (binaries map[string]string, err error) {
	const embedded = "shared/roots/amazon.pem"
	real, err := os.ReadFile(filepath.Join(root, embedded))
	if err != nil {
		return nil, fmt.Errorf("run this in the root of the repository: %w", err)
	}
	with, err := s.write("roots.pem", append(real, a.Root...))
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, embedded): with}})
	if err != nil {
		return nil, err
	}
	overlay, err := s.write("overlay.json", text)
	if err != nil {
		return nil, err
	}
	binaries = map[string]string{}
	for _, name := range names {
		binaries[name] = filepath.Join(s.Dir, name, "bootstrap")
		if err := goBuild(ctx, root, binaries[name], overlay, "./functions/"+name+"/lambda"); err != nil {
			return nil, err
		}
	}
	return binaries, nil
}

// peer is a public program to compare with.
type peer struct {
	name   string
	source string // of the repository
	build  func(ctx context.Context, dir, into string) (binary string, err error)
	env    []string
}

var peers = []peer{
	{
		"serverless-go-demo", "https://github.com/aws-samples/serverless-go-demo",
		func(ctx context.Context, dir, into string) (string, error) {
			binary := filepath.Join(into, "bootstrap")
			return binary, goBuild(ctx, dir, binary, "", "./functions/get-product")
		},
		[]string{"TABLE=" + products},
	},
	{
		"serverless-rust-demo", "https://github.com/aws-samples/serverless-rust-demo",
		func(ctx context.Context, dir, _ string) (string, error) {
			cmd := exec.CommandContext(ctx, "cargo", "build", "--release", "--bin", "get-product")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				return "", fmt.Errorf("cargo build: %w\n%s", err, tail(string(out)))
			}
			return filepath.Join(dir, "target", "release", "get-product"), nil
		},
		[]string{"TABLE_NAME=" + products, "RUST_LOG=error"},
	},
}

// fetch returns the peer's sources: below the folder that the caller names, else cloned.
func (p peer) fetch(ctx context.Context, folder, into string) (string, error) {
	if folder != "" {
		dir := filepath.Join(folder, p.name)
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			return dir, err
		}
	}
	dir := filepath.Join(into, "source")
	if out, err := exec.CommandContext(ctx, "git", "clone", "--quiet", "--depth", "1", p.source, dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("clone %s: %w\n%s", p.source, err, out)
	}
	return dir, nil
}
