package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/localdb"
)

func TestMain(m *testing.M) {
	localdb.Main()
	RunServerIfRequested()
	os.Exit(m.Run())
}

// newTestCheckRun returns a check run that is closed at the end of the test.
func newTestCheckRun(t *testing.T) *checkRun {
	t.Helper()
	tr, err := newCheckRun(t.Context(), Options{Seed: 1}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

// mutantTest is a test of a check, on the correct service or on one with an injected bug.
type mutantTest struct {
	name          string
	check         func(ctx context.Context, t *checkRun) error
	bug           string // the name of the injected bug
	wantViolation string // text in an expected violation; empty if the claim must hold
	serial        bool   // do not run in parallel with other tests, which would slow it down
}

func runKills(n int, sizes ...int) func(context.Context, *checkRun) error {
	return func(ctx context.Context, t *checkRun) error { return checkKills(ctx, t, n, sizes) }
}

func runLossKey(omitKey bool) func(context.Context, *checkRun) error {
	return func(ctx context.Context, t *checkRun) error { return checkLostResponsesWithKey(ctx, t, 100, omitKey) }
}

func runLoss(requests int) func(context.Context, *checkRun) error {
	return func(ctx context.Context, t *checkRun) error { return checkLostResponses(ctx, t, requests) }
}

func runQuotas(d quotaCheck) func(context.Context, *checkRun) error {
	return func(ctx context.Context, t *checkRun) error { return checkQuotas(ctx, t, d) }
}

func runOverload(patience, residual time.Duration, trials ...string) func(context.Context, *checkRun) error {
	return func(ctx context.Context, t *checkRun) error {
		return checkOverload(ctx, t, loadOptions{trials, 1200 * time.Millisecond, patience, 3, residual, 4 * residentMax})
	}
}

// noTimeLimit is a time limit that no machine exceeds. Tests use it because only `check faults`
// asserts how fast the service is.
const noTimeLimit = time.Hour

func runFeed(ctx context.Context, t *checkRun) error { return checkFeed(ctx, t, 4) }

func editConcurrently(ctx context.Context, t *checkRun) error {
	return checkLinearizability(ctx, t, 2, 6)
}

// mutantTests runs every check on the correct service and on services with injected bugs. It does
// not assert the speed of the correct service, because concurrent tests slow each other down;
// `check faults` does that. A test can still find a bug that slows a server, because such a bug
// makes the server many times slower under load, on any machine. The memory limit is generous,
// because the race detector needs several times as much memory.
var mutantTests = []mutantTest{
	{name: "kill", check: runKills(5, 0, 1, 101)},
	{name: "kill of a service that acknowledges writes in memory", check: runKills(8, 1, 101), bug: "writes in memory", wantViolation: "lost"},
	{name: "loss-key", check: runLossKey(false)},
	{name: "loss-key of a client that forgets its key", check: runLossKey(true), wantViolation: "times"},
	{name: "loss", check: runLoss(100)},
	{name: "loss of a service that does not recognise its own retries", check: runLoss(50), bug: "no transaction tokens", wantViolation: " "},
	{name: "loss of a service that gives up too soon", check: runLoss(50), bug: "lost responses to puts", wantViolation: " "},
	{name: "quota", check: runQuotas(quotaCheck{[]burst{{60, time.Second, false}, {6000, time.Second, true}}, 0.9, 6, 1}), serial: true},
	{name: "quota of a service without conditions", check: runQuotas(quotaCheck{[]burst{{60, time.Second, false}}, 0.9, 0, 0}), bug: "no conditions", wantViolation: "at most", serial: true},
	{name: "quota of a service whose guesses are always wrong", check: runQuotas(quotaCheck{[]burst{{600, 2 * time.Second, true}}, 0.99, 0, 0}), bug: "admissions fail", wantViolation: "gets 503", serial: true},
	{name: "quota of a service that refuses too much", check: runQuotas(quotaCheck{[]burst{{60, time.Second, false}}, 0.02, 0, 0}), bug: "refusals", wantViolation: "too few", serial: true},
	{name: "quota of a service that guesses its Retry-After", check: runQuotas(quotaCheck{[]burst{{60, time.Second, false}}, 0.9, 6, 1}), bug: "Retry-After of 1 s", wantViolation: "refused again", serial: true},
	// The case "askers" is left out, because the race detector is too slow for its 200 clients.
	// Only `check faults` runs it on the correct service.
	{name: "load", check: runOverload(time.Minute, noTimeLimit, "flood", "headers", "readers", "clients"), serial: true},
	{name: "load of a server without limits", check: runOverload(0, 10*time.Millisecond, "flood"), bug: "no limits", wantViolation: "a polite client's median", serial: true},
	{name: "load of a server that has one queue", check: runOverload(0, 10*time.Millisecond, "askers"), bug: "no limits", wantViolation: "a polite client's median", serial: true},
	{name: "load of a server that reads all headers", check: runOverload(0, 10*time.Millisecond, "headers"), bug: "no limits", wantViolation: "no connection got a 431", serial: true},
	{name: "changes", check: runFeed},
	{name: "changes of recorders that do not know each other", check: runFeed, bug: "shards per process", wantViolation: "twice"},
	{name: "linear", check: editConcurrently},
	{name: "linear of a service without conditions", check: editConcurrently, bug: "no conditions", wantViolation: "no order"},
}

// Ensure each check holds for the correct service and finds each injected bug.
func TestChecks(t *testing.T) {
	for _, test := range mutantTests {
		t.Run(test.name, func(t *testing.T) {
			if !test.serial {
				t.Parallel()
			}
			tr := newTestCheckRun(t)
			if _, defined := bugs[test.bug]; test.bug != "" && !defined {
				t.Fatalf("no bug %q", test.bug)
			}
			tr.bugName = test.bug
			if err := test.check(t.Context(), tr); err != nil {
				t.Fatal(err)
			}
			count, first := tr.violations()
			if test.wantViolation == "" && count > 0 || test.wantViolation != "" && (count == 0 || !strings.Contains(strings.Join(first, "\n"), test.wantViolation)) {
				t.Errorf("%s; %d violations, want %q in them: %q", tr.line(), count, test.wantViolation, first)
			}
		})
	}
	for _, g := range checks {
		held, caught := false, false
		for _, test := range mutantTests {
			name, _, _ := strings.Cut(test.name, " ")
			held = held || name == g.name && test.wantViolation == ""
			caught = caught || name == g.name && test.wantViolation != ""
		}
		if !held || !caught {
			t.Errorf("%s: no test that it holds, or none that it finds an injected bug", g.name)
		}
	}
}

// Ensure every edit of a board changes what the next publish makes visible, and checkLiveContent
// distinguishes the old content from the new.
func TestBoardEdits(t *testing.T) {
	t.Parallel()
	tr := newTestCheckRun(t)
	base := tr.serve(tr.transport)
	for _, size := range []int{1, 3, 204} {
		b, err := newBoard(t.Context(), tr, size)
		if err != nil {
			t.Fatal(err)
		}
		for generation := range 10 {
			if err := b.edit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if published, wrong, err := b.checkLiveContent(t.Context(), false); err != nil || published || len(wrong) > 0 {
				t.Errorf("%d items, generation %d, before its publish: %v, %q: %v", size, generation, published, wrong, err)
			}
			out, err := newClient(base, b.company).call(t.Context(), http.MethodPost, publishPath, nil)
			if err != nil || out.status != http.StatusOK {
				t.Fatalf("publish: status %d, want 200: %s: %v", out.status, out.body, err)
			}
			if published, wrong, err := b.checkLiveContent(t.Context(), true); err != nil || !published || len(wrong) > 0 {
				t.Errorf("%d items, generation %d, after its publish: %v, %q: %v", size, generation, published, wrong, err)
			}
		}
	}
}

// Ensure Run runs the named checks. It reports a check whose claim does not hold, and one that
// cannot run.
func TestRun(t *testing.T) {
	t.Parallel()
	fixed := func(name string, violations int, err error) faultCheck {
		return faultCheck{name, func(_ context.Context, t *checkRun) error {
			t.addFigure("%d of something", violations)
			for n := range violations {
				t.violate("violation %d", n)
			}
			return err
		}}
	}
	all := []faultCheck{fixed("holds", 0, nil), fixed("fails", 25, nil), fixed("breaks", 0, errors.New("no engine"))}
	for _, test := range []struct {
		checks string
		held   bool
		err    string
		prints string
	}{
		{"holds", true, "", "ok      holds"},
		{"holds fails", false, "", "and 5 more"},
		{"fails", false, "", "violation 3"},
		{"breaks", false, "breaks could not be run: no engine", ""},
		{"unknown", false, "the checks are holds, fails, breaks", ""},
	} {
		var out strings.Builder
		held, err := run(t.Context(), all, Options{Checks: strings.Fields(test.checks), Seed: 9, Long: true}, &out, io.Discard)
		if held != test.held || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: held %t, error %v; want %t, %q", test.checks, held, err, test.held, test.err)
		}
		if !strings.Contains(out.String(), test.prints) {
			t.Errorf("%s: %q is not printed:\n%s", test.checks, test.prints, out.String())
		}
		if err == nil && !strings.HasPrefix(out.String(), "seed 9, long true\n") {
			t.Errorf("%s: the output does not begin with the seed:\n%s", test.checks, out.String())
		}
	}
	if names := fmt.Sprint(CheckNames()); names != "[kill loss-key loss quota load changes linear]" {
		t.Errorf("the checks are %s", names)
	}
}
