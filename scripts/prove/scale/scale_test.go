package scale

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/testkit/apitest"
)

// Ensure scripts/docs/explanation/scale.md contains the tables that the command prints.
func TestPage(t *testing.T) {
	apitest.SkipIfShort(t)
	const path = "../../docs/explanation/scale.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Run(t.Context(), 1, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(string(page), line) {
			t.Errorf("%s does not have the line %q of `go run ./scripts/prove scale`", path, line)
		}
	}
}

// Ensure a simulated key admits as many requests as its quota allows, and no more. Every request
// must get a response.
func TestSimulateKey(t *testing.T) {
	t.Parallel()
	load := KeyLoad{Quota: 6000, RPS: 200, Processes: 16, Length: time.Minute}
	got := SimulateKey(load, 1)
	if again := SimulateKey(load, 1); again != got {
		t.Errorf("%+v, and again %+v", got, again)
	}
	if limit := float64(2*load.Quota) / 60; got.AdmittedPerS > limit || got.AdmittedPerS < 0.99*min(limit, load.RPS) {
		t.Errorf("%.1f a second are admitted, want up to %.1f", got.AdmittedPerS, limit)
	}
	if sum := got.AdmittedPerS + got.RefusedPerS + got.UnavailablePerS; sum < 0.95*load.RPS || sum > 1.05*load.RPS {
		t.Errorf("%.1f a second get a response, want %.0f", sum, load.RPS)
	}
	load.Length = 10 * time.Minute
	if got := SimulateKey(load, 1); got.AdmittedPerS > 1.1*float64(load.Quota)/60+0.3 || got.RefusedPerS < 80 {
		t.Errorf("in the long run %+v", got)
	}
}

// Ensure a simulated table throttles exactly the units above the limit of a partition. Only splits
// can end the throttling.
func TestSimulateTable(t *testing.T) {
	t.Parallel()
	load := TableLoad{UnitsPerS: 2000, Companies: 1, Partitions: 1, SplitAfter: time.Hour, Length: 10 * time.Minute}
	if got := SimulateTable(load, 1); got.FirstMinute < 0.499 || got.FirstMinute > 0.501 || got.LastMinute < 0.499 || got.Partitions != 1 {
		t.Errorf("without a split: %+v, want half of the units throttled", got)
	}
	load.SplitAfter = time.Minute
	if got := SimulateTable(load, 1); got.LastMinute != 0 || got.Partitions < 2 {
		t.Errorf("with splits: %+v, want nothing throttled in the end", got)
	}
}
