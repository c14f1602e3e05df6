// Package operator has the commands for the operators of a table: companies and their keys, import and export, the
// workers that send posts and replies, and the published versions of a board.
package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/session"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/fault"
)

// operator is one call of these commands.
type operator struct {
	*terminal.Terminal

	table *session.Flags
}

// Commands returns the commands.
func Commands(t *terminal.Terminal, table *session.Flags) []*cobra.Command {
	o := &operator{t, table}
	return []*cobra.Command{
		o.companyCommand(), o.keyCommand(), o.importCommand(), o.exportCommand(), o.dueCommand(), o.approvedCommand(), o.snapshotCommand(),
	}
}

// callTimeout is the deadline of one attempt of a table call. It is longer than that of a request: an operator may send
// megabytes.
const callTimeout = 30 * time.Second

// with opens the table for a command and closes it afterwards.
func (o *operator) with(cmd *cobra.Command, do func(context.Context, *session.Session) error) (err error) {
	s, err := session.Open(cmd.Context(), o.Terminal, *o.table, callTimeout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(cmd.Context(), s)
}

// check looks at the flags of a command before the table is opened.
type check func(*cobra.Command) error

// onCompany makes a command on one company: it adds the flag --company and requires that the company exists. check may
// be nil.
func (o *operator) onCompany(cmd *cobra.Command, check check, do func(ctx context.Context, s *session.Session, companyID string, args []string) error) *cobra.Command {
	companyID := cmd.Flags().String("company", "", "the company's `id`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if check != nil {
			if err := check(cmd); err != nil {
				return err
			}
		}
		if *companyID == "" {
			return terminal.Misuse(cmd, "name the company with --company ID")
		}
		return o.with(cmd, func(ctx context.Context, s *session.Session) error {
			if _, err := s.Company(ctx, *companyID); err != nil {
				return err
			}
			return do(ctx, s, *companyID, args)
		})
	}
	return cmd
}

// explain names the record that an error of a store is about. A conflict becomes an error with its own exit code.
func explain(err error, what, recordID, companyID string) error {
	var refused *fault.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &refused):
		return fmt.Errorf("%s %s: %w", what, recordID, err)
	case errors.Is(err, fault.ErrNotFound):
		return fmt.Errorf("no %s %q of company %s", what, recordID, companyID)
	case refused.Code == fault.Conflict:
		return terminal.Conflict("%s %s: %s", what, recordID, strings.Join(refused.Messages, "; "))
	}
	return fmt.Errorf("%s %s: %s", what, recordID, strings.Join(refused.Messages, "; "))
}
