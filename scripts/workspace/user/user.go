// Package user implements the commands for users of the API: calling its operations, storing a key,
// connecting agents, diagnosing problems, and checking an implementation against the contract. They
// use the service over HTTP and open no table.
package user

import (
	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
)

// Commands returns the commands for users of the API.
func Commands(t *terminal.Terminal, table *tableconn.Flags) []*cobra.Command {
	u := &userCommands{t, table}
	return []*cobra.Command{u.apiCommand(), u.convertCommand(), u.pushCommand(), u.studioCommand(), u.mcpCommand(), u.loginCommand(), u.logoutCommand(), u.doctorCommand(), u.checkCommand(), u.clientCommand()}
}
