package crash_test

import (
	"testing"

	"growthworkspace/scripts/prove/faults/crash"
	"growthworkspace/scripts/prove/faults/wire"
)

// Ensure a create that dies after any of its calls leaves nothing or the record with its remembered answer, and that the
// same request again ends with one record (decisions.md §12).
func TestCreate(t *testing.T) {
	t.Parallel()
	report, err := crash.Create(t.Context(), setting(t), crash.Options{Rounds: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if count, first := report.Violations(); count > 0 {
		t.Errorf("%d violations: %q", count, first)
	}
}

// Ensure the gate catches a service that does not write the change and the memory of its answer as one.
func TestCreateCatchesWritesApart(t *testing.T) {
	t.Parallel()
	report, err := crash.Create(t.Context(), setting(t), crash.Options{Rounds: 1, Plant: wire.Apart})
	if err != nil {
		t.Fatal(err)
	}
	count, first := report.Violations()
	if count == 0 {
		t.Fatal("nothing was found")
	}
	t.Logf("%d, such as %q", count, first[0])
}
