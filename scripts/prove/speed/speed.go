//go:build linux

// Package speed measures the sizes of binaries, start times, imports and prices. It prints one
// table of ratios, each with its goal. The benchmark BenchmarkReads of package functions measures
// the CPU time of reads.
//
// Only the "count" mode can fail, because times depend on the load of the machine. The package
// works only on Linux, because it reads /proc.
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

// Options selects the modes and their size.
type Options struct {
	Modes  []string // the modes to run; if empty, all modes
	Rounds int      // how many times each program is started
	Scale  float64  // scales the size of the imports; 1 is the full size
}

// bench is one run of the benchmarks.
type bench struct {
	Options
	log       io.Writer
	costTable string // the table that the "cost" mode prints, as Markdown
}

// goal is a row of the table of results: a measured ratio and its maximum.
type goal struct {
	name  string
	ratio float64
	max   float64
}

func (g goal) isMissed() bool { return !(g.ratio <= g.max) }

type benchMode struct {
	name        string
	description string // a description of the mode for the help text
	run         func(b *bench, ctx context.Context) ([]goal, error)
}

var benchModes = []benchMode{
	{"count", "the size of the functions; fails when one is too large, for CI", (*bench).measureSizes},
	{"start", "process start to the first response, warm responses and memory of a function", (*bench).measureStarts},
	{"transfer", "import and export of 100,000 reviews and 1,000,000 points, compared with bare loops", (*bench).measureTransfer},
	{"merge", "import of 100,000 reviews of a Play Console report, compared with a bare loop", (*bench).measureMerge},
	{"cost", "table units of each operation, and the price of a million calls", (*bench).measureCost},
}

// DescribeModes returns the names and descriptions of the modes, one mode to a line.
func DescribeModes() string {
	var out strings.Builder
	for _, m := range benchModes {
		fmt.Fprintf(&out, "  %-8s  %s\n", m.name, m.description)
	}
	return out.String()
}

// Run measures and prints the results. allMet is false only if "count" is the only mode and a goal
// is missed.
func Run(ctx context.Context, o Options, out, log io.Writer) (allMet bool, err error) {
	chosen, err := o.selectModes()
	if err != nil {
		return false, err
	}
	b := &bench{Options: o, log: log}
	machine := describeMachine(time.Now()) // before the measurements, so that the load average does not include them
	var goals []goal
	for _, m := range chosen {
		fmt.Fprintf(log, "== %s\n", m.name)
		found, err := m.run(b, ctx)
		if err != nil {
			return false, fmt.Errorf("%s: %w", m.name, err)
		}
		goals = append(goals, found...)
	}
	fmt.Fprint(out, resultsPage(machine, b.command(chosen), reportTable(goals), b.costTable))
	return len(chosen) > 1 || chosen[0].name != "count" || !slices.ContainsFunc(goals, goal.isMissed), nil
}

// selectModes returns the modes that the options select.
func (o Options) selectModes() (chosen []benchMode, err error) {
	if o.Rounds < 1 {
		return nil, errors.New("--rounds must be 1 or more")
	}
	if !(o.Scale*importFeedbackCount >= 1) {
		return nil, fmt.Errorf("--scale must be %g or more, which imports one review", 1/float64(importFeedbackCount))
	}
	if len(o.Modes) == 0 {
		return benchModes, nil
	}
	for _, name := range o.Modes {
		n := slices.IndexFunc(benchModes, func(m benchMode) bool { return m.name == name })
		if n < 0 {
			return nil, fmt.Errorf("unknown mode %q; the modes are\n%s", name, DescribeModes())
		}
		chosen = append(chosen, benchModes[n])
	}
	return chosen, nil
}

func describeMachine(now time.Time) string {
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

// command returns the command line that repeats the run.
func (b *bench) command(chosen []benchMode) string {
	command := fmt.Sprintf("go run ./scripts/prove speed --rounds %d --scale %g", b.Rounds, b.Scale)
	for _, m := range chosen {
		command += " " + m.name
	}
	return command
}

// resultsPage returns the report on a run, as Markdown.
func resultsPage(machine, command, table, costs string) string {
	page := "# Results\n\nMade by `" + command + "`\non " + machine + ".\n"
	if table != "" {
		page += `
Sizes, imports and exports were measured once. A start is the median of the rounds; it reads one review with get_feedback,
which makes two calls to the table. Nothing limits the CPU, and the engine shares it. The bare loop writes each point as an
item; an import packs points.

` + table
	}
	if costs != "" {
		page += `
The cost of one request with default parameters to the demo company. List prices of us-east-1, November 2025: a million
read units $0.125, write units $0.625, requests of a REST API $3.50, requests of a function $0.20. A write costs a unit
for the record and one for each index that the record is in.

` + costs
	}
	return page
}

func reportTable(goals []goal) string {
	if len(goals) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("| Measured | Ratio | Goal | |\n|---|---|---|---|\n")
	for _, g := range goals {
		verdict := "met"
		if g.isMissed() {
			verdict = "missed"
		}
		fmt.Fprintf(&out, "| %s | %.2f | ≤ %.2f | %s |\n", g.name, g.ratio, g.max, verdict)
	}
	return out.String()
}
