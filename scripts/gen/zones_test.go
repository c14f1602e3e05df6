package main

import (
	"go/format"
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
	file := filepath.Join(t.TempDir(), "zones.go")
	if err := refreshZones(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if formatted, err := format.Source(text); err != nil || string(formatted) != string(text) || strings.Count(string(text), "\n") < len(names) {
		t.Error(err, "the written file is not formatted")
	}
}
