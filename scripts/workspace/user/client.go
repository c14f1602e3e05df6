package user

import (
	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/goclient"
	"growthworkspace/scripts/workspace/terminal"
)

func (u *userCommands) clientCommand() *cobra.Command {
	return terminal.AddCommands(&cobra.Command{Use: "client", Short: "Write a client of the API into your program"}, u.goClientCommand())
}

func (u *userCommands) goClientCommand() *cobra.Command {
	var folder, module string
	cmd := &cobra.Command{
		Use: "go --out DIR [--module PATH]", Short: "Write the Go client as a package of your module", Args: terminal.RequireArgs(),
		Long: `Write the Go client into a folder of your module. It imports only the standard library,
so your go.mod does not change. Run the command again after an upgrade: it replaces the
files that it wrote, and no others.

With --module it writes a module of its own, which you can publish.`,
		Example: "  workspace client go --out internal/workspace\n  workspace client go --out ../workspace-client --module example.com/workspace-client",
	}
	cmd.Flags().StringVar(&folder, "out", "", "the `folder`; it may be missing")
	cmd.Flags().StringVar(&module, "module", "", "write a module of this `path`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if folder == "" {
			return terminal.NewCommandUsageError(cmd, "--out is required")
		}
		written, err := goclient.Write(folder, module)
		if err != nil {
			return err
		}
		return u.Print(written, "%d files in %s, for version %s of the API\n\n  import client %q", written.Files, written.Folder, written.Version, written.ImportPath)
	}
	return cmd
}
