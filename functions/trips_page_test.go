package functions_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// Ensure the page on round trips has the exceptions of TestRoundTrips, with their counts and reasons, and no others.
func TestRoundTripsPage(t *testing.T) {
	t.Parallel()
	rows := func(file, pattern string) (out []string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?m)"+pattern).FindAllSubmatch(text, -1) {
			out = append(out, string(m[1])+" "+string(m[2])+" "+string(m[3]))
		}
		slices.Sort(out)
		return out
	}
	code := rows("trips_test.go", `^\t\t"([a-z_]+)": +([0-9]+), // (.+)$`)
	page := rows("../scripts/docs/explanation/one-round-trip.md", "^\\| `([a-z_]+)` \\| ([0-9]+) \\| (.+) \\|$")
	if len(code) < 10 {
		t.Fatalf("trips_test.go has the exceptions %q", code)
	}
	for _, row := range code {
		if !slices.Contains(page, row) {
			t.Errorf("one-round-trip.md does not have %q", row)
		}
	}
	for _, row := range page {
		if !slices.Contains(code, row) {
			t.Errorf("one-round-trip.md has %q, and trips_test.go does not", row)
		}
	}
}
