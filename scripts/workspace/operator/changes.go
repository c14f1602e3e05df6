package operator

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/change"
	"growthworkspace/shared/trail"
)

func (o *operatorCommands) changesGapCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "gap [--company ID]", Short: "Tell the followers of feeds that changes are missing", Args: terminal.RequireArgs(),
		Long: `Tell everyone who follows the feed of one company, or of any, that changes are missing: after
the stream was not read for 24 hours, or after a restore of the table. It adds a change of each
type with the action unknown and the company's id as recordId. A follower then reads all records
of the type again.

With --json: {"companies"}.`,
		Example: "  workspace changes gap\n  workspace changes gap --company co_...",
	}
	companyID := cmd.Flags().String("company", "", "only this company's `id` (default: all, suspended ones too)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return o.withTable(cmd, func(ctx context.Context, s *tableconn.Session) error { return o.reportGap(ctx, s, *companyID) })
	}
	return cmd
}

// gapReport is the result of `changes gap`.
type gapReport struct {
	Companies int `json:"companies"` // companies whose followers now know of the gap
}

func (o *operatorCommands) reportGap(ctx context.Context, s *tableconn.Session, companyID string) error {
	ids, err := o.companyIDs(ctx, s, companyID)
	if err != nil {
		return err
	}
	done := gapReport{}
	err = recordInTrail(ctx, s, companyID, trail.ChangesGap, func() (trail.Details, error) {
		for _, id := range ids {
			if err := change.AppendGap(ctx, s.Table, id); err != nil {
				return trail.Details{Companies: done.Companies}, fmt.Errorf("company %s: %w; run the command again, it is safe", id, err)
			}
			done.Companies++
		}
		return trail.Details{Companies: done.Companies}, nil
	})
	if err != nil {
		return err
	}
	return o.Print(done, "companies whose followers now know of the gap: %d", done.Companies)
}
