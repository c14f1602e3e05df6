package linear_test

import (
	"net/http"
	"testing"

	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/linear"
	"growthworkspace/scripts/prove/faults/wire"
)

func run(t *testing.T, plant func(http.RoundTripper) http.RoundTripper) (int, []string) {
	t.Helper()
	report, err := linear.Run(t.Context(), gate.Setting{Seed: 1, Dir: t.TempDir(), Log: t.Output()}, linear.Options{Records: 2, Requests: 8, Plant: plant})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	return report.Violations()
}

// Ensure two racing updates never both win on a state that both read (decisions.md §12), whatever becomes of the answers
// of the table.
func TestLinear(t *testing.T) {
	t.Parallel()
	if count, first := run(t, nil); count > 0 {
		t.Errorf("%d violations: %q", count, first)
	}
}

// Ensure the gate catches a service whose writes have lost their conditions.
func TestCatchesUnconditionalWrites(t *testing.T) {
	t.Parallel()
	if count, _ := run(t, wire.Unconditional); count == 0 {
		t.Error("nothing was found")
	}
}
