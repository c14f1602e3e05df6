// Package faults checks that the service keeps its promises when servers are killed, responses of
// the table are lost, and clients overload the service. Each check tests one claim on its own
// engine, and prints one line of figures. For each check, a test injects into the service a bug that
// the check must find. The tests of package functions and of its areas cover crashes at a particular
// call to the table, and tables that throttle.
//
// Reading order: this file, testbed.go, server.go, transport.go (the faults), then the checks.
package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// faultCheck tests a claim about the service. run records violations of the claim in t. An error
// means that the check could not run.
type faultCheck struct {
	name string
	run  func(ctx context.Context, t *checkRun) error
}

var checks = []faultCheck{
	{"kill", func(ctx context.Context, t *checkRun) error { return checkKills(ctx, t, t.size(24, 200), killSizes) }},
	{"loss-key", func(ctx context.Context, t *checkRun) error {
		return checkLostResponsesWithKey(ctx, t, t.size(1000, 5000), false)
	}},
	{"loss", func(ctx context.Context, t *checkRun) error { return checkLostResponses(ctx, t, t.size(300, 3000)) }},
	{"quota", func(ctx context.Context, t *checkRun) error {
		if t.long {
			return checkQuotas(ctx, t, quotaCheck{quotaBursts(time.Minute), 0.02, 120, 10})
		}
		return checkQuotas(ctx, t, quotaCheck{quotaBursts(5 * time.Second), 0.02, 60, 2})
	}},
	{"load", func(ctx context.Context, t *checkRun) error {
		return checkOverload(ctx, t, loadOptions{nil, time.Duration(t.size(3, 20)) * time.Second, time.Minute, 3, 10 * time.Millisecond, residentMax})
	}},
	{"changes", func(ctx context.Context, t *checkRun) error { return checkFeed(ctx, t, t.size(24, 200)) }},
	{"linear", func(ctx context.Context, t *checkRun) error { return checkLinearizability(ctx, t, t.size(5, 40), 12) }},
}

// quotaBursts returns the bursts of the quota check. The small token buckets start full. The largest
// one starts empty, because emptying it would take too long.
func quotaBursts(length time.Duration) []burst {
	return []burst{{60, length, false}, {600, length, false}, {6000, length, true}}
}

// CheckNames returns the names of the checks in the order in which they run.
func CheckNames() []string { return namesOf(checks) }

func namesOf(checks []faultCheck) []string {
	names := make([]string, len(checks))
	for n, g := range checks {
		names[n] = g.name
	}
	return names
}

// Options select the checks and the size of a run.
type Options struct {
	Checks []string // the names of the checks to run; empty: all
	Long   bool     // use the full sizes instead of the smaller ones for CI
	Seed   uint64   // the seed for all random decisions
}

// Run runs the selected checks and reports whether all their claims hold. An error means that a
// check could not run.
func Run(ctx context.Context, o Options, out, log io.Writer) (passed bool, err error) {
	return run(ctx, checks, o, out, log)
}

func run(ctx context.Context, all []faultCheck, o Options, out, log io.Writer) (passed bool, err error) {
	chosen := all
	if len(o.Checks) > 0 {
		chosen = nil
	}
	for _, name := range o.Checks {
		n := slices.IndexFunc(all, func(g faultCheck) bool { return g.name == name })
		if n < 0 {
			return false, fmt.Errorf("no check %q: the checks are %s", name, strings.Join(namesOf(all), ", "))
		}
		chosen = append(chosen, all[n])
	}
	fmt.Fprintf(out, "seed %d, long %v\n", o.Seed, o.Long)
	passed = true
	for _, g := range chosen {
		holds, err := runCheck(ctx, g, o, out, log)
		if err != nil {
			return false, fmt.Errorf("%s could not be run: %w", g.name, err)
		}
		passed = passed && holds
	}
	return passed, nil
}

func runCheck(ctx context.Context, check faultCheck, o Options, out, log io.Writer) (passed bool, err error) {
	begin := time.Now()
	t, err := newCheckRun(ctx, o, log)
	if err == nil {
		err = errors.Join(check.run(ctx, t), t.close())
	}
	if err != nil {
		return false, err
	}
	count, first := t.violations()
	verdict := "ok    "
	if count > 0 {
		verdict = "FAILED"
	}
	fmt.Fprintf(out, "%s  %-13s  %5.1f s  %s\n", verdict, check.name, time.Since(begin).Seconds(), t.line())
	for _, v := range first {
		fmt.Fprintf(out, "        %s\n", v)
	}
	if count > len(first) {
		fmt.Fprintf(out, "        and %d more\n", count-len(first))
	}
	return count == 0, nil
}

// checkRun is one run of a check: its testbed, its random decisions and its report.
type checkRun struct {
	*testbed
	report
	long      bool
	random    *randomSource
	transport http.RoundTripper // the transport from the service to the engine, without faults
	bugName   string            // the bug that a test injects into the service
	cleanups  []func() error

	// Settings of server processes.
	latency        time.Duration // the delay added to each call to the table
	serveLimits    bool          // whether they have the limits of `workspace serve`
	recordsChanges bool          // whether they write the feeds of changes
}

func newCheckRun(ctx context.Context, o Options, log io.Writer) (*checkRun, error) {
	bed, err := openTestbed(ctx, log)
	if err != nil {
		return nil, err
	}
	return &checkRun{testbed: bed, long: o.Long, random: newRandomSource(o.Seed), transport: engineTransport(bed.engine.Socket)}, nil
}

// close stops the run's services in reverse order, and then its engine.
func (cr *checkRun) close() (err error) {
	for _, end := range slices.Backward(cr.cleanups) {
		err = errors.Join(err, end())
	}
	return errors.Join(err, cr.engine.Close())
}

// size returns the argument `long` for a long run, and the argument `bounded` for a run in CI.
func (cr *checkRun) size(bounded, long int) int {
	if cr.long {
		return long
	}
	return bounded
}

// report is the result of a run. It is safe for concurrent use.
type report struct {
	mu              sync.Mutex
	figures         []string
	firstViolations []string // the first distinct violations, at most violationsMax
	violationCount  int
}

// violationsMax is the maximum number of distinct violations that a report keeps. The report still
// counts every violation.
const violationsMax = 20

// addFigure adds a figure to the one line that a check prints.
func (r *report) addFigure(format string, values ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.figures = append(r.figures, fmt.Sprintf(format, values...))
}

// require adds a violation of the claim to the report unless ok is true.
func (r *report) require(ok bool, format string, values ...any) {
	if ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violationCount++
	if text := fmt.Sprintf(format, values...); len(r.firstViolations) < violationsMax && !slices.Contains(r.firstViolations, text) {
		r.firstViolations = append(r.firstViolations, text)
	}
}

func (r *report) violate(format string, values ...any) { r.require(false, format, values...) }

func (r *report) violations() (count int, first []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.violationCount, r.firstViolations
}

func (r *report) line() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.figures, ", ")
}
