//go:build linux

// Command bench measures the service beside others and prints one table of ratios, each with its goal:
//
//	go run ./scripts/prove/speed [flags] [MODE...]
//
// The modes are count, cpu, cold, warm, transfer and cost; --help tells what each measures. Without a mode it runs all.
//
// cpu, cold and warm are measured in rounds in which the programs take turns, and a ratio is the median of the rounds'
// ratios. transfer is one run of each. No goal is asserted: a busy machine changes times. What CI holds is counted, not
// timed, in the ordinary tests and by `count`.
//
// It is for Linux. cold and warm need root: the programs run under a CPU quota, and reach the engine by DynamoDB's own
// name over TLS. The two programs to compare with are cloned from GitHub and built here, with go and cargo; --peers names
// a folder that has serverless-go-demo and serverless-rust-demo already.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// bench is one run.
type bench struct {
	rounds     int
	scale      float64
	peerFolder string
	log        io.Writer
	results    string
	costs      string // the table that cost makes
}

// goal is a line of the table: a ratio and what it should be at most.
type goal struct {
	name  string
	ratio float64
	most  float64
}

type mode struct {
	name string
	what string // it measures
	run  func(b *bench, ctx context.Context) ([]goal, error)
}

var modes = []mode{
	{"count", "the size of the functions; fails when one is too large, for CI", (*bench).count},
	{"cpu", "what the CPU spends on long lists, beside the SDK with attributevalue and encoding/json", (*bench).cpu},
	{"cold", "process start to the first answer, throttled as a function of 128 MB, beside two public Lambda programs", (*bench).cold},
	{"warm", "a warm read with a key beside one without, and what the CPU spends on one", (*bench).warm},
	{"transfer", "import and export of 100,000 reviews and 1,000,000 points, beside bare loops of BatchWriteItem and Query", (*bench).transfer},
	{"cost", "what each operation spends of the table, and a million of it in dollars", (*bench).cost},
}

func main() {
	b, chosen, err := parse(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = b.run(ctx, chosen, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// parse reads the command line. With --help it writes what there is and returns flag.ErrHelp.
func parse(args []string, errOut io.Writer) (*bench, []mode, error) {
	b := &bench{log: errOut}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is said once, by main
	flags.IntVar(&b.rounds, "rounds", 9, "how often each program takes its turn")
	flags.Float64Var(&b.scale, "scale", 1, "the size of the imports, as a share of 100,000 reviews and 1,000,000 points")
	flags.StringVar(&b.results, "results", "", "write the results into this `file`, too, such as scripts/prove/speed/RESULTS.md")
	flags.StringVar(&b.peerFolder, "peers", "", "a `folder` with the sources of the programs to compare with (default: clone them)")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(errOut, "usage: go run ./scripts/prove/speed [flags] [MODE...]\n\nModes (default: all):\n")
			for _, m := range modes {
				fmt.Fprintf(errOut, "  %-8s  %s\n", m.name, m.what)
			}
			fmt.Fprint(errOut, "\nFlags:\n")
			flags.SetOutput(errOut)
			flags.PrintDefaults()
		}
		return nil, nil, err
	}
	if b.rounds < 1 {
		return nil, nil, errors.New("--rounds must be 1 or more")
	}
	if !(b.scale*importFeedback >= 1) {
		return nil, nil, fmt.Errorf("--scale must leave a review to import: %g or more", 1/float64(importFeedback))
	}
	chosen, err := choose(flags.Args())
	return b, chosen, err
}

func (b *bench) run(ctx context.Context, chosen []mode, out io.Writer) error {
	begun := machine(time.Now()) // with the load that others make, not this run
	var goals []goal
	for _, m := range chosen {
		fmt.Fprintf(b.log, "== %s\n", m.name)
		found, err := m.run(b, ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		goals = append(goals, found...)
	}
	result := results(begun, b.command(chosen), report(goals), b.costs)
	fmt.Fprint(out, result)
	if b.results != "" {
		if err := os.WriteFile(b.results, []byte(result), 0o644); err != nil {
			return fmt.Errorf("keep the results: %w", err)
		}
	}
	if len(chosen) == 1 && chosen[0].name == "count" && slices.ContainsFunc(goals, goal.missed) {
		return errors.New("count: a goal is missed")
	}
	return nil
}

func (g goal) missed() bool { return !(g.ratio <= g.most) }

// choose returns the named modes, all when none is named.
func choose(names []string) (chosen []mode, err error) {
	if len(names) == 0 {
		return modes, nil
	}
	for _, name := range names {
		n := slices.IndexFunc(modes, func(m mode) bool { return m.name == name })
		if n < 0 {
			return nil, fmt.Errorf("unknown mode %q; --help tells the modes (flags come before them)", name)
		}
		chosen = append(chosen, modes[n])
	}
	return chosen, nil
}

// machine tells what was measured on.
func machine(now time.Time) string {
	cpu := "unknown CPU"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.SplitSeq(string(text), "\n") {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
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
	command := fmt.Sprintf("go run ./scripts/prove/speed --rounds %d --scale %g", b.rounds, b.scale)
	for _, m := range chosen {
		command += " " + m.name
	}
	return command
}

// results is the page that a run leaves.
func results(machine, command, table, costs string) string {
	page := "# Results\n\nMade by `" + command + "`\non " + machine + ".\n"
	if table != "" {
		page += "\nA ratio of CPU, cold and warm is the median of the rounds' ratios, in which the programs took turns; sizes, imports and\nexports " +
			"are one run. Cold and warm ask for one review, get_feedback: two calls of the table, where the public programs make one. CPU of\na list is from the " +
			"query to the body, without the key and the gateway, on one processor. The bare loop writes each point as an\nitem; an import packs them. " +
			"A function of 128 MB has 1.4 ms of CPU in each 20 ms, of 256 MB 2.9 ms: a first request that needs\nmore waits for the next share. The engine has the same processors, and between runs on a shared machine the ratios of cold and warm\nmove by a tenth to a third.\n\n" + table
	}
	if costs != "" {
		page += "\nWhat a request spends, with the defaults, on the demo company; list prices of us-east-1, November 2025: a million read\nunits $0.125, write units $0.625, " +
			"requests of a REST API $3.50, requests of a function $0.20.\nA write spends a unit for each index that the record is in.\n\n" + costs
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
