package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/trail"
)

// operatorCommands holds what the operator's commands share during one run of the program.
type operatorCommands struct {
	*terminal.Terminal

	table *tableconn.Flags
}

// callTimeout is the timeout for one attempt at a table operation. It is longer than in the API,
// because one operation of an import may send megabytes.
const callTimeout = 30 * time.Second

// withTable opens the table for a command and closes it afterwards. It prints a note if the table
// needs an upgrade.
func (o *operatorCommands) withTable(cmd *cobra.Command, do func(context.Context, *tableconn.Session) error) error {
	return o.openTable(cmd, func(ctx context.Context, s *tableconn.Session) error {
		if err := s.RemindOfUpgrade(ctx, o.Terminal); err != nil {
			return err
		}
		return do(ctx, s)
	})
}

// openTable opens the table for a command and closes it afterwards.
func (o *operatorCommands) openTable(cmd *cobra.Command, do func(context.Context, *tableconn.Session) error) (err error) {
	s, err := tableconn.Open(cmd.Context(), o.Terminal, *o.table, callTimeout, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, stop := s.Context(cmd.Context())
	defer stop()
	if err := do(ctx, s); err != nil {
		return cmp.Or(s.EngineError(), err)
	}
	return nil
}

// command is like Terminal.Command, but adds the flags that select the table. So a command that is
// suggested to the user finds the same records.
func (o *operatorCommands) command(format string, args ...any) string {
	return o.Command(format, args...) + o.table.Arguments()
}

// flagCheck validates the flags of a command before the table is opened.
type flagCheck func(*cobra.Command) error

// companyAction makes cmd a command on one company. It adds the flag --company, and calls the
// function do only if the company exists. check may be nil.
func (o *operatorCommands) companyAction(cmd *cobra.Command, check flagCheck, do func(ctx context.Context, s *tableconn.Session, companyID string, args []string) error) *cobra.Command {
	companyID := cmd.Flags().String("company", "", "the company's `id`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if check != nil {
			if err := check(cmd); err != nil {
				return err
			}
		}
		if *companyID == "" {
			return terminal.NewCommandUsageError(cmd, "name the company with --company ID")
		}
		return o.withTable(cmd, func(ctx context.Context, s *tableconn.Session) error {
			if _, err := s.Company(ctx, *companyID); err != nil {
				return err
			}
			return do(ctx, s, *companyID, args)
		})
	}
	return cmd
}

// recordInTrail calls the function do, which makes many writes. It adds an entry to the trail
// before the call and another one after it. companyID is empty if the writes concern all companies.
// do returns the details for the trail even if it fails.
func recordInTrail(ctx context.Context, s *tableconn.Session, companyID string, act trail.Act, do func() (trail.Details, error)) error {
	running, err := trail.Begin(ctx, s.Table, companyID, act)
	if err != nil {
		return err
	}
	details, err := do()
	return running.End(ctx, details, err)
}

// keyAction makes cmd a command on one key of a company. Its first argument is the key's id.
func (o *operatorCommands) keyAction(cmd *cobra.Command, check flagCheck, do func(ctx context.Context, store *keys.Store, companyID, keyID string) error) *cobra.Command {
	return o.companyAction(cmd, check, func(ctx context.Context, s *tableconn.Session, companyID string, args []string) error {
		keyID := args[0]
		err := error(fault.ErrNotFound)
		if id.Valid(id.KeyPrefix, keyID) { // an invalid id must not become part of a table key
			err = do(ctx, s.Keys(), companyID, keyID)
		}
		var refused *fault.Error
		switch {
		case err == nil:
			return nil
		case errors.Is(err, fault.ErrNotFound):
			return fmt.Errorf("no key %q of company %s that still works: `%s` shows its keys", keyID, companyID, o.command("key list --company %s", companyID))
		case errors.As(err, &refused):
			return fmt.Errorf("key %s: %s", keyID, strings.Join(refused.Messages, "; "))
		}
		return fmt.Errorf("key %s: %w", keyID, err)
	})
}
