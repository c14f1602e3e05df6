package user

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/change"
)

// Ensure --with-record knows which operation reads the record for each type of change. The
// operation must require the same scope as changes of that type.
func TestRecordPaths(t *testing.T) {
	t.Parallel()
	if want, got := change.Type("").Values(), slices.Collect(maps.Keys(recordPaths)); len(got) != len(want) {
		t.Errorf("%d types have a path, want %d: %q", len(got), len(want), want)
	}
	for _, kind := range change.Types() {
		path, known := recordPaths[string(kind)]
		found := false
		for _, op := range functions.Operations(nil) {
			pattern := op.Path
			if i := strings.LastIndex(pattern, "{"); strings.HasSuffix(path, "{id}") && strings.HasSuffix(pattern, "}") {
				pattern = pattern[:i] + "{id}"
			}
			if op.Method == "GET" && pattern == companyPath+path {
				found = true
				if op.Scope != kind.Scope() {
					t.Errorf("%s: %s needs %s, want %s", kind, op.ID, op.Scope, kind.Scope())
				}
				if op.IsList() != recordLists[path] {
					t.Errorf("%s: %s returns a list: %t", kind, op.ID, op.IsList())
				}
			}
		}
		if !known || !found {
			t.Errorf("%s: no operation reads %q", kind, path)
		}
	}
}

// Ensure the help of the commands names every type.
func TestChangesHelp(t *testing.T) {
	t.Parallel()
	help := strings.ReplaceAll((&userCommands{&terminal.Terminal{}, &tableconn.Flags{}}).listChangesCommand().Long, "\n", " ")
	if want := "Types: " + strings.Join(change.Type("").Values(), ", ") + "."; !strings.Contains(help, want) {
		t.Errorf("the help does not contain %q", want)
	}
}
