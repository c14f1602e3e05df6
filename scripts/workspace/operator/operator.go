// Package operator implements the commands for operators. The commands manage companies and their
// keys, show who did what, import and export records, dispatch posts and replies, and read or roll
// back the published versions of a board. They open the table directly, without the API. The
// commands that dispatch posts and replies can use the API instead if there is a key.
package operator

import (
	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
)

// Commands returns the commands for operators.
func Commands(t *terminal.Terminal, table *tableconn.Flags) []*cobra.Command {
	o := &operatorCommands{t, table}
	return []*cobra.Command{
		o.companyCommand(), o.keyCommand(), o.importCommand(), o.exportCommand(), o.dueCommand(), o.approvedCommand(), o.snapshotCommand(),
		o.trailCommand(), o.upgradeCommand(),
	}
}

// ChangesCommands returns the operators' commands on feeds of changes. They are subcommands of
// `workspace changes`.
func ChangesCommands(t *terminal.Terminal, table *tableconn.Flags) []*cobra.Command {
	o := &operatorCommands{t, table}
	return []*cobra.Command{o.changesGapCommand()}
}
