package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// workerCommands implements the subcommands that `due` and `approved` share. They list records that
// are ready, claim one, and report the result. S is the type of the store, R that of a record, and
// C that of a record with its claim.
type workerCommands[S, R, C any] struct {
	*operatorCommands

	noun, nouns, readyWord string // "post", "posts", "due"

	openStore func(*table.Client) S
	listReady func(s S, ctx context.Context, companyID string, limit int) (table.Page[R], error)
	claim     func(s S, ctx context.Context, companyID, recordID string) (C, error)
	listStuck func(s S, ctx context.Context, companyID, claimedBefore string) ([]C, error)

	readyHeader, stuckHeader  string
	readyRow                  func(R) []string
	stuckRow                  func(C) []string
	claimedText, reportedText func(C) string // what the commands print after a claim and after a report
}

// limitedList is the JSON of a list that has at most as many items as --limit says.
type limitedList[T any] struct {
	Items   []T  `json:"items"`
	HasMore bool `json:"hasMore"`
}

// listLimitMax is the maximum value of --limit.
const listLimitMax = 1000

func (w workerCommands[S, R, C]) listCommand(cmd *cobra.Command) *cobra.Command {
	limit := cmd.Flags().Int("limit", 50, fmt.Sprintf("the most `records` of each company, 1 to %d", listLimitMax))
	check := func(cmd *cobra.Command) error {
		if *limit < 1 || *limit > listLimitMax {
			return terminal.NewCommandUsageError(cmd, "--limit: must be 1 to %d", listLimitMax)
		}
		return nil
	}
	return w.sweepCommand(cmd, check, func(ctx context.Context, s *tableconn.Session, companies []string) error {
		found := limitedList[R]{Items: []R{}}
		for _, companyID := range companies {
			page, err := w.listReady(w.openStore(s.Table), ctx, companyID, *limit)
			if err != nil {
				return fmt.Errorf("list the %s that are %s: company %s: %w", w.nouns, w.readyWord, companyID, err)
			}
			found.Items, found.HasMore = append(found.Items, page.Records...), found.HasMore || page.Next != ""
		}
		err := terminal.PrintList(w.Terminal, found, found.Items, "nothing is "+w.readyWord, w.readyHeader, w.readyRow)
		if err == nil && found.HasMore {
			w.Note("more are %s: see --limit", w.readyWord)
		}
		return err
	})
}

func (w workerCommands[S, R, C]) stuckCommand(cmd *cobra.Command) *cobra.Command {
	text := cmd.Flags().String("older", "15m", "claims that are at least this `duration` old, such as 15m, 2h or 1d")
	var older time.Duration
	check := func(cmd *cobra.Command) (err error) {
		if older, err = parseDuration(*text); err != nil {
			return terminal.NewCommandUsageError(cmd, "--older: %s", err)
		}
		return nil
	}
	return w.sweepCommand(cmd, check, func(ctx context.Context, s *tableconn.Session, companies []string) error {
		before := timestamp.Format(w.Now().Add(-older))
		found := terminal.ItemList[C]{Items: []C{}}
		for _, companyID := range companies {
			items, err := w.listStuck(w.openStore(s.Table), ctx, companyID, before)
			if err != nil {
				return fmt.Errorf("list the %s that are stuck: company %s: %w", w.nouns, companyID, err)
			}
			found.Items = append(found.Items, items...)
		}
		return terminal.PrintList(w.Terminal, found, found.Items, "nothing is stuck", w.stuckHeader, w.stuckRow)
	})
}

func (w workerCommands[S, R, C]) claimCommand(cmd *cobra.Command) *cobra.Command {
	return w.companyAction(cmd, nil, func(ctx context.Context, s *tableconn.Session, companyID string, args []string) error {
		record, err := w.claim(w.openStore(s.Table), ctx, companyID, args[0])
		if err != nil {
			return explainStoreError(err, w.noun, args[0], companyID)
		}
		return w.Print(record, "%s", w.claimedText(record))
	})
}

// noClaimText is the value of --claim for a record that was imported without a claim.
const noClaimText = "none"

// reportCommand returns a command that reports how the work on a claimed record ended. check
// validates the command's other flags, and may be nil.
func (w workerCommands[S, R, C]) reportCommand(cmd *cobra.Command, check flagCheck, report func(s S, ctx context.Context, companyID, recordID, claimID string) (C, error)) *cobra.Command {
	claim := cmd.Flags().String("claim", "", "the `id` of the current claim; none for a record that was imported without one")
	both := func(cmd *cobra.Command) error {
		if *claim != noClaimText && !id.Valid("clm", *claim) {
			return terminal.NewCommandUsageError(cmd, "--claim: must be the claimId that claim printed, or none")
		}
		if check == nil {
			return nil
		}
		return check(cmd)
	}
	return w.companyAction(cmd, both, func(ctx context.Context, s *tableconn.Session, companyID string, args []string) error {
		claimID := *claim
		if claimID == noClaimText {
			claimID = "" // to the stores, an empty id means no claim
		}
		record, err := report(w.openStore(s.Table), ctx, companyID, args[0], claimID)
		if err != nil {
			return explainStoreError(err, w.noun, args[0], companyID)
		}
		return w.Print(record, "%s", w.reportedText(record))
	})
}

// everyCompany is the value of --company that selects every company that is not suspended.
const everyCompany = "all"

// sweepCommand makes cmd a command on the records of one company or, with --company all, of every
// company.
func (o *operatorCommands) sweepCommand(cmd *cobra.Command, check flagCheck, do func(ctx context.Context, s *tableconn.Session, companies []string) error) *cobra.Command {
	companyID := cmd.Flags().String("company", "", "the company's `id`, or all for every company that is not suspended")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *companyID == "" {
			return terminal.NewCommandUsageError(cmd, "name the company with --company ID, or --company all")
		}
		if err := check(cmd); err != nil {
			return err
		}
		return o.withTable(cmd, func(ctx context.Context, s *tableconn.Session) error {
			companies, err := companiesToSweep(ctx, s, *companyID)
			if err != nil {
				return err
			}
			return do(ctx, s, companies)
		})
	}
	return cmd
}

// companiesToSweep returns the given id or, if that is "all", the ids of all companies that are not
// suspended.
func companiesToSweep(ctx context.Context, s *tableconn.Session, companyID string) (ids []string, err error) {
	if companyID != everyCompany {
		_, err := s.Company(ctx, companyID)
		return []string{companyID}, err
	}
	all, err := listAllCompanies(ctx, s)
	for _, c := range all {
		if c.SuspendedAt == nil {
			ids = append(ids, c.ID)
		}
	}
	return ids, err
}
