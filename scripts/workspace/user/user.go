// Package user implements the commands for users of the API: calling its operations, storing a key,
// connecting agents, diagnosing problems, and checking an implementation against the contract. They
// use the service over HTTP and open no table.
package user

import (
	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
)

// Commands returns the commands for users of the API, and those for developers of programs and of
// other implementations.
func Commands(t *terminal.Terminal, table *tableconn.Flags) (users, developers []*cobra.Command) {
	u := &userCommands{t, table}
	users = []*cobra.Command{u.apiCommand(), u.convertCommand(), u.pushCommand(), u.studioCommand(), u.mcpCommand(), u.loginCommand(), u.logoutCommand(), u.profilesCommand(), u.doctorCommand(), u.statusCommand(), u.reportCommand(), u.changesCommand()}
	return users, []*cobra.Command{u.checkCommand(), u.clientCommand()}
}
