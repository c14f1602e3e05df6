package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"growthworkspace/functions/company"
	"growthworkspace/shared/id"
)

const nameCharsMax = 200 // decisions.md §9

func (a *app) companyCommand() *cobra.Command {
	create := &cobra.Command{
		Use: "create --name N", Short: "Make a company", Args: takes(),
		Long: `Make a company. It has no key and no records yet: issue a key, then import records
or send them to the API.`,
		Example: `  workspace company create --name "Northwind Notes"
  workspace company create --name "Northwind Notes" --json`,
	}
	name := create.Flags().String("name", "", "the company's display `name`, 1 to 200 characters")
	create.RunE = func(cmd *cobra.Command, _ []string) error {
		if n := utf8.RuneCountInString(*name); strings.TrimSpace(*name) == "" || n > nameCharsMax {
			return misuse(cmd, "--name: must have 1 to %d characters", nameCharsMax)
		}
		return a.with(cmd, func(ctx context.Context, s *session) error { return a.createCompany(ctx, s, *name) })
	}
	all := &cobra.Command{
		Use: "list", Short: "List the companies", Args: takes(),
		Long: `List the companies, the oldest first.

This reads the whole table, because nothing reaches over companies by design: in an
account with many records it takes a while and is paid like any other scan.`,
		Example: "  workspace company list\n  workspace company list --json --table workspace-prod",
	}
	all.RunE = func(cmd *cobra.Command, _ []string) error { return a.with(cmd, a.listCompanies) }
	suspend := &cobra.Command{
		Use: "suspend ID", Short: "Refuse all keys of a company", Args: takes("ID"),
		Long: `Refuse all keys of a company with 403, from now on until it is resumed. Keys that are
issued meanwhile are refused too. No record changes.`,
		Example: "  workspace company suspend co_...",
	}
	suspend.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd, func(ctx context.Context, s *session) error { return a.suspendCompany(ctx, s, args[0]) })
	}
	resume := &cobra.Command{
		Use: "resume ID", Short: "End a company's suspension", Args: takes("ID"),
		Long: "Let all keys of a suspended company work again.", Example: "  workspace company resume co_...",
	}
	resume.RunE = func(cmd *cobra.Command, args []string) error {
		return a.with(cmd, func(ctx context.Context, s *session) error { return a.resumeCompany(ctx, s, args[0]) })
	}
	return group(&cobra.Command{Use: "company", Short: "Make, list, suspend and resume companies"}, create, all, suspend, resume)
}

// with opens the table for a command and closes it after.
func (a *app) with(cmd *cobra.Command, do func(context.Context, *session) error) (err error) {
	s, err := a.open(cmd.Context(), commandTimeout)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := s.close(); err == nil {
			err = closeErr
		}
	}()
	return do(cmd.Context(), s)
}

type createdCompany struct {
	CompanyID string `json:"companyId"`
	company.Company
}

func (a *app) createCompany(ctx context.Context, s *session, name string) error {
	now := s.table.Now()
	c := company.Company{ID: s.table.NewID(id.Company), Name: &name, CreatedAt: &now, UpdatedAt: &now}
	if err := company.NewStore(s.table).Create(ctx, c); err != nil {
		return fmt.Errorf("create the company: %w", err)
	}
	return a.print(createdCompany{c.ID, c},
		"%s  %s\n\nIts first key:\n  workspace key issue --company %s --scopes all", c.ID, name, c.ID)
}

type listedCompany struct {
	company.Company
	SuspendedAt *string `json:"suspendedAt"`
}

func (a *app) listCompanies(ctx context.Context, s *session) error {
	companies, err := company.NewStore(s.table).All(ctx)
	if err != nil {
		return fmt.Errorf("list the companies: %w", err)
	}
	slices.SortFunc(companies, func(x, y company.Company) int {
		return cmp.Or(cmp.Compare(shown(x.CreatedAt), shown(y.CreatedAt)), cmp.Compare(x.ID, y.ID))
	})
	items := make([]listedCompany, len(companies))
	for i, c := range companies {
		at, err := s.keys().SuspendedAt(ctx, c.ID)
		if err != nil {
			return fmt.Errorf("company %s: %w", c.ID, err)
		}
		items[i] = listedCompany{c, at}
	}
	if a.json {
		return a.printJSON(a.out, list[listedCompany]{items})
	}
	if len(items) == 0 {
		a.note("no companies yet: make one with `workspace company create --name N`")
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tCREATED\tSUSPENDED")
	for _, c := range items {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.ID, shown(c.Name), shown(c.CreatedAt), shown(c.SuspendedAt))
	}
	return w.Flush()
}

// shown is a value in a table for people. What could move the cursor or break a row is shown as its escape: names are
// written by others.
func shown(s *string) string {
	if s == nil {
		return "-"
	}
	quoted := strconv.QuoteToGraphic(*s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// suspension is the answer of suspend and resume.
type suspension struct {
	CompanyID   string  `json:"companyId"`
	SuspendedAt *string `json:"suspendedAt"`
	Keys        int     `json:"keys"`
}

func (a *app) suspendCompany(ctx context.Context, s *session, companyID string) error {
	if _, err := s.company(ctx, companyID); err != nil {
		return err
	}
	n, err := s.keys().Suspend(ctx, companyID)
	if err != nil {
		return fmt.Errorf("suspend %s: %w; run the command again, it is safe", companyID, err)
	}
	at, err := s.keys().SuspendedAt(ctx, companyID)
	if err != nil {
		return err
	}
	return a.print(suspension{companyID, at, n},
		"%s is suspended since %s; keys refused: %d\n\nTo end it:\n  workspace company resume %s", companyID, shown(at), n, companyID)
}

func (a *app) resumeCompany(ctx context.Context, s *session, companyID string) error {
	if _, err := s.company(ctx, companyID); err != nil {
		return err
	}
	n, err := s.keys().Resume(ctx, companyID)
	if err != nil {
		return fmt.Errorf("resume %s: %w; run the command again, it is safe", companyID, err)
	}
	return a.print(suspension{companyID, nil, n}, "%s is not suspended; keys that can work again: %d", companyID, n)
}
