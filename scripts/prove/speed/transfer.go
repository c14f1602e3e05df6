//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"growthworkspace/shared/table"
)

// Records of a full import (--scale 1).
const (
	importFeedback = 100_000
	importPoints   = 1_000_000
)

// lanes is how many batches the bare loop has in flight, as many as an import.
const lanes = 8

// transfer compares `workspace import` and `export` with bare loops over BatchWriteItem and Query, on an engine each of
// the same kind.
func (b *bench) transfer(ctx context.Context) ([]goal, error) {
	dir, err := os.MkdirTemp("", "growth-bench-*")
	if err != nil {
		return nil, fmt.Errorf("a folder for the imports: %w", err)
	}
	defer os.RemoveAll(dir)
	w := workspace{filepath.Join(dir, "workspace"), filepath.Join(dir, "data")}
	if err := goBuild(ctx, ".", w.binary, "", "./scripts/workspace"); err != nil {
		return nil, err
	}
	var goals []goal
	for _, k := range []struct {
		name string
		n    int
		line func(int) line
		pack func(line) table.Item // what the bare loop writes for a line; nil: what the import wrote
	}{{"feedback", int(importFeedback * b.scale), feedbackLine, nil}, {"metrics", int(importPoints * b.scale), pointLine, bareItem}} {
		found, err := b.transferKind(ctx, w, dir, k.name, k.n, k.line, k.pack)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
		goals = append(goals, found...)
	}
	return goals, nil
}

func (b *bench) transferKind(ctx context.Context, w workspace, dir, name string, n int, make func(int) line, pack func(line) table.Item) ([]goal, error) {
	small, _, err := w.importOf(ctx, dir, n/10, make)
	if err != nil {
		return nil, err
	}
	large, company, err := w.importOf(ctx, dir, n, make)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(dir, "out.jsonl")
	exported, err := w.run(ctx, nil, "export", "--company", company, out)
	if err != nil {
		return nil, err
	}
	items, err := w.bareItems(ctx, n, make, pack, table.Partition(company, name))
	if err != nil {
		return nil, err
	}
	wrote, read, err := b.bare(ctx, items)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(b.log, "%d %s: import %.1f s, bare %.1f s; export %.1f s, bare %.1f s; memory %.0f MiB, of a tenth %.0f MiB\n", n, name,
		large.took.Seconds(), wrote.Seconds(), exported.took.Seconds(), read.Seconds(), large.resident, small.resident)
	return []goal{
		{"time of an import of " + name + ", to a bare BatchWriteItem loop", large.took.Seconds() / wrote.Seconds(), 1 / 0.8},
		{"time of an export of " + name + ", to a bare Query loop", exported.took.Seconds() / read.Seconds(), 1 / 0.8},
		{"memory of an import of " + name + ", to that of a tenth", large.resident / small.resident, 1.5},
	}, nil
}

// workspaceTable is the command's table in an engine of its own.
const workspaceTable = "workspace"

// workspace is the built command with a data folder.
type workspace struct{ binary, data string }

type ran struct {
	took     time.Duration
	resident float64 // MiB, of the command
}

func (w workspace) run(ctx context.Context, into any, args ...string) (ran, error) {
	cmd := exec.CommandContext(ctx, w.binary, append(args, "--json", "--data", w.data)...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return ran{}, fmt.Errorf("workspace %v: %w", args, err)
	}
	ended, watched := make(chan struct{}), make(chan float64)
	go func() { watched <- watchMemory(cmd.Process.Pid, ended) }()
	err := cmd.Wait()
	r := ran{took: time.Since(begin)}
	close(ended)
	r.resident = <-watched
	if err != nil {
		return ran{}, fmt.Errorf("workspace %v: %w\n%s", args, err, errOut.Bytes())
	}
	if into != nil {
		if err := json.Unmarshal(out.Bytes(), into); err != nil {
			return r, fmt.Errorf("workspace %v: %w: %s", args, err, out.Bytes())
		}
	}
	return r, nil
}

// watchMemory returns the most memory that a process has had, in MiB, as of a moment before it ended. What the system tells
// at its end would not do: that counts the moment before the program began, when it was a copy of this one.
func watchMemory(pid int, ended <-chan struct{}) (most float64) {
	for {
		if now, err := residentMiB(pid); err == nil { // else it is about to begin or has just ended
			most = now
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ended:
			return most
		}
	}
}

// importOf imports n lines into a new company.
func (w workspace) importOf(ctx context.Context, dir string, n int, make func(int) line) (r ran, companyID string, err error) {
	var created struct{ CompanyID string }
	if _, err := w.run(ctx, &created, "company", "create", "--name", "Bench"); err != nil {
		return r, "", err
	}
	name := filepath.Join(dir, "in.jsonl")
	if err := writeLines(name, n, make); err != nil {
		return r, "", err
	}
	r, err = w.run(ctx, nil, "import", "--company", created.CompanyID, name)
	return r, created.CompanyID, err
}

func writeLines(name string, n int, make func(int) line) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := bufio.NewWriter(f)
	encoder := json.NewEncoder(out)
	for i := range n {
		if err := encoder.Encode(make(i)); err != nil {
			return err
		}
	}
	return out.Flush()
}
