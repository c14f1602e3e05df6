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

func (o *operatorCommands) enableChangesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "enable [--company ID]", Short: "Begin the feed of changes of companies that have none", Args: terminal.RequireArgs(),
		Long: `Begin the feed of changes of one company or of all. New companies have one. Companies that a
version before the feed created have none, and their changes are dropped, until this command has
run once. It is safe to repeat.

With --json: {"companies", "begun"}.`,
		Example: "  workspace changes enable\n  workspace changes enable --company co_...",
	}
	companyID := cmd.Flags().String("company", "", "only this company's `id` (default: all, suspended ones too)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return o.withTable(cmd, func(ctx context.Context, s *tableconn.Session) error { return o.enableChanges(ctx, s, *companyID) })
	}
	return cmd
}

// enabledFeeds is the result of `changes enable`.
type enabledFeeds struct {
	Companies int `json:"companies"` // companies that now have a feed
	Begun     int `json:"begun"`     // feeds that this run has begun
}

func (o *operatorCommands) enableChanges(ctx context.Context, s *tableconn.Session, companyID string) error {
	ids, err := o.companyIDs(ctx, s, companyID)
	if err != nil {
		return err
	}
	done := enabledFeeds{}
	err = recordInTrail(ctx, s, companyID, trail.ChangesEnable, func() (trail.Details, error) {
		for _, id := range ids {
			created, err := change.EnsureCounter(ctx, s.Table, id)
			if err != nil {
				return trail.Details{Companies: done.Companies}, fmt.Errorf("company %s: %w; run the command again, it is safe", id, err)
			}
			if done.Companies++; created {
				done.Begun++
			}
		}
		return trail.Details{Companies: done.Companies}, nil
	})
	if err != nil {
		return err
	}
	return o.Print(done, "companies with a feed of changes: %d; begun now: %d", done.Companies, done.Begun)
}

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
			_, err := change.EnsureCounter(ctx, s.Table, id)
			if err == nil {
				err = change.AppendGap(ctx, s.Table, id)
			}
			if err != nil {
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
