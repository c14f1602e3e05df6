package loss_test

import (
	"net/http"
	"strings"
	"testing"

	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/loss"
	"growthworkspace/scripts/prove/faults/wire"
)

func setting(t *testing.T) gate.Setting {
	t.Helper()
	return gate.Setting{Seed: 1, Dir: t.TempDir(), Log: t.Output()}
}

func keyed(t *testing.T, o loss.Options) (int, []string) {
	t.Helper()
	report, err := loss.Keyed(t.Context(), setting(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	return report.Violations()
}

func plain(t *testing.T, o loss.Options) (int, []string) {
	t.Helper()
	report, err := loss.Plain(t.Context(), setting(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	return report.Violations()
}

// Ensure a create with an Idempotency-Key is done once, however often it has to be sent (decisions.md §12).
func TestKeyed(t *testing.T) {
	t.Parallel()
	if count, first := keyed(t, loss.Options{Requests: 100}); count > 0 {
		t.Errorf("%d violations: %q", count, first)
	}
}

// Ensure the gate catches a repetition that is done again: here, because the client forgets its key.
func TestKeyedCatchesDoubles(t *testing.T) {
	t.Parallel()
	count, first := keyed(t, loss.Options{Requests: 100, Keyless: true})
	if count == 0 || !strings.Contains(first[0], "times") {
		t.Fatalf("%d violations: %q", count, first)
	}
}

// Ensure "500 is safe to retry" (spec.md, Errors) begins with no 500 for what was done (design.md §4, writeId).
func TestPlain(t *testing.T) {
	t.Parallel()
	if count, first := plain(t, loss.Options{Requests: 100}); count > 0 {
		t.Errorf("%d violations: %q", count, first)
	}
}

// Ensure the gate catches a service that does not recognise its own repetitions, or gives up too soon.
func TestPlainCatches(t *testing.T) {
	t.Parallel()
	impatient := func(next http.RoundTripper) http.RoundTripper {
		return &wire.Lose{Next: next, Choose: func(call string, attempt int) bool { return call == "PutItem" }}
	}
	for name, plant := range map[string]func(http.RoundTripper) http.RoundTripper{"forgetful": wire.Forgetful, "impatient": impatient} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			count, first := plain(t, loss.Options{Requests: 50, Plant: plant})
			if count == 0 {
				t.Fatal("nothing was found")
			}
			t.Logf("%d, such as %q", count, first[0])
		})
	}
}
