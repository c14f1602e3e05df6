package user

import (
	"path/filepath"
	"slices"
	"testing"

	"growthworkspace/scripts/workspace/tableconn"
)

// Ensure the bridge finds the data folder, no matter in which folder the client starts it.
func TestBridgeArguments(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	i := &installation{
		userCommands: &userCommands{table: &tableconn.Flags{Data: "demo"}},
		userKey:      credential{BaseURL: defaultBaseURL, source: demoKeySource}, areas: "feedback",
	}
	got, err := i.arguments()
	want := []string{"mcp", "--base-url", defaultBaseURL, "--data", filepath.Join(folder, "demo"), "--areas", "feedback"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
