package quota_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"growthworkspace/scripts/fault/gate"
	"growthworkspace/scripts/fault/quota"
	"growthworkspace/scripts/fault/stand"
)

func TestMain(m *testing.M) {
	stand.BeServer()
	os.Exit(m.Run())
}

func run(t *testing.T, o quota.Options) (int, []string) {
	t.Helper()
	report, err := quota.Run(t.Context(), gate.Setting{Seed: 1, Dir: t.TempDir(), Log: t.Output()}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	return report.Violations()
}

// Ensure never more is admitted than bucket and refill allow, hardly less, and that Retry-After is true (decisions.md §9).
func TestQuota(t *testing.T) {
	if count, first := run(t, quota.Options{Quota: 60, Flood: 3 * time.Second, Waiters: 6, Rounds: 1}); count > 0 {
		t.Errorf("%d violations: %q", count, first)
	}
}

// Ensure the gate catches a service whose quota is not a condition of the write, and one whose Retry-After is a guess.
func TestCatches(t *testing.T) {
	count, first := run(t, quota.Options{Quota: 60, Flood: 3 * time.Second, Plant: stand.PlantUnconditional})
	if count == 0 || !strings.Contains(first[0], "at most") {
		t.Errorf("without conditions: %d violations: %q", count, first)
	}
	count, first = run(t, quota.Options{Quota: 60, Flood: time.Second, Waiters: 6, Rounds: 1, Plant: stand.PlantHasty})
	if count == 0 || !strings.Contains(first[len(first)-1], "refused again") {
		t.Errorf("with hasty answers: %d violations: %q", count, first)
	}
}
