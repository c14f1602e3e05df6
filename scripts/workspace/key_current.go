package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/keys"
)

// secretBytesMax is more than any key has.
const secretBytesMax = 1000

type currentKey struct {
	keys.Key
	State string `json:"state"`
}

// keyCurrentCommand takes the key from standard input: arguments are in the shell's history and in lists of processes.
func (a *app) keyCurrentCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "current", Short: "Say which key a secret is", Args: takes(),
		Long: `Read a secret key from standard input and print its record: the company that it opens,
what it may do, and whether it works still. A key that was found somewhere is known by
this, and can then be revoked.`,
		Example: "  printf %s \"$KEY\" | workspace key current\n  workspace key current < key.txt",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		text, err := io.ReadAll(io.LimitReader(a.in, secretBytesMax))
		if err != nil {
			return fmt.Errorf("read the key from standard input: %w", err)
		}
		token, err := auth.Parse(strings.TrimSpace(string(text)))
		switch {
		case errors.Is(err, auth.ErrPublishable):
			return errors.New("what is on standard input is a publishable key: it opens nothing here")
		case err != nil:
			return fmt.Errorf("what is on standard input is no secret key: it must begin with %s and be whole", auth.SecretPrefix)
		}
		return a.with(cmd, func(ctx context.Context, s *session) error { return a.showCurrent(ctx, s, token) })
	}
	return cmd
}

func (a *app) showCurrent(ctx context.Context, s *session, token auth.Token) error {
	key, err := s.keys().Holder(ctx, token)
	if errors.Is(err, auth.ErrUnauthorised) {
		return errors.New("no key of this table: it has the form of one, and may be another table's")
	}
	if err != nil {
		return err
	}
	state := stateOf(key, a.now())
	return a.print(currentKey{key, state}, "%s\n\ncompany  %s\nname     %s\nscopes   %s\nstate    %s",
		key.ID, key.CompanyID, shown(key.Name), strings.Join(key.Scopes, ", "), state)
}
