package kill_test

import (
	"os"
	"testing"

	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/kill"
	"growthworkspace/scripts/prove/faults/stand"
)

func TestMain(m *testing.M) {
	stand.BeServer()
	os.Exit(m.Run())
}

func run(t *testing.T, o kill.Options) (count int, first []string) {
	t.Helper()
	report, err := kill.Run(t.Context(), gate.Setting{Seed: 1, Dir: t.TempDir(), Log: t.Output()}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	return report.Violations()
}

// Ensure a publish is whole or not at all whenever the engine or the server is killed, and nothing acknowledged is lost
// (decisions.md §4: a reader sees the old snapshot or the new one, whole, whenever the process dies).
func TestKills(t *testing.T) {
	t.Parallel()
	for _, victim := range []kill.Victim{kill.Engine, kill.Server} {
		t.Run(string(victim), func(t *testing.T) {
			t.Parallel()
			if count, first := run(t, kill.Options{Victim: victim, Kills: 5, Sizes: []int{0, 1, 101}}); count > 0 {
				t.Errorf("%d violations: %q", count, first)
			}
		})
	}
}

// Ensure the gate catches a service that acknowledges what it has only in its memory.
func TestCatchesWritingBehind(t *testing.T) {
	t.Parallel()
	for _, victim := range []kill.Victim{kill.Engine, kill.Server} {
		t.Run(string(victim), func(t *testing.T) {
			t.Parallel()
			count, first := run(t, kill.Options{Victim: victim, Kills: 8, Sizes: []int{1, 101}, Plant: stand.PlantBehind})
			if count == 0 {
				t.Fatal("nothing was found")
			}
			t.Logf("%d, such as %q", count, first[0])
		})
	}
}
