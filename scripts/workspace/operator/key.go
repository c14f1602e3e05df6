package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/timestamp"
)

func (o *operatorCommands) keyCommand() *cobra.Command {
	return terminal.AddCommands(&cobra.Command{
		Use: "key", Short: "Issue, list, rotate and revoke a company's keys",
		Long: `Issue, list, rotate and revoke the secret keys of a company.

A key is shown once, when it is issued. The table stores only its hash, so it cannot be
shown again: if a key is lost, rotate it or issue another.`,
	}, o.keyIssueCommand(), o.keyListCommand(), o.keyCurrentCommand(), o.keyRotateCommand(), o.keyRevokeCommand(), o.keyQuotaCommand())
}

func (o *operatorCommands) keyListCommand() *cobra.Command {
	return o.companyAction(&cobra.Command{
		Use: "list --company ID", Short: "List a company's keys", Args: terminal.RequireArgs(),
		Long:    "List a company's keys, the oldest first, including revoked and expired ones.",
		Example: "  workspace key list --company co_...",
	}, nil, func(ctx context.Context, s *tableconn.Session, companyID string, _ []string) error {
		items, err := s.Keys().List(ctx, companyID)
		if err != nil {
			return fmt.Errorf("list the keys of %s: %w", companyID, err)
		}
		return terminal.PrintList(o.Terminal, terminal.ItemList[keys.Key]{Items: items}, items,
			fmt.Sprintf("no keys yet: issue one with `%s`", o.command("key issue --company %s --scopes all", companyID)),
			"ID\tNAME\tPREFIX\tSCOPES\tLAST USED\tSTATE", func(k keys.Key) []string {
				return []string{k.ID, terminal.FormatText(k.Name), terminal.FormatText(k.Prefix), fmt.Sprint(len(k.Scopes)), terminal.FormatText(k.LastUsedAt), keyState(k, o.Now())}
			})
	})
}

// keyState says whether a key works, has expired or was revoked.
func keyState(k keys.Key, now time.Time) string {
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

type currentKey struct {
	keys.Key
	State string `json:"state"`
}

func (o *operatorCommands) keyCurrentCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "current", Short: "Show which key a secret is", Args: terminal.RequireArgs(),
		Long: `Read a secret key from standard input and print its record: its company, its scopes, and
whether it still works. Use it to identify a key that leaked, and then revoke it.`,
		Example: "  printf %s \"$KEY\" | workspace key current\n  workspace key current < key.txt",
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		text, err := o.ReadSecret()
		if err != nil {
			return err
		}
		token, err := auth.Parse(text)
		switch {
		case errors.Is(err, auth.ErrPublishable):
			return errors.New("standard input has a publishable key, which gives no access to this API")
		case err != nil:
			return fmt.Errorf("standard input has no valid secret key: it must begin with %s and be complete", auth.SecretPrefix)
		}
		return o.withTable(cmd, func(ctx context.Context, s *tableconn.Session) error {
			key, err := s.Keys().KeyOfToken(ctx, token)
			if errors.Is(err, auth.ErrUnauthorised) {
				return errors.New("the key is not in this table: its form is valid, so it may belong to another table")
			}
			if err != nil {
				return err
			}
			state := keyState(key, o.Now())
			return o.Print(currentKey{key, state}, "%s\n\ncompany  %s\nname     %s\nscopes   %s\nstate    %s",
				key.ID, key.CompanyID, terminal.FormatText(key.Name), strings.Join(key.Scopes, ", "), state)
		})
	}
	return cmd
}

func (o *operatorCommands) keyRevokeCommand() *cobra.Command {
	return o.keyAction(&cobra.Command{
		Use: "revoke KEY_ID --company ID", Short: "Revoke a key at once", Args: terminal.RequireArgs("KEY_ID"),
		Long:    "Revoke a key at once and permanently: the next request with it is refused with 401.",
		Example: "  workspace key revoke key_... --company co_...",
	}, nil, func(ctx context.Context, store *keys.Store, companyID, keyID string) error {
		key, err := store.Revoke(ctx, companyID, keyID)
		if err != nil {
			return err
		}
		return o.Print(key, "%s is revoked since %s", key.ID, terminal.FormatText(key.RevokedAt))
	})
}

// quotaMax is the maximum value of --limit. No key can make that many requests.
const quotaMax = 1_000_000

type keyQuota struct {
	keys.Key
	Class auth.Class `json:"class"`
	Limit int64      `json:"limit"`
}

func (o *operatorCommands) keyQuotaCommand() *cobra.Command {
	var classes, defaults []string
	for _, c := range auth.Classes() {
		classes = append(classes, string(c))
		defaults = append(defaults, fmt.Sprintf("%s %d", c, auth.DefaultQuota(c)))
	}
	cmd := &cobra.Command{
		Use: "quota KEY_ID --company ID --class read --limit N", Short: "Change a key's quota", Args: terminal.RequireArgs("KEY_ID"),
		Long: `Set how many requests of a class a key may make in a minute; 0 blocks the class.
The defaults are ` + strings.Join(defaults, ", ") + `.`,
		Example: "  workspace key quota key_... --company co_... --class read --limit 6000",
	}
	class := cmd.Flags().String("class", "", "the `class` of requests: "+strings.Join(classes, ", "))
	limit := cmd.Flags().Int64("limit", 0, fmt.Sprintf("requests in a minute, 0 to %d", quotaMax))
	check := func(cmd *cobra.Command) error {
		if !slices.Contains(classes, *class) {
			return terminal.NewCommandUsageError(cmd, "--class: must be one of %s", strings.Join(classes, ", "))
		}
		if !cmd.Flags().Changed("limit") || *limit < 0 || *limit > quotaMax {
			return terminal.NewCommandUsageError(cmd, "--limit: must be 0 to %d", quotaMax)
		}
		return nil
	}
	return o.keyAction(cmd, check, func(ctx context.Context, store *keys.Store, companyID, keyID string) error {
		key, err := store.SetQuota(ctx, companyID, keyID, auth.Class(*class), auth.Quota(*limit))
		if err != nil {
			return err
		}
		return o.Print(keyQuota{key, auth.Class(*class), *limit}, "%s: requests of class %s in a minute: %d", key.ID, *class, *limit)
	})
}
