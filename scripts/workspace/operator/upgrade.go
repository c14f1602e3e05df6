package operator

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"growthworkspace/functions/feedback"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
)

func (o *operatorCommands) upgradeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "upgrade [--company ID]", Short: "Bring stored records up to this version", Args: terminal.RequireArgs(),
		Long: `Bring the records that an older version stored up to this version, of one company or of all.
Run it once all functions are of this version. The service works before, while and after.

It puts reviews into the index by posted day. Until a company's index is complete, its
list with postedFrom or postedTo reads all of its reviews.

It is safe to repeat: it goes on where it stopped, and skips what is done. After a rollback to
an older version and back, run it with --again.`,
		Example: `  workspace upgrade
  workspace upgrade --company co_...
  workspace upgrade --again`,
	}
	companyID := cmd.Flags().String("company", "", "only this company's `id` (default: all, suspended ones too)")
	again := cmd.Flags().Bool("again", false, "check every record, also of companies that are done")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return o.withTable(cmd, func(ctx context.Context, s *tableconn.Session) error { return o.upgrade(ctx, s, *companyID, *again) })
	}
	return cmd
}

// upgradeResult is the result of an upgrade.
type upgradeResult struct {
	Companies int   `json:"companies"` // companies that are now up to date
	Filled    int64 `json:"filled"`    // reviews that this run put into the index
}

// upgrade upgrades one company or all. It stops at the first company that fails. Companies that it
// has upgraded before that stay upgraded.
func (o *operatorCommands) upgrade(ctx context.Context, s *tableconn.Session, companyID string, again bool) error {
	ids, err := companyIDs(ctx, s, companyID)
	if err != nil {
		return err
	}
	store, done := feedback.NewStore(s.Table.AsImport()), upgradeResult{} // an upgrade is not a change of the records
	for n, id := range ids {
		filled, err := store.BackfillPostedIndex(ctx, id, again, func(checked int64) {
			o.Note("company %d of %d, %s: checked reviews: %d", n+1, len(ids), id, checked)
		})
		done.Filled += filled
		if err != nil {
			return fmt.Errorf("company %s: %w; run the command again, it goes on where it stopped", id, err)
		}
		done.Companies++
	}
	return o.Print(done, "companies that are up to date: %d; reviews put into the index: %d", done.Companies, done.Filled)
}

// companyIDs returns the id of the given company, or the ids of all companies.
func companyIDs(ctx context.Context, s *tableconn.Session, companyID string) (ids []string, err error) {
	if companyID != "" {
		_, err := s.Company(ctx, companyID)
		return []string{companyID}, err
	}
	all, err := listAllCompanies(ctx, s)
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	return ids, err
}
