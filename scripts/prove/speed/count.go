//go:build linux

package speed

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// binarySizeMax is the goal for the size of an area's stripped binary, in bytes. A larger binary
// makes a cold start take longer.
const binarySizeMax = 10 << 20

// referenceSizeMax is the maximum binary size of the function that serves the OpenAPI document, in
// bytes. The size includes two embedded parts: the script that renders the reference page, 4 MB,
// and the pages of the documentation, 0.25 MB.
const referenceSizeMax = 14 << 20

// recorderSizeMax is the maximum binary size of the function that records changes, in bytes. Its
// binary contains every area, because each area recognises its own records. No client waits for
// this function to start.
const recorderSizeMax = 16 << 20

// measureSizes measures the sizes of binaries. They are the same on every machine, so CI can fail
// if a goal is missed. The tests in the folder functions count round trips, read units and
// allocations.
func (b *bench) measureSizes(ctx context.Context) ([]goal, error) {
	dir, err := os.MkdirTemp("", "speed-*")
	if err != nil {
		return nil, fmt.Errorf("create a folder for the binaries: %w", err)
	}
	defer os.RemoveAll(dir)
	mains, err := filepath.Glob("functions/*/lambda")
	if err != nil || len(mains) == 0 {
		return nil, fmt.Errorf("no functions/<name>/lambda: run this in the root of the repository (%v)", err)
	}
	var goals []goal
	for _, main := range mains {
		name := filepath.Base(filepath.Dir(main))
		binary := filepath.Join(dir, name)
		if err := goBuild(ctx, binary, "./"+main); err != nil {
			return nil, err
		}
		info, err := os.Stat(binary)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(b.log, "%-12s %9d bytes\n", name, info.Size())
		if name == "mcp" {
			continue // no goal for /mcp, whose binary contains every area and the MCP SDK
		}
		most := binarySizeMax
		switch name {
		case "openapi":
			most = referenceSizeMax
		case "recorder":
			most = recorderSizeMax
		}
		goals = append(goals, goal{fmt.Sprintf("size of %s, to %d MiB", name, most>>20), float64(info.Size()) / float64(most), 1})
	}
	return goals, nil
}

// goBuild builds a program for this machine, with the flags that scripts/build uses.
func goBuild(ctx context.Context, output, packagePath string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", output, packagePath)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", packagePath, err, out)
	}
	return nil
}
