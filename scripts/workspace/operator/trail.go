package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/scripts/workspace/user"
	"growthworkspace/shared/id"
	"growthworkspace/shared/timestamp"
	"growthworkspace/shared/trail"
)

func (o *operatorCommands) trailCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "trail [--company ID]", Short: "Show who changed companies and keys, and when", Args: terminal.RequireArgs(),
		Long: `Show the operator's trail, the oldest entry first: who created, suspended, resumed and deleted
companies, issued, rotated and revoked keys, changed quotas, imported records, rolled back
snapshots and upgraded. An entry has ids, scopes and counts, and never a secret or any text.

With --company, it shows what was done to this company, also by keys over the API, and also
after the company was deleted. Without, what operators did to all companies.

An act of many writes has an entry when it began and another when it ended or failed. If the
second is missing, it is still running or was killed.

With --json it prints one JSON object per line: {"id", "at", "by", "act", "companyId", "phase",
"beganId", "details"}.`,
		Example: `  workspace trail
  workspace trail --company co_... --since 7d
  workspace trail --since 2026-11-01 --json --table workspace-prod`,
	}
	companyID := cmd.Flags().String("company", "", "only what was done to the company with this `id`")
	text := cmd.Flags().String("since", "", "entries since this `time`: 7d, 12h, 2026-08-11 or 2026-08-11T09:30:00Z (default: all)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		since := ""
		if *text != "" {
			at, err := user.SinceTime(*text, o.Now())
			if err != nil {
				return terminal.NewCommandUsageError(cmd, "--since: %s", err)
			}
			since = timestamp.Format(at)
		}
		if *companyID != "" && !id.Valid(id.CompanyPrefix, *companyID) {
			return terminal.NewCommandUsageError(cmd, "--company: must be the id of a company, such as co_...")
		}
		return o.openTable(cmd, func(ctx context.Context, s *tableconn.Session) error { return o.printTrail(ctx, s, *companyID, since) })
	}
	return cmd
}

// trailRows is the number of entries that are aligned and printed at a time.
const trailRows = 200

// printTrail prints entries as it reads them, so that it can print a trail of any length.
func (o *operatorCommands) printTrail(ctx context.Context, s *tableconn.Session, companyID, since string) error {
	const header = "TIME\tBY\tACT\tCOMPANY\tDETAILS"
	rows, printed := []string{header}, false
	flush := func() error {
		text := terminal.AlignColumns(rows)
		rows, printed = rows[:0], true
		return o.Write(text)
	}
	err := trail.List(ctx, s.Table, companyID, since, func(e trail.Entry) error {
		if o.JSON {
			return terminal.PrintJSON(o.Out, e)
		}
		row, err := trailRow(e)
		if err != nil {
			return err
		}
		if rows = append(rows, row); len(rows) < trailRows {
			return nil
		}
		return flush()
	})
	switch {
	case err != nil || o.JSON:
		return err
	case !printed && len(rows) == 1:
		o.Note("no entries")
		return nil
	}
	return flush()
}

func trailRow(e trail.Entry) (string, error) {
	act := string(e.Act)
	if e.Phase != nil {
		act += " " + string(*e.Phase)
	}
	details := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(e.Details))
	decoder.UseNumber()
	if err := decoder.Decode(&details); err != nil {
		return "", fmt.Errorf("entry %s: %w", e.ID, err)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(details)) {
		parts = append(parts, name+"="+detailText(details[name]))
	}
	return strings.Join([]string{e.At, terminal.EscapeControls(e.By), act, terminal.FormatText(e.CompanyID), strings.Join(parts, " ")}, "\t"), nil
}

func detailText(value any) string {
	var parts []string
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			parts = append(parts, fmt.Sprint(element))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, fmt.Sprintf("%s:%v", name, v[name]))
		}
	default:
		return fmt.Sprint(value)
	}
	return strings.Join(parts, ",")
}
