// Package operator implements the commands for operators. The commands manage companies and their
// keys, show who did what, import and export records, and read the published versions of a board.
// They open the table directly, without the API, except those that list versions and roll back to
// one.
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
		o.companyCommand(), o.keyCommand(), o.importCommand(), o.exportCommand(), o.snapshotCommand(),
		o.trailCommand(), o.upgradeCommand(),
	}
}

// ChangesCommands returns the operators' commands on feeds of changes. They are subcommands of
// `workspace changes`.
func ChangesCommands(t *terminal.Terminal, table *tableconn.Flags) []*cobra.Command {
	o := &operatorCommands{t, table}
	return []*cobra.Command{o.changesGapCommand()}
}
