package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/shared/keys"
	"growthworkspace/shared/timestamp"
)

func (a *app) keyCommand() *cobra.Command {
	issue, all, rotate := a.keyIssueCommand(), a.keyListCommand(), a.keyRotateCommand()
	return group(&cobra.Command{
		Use: "key", Short: "Issue, list, rotate and revoke a company's keys",
		Long: `Issue, list, rotate and revoke the secret keys of a company.

A key is shown once, when it is issued. The table has its hash only, so nobody can
show it again: who loses a key rotates it or issues another.`,
	}, issue, all, a.keyCurrentCommand(), rotate, a.keyRevokeCommand(), a.keyQuotaCommand())
}

// companyAction makes a command on a company: it has the flag --company and requires that the company exists.
func (a *app) companyAction(cmd *cobra.Command, do func(ctx context.Context, s *session, companyID string, args []string) error) *cobra.Command {
	companyID := cmd.Flags().String("company", "", "the company's `id`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *companyID == "" {
			return misuse(cmd, "name the company with --company ID")
		}
		return a.with(cmd, func(ctx context.Context, s *session) error {
			if _, err := s.company(ctx, *companyID); err != nil {
				return err
			}
			return do(ctx, s, *companyID, args)
		})
	}
	return cmd
}

func (a *app) keyListCommand() *cobra.Command {
	return a.companyAction(&cobra.Command{
		Use: "list --company ID", Short: "List a company's keys", Args: takes(),
		Long:    "List a company's keys, the oldest first, the revoked and expired ones included.",
		Example: "  workspace key list --company co_...",
	}, func(ctx context.Context, s *session, companyID string, _ []string) error {
		items, err := s.keys().List(ctx, companyID)
		if err != nil {
			return fmt.Errorf("list the keys of %s: %w", companyID, err)
		}
		if a.json {
			return a.printJSON(a.out, list[keys.Key]{items})
		}
		if len(items) == 0 {
			a.note("no keys yet: issue one with `workspace key issue --company %s --scopes all`", companyID)
			return nil
		}
		w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tPREFIX\tSCOPES\tLAST USED\tSTATE")
		for _, k := range items {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", k.ID, shown(k.Name), shown(k.Prefix), len(k.Scopes), shown(k.LastUsedAt), stateOf(k, a.now()))
		}
		return w.Flush()
	})
}

// stateOf says in words whether a key works.
func stateOf(k keys.Key, now time.Time) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked " + *k.RevokedAt
	case k.ExpiresAt == nil:
		return "works"
	case *k.ExpiresAt <= timestamp.Format(now):
		return "expired " + *k.ExpiresAt
	}
	return "works until " + *k.ExpiresAt
}
