package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"growthworkspace/shared/schema"
)

// Ensure zonesFile lists every time zone of the installed Go. If this fails after a Go upgrade, run
// `go run ./scripts/gen -zones`.
func TestZones(t *testing.T) {
	t.Parallel()
	names, err := installedZones()
	if err != nil || len(names) < 590 || !slices.Contains(names, "Europe/Kyiv") {
		t.Fatalf("%d zones, want 590 at least, with Europe/Kyiv: %v", len(names), err)
	}
	for _, name := range names {
		if wrong := schema.CheckFormat("timezone", name); wrong != "" {
			t.Errorf("%s: %s; run go run ./scripts/gen -zones", name, wrong)
		}
	}
	file := filepath.Join(t.TempDir(), "zones.txt")
	if err := refreshZones(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if mark, rest, _ := strings.Cut(string(text), "\n"); !strings.HasPrefix(mark, "# Code generated ") || !slices.Equal(strings.Fields(rest), names) {
		t.Errorf("the written file has the mark %q and %d names, want %d", mark, strings.Count(rest, "\n"), len(names))
	}
}
