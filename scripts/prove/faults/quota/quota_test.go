package quota_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/quota"
	"growthworkspace/scripts/prove/faults/stand"
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

// Ensure never more is admitted than bucket and refill allow, and that Retry-After is true (decisions.md §9). How much less
// is for the gate to say: beside other tests a machine may not ask often enough.
func TestQuota(t *testing.T) {
	if count, first := run(t, quota.Options{Quota: 60, Flood: 3 * time.Second, Under: 0.9, Waiters: 6, Rounds: 1}); count > 0 {
		t.Errorf("%d violations: %q", count, first)
	}
}

// Ensure the gate catches a service whose quota is not a condition of the write, one that refuses too much, and one whose
// Retry-After is a guess.
func TestCatches(t *testing.T) {
	for _, test := range []struct {
		name string
		o    quota.Options
		want string
	}{
		{"without conditions", quota.Options{Quota: 60, Flood: 3 * time.Second, Under: 0.9, Plant: stand.PlantUnconditional}, "at most"},
		{"stingy", quota.Options{Quota: 60, Flood: time.Second, Under: 0.02, Plant: stand.PlantStingy}, "too few"},
		{"hasty", quota.Options{Quota: 60, Flood: time.Second, Under: 0.9, Waiters: 6, Rounds: 1, Plant: stand.PlantHasty}, "refused again"},
	} {
		count, first := run(t, test.o)
		if count == 0 || !strings.Contains(strings.Join(first, "\n"), test.want) {
			t.Errorf("%s: %d violations: %q", test.name, count, first)
		}
	}
}
