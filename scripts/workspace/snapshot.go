package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/id"
)

// versionMax is the greatest version that a board can have.
const versionMax = 9_999_999_999

func (a *app) snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "snapshot --company ID --board ID", Short: "Read what visitors see of a board, and roll it back",
		Long: `Print what visitors see of a board, in the live version or an earlier one, as one JSON
object: {"boardId", "version", "publishedAt", "live", "items"}. It is public content only.
Every version is kept.`,
		Example: `  workspace snapshot --company co_... --board brd_...
  workspace snapshot --company co_... --board brd_... --version 3
  workspace snapshot list --company co_... --board brd_...
  workspace snapshot rollback --company co_... --board brd_... --version 3`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			return nil
		},
	}
	version := cmd.Flags().Int64("version", 0, "the `number` of the version (default: the one that is live)")
	check := func(cmd *cobra.Command) error {
		if !cmd.Flags().Changed("version") {
			return nil
		}
		return checkVersion(cmd, *version)
	}
	a.boardAction(cmd, check, func(ctx context.Context, s *session, companyID, boardID string) error {
		var wanted *float64
		if cmd.Flags().Changed("version") {
			wanted = new(float64(*version))
		}
		shown, err := plan.NewStore(s.table).Snapshot(ctx, companyID, boardID, wanted)
		if err != nil {
			return refusedMove(err, "board", boardID, companyID)
		}
		return a.printJSON(a.out, shown)
	})
	cmd.AddCommand(a.snapshotListCommand(), a.snapshotRollbackCommand())
	return cmd
}

func checkVersion(cmd *cobra.Command, version int64) error {
	if version < 1 || version > versionMax {
		return misuse(cmd, "--version: must be 1 to %d", versionMax)
	}
	return nil
}

// boardAction makes a command on a board of a company. check looks at its other flags.
func (a *app) boardAction(cmd *cobra.Command, check func(*cobra.Command) error, do func(ctx context.Context, s *session, companyID, boardID string) error) *cobra.Command {
	boardID := cmd.Flags().String("board", "", "the board's `id`")
	a.companyAction(cmd, func(ctx context.Context, s *session, companyID string, _ []string) error {
		return do(ctx, s, companyID, *boardID)
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if !id.Valid(id.Board, *boardID) {
			return misuse(cmd, "name the board with --board ID, such as brd_...")
		}
		return check(cmd)
	}
	return cmd
}

func (a *app) snapshotListCommand() *cobra.Command {
	return a.boardAction(&cobra.Command{
		Use: "list --company ID --board ID", Short: "List the versions of a board", Args: takes(),
		Long: `List the versions of a board, the newest first: each publish that changed something, and
each rollback. What was published before the board was imported is not known here.
With --json: {"items": [{"version", "publishedAt", "itemCount", "restores", "live"}, ...]};
restores is the version whose content a rollback made live again.`,
		Example: "  workspace snapshot list --company co_... --board brd_...",
	}, noOtherFlags, func(ctx context.Context, s *session, companyID, boardID string) error {
		versions, err := plan.NewStore(s.table).Versions(ctx, companyID, boardID)
		if err != nil {
			return refusedMove(err, "board", boardID, companyID)
		}
		if a.json {
			return a.printJSON(a.out, list[plan.Version]{versions})
		}
		w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "VERSION\tPUBLISHED\tITEMS\tSTATE")
		for _, v := range versions {
			state := ""
			if v.Restores != nil {
				state = fmt.Sprintf("content of version %.0f", *v.Restores)
			}
			if v.Live {
				state = "live  " + state
			}
			fmt.Fprintf(w, "%.0f\t%s\t%.0f\t%s\n", v.Version, v.PublishedAt, v.ItemCount, state)
		}
		return w.Flush()
	})
}

func (a *app) snapshotRollbackCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rollback --company ID --board ID --version N", Short: "Make the content of an earlier version live again", Args: takes(),
		Long: `Make the content of an earlier version live again, all at once, as the next version. The
items stay as they are edited: the next preview shows how they differ from what is live,
and the next publish makes them live again. To repeat a rollback changes nothing.

With --json: the result of the publish, as the API has it.
Exit code 3: others kept publishing the board.`,
		Example: "  workspace snapshot rollback --company co_... --board brd_... --version 3",
	}
	version := cmd.Flags().Int64("version", 0, "the `number` of the version whose content is wanted")
	check := func(cmd *cobra.Command) error { return checkVersion(cmd, *version) }
	return a.boardAction(cmd, check, func(ctx context.Context, s *session, companyID, boardID string) error {
		done, err := plan.NewStore(s.table).Rollback(ctx, companyID, boardID, float64(*version))
		if err != nil {
			return refusedMove(err, "board", boardID, companyID)
		}
		if !done.Changed {
			return a.print(done, "nothing to do: %s shows that content, in version %.0f", boardID, done.PublishedVersion)
		}
		return a.print(done, "%s is live in version %.0f with the content of version %d, %.0f items: %d added, %d updated, %d removed",
			boardID, done.PublishedVersion, *version, done.ItemCount, len(done.Added), len(done.Updated), len(done.Removed))
	})
}
