// Command fault proves what the service promises when things break:
//
//	go run ./scripts/prove/faults                 the bounded numbers, which CI runs
//	go run ./scripts/prove/faults --long          the full numbers
//	go run ./scripts/prove/faults --seed 7 linear one gate, with the random decisions of a seed
//
// Each gate is a claim about the service, stands on an engine of its own with a data file, and prints one line of
// figures. The command ends with status 1 when one of them does not hold, and with 2 when it cannot tell. A gate's own test
// plants a fault in the service and requires that the gate finds it: go test ./scripts/prove/faults/...
//
//	kill-engine, kill-server      the process is killed in the middle of publishes
//	crash-publish, crash-create   the process dies after its k-th call to the table, for all k
//	loss-key, loss                the table does what it was asked, and the answer is lost
//	throttle, throttle-all        the table refuses a fifth of the calls, or all
//	quota                         64 clients of 4 processes ask 50 times as often as they may
//	linear                        16 clients change one record, with answers lost and calls refused
//
// Reading order: package gate (what a claim is), stand (what gates stand on), wire (the faults), then the gates.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"growthworkspace/scripts/prove/faults/crash"
	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/kill"
	"growthworkspace/scripts/prove/faults/linear"
	"growthworkspace/scripts/prove/faults/loss"
	"growthworkspace/scripts/prove/faults/quota"
	"growthworkspace/scripts/prove/faults/stand"
	"growthworkspace/scripts/prove/faults/throttle"
)

func main() {
	stand.BeServer() // a server of a gate is this program, too
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, os.Args[1:], gates(), os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "fault:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

func gates() []gate.Gate {
	return slices.Concat(kill.Gates(), crash.Gates(), loss.Gates(), throttle.Gates(), quota.Gates(), linear.Gates())
}

// run runs the gates that the arguments name, all when they name none, and tells whether all of them hold. With --help it
// writes what there is and returns flag.ErrHelp.
func run(ctx context.Context, args []string, all []gate.Gate, out, log io.Writer) (ok bool, err error) {
	flags := flag.NewFlagSet("fault", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is said once, by main
	long := flags.Bool("long", false, "the full numbers instead of those of CI")
	seed := flags.Uint64("seed", 1, "the seed of the random decisions")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(log, "usage: go run ./scripts/prove/faults [flags] [GATE...]\n\nGates (default: all):\n  %s\n\nFlags:\n", strings.Join(namesOf(all), ", "))
			flags.SetOutput(log)
			flags.PrintDefaults()
		}
		return false, err
	}
	chosen, err := choose(all, flags.Args())
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "fault-*")
	if err != nil {
		return false, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(out, "seed %d, long %v\n", *seed, *long)
	ok = true
	for _, g := range chosen {
		s := gate.Setting{Long: *long, Seed: *seed, Dir: filepath.Join(dir, g.Name), Log: log}
		held, err := try(ctx, g, s, out)
		if err != nil {
			return false, fmt.Errorf("%s could not be run: %w", g.Name, err)
		}
		ok = ok && held
	}
	return ok, nil
}

func choose(all []gate.Gate, names []string) ([]gate.Gate, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []gate.Gate
	for _, name := range names {
		n := slices.IndexFunc(all, func(g gate.Gate) bool { return g.Name == name })
		if n < 0 {
			return nil, fmt.Errorf("no gate %q: there are %s", name, strings.Join(namesOf(all), ", "))
		}
		chosen = append(chosen, all[n])
	}
	return chosen, nil
}

func namesOf(all []gate.Gate) []string {
	names := make([]string, len(all))
	for n, g := range all {
		names[n] = g.Name
	}
	return names
}

// try runs one gate and prints its line.
func try(ctx context.Context, g gate.Gate, s gate.Setting, out io.Writer) (held bool, err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return false, err
	}
	defer os.RemoveAll(s.Dir)
	began := time.Now()
	report, err := g.Run(ctx, s)
	if err != nil {
		return false, err
	}
	count, first := report.Violations()
	verdict := "ok    "
	if count > 0 {
		verdict = "FAILED"
	}
	fmt.Fprintf(out, "%s  %-13s  %5.1f s  %s\n", verdict, g.Name, time.Since(began).Seconds(), report)
	for _, v := range first {
		fmt.Fprintf(out, "        %s\n", v)
	}
	if count > len(first) {
		fmt.Fprintf(out, "        and %d more\n", count-len(first))
	}
	return count == 0, nil
}
