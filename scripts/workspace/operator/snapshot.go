package operator

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"growthworkspace/functions/plan"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/id"
)

// versionMax is the highest version number that a board can have.
const versionMax = 9_999_999_999

func (o *operatorCommands) snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "snapshot --company ID --board ID", Short: "Read a board's published content, and roll it back",
		Long: `Print a board's published content, of the live version or an earlier one, as one JSON
object: {"boardId", "version", "publishedAt", "live", "items"}. It has only the fields that
are public. The live version and the 50 before it are kept.`,
		Example: `  workspace snapshot --company co_... --board brd_...
  workspace snapshot --company co_... --board brd_... --version 3
  workspace snapshot list --company co_... --board brd_...
  workspace snapshot rollback --company co_... --board brd_... --version 3
  workspace snapshot render --company co_... --board brd_... --html roadmap.html`,
		Args: terminal.RequireCommand,
	}
	wanted := versionFlag(cmd)
	o.boardAction(cmd, wanted.check, func(ctx context.Context, s *tableconn.Session, companyID, boardID string) error {
		snapshot, err := plan.NewStore(s.Table).Snapshot(ctx, companyID, boardID, wanted.version())
		if err != nil {
			return err
		}
		return terminal.PrintJSON(o.Out, snapshot)
	})
	cmd.AddCommand(o.snapshotListCommand(), o.snapshotRollbackCommand(), o.snapshotRenderCommand())
	return cmd
}

// versionOption is the flag --version of a command for which the version is optional.
type versionOption struct {
	cmd  *cobra.Command
	flag *int64
}

func versionFlag(cmd *cobra.Command) versionOption {
	return versionOption{cmd, cmd.Flags().Int64("version", 0, "the `number` of the version (default: the one that is live)")}
}

// version returns the version, or nil if the flag was not given.
func (w versionOption) version() *int64 {
	if !w.cmd.Flags().Changed("version") {
		return nil
	}
	return w.flag
}

func (w versionOption) check(cmd *cobra.Command) error {
	if w.version() == nil {
		return nil
	}
	return checkVersion(cmd, *w.flag)
}

func checkVersion(cmd *cobra.Command, version int64) error {
	if version < 1 || version > versionMax {
		return terminal.NewCommandUsageError(cmd, "--version: must be 1 to %d", versionMax)
	}
	return nil
}

// boardAction makes cmd a command on a board of a company. check validates its other flags, and may
// be nil.
func (o *operatorCommands) boardAction(cmd *cobra.Command, check flagCheck, do func(ctx context.Context, s *tableconn.Session, companyID, boardID string) error) *cobra.Command {
	boardID := cmd.Flags().String("board", "", "the board's `id`")
	checkFlags := func(cmd *cobra.Command) error {
		if !id.Valid(plan.BoardIDPrefix, *boardID) {
			return terminal.NewCommandUsageError(cmd, "name the board with --board ID, such as brd_...")
		}
		if check == nil {
			return nil
		}
		return check(cmd)
	}
	return o.companyAction(cmd, checkFlags, func(ctx context.Context, s *tableconn.Session, companyID string, _ []string) error {
		return explainStoreError(do(ctx, s, companyID, *boardID), "board", *boardID, companyID)
	})
}

func (o *operatorCommands) snapshotListCommand() *cobra.Command {
	return o.boardAction(&cobra.Command{
		Use: "list --company ID --board ID", Short: "List the versions of a board", Args: terminal.RequireArgs(),
		Long: `List the versions of a board, the newest first: each publish that changed something, and
each rollback. Versions from before the board was imported are not stored.
With --json: {"items": [{"version", "publishedAt", "itemCount", "restores", "live"}, ...]};
restores is the version whose content a rollback made live again.`,
		Example: "  workspace snapshot list --company co_... --board brd_...",
	}, nil, func(ctx context.Context, s *tableconn.Session, companyID, boardID string) error {
		versions, err := plan.NewStore(s.Table).Versions(ctx, companyID, boardID)
		if err != nil {
			return err
		}
		return terminal.PrintList(o.Terminal, terminal.ItemList[plan.Version]{Items: versions}, versions,
			"no versions", "VERSION\tPUBLISHED\tITEMS\tSTATE", func(v plan.Version) []string {
				state := ""
				if v.Restores != nil {
					state = fmt.Sprintf("content of version %d", *v.Restores)
				}
				if v.Live {
					state = "live  " + state
				}
				return []string{fmt.Sprintf("%d", v.Version), v.PublishedAt, fmt.Sprintf("%d", v.ItemCount), state}
			})
	})
}

func (o *operatorCommands) snapshotRollbackCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rollback --company ID --board ID --version N", Short: "Make the content of an earlier version live again", Args: terminal.RequireArgs(),
		Long: `Make the content of an earlier version live again, atomically, as the next version. The
items themselves do not change: the next preview shows how they differ from the live
content, and the next publish makes them live. Repeating a rollback changes nothing.

With --json: the same result as a publish in the API.
Exit code 3: other processes kept publishing the board.`,
		Example: "  workspace snapshot rollback --company co_... --board brd_... --version 3",
	}
	version := cmd.Flags().Int64("version", 0, "the `number` of the version to restore")
	check := func(cmd *cobra.Command) error { return checkVersion(cmd, *version) }
	return o.boardAction(cmd, check, func(ctx context.Context, s *tableconn.Session, companyID, boardID string) error {
		done, err := plan.NewStore(s.Table).Rollback(ctx, companyID, boardID, *version)
		if err != nil {
			return err
		}
		if !done.Changed {
			return o.Print(done, "nothing to do: %s already has that content, in version %d", boardID, done.PublishedVersion)
		}
		return o.Print(done, "%s is live in version %d with the content of version %d, items: %d, %d added, %d updated, %d removed",
			boardID, done.PublishedVersion, *version, done.ItemCount, len(done.Added), len(done.Updated), len(done.Removed))
	})
}
