package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/functions/plan"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/scripts/workspace/user"
	"growthworkspace/shared/client"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
)

// versionMax is the highest version number that a board can have.
const versionMax = 9_999_999_999

// versionsMax is the number of versions of a board that are kept.
const versionsMax = 51

func (o *operatorCommands) snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "snapshot --company ID --board ID", Short: "Read a board's published content, and roll it back",
		Long: `Print a board's published content, of the live version or an earlier one, as one JSON
object: {"boardId", "version", "publishedAt", "live", "items"}. It has only the fields that
are public. The live version and the 50 before it are kept. "list" and "rollback" call the API,
with a key; the others read the table.`,
		Example: `  workspace snapshot --company co_... --board brd_...
  workspace snapshot --company co_... --board brd_... --version 3
  workspace snapshot list --board brd_...
  workspace snapshot rollback --board brd_... --version 3
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
func (v versionOption) version() *int64 {
	if !v.cmd.Flags().Changed("version") {
		return nil
	}
	return v.flag
}

func (v versionOption) check(cmd *cobra.Command) error {
	if v.version() == nil {
		return nil
	}
	return checkVersion(cmd, *v.flag)
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
	boardID := boardFlag(cmd)
	checkFlags := func(cmd *cobra.Command) error { return boardID.check(cmd, check) }
	return o.companyAction(cmd, checkFlags, func(ctx context.Context, s *tableconn.Session, companyID string, _ []string) error {
		err := do(ctx, s, companyID, boardID.id)
		var refused *fault.Error
		switch {
		case err == nil:
			return nil
		case errors.Is(err, fault.ErrNotFound):
			return fmt.Errorf("no board %q of company %s", boardID.id, companyID)
		case errors.As(err, &refused):
			return fmt.Errorf("board %s: %s", boardID.id, strings.Join(refused.Messages, "; "))
		}
		return fmt.Errorf("board %s: %w", boardID.id, err)
	})
}

// boardOption is the flag --board.
type boardOption struct{ id string }

func boardFlag(cmd *cobra.Command) *boardOption {
	b := &boardOption{}
	cmd.Flags().StringVar(&b.id, "board", "", "the board's `id`")
	return b
}

// check checks the flag, and then the command's other flags with the function others, which may be
// nil.
func (b *boardOption) check(cmd *cobra.Command, others flagCheck) error {
	if !id.Valid(plan.BoardIDPrefix, b.id) {
		return terminal.NewCommandUsageError(cmd, "name the board with --board ID, such as brd_...")
	}
	if others == nil {
		return nil
	}
	return others(cmd)
}

// boardCall makes cmd a command that calls the API on a board of the key's company. check validates
// its other flags, and may be nil.
func (o *operatorCommands) boardCall(cmd *cobra.Command, check flagCheck, do func(ctx context.Context, s user.RemoteService, boardID string) error) *cobra.Command {
	remote := user.NewRemote(o.Terminal, o.table)
	remote.Register(cmd.Flags())
	boardID := boardFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *o.table != (tableconn.Flags{Data: o.table.Data}) {
			return terminal.NewCommandUsageError(cmd, "--table and --endpoint: this command calls the API, with a key")
		}
		if err := boardID.check(cmd, check); err != nil {
			return err
		}
		s, err := remote.Service()
		if err != nil {
			return err
		}
		if err := do(cmd.Context(), s, boardID.id); err != nil {
			return s.ExplainRecord(err, "board", boardID.id)
		}
		return nil
	}
	return cmd
}

func (o *operatorCommands) snapshotListCommand() *cobra.Command {
	return o.boardCall(&cobra.Command{
		Use: "list --board ID", Short: "List the versions of a board", Args: terminal.RequireArgs(),
		Long: `List the versions of a board, the newest first: each publish that changed something, and
each rollback. Versions from before the board was imported are not stored.
The command calls list_plan_versions, with a key of the scope plan:read.
With --json: {"items": [{"version", "publishedAt", "itemCount", "restores", "live"}, ...]};
restores is the version whose content a rollback made live again.`,
		Example: "  workspace snapshot list --board brd_...",
	}, nil, func(ctx context.Context, s user.RemoteService, boardID string) error {
		var response client.Response
		if _, err := s.ListPlanVersions(ctx, client.ListPlanVersionsInput{BoardID: boardID, Limit: client.Value(versionsMax)}, client.Into(&response)); err != nil {
			return err
		}
		var versions terminal.ItemList[plan.BoardVersion]
		if err := json.Unmarshal(response.Body, &versions); err != nil {
			return fmt.Errorf("decode the response to %s: %w", response.RequestID(), err)
		}
		return terminal.PrintList(o.Terminal, versions, versions.Items, "no versions", "VERSION\tPUBLISHED\tITEMS\tSTATE", func(v plan.BoardVersion) []string {
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
		Use: "rollback --board ID --version N", Short: "Make the content of an earlier version live again", Args: terminal.RequireArgs(),
		Long: `Make the content of an earlier version live again, atomically, as the next version. The
items themselves do not change: the next preview shows how they differ from the live
content, and the next publish makes them live. Repeating a rollback changes nothing.

The command calls rollback_plan_board, with a key of the scope plan:publish. With --json: its
response. Exit code 3: other processes kept publishing the board.`,
		Example: "  workspace snapshot rollback --board brd_... --version 3",
	}
	version := cmd.Flags().Int64("version", 0, "the `number` of the version to restore")
	check := func(cmd *cobra.Command) error { return checkVersion(cmd, *version) }
	return o.boardCall(cmd, check, func(ctx context.Context, s user.RemoteService, boardID string) error {
		var response client.Response
		done, err := s.RollbackPlanBoard(ctx, client.RollbackPlanBoardInput{BoardID: boardID, Version: int(*version)}, client.Into(&response))
		if err != nil {
			return err
		}
		result := json.RawMessage(response.Body)
		if !done.Changed {
			return o.Print(result, "nothing to do: %s already has that content, in version %d", boardID, done.PublishedVersion)
		}
		return o.Print(result, "%s is live in version %d with the content of version %d, items: %d, %d added, %d updated, %d removed",
			boardID, done.PublishedVersion, *version, done.ItemCount, len(done.Added), len(done.Updated), len(done.Removed))
	})
}
