package throttle_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/throttle"
	"growthworkspace/scripts/prove/faults/wire"
)

func setting(t *testing.T) gate.Setting {
	t.Helper()
	return gate.Setting{Seed: 1, Dir: t.TempDir(), Log: t.Output()}
}

// Ensure a table that refuses a fifth of the calls is hardly noticed.
func TestSome(t *testing.T) {
	t.Parallel()
	report, err := throttle.Some(t.Context(), setting(t), throttle.Options{Requests: 400, Share: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if count, first := report.Violations(); count > 0 {
		t.Errorf("%d violations: %q", count, first)
	}
}

// hasty is a service that does not ask again: it takes each refusal for one that is for good.
func hasty(next http.RoundTripper) http.RoundTripper {
	return wire.Func(func(r *http.Request) (*http.Response, error) {
		out, err := next.RoundTrip(r)
		if err != nil || out.StatusCode != http.StatusBadRequest {
			return out, err
		}
		out.Body = io.NopCloser(strings.NewReader(`{"__type": "ValidationException"}`))
		out.ContentLength = -1
		return out, nil
	})
}

// greedy is a service that asks twice for everything.
func greedy(next http.RoundTripper) http.RoundTripper {
	return wire.Func(func(r *http.Request) (*http.Response, error) {
		if wire.Attempt(r) == 1 {
			return nil, wire.ErrLost
		}
		return next.RoundTrip(r)
	})
}

// Ensure the gate catches a service that gives up, and one that asks too often.
func TestSomeCatches(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(http.RoundTripper) http.RoundTripper{"hasty": hasty, "greedy": greedy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := throttle.Some(t.Context(), setting(t), throttle.Options{Requests: 200, Share: 0.2, Plant: plant})
			if err != nil {
				t.Fatal(err)
			}
			if count, first := report.Violations(); count == 0 {
				t.Errorf("nothing was found: %s", report)
			} else {
				t.Logf("%q", first)
			}
		})
	}
}

// Ensure the caller of a table that refuses everything is told so, in the envelope (spec.md, Errors). Whether that is in
// time is for the gate to say, which is not run beside everything else.
func TestAll(t *testing.T) {
	t.Parallel()
	report, err := throttle.All(t.Context(), setting(t), throttle.Options{Deadline: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if count, first := report.Violations(); count > 0 {
		t.Errorf("%d violations: %q", count, first)
	}
}

// Ensure the gate catches answers that come too late.
func TestAllCatchesSlowness(t *testing.T) {
	t.Parallel()
	report, err := throttle.All(t.Context(), setting(t), throttle.Options{Deadline: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if count, _ := report.Violations(); count == 0 {
		t.Errorf("nothing was found: %s", report)
	}
}
