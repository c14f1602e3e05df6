//go:build linux

// Package speed measures the service beside other programs and prints one table of ratios, each with its goal.
//
// cpu, cold and warm are measured in rounds in which the programs take turns, and a ratio is the median of the rounds'
// ratios. transfer is one run of each. Only count can fail: a busy machine changes times.
//
// It is for Linux. cold and warm need root: the programs run under a CPU quota, and reach the engine by DynamoDB's own
// name over TLS.
package speed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Options say what is measured and how often.
type Options struct {
	Modes   []string // empty: all
	Rounds  int      // how often each program takes its turn
	Scale   float64  // the size of the imports, as a share of the full ones
	Results string   // a file to write the results into, too
	Peers   string   // a folder with the sources of the programs to compare with; empty: clone them
}

// bench is one run.
type bench struct {
	Options
	log   io.Writer
	costs string // the table that cost makes
}

// goal is a line of the table: a ratio and what it should be at most.
type goal struct {
	name  string
	ratio float64
	most  float64
}

func (g goal) missed() bool { return !(g.ratio <= g.most) }

type mode struct {
	name string
	what string // it measures
	run  func(b *bench, ctx context.Context) ([]goal, error)
}

var modes = []mode{
	{"count", "the size of the functions; fails when one is too large, for CI", (*bench).count},
	{"cpu", "what the CPU spends on long lists, beside the SDK with attributevalue and encoding/json", (*bench).cpu},
	{"cold", "process start to the first response, throttled as a function of 128 MB, beside two public Lambda programs", (*bench).cold},
	{"warm", "a warm read with a key beside one without, and what the CPU spends on one", (*bench).warm},
	{"transfer", "import and export of 100,000 reviews and 1,000,000 points, beside bare loops of BatchWriteItem and Query", (*bench).transfer},
	{"cost", "what each operation spends of the table, and a million of it in dollars", (*bench).cost},
}

// Modes describes the modes, one on each line.
func Modes() string {
	var out strings.Builder
	for _, m := range modes {
		fmt.Fprintf(&out, "  %-8s  %s\n", m.name, m.what)
	}
	return out.String()
}

// Run measures and prints the results. It reports false when count alone was chosen and a goal is missed.
func Run(ctx context.Context, o Options, out, log io.Writer) (met bool, err error) {
	chosen, err := o.choose()
	if err != nil {
		return false, err
	}
	b := &bench{Options: o, log: log}
	begun := machine(time.Now()) // with the load that others make, not this run
	var goals []goal
	for _, m := range chosen {
		fmt.Fprintf(log, "== %s\n", m.name)
		found, err := m.run(b, ctx)
		if err != nil {
			return false, fmt.Errorf("%s: %w", m.name, err)
		}
		goals = append(goals, found...)
	}
	result := results(begun, b.command(chosen), report(goals), b.costs)
	fmt.Fprint(out, result)
	if o.Results != "" {
		if err := os.WriteFile(o.Results, []byte(result), 0o644); err != nil {
			return false, fmt.Errorf("keep the results: %w", err)
		}
	}
	return len(chosen) > 1 || chosen[0].name != "count" || !slices.ContainsFunc(goals, goal.missed), nil
}

// choose returns the named modes, all when none is named.
func (o Options) choose() (chosen []mode, err error) {
	if o.Rounds < 1 {
		return nil, errors.New("--rounds must be 1 or more")
	}
	if !(o.Scale*importFeedback >= 1) {
		return nil, fmt.Errorf("--scale must leave a review to import: %g or more", 1/float64(importFeedback))
	}
	if len(o.Modes) == 0 {
		return modes, nil
	}
	for _, name := range o.Modes {
		n := slices.IndexFunc(modes, func(m mode) bool { return m.name == name })
		if n < 0 {
			return nil, fmt.Errorf("unknown mode %q; the modes are\n%s", name, Modes())
		}
		chosen = append(chosen, modes[n])
	}
	return chosen, nil
}

// machine describes what was measured on.
func machine(now time.Time) string {
	cpu := "unknown CPU"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, found := strings.Cut(string(text), "model name"); found {
			name, _, _ := strings.Cut(rest, "\n")
			cpu = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.Join(strings.Fields(string(text))[:3], ", ")
	}
	return fmt.Sprintf("%s, %s, %d CPUs (%s), %s/%s, load average %s", now.UTC().Format(time.DateOnly), runtime.Version(), runtime.NumCPU(), cpu, runtime.GOOS, runtime.GOARCH, load)
}

// command spells what was measured, without what is only of this machine.
func (b *bench) command(chosen []mode) string {
	command := fmt.Sprintf("go run ./scripts/prove speed --rounds %d --scale %g", b.Rounds, b.Scale)
	for _, m := range chosen {
		command += " " + m.name
	}
	return command
}

// results is the page that a run leaves.
func results(machine, command, table, costs string) string {
	page := "# Results\n\nMade by `" + command + "`\non " + machine + ".\n"
	if table != "" {
		page += `
A ratio of CPU, cold and warm is the median of the rounds' ratios, in which the programs took turns; sizes, imports and
exports are one run. Cold and warm read one review with get_feedback: two calls of the table, where the public programs
make one. CPU of a list is from the query to the body, without the key and the gateway, on one processor. The bare loop
writes each point as an item; an import packs them. A function of 128 MB has 1.4 ms of CPU in each 20 ms, of 256 MB
2.9 ms: a first request that needs more waits for the next share. The engine has the same processors, and between runs on
a shared machine the ratios of cold and warm move by a tenth to a third.

` + table
	}
	if costs != "" {
		page += `
What a request spends, with the defaults, on the demo company; list prices of us-east-1, November 2025: a million read
units $0.125, write units $0.625, requests of a REST API $3.50, requests of a function $0.20.
A write spends a unit for each index that the record is in.

` + costs
	}
	return page
}

func report(goals []goal) string {
	if len(goals) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("| Measured | Ratio | Goal | |\n|---|---|---|---|\n")
	for _, g := range goals {
		verdict := "met"
		if g.missed() {
			verdict = "missed"
		}
		fmt.Fprintf(&out, "| %s | %.2f | ≤ %.2f | %s |\n", g.name, g.ratio, g.most, verdict)
	}
	return out.String()
}
