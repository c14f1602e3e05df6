//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// binaryMost is the largest that a function of an area may be, stripped (issue: starts cost by the byte).
const binaryMost = 10 << 20

// count measures what is the same on every machine, for CI: it fails when a goal is missed. Round trips, read units and
// allocations are counted by the ordinary tests in functions/.
func (b *bench) count(ctx context.Context) ([]goal, error) {
	dir, err := os.MkdirTemp("", "growth-bench-*")
	if err != nil {
		return nil, fmt.Errorf("a folder for the binaries: %w", err)
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
		if err := goBuild(ctx, ".", binary, "", "./"+main); err != nil {
			return nil, err
		}
		info, err := os.Stat(binary)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(b.log, "%-12s %9d bytes\n", name, info.Size())
		if name == "mcp" {
			continue // it has every area in it, and the SDK of the protocol
		}
		goals = append(goals, goal{"size of " + name + ", to 10 MiB", float64(info.Size()) / binaryMost, 1})
	}
	return goals, nil
}
