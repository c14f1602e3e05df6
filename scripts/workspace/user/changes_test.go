package user

import (
	"strings"
	"testing"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/change"
)

// Ensure the help of the commands names every type.
func TestChangesHelp(t *testing.T) {
	t.Parallel()
	help := strings.ReplaceAll((&userCommands{&terminal.Terminal{}, &tableconn.Flags{}}).listChangesCommand().Long, "\n", " ")
	if want := "Types: " + strings.Join(change.Type("").Values(), ", ") + "."; !strings.Contains(help, want) {
		t.Errorf("the help does not contain %q", want)
	}
}
