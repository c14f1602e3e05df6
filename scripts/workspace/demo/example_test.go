package demo

import (
	"encoding/json"
	"testing"
	"time"

	"growthworkspace/functions"
)

// Ensure addExamples adds records of each type that has none, and no records of other types. An
// import must accept the added records, and their ids and names must be distinct.
func TestExamplesOfOtherTypes(t *testing.T) {
	t.Parallel()
	g := newGenerator(time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC))
	for _, kind := range functions.Transfers(nil) {
		if kind.Name != "brand-goal" && kind.Name != "channel" {
			g.count[kind.Name] = 1
		}
	}
	g.addExamples(functions.Transfers(nil))
	seen := map[any]bool{}
	for _, line := range g.lines {
		seen[line.Record["id"]], seen[line.Record["name"]] = true, true
		text, err := json.Marshal(line.Record)
		if err != nil {
			t.Fatal(err)
		}
		if _, problems := typesByName[line.Type].Check(text); len(problems) > 0 {
			t.Errorf("problems %v: %s", problems, text)
		}
	}
	if len(g.lines) != 2*examplesPerType || len(seen) != 4*examplesPerType || !seen["Brand goal 1"] {
		t.Errorf("%d records with %d ids and names, want %d and %d, among them Brand goal 1: %v", len(g.lines), len(seen), 2*examplesPerType, 4*examplesPerType, g.lines)
	}
}
