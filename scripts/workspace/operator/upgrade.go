package operator

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/migration"
	"growthworkspace/shared/table"
	"growthworkspace/shared/trail"
)

func (o *operatorCommands) upgradeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "upgrade [--company ID]", Short: "Bring stored records up to this version", Args: terminal.RequireArgs(),
		Long: `Bring the records that an older version stored up to this version, of one company or of all.
Run it once all functions are of this version. The service works before, while and after.

It puts records into the indexes that this version added. Until an index is complete, lists
that use it read the records themselves, which takes longer and reads more.

It is safe to repeat: it continues where it stopped, and skips what is done. After a rollback to
an older version and back, run it with --again. A data folder needs no upgrade: each command
brings it up to its version.`,
		Example: `  workspace upgrade --table workspace-prod
  workspace upgrade --company co_...
  workspace upgrade --again
  workspace upgrade --check`,
	}
	companyID := cmd.Flags().String("company", "", "only this company's `id` (default: all, suspended ones too)")
	again := cmd.Flags().Bool("again", false, "check every record, also of companies that are done")
	check := cmd.Flags().Bool("check", false, "change nothing: show which indexes contain the records of all companies")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *check && (*again || *companyID != "") {
			return terminal.NewCommandUsageError(cmd, "--check cannot be combined with --company or --again")
		}
		return o.openTable(cmd, func(ctx context.Context, s *tableconn.Session) error {
			if *check {
				return o.checkUpgrade(ctx, s)
			}
			return o.upgrade(ctx, s, *companyID, *again)
		})
	}
	return cmd
}

// upgradeResult is the result of an upgrade.
type upgradeResult struct {
	Companies int   `json:"companies"` // companies that are now up to date
	Filled    int64 `json:"filled"`    // records that this run put into an index
}

// upgrade upgrades one company or all. It stops at the first company that fails. The companies that
// it has already upgraded stay upgraded.
func (o *operatorCommands) upgrade(ctx context.Context, s *tableconn.Session, companyID string, again bool) error {
	ids, err := o.companyIDs(ctx, s, companyID)
	if err != nil {
		return err
	}
	done := upgradeResult{Companies: len(ids)}
	report := func(p migration.Progress) { o.Note("%s", tableconn.FormatProgress(p)) }
	err = recordInTrail(ctx, s, companyID, trail.Upgrade, func() (d trail.Details, err error) {
		if companyID != "" {
			done.Filled, err = migration.RunCompany(ctx, s.Table, s.Migrations, companyID, again, report)
		} else {
			done.Filled, err = migration.Run(ctx, s.Table, s.Migrations, ids, again, report)
		}
		return trail.Details{Companies: done.Companies}, err
	})
	if err != nil {
		return fmt.Errorf("%w; run `%s`, which continues where this one stopped", err, o.command("upgrade"))
	}
	return o.Print(done, "companies that are up to date: %d; records put into an index: %d", done.Companies, done.Filled)
}

// upgradedIndex is one index in the output of `upgrade --check`.
type upgradedIndex struct {
	Name     string `json:"name"`
	Complete bool   `json:"complete"` // for all companies
}

func (o *operatorCommands) checkUpgrade(ctx context.Context, s *tableconn.Session) error {
	var indexes []upgradedIndex
	for _, m := range s.Migrations {
		isComplete, err := m.IsCompleteForAll(ctx, s.Table)
		if err != nil {
			return err
		}
		indexes = append(indexes, upgradedIndex{m.String(), isComplete})
	}
	return terminal.PrintList(o.Terminal, terminal.ItemList[upgradedIndex]{Items: indexes}, indexes, "no index needs an upgrade", "INDEX\tCOMPLETE", func(i upgradedIndex) []string {
		if i.Complete {
			return []string{i.Name, "yes"}
		}
		return []string{i.Name, fmt.Sprintf("no: run `%s`", o.command("upgrade"))}
	})
}

// companyIDs returns the id of the given company, or the ids of all companies.
func (o *operatorCommands) companyIDs(ctx context.Context, s *tableconn.Session, companyID string) (ids []string, err error) {
	if companyID == "" {
		return table.RegisteredCompanies(ctx, s.Table)
	}
	_, err = s.Company(ctx, companyID)
	return []string{companyID}, err
}
