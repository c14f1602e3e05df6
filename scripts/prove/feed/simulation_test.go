package feed

import (
	"testing"
	"time"
)

// sizes are sizes that `prove feed` has measured.
var sizes = Sizes{Counter: 250, CounterShard: 110, Packet: 150, Change: 70}

// Ensure a simulation records every write once, and has the same outcome each time.
func TestSimulation(t *testing.T) {
	t.Parallel()
	for _, load := range Loads() {
		load.Length = 20 * time.Second
		first := Simulate(load, sizes, 1)
		if again := Simulate(load, sizes, 1); again != first {
			t.Errorf("%+v: %v, and again %v", load, first, again)
		}
		if first.Recorded != load.Length.Seconds()*float64(load.LoudPerS+load.QuietPerS) {
			t.Errorf("%+v: %v changes are recorded", load, first.Recorded)
		}
	}
}

// Ensure one company's 1,000 writes per second need about 300 write units per second, and delay
// another company's changes by no more than a few seconds.
func TestLoudCompany(t *testing.T) {
	t.Parallel()
	for _, shards := range []int{1, 4, 16} {
		got := Simulate(Load{Shards: shards, LoudPerS: 1000, QuietPerS: 1, Length: time.Minute}, sizes, 1)
		if got.WriteUnitsPerS > 330 || got.Quiet.P99 > 5*time.Second || got.Loud.P99 > 5*time.Second {
			t.Errorf("%d shards: %v", shards, got)
		}
	}
}
