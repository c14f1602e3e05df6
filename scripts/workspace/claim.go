package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/functions/company"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/timestamp"
)

// What `due` and `approved` share: listing over companies, claims, and what a refused move is.

// stateError says that a record's state refuses what was asked for, and that nothing changed: exit code 3, so that a
// script can tell a race that it lost from a fault.
type stateError struct{ text string }

func (e *stateError) Error() string { return e.text }

// refusedMove says which record an error of a store is of.
func refusedMove(err error, what, recordID, companyID string) error {
	var refused *fault.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &refused):
		return fmt.Errorf("%s %s: %w", what, recordID, err)
	case errors.Is(err, fault.ErrNotFound):
		return fmt.Errorf("no %s %q of company %s", what, recordID, companyID)
	case refused.Code == fault.Conflict:
		return &stateError{fmt.Sprintf("%s %s: %s", what, recordID, strings.Join(refused.Messages, "; "))}
	}
	return fmt.Errorf("%s %s: %s", what, recordID, strings.Join(refused.Messages, "; "))
}

const (
	everyCompany = "all"
	noClaim      = "none"
	listedMax    = 1000
)

// sweepCommand makes a command that lists records of one company or of all.
func (a *app) sweepCommand(cmd *cobra.Command, check func(*cobra.Command) error, do func(ctx context.Context, s *session, companies []string) error) *cobra.Command {
	companyID := cmd.Flags().String("company", "", "the company's `id`, or all for every company that is not suspended")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *companyID == "" {
			return misuse(cmd, "name the company with --company ID, or --company all")
		}
		if err := check(cmd); err != nil {
			return err
		}
		return a.with(cmd, func(ctx context.Context, s *session) error {
			companies, err := s.companies(ctx, *companyID)
			if err != nil {
				return err
			}
			return do(ctx, s, companies)
		})
	}
	return cmd
}

// companies returns the id of one company, or of all that are not suspended: for those nothing should go out. Finding
// them reads the whole table, as `company list` does.
func (s *session) companies(ctx context.Context, companyID string) ([]string, error) {
	if companyID != everyCompany {
		_, err := s.company(ctx, companyID)
		return []string{companyID}, err
	}
	all, err := company.NewStore(s.table).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the companies: %w", err)
	}
	var ids []string
	for _, c := range all {
		at, err := s.keys().SuspendedAt(ctx, c.ID)
		if err != nil {
			return nil, fmt.Errorf("company %s: %w", c.ID, err)
		}
		if at == nil {
			ids = append(ids, c.ID)
		}
	}
	return ids, nil
}

// listing is a list that may be longer than it was asked for.
type listing[T any] struct {
	Items   []T  `json:"items"`
	HasMore bool `json:"hasMore"`
}

// gather lists the records of several companies, at most limit of each.
func gather[T any](ctx context.Context, companies []string, limit int, of func(ctx context.Context, companyID, after string, limit int) ([]T, string, error)) (listing[T], error) {
	out := listing[T]{Items: []T{}}
	for _, companyID := range companies {
		items, next, err := of(ctx, companyID, "", limit)
		if err != nil {
			return out, fmt.Errorf("company %s: %w", companyID, err)
		}
		out.Items = append(out.Items, items...)
		out.HasMore = out.HasMore || next != ""
	}
	return out, nil
}

// gatherStuck lists the records of several companies whose claim is older than a span.
func gatherStuck[T any](ctx context.Context, s *session, companies []string, older time.Duration, of func(ctx context.Context, companyID, claimedBefore string) ([]T, error)) (list[T], error) {
	before := timestamp.Format(s.table.Clock()().Add(-older))
	out := list[T]{Items: []T{}}
	for _, companyID := range companies {
		items, err := of(ctx, companyID, before)
		if err != nil {
			return out, fmt.Errorf("company %s: %w", companyID, err)
		}
		out.Items = append(out.Items, items...)
	}
	return out, nil
}

// limitFlag is how many records of each company a list has.
func limitFlag(cmd *cobra.Command) (check func(*cobra.Command) error, limit *int) {
	limit = cmd.Flags().Int("limit", 50, fmt.Sprintf("how many `records` of each company at most, 1 to %d", listedMax))
	return func(cmd *cobra.Command) error {
		if *limit < 1 || *limit > listedMax {
			return misuse(cmd, "--limit: must be 1 to %d", listedMax)
		}
		return nil
	}, limit
}

// olderFlag is how long ago a claim was made, at least, to count as stuck.
func olderFlag(cmd *cobra.Command) (check func(*cobra.Command) error, older *time.Duration) {
	text := cmd.Flags().String("older", "15m", "claims made this `long` ago or longer, such as 15m, 2h or 1d")
	older = new(time.Duration)
	return func(cmd *cobra.Command) (err error) {
		if *older, err = parseSpan(*text); err != nil {
			return misuse(cmd, "--older: %s", err)
		}
		return nil
	}, older
}

func noOtherFlags(*cobra.Command) error { return nil }

// claimedCommand makes a command on a record that a claim holds. check looks at its other flags.
func (a *app) claimedCommand(cmd *cobra.Command, check func(*cobra.Command) error, do func(ctx context.Context, s *session, companyID, recordID, claimID string) error) *cobra.Command {
	claim := cmd.Flags().String("claim", "", "the `id` of the claim that holds it; none for what was imported while it was claimed")
	claimed := a.companyAction(cmd, func(ctx context.Context, s *session, companyID string, args []string) error {
		claimID := *claim
		if claimID == noClaim {
			claimID = "" // as the stores spell it
		}
		return do(ctx, s, companyID, args[0], claimID)
	})
	claimed.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if *claim != noClaim && !id.Valid("clm", *claim) {
			return misuse(cmd, "--claim: must be the claimId that the claim printed, or none")
		}
		return check(cmd)
	}
	return claimed
}

// printSwept prints what a sweep found: as JSON what the command documents, and for a person a table of its records.
func printSwept[T any](a *app, found any, records []T, nothing, header string, row func(T) []string) error {
	if a.json {
		return a.printJSON(a.out, found)
	}
	if len(records) == 0 {
		a.note("%s", nothing)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, header)
	for _, r := range records {
		fmt.Fprintln(w, strings.Join(row(r), "\t"))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}
