package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/functions/company"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/timestamp"
)

func (o *operatorCommands) deleteCompanyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete ID --yes", Short: "Delete a company with everything that belongs to it", Args: terminal.RequireArgs("ID"),
		Long: `Delete a company with everything that belongs to it: records, keys, snapshots, findings,
remembered responses. Its keys are refused first. The output is a receipt with the number of
records by area. Export the company before, if it may be needed again.

This cannot be undone. It scans the whole table, so that it misses no record in any partition.
If it ends early, run it again: it continues where it stopped.

Backups and logs are not deleted: point-in-time recovery keeps 35 days, other backups and
exports last as long as you keep them, and log lines have the company's id until the
retention of their group ends. The trail stays, without any data of the company: see
workspace trail.

With --json: {"companyId", "erasedAt", "records": {area: number}, "total"}.`,
		Example: "  workspace export --company co_... > co.jsonl\n  workspace company delete co_... --yes",
	}
	yes := cmd.Flags().BoolP("yes", "y", false, "do not ask")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !*yes && !o.Interactive {
			return terminal.NewCommandUsageError(cmd, "without a terminal to ask at, --yes is needed")
		}
		return o.withTable(cmd, func(ctx context.Context, s *tableconn.Session) error { return o.deleteCompany(ctx, s, args[0], *yes) })
	}
	return cmd
}

// deletionReceipt is the receipt of a deleted company.
type deletionReceipt struct {
	CompanyID string         `json:"companyId"`
	ErasedAt  string         `json:"erasedAt"`
	Records   map[string]int `json:"records"` // by area
	Total     int            `json:"total"`
}

// requestTimeMax is how long an admitted request may still run after its key was suspended, with a
// margin.
const requestTimeMax = 15 * time.Second

func (o *operatorCommands) deleteCompany(ctx context.Context, s *tableconn.Session, companyID string, yes bool) error {
	profile, err := s.Company(ctx, companyID)
	if err != nil {
		return err
	}
	if !yes {
		if err := o.Confirm("Delete company %s (%s) with everything that belongs to it. This cannot be undone. Continue?", companyID, terminal.FormatText(profile.Name)); err != nil {
			return err
		}
	}
	if _, err := s.Keys().Suspend(ctx, companyID); err != nil {
		return fmt.Errorf("suspend %s: %w; run the command again, it is safe", companyID, err)
	}
	if err := o.awaitRequests(ctx, s, companyID); err != nil {
		return err
	}
	records, err := company.NewStore(s.Table).Erase(ctx, companyID, func(deleted int) { o.Note("deleted records: %d", deleted) })
	if err != nil {
		return fmt.Errorf("%w; run the command again, it continues where it stopped", err)
	}
	done := deletionReceipt{CompanyID: companyID, ErasedAt: s.Table.Now(), Records: records}
	var lines strings.Builder
	for _, area := range slices.Sorted(maps.Keys(records)) {
		fmt.Fprintf(&lines, "  %-10s %d\n", area, records[area])
		done.Total += records[area]
	}
	backupsNote := "Backups, exports and logs are yours to delete."
	if s.IsAWS() {
		backupsNote = "Point-in-time recovery can bring them back for 35 days. Other backups, exports and logs are yours to delete."
	}
	return o.Print(done, "%s is deleted; records: %d\n%s\n%s", companyID, done.Total, strings.TrimSuffix(lines.String(), "\n"), backupsNote)
}

// awaitRequests waits until every request that was admitted before the keys were suspended has
// ended. Otherwise such a request could write a record after the deletion.
func (o *operatorCommands) awaitRequests(ctx context.Context, s *tableconn.Session, companyID string) error {
	keys, err := s.Keys().List(ctx, companyID)
	if err != nil {
		return err
	}
	now := s.Table.Clock()()
	var wait time.Duration
	for _, k := range keys {
		if k.LastUsedAt == nil {
			continue
		}
		used, valid := timestamp.Parse(*k.LastUsedAt)
		if !valid {
			return fmt.Errorf("key %s: %s is not a time", k.ID, *k.LastUsedAt)
		}
		wait = max(wait, requestTimeMax-now.Sub(used))
	}
	if wait <= 0 {
		return nil
	}
	o.Note("waiting %d s for requests that are under way", int(wait.Seconds())+1)
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
