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

	"growthworkspace/shared/engine"
)

func TestMain(m *testing.M) {
	engine.Main()
	BeServer()
	os.Exit(m.Run())
}

// start returns a trial that is closed at the end of the test.
func start(t *testing.T) *trial {
	t.Helper()
	tr, err := newTrial(t.Context(), Options{Seed: 1}, t.TempDir(), t.Output())
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

// test is a run of a gate with a planted fault.
type test struct {
	name   string
	gate   func(ctx context.Context, t *trial) error
	plant  func(http.RoundTripper) http.RoundTripper
	server plant
	want   string // part of a violation; empty: the claim must hold
	alone  bool   // not parallel, because other tests would slow it down
}

// hasty is a service that does not retry: it sees each throttled call as a permanent failure.
func hasty(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		out, err := next.RoundTrip(r)
		if err != nil || out.StatusCode != http.StatusBadRequest {
			return out, err
		}
		out.Body = io.NopCloser(strings.NewReader(`{"__type": "ValidationException"}`))
		out.ContentLength = -1
		return out, nil
	})
}

// greedy is a service that sends every call twice.
func greedy(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if attemptOf(r) == 1 {
			return nil, errLost
		}
		return next.RoundTrip(r)
	})
}

// impatient is a service that never receives a response to PutItem.
func impatient(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		out, err := next.RoundTrip(r)
		if err == nil && callOf(r) == "PutItem" {
			return nil, errors.Join(errLost, out.Body.Close())
		}
		return out, err
	})
}

func killed(v victim, n int, sizes ...int) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error { return kills(ctx, t, killing{v, n, sizes}) }
}

func published(sizes ...int) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error { return crashPublish(ctx, t, sizes, 1) }
}

func created(ctx context.Context, t *trial) error { return crashCreate(ctx, t, 1) }

func removed(ctx context.Context, t *trial) error { return crashDelete(ctx, t, removals[:1], 1) }

func pushing(ctx context.Context, t *trial) error { return pushes(ctx, t, 1, 3) }

// pushedOnce is the gate of pushes with one death.
func pushedOnce(keyless bool) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		_, _, err := t.pushDying(ctx, death{4, true}, keyless)
		return err
	}
}

func keyed(keyless bool) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error { return lossKey(ctx, t, 100, keyless) }
}

func lost(requests int) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error { return loss(ctx, t, requests) }
}

func throttled(requests int) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error { return throttle(ctx, t, requests) }
}

func refused(deadline time.Duration) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error { return throttleAll(ctx, t, deadline) }
}

func flooded(d demand) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error { return quotas(ctx, t, d) }
}

func pressed(patience, residual time.Duration, trials ...string) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		return load(ctx, t, pressure{trials, 1200 * time.Millisecond, patience, 3, residual, 4 * residentMax})
	}
}

// anyTime is a limit that no machine reaches: how fast the service is, only the gates assert.
const anyTime = time.Hour

func edited(ctx context.Context, t *trial) error { return linear(ctx, t, 2, 6) }

// Each gate must hold for the correct service and find each planted fault. Nothing here asserts how fast the service is, because tests
// share their machine: the gates do. A planted fault that makes a server slow makes it many times as slow as in the quiet, on any
// machine. The limit for memory is wide, because the race detector needs several times as much.
var tests = []test{
	{name: "kill-engine", gate: killed(victimEngine, 5, 0, 1, 101)},
	{name: "kill-engine of a service that acknowledges writes in memory", gate: killed(victimEngine, 8, 1, 101), server: plantBehind, want: "lost"},
	{name: "kill-server", gate: killed(victimServer, 5, 0, 1, 101)},
	{name: "kill-server of a service that acknowledges writes in memory", gate: killed(victimServer, 8, 1, 101), server: plantBehind, want: "lost"},
	{name: "crash-publish", gate: published(0, 3)},
	{name: "crash-publish of a service without transactions", gate: published(3), plant: apart, want: "death after call"},
	{name: "crash-create", gate: created},
	{name: "crash-create of a service without transactions", gate: created, plant: apart, want: "death after call"},
	{name: "crash-delete", gate: removed},
	{name: "crash-delete of a service without transactions", gate: removed, plant: apart, want: "the next delete"},
	{name: "push", gate: pushing},
	{name: "push of a service that acknowledges writes in memory", gate: pushedOnce(false), plant: behind, want: "was acknowledged"},
	{name: "push of a client that forgets its key", gate: pushedOnce(true), want: "is not replayed"},
	{name: "loss-key", gate: keyed(false)},
	{name: "loss-key of a client that forgets its key", gate: keyed(true), want: "times"},
	{name: "loss", gate: lost(100)},
	{name: "loss of a service that does not recognise its own retries", gate: lost(50), plant: forgetful, want: " "},
	{name: "loss of a service that gives up too soon", gate: lost(50), plant: impatient, want: " "},
	{name: "throttle", gate: throttled(400)},
	{name: "throttle of a service that does not retry", gate: throttled(200), plant: hasty, want: "of the requests succeed"},
	{name: "throttle of a service that sends every call twice", gate: throttled(200), plant: greedy, want: "times the calls"},
	{name: "throttle-all", gate: refused(anyTime)},
	{name: "throttle-all of a service that is late", gate: refused(100 * time.Millisecond), want: "a response after"},
	{name: "quota", gate: flooded(demand{[]rush{{60, time.Second, false, 0}, {6000, time.Second, true, 0}, {60_000, time.Second, true, 0.9}}, 0.9, 6, 1}), alone: true},
	{name: "quota of a service without conditions", gate: flooded(demand{[]rush{{60, time.Second, false, 0}}, 0.9, 0, 0}), server: plantUnconditional, want: "at most", alone: true},
	{name: "quota of a service whose guesses are always wrong", gate: flooded(demand{[]rush{{600, 2 * time.Second, true, 0}}, 0.99, 0, 0}), server: plantOvertaken, want: "gets 503", alone: true},
	{name: "quota of a service that refuses too much", gate: flooded(demand{[]rush{{60, time.Second, false, 0}}, 0.02, 0, 0}), server: plantStingy, want: "too few", alone: true},
	{name: "quota of a service that guesses its Retry-After", gate: flooded(demand{[]rush{{60, time.Second, false, 0}}, 0.9, 6, 1}), server: plantHasty, want: "refused again", alone: true},
	// Slow readers who keep asking are timed by `prove faults`, because the race detector is too slow beside 200 of them.
	{name: "load", gate: pressed(time.Minute, anyTime, "flood", "headers", "readers", "clients"), alone: true},
	{name: "load of a server without limits", gate: pressed(0, 80*time.Millisecond, "flood"), server: plantUnbounded, want: "a polite client's median", alone: true},
	{name: "load of a server that has one queue", gate: pressed(0, 80*time.Millisecond, "askers"), server: plantUnbounded, want: "a polite client's median", alone: true},
	{name: "load of a server that reads all headers", gate: pressed(0, 80*time.Millisecond, "headers"), server: plantUnbounded, want: "no connection had a response", alone: true},
	{name: "linear", gate: edited},
	{name: "linear of a service without conditions", gate: edited, plant: unconditional, want: "no order"},
}

// Ensure each gate holds for the correct service and finds each planted fault.
func TestGates(t *testing.T) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !test.alone {
				t.Parallel()
			}
			tr := start(t)
			if tr.server = test.server; test.plant != nil {
				tr.plant = test.plant
			}
			if err := test.gate(t.Context(), tr); err != nil {
				t.Fatal(err)
			}
			count, first := tr.violations()
			t.Logf("%s; %d violations: %q", tr.line(), count, first)
			if test.want == "" && count > 0 || test.want != "" && (count == 0 || !strings.Contains(strings.Join(first, "\n"), test.want)) {
				t.Errorf("%d violations, want %q in them: %q", count, test.want, first)
			}
		})
	}
	for _, g := range gates {
		held, caught := false, false
		for _, test := range tests {
			name, _, _ := strings.Cut(test.name, " ")
			held = held || name == g.name && test.want == ""
			caught = caught || name == g.name && test.want != ""
		}
		if !held || !caught {
			t.Errorf("%s: no test that it holds, or none that it finds a planted fault", g.name)
		}
	}
}

// Ensure every edit of a board changes its next publish, and that look distinguishes the old and the new state.
func TestBoardEdits(t *testing.T) {
	t.Parallel()
	tr := start(t)
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
			if published, wrong, err := b.look(t.Context(), false); err != nil || published || len(wrong) > 0 {
				t.Errorf("%d items, generation %d, before its publish: %v, %q: %v", size, generation, published, wrong, err)
			}
			out, err := newClient(base, b.Company).call(t.Context(), http.MethodPost, boardPath, nil)
			if err != nil || out.status != http.StatusOK {
				t.Fatalf("%d %s: %v", out.status, out.body, err)
			}
			if published, wrong, err := b.look(t.Context(), true); err != nil || !published || len(wrong) > 0 {
				t.Errorf("%d items, generation %d, after its publish: %v, %q: %v", size, generation, published, wrong, err)
			}
		}
	}
}

// Ensure Run runs the named gates and reports a gate that does not hold or cannot be run.
func TestRun(t *testing.T) {
	t.Parallel()
	fixed := func(name string, violations int, err error) gate {
		return gate{name, func(_ context.Context, t *trial) error {
			t.figure("%d of something", violations)
			for n := range violations {
				t.violate("violation %d", n)
			}
			return err
		}}
	}
	all := []gate{fixed("holds", 0, nil), fixed("fails", 25, nil), fixed("breaks", 0, errors.New("no engine"))}
	for _, test := range []struct {
		gates  string
		held   bool
		err    string
		prints string
	}{
		{"holds", true, "", "ok      holds"},
		{"holds fails", false, "", "and 5 more"},
		{"fails", false, "", "violation 3"},
		{"breaks", false, "breaks could not be run: no engine", ""},
		{"unknown", false, "the gates are holds, fails, breaks", ""},
	} {
		var out strings.Builder
		held, err := run(t.Context(), all, Options{Gates: strings.Fields(test.gates), Seed: 9, Long: true}, &out, io.Discard)
		if held != test.held || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) || !strings.Contains(out.String(), test.prints) {
			t.Errorf("%s: %v, %v\n%s", test.gates, held, err, out.String())
		}
		if err == nil && !strings.HasPrefix(out.String(), "seed 9, long true\n") {
			t.Errorf("%s: %s", test.gates, out.String())
		}
	}
	if names := fmt.Sprint(Names()); names != "[kill-engine kill-server crash-publish crash-create crash-delete push loss-key loss throttle throttle-all quota load linear]" {
		t.Error(names)
	}
}
