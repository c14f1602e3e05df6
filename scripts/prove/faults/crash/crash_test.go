package crash_test

import (
	"testing"

	"growthworkspace/scripts/prove/faults/crash"
	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/wire"
)

func setting(t *testing.T) gate.Setting {
	t.Helper()
	return gate.Setting{Seed: 1, Dir: t.TempDir(), Log: t.Output()}
}

// Ensure a publish that dies after any of its calls leaves the old state or the new one (decisions.md §4).
func TestPublish(t *testing.T) {
	t.Parallel()
	report, err := crash.Publish(t.Context(), setting(t), crash.Options{Sizes: []int{0, 3}, Rounds: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if count, first := report.Violations(); count > 0 {
		t.Errorf("%d violations: %q", count, first)
	}
}

// Ensure the gate catches a service whose transactions are not all or nothing.
func TestPublishCatchesWritesApart(t *testing.T) {
	t.Parallel()
	report, err := crash.Publish(t.Context(), setting(t), crash.Options{Sizes: []int{3}, Rounds: 1, Plant: wire.Apart})
	if err != nil {
		t.Fatal(err)
	}
	count, first := report.Violations()
	if count == 0 {
		t.Fatal("nothing was found")
	}
	t.Logf("%d, such as %q", count, first[0])
}
