package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/id"
	"growthworkspace/shared/keys"
)

// overlapMax is that of the API, decisions.md §6.
const overlapMax = 30 * 24 * time.Hour

type rotatedKey struct {
	issuedKey
	Replaces        string  `json:"replaces"`
	ReplacedExpires *string `json:"replacedExpiresAt"`
}

func (a *app) keyRotateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rotate KEY_ID --company ID", Short: "Replace a key by a new one", Args: takes("KEY_ID"),
		Long: `Issue a key with the same name, scopes and quotas, and let the old one end after the
overlap. Both work until then: move what uses the old key in the meantime.`,
		Example: "  workspace key rotate key_... --company co_...\n  workspace key rotate key_... --company co_... --overlap 7d",
	}
	overlap := cmd.Flags().String("overlap", "24h", "how `long` the old key works on: 0s to 30d")
	rotate := a.companyAction(cmd, func(ctx context.Context, s *session, companyID string, args []string) error {
		span, err := parseSpan(*overlap)
		if err != nil {
			return err
		}
		return a.rotateKey(ctx, s, companyID, args[0], span)
	})
	rotate.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if d, err := parseSpan(*overlap); err != nil || d > overlapMax {
			return misuse(cmd, "--overlap: must be 0s to 30d, such as 24h or 7d")
		}
		return nil
	}
	return rotate
}

func (a *app) rotateKey(ctx context.Context, s *session, companyID, keyID string, overlap time.Duration) error {
	if err := checkKeyID(companyID, keyID); err != nil {
		return err
	}
	fresh, secret, err := s.keys().Rotate(ctx, companyID, keyID, overlap, rand.Reader)
	if err != nil {
		return explain(err, companyID, keyID)
	}
	result := rotatedKey{issuedKey: issuedKey{fresh, secret}, Replaces: keyID}
	// What follows must not lose the new key, which exists by now.
	if all, err := s.keys().List(ctx, companyID); err == nil {
		if i := slices.IndexFunc(all, func(k keys.Key) bool { return k.ID == keyID }); i >= 0 {
			result.ReplacedExpires = all[i].ExpiresAt
		}
	}
	return a.print(result, "%s\n\nid       %s\nexpires  %s\n\nThe old key, %s, ends at %s.\n%s",
		secret, fresh.ID, never(fresh.ExpiresAt), keyID, shown(result.ReplacedExpires), onlyNow)
}

func (a *app) keyRevokeCommand() *cobra.Command {
	return a.companyAction(&cobra.Command{
		Use: "revoke KEY_ID --company ID", Short: "End a key at once", Args: takes("KEY_ID"),
		Long:    "End a key at once, for good: the next request with it is refused with 401.",
		Example: "  workspace key revoke key_... --company co_...",
	}, func(ctx context.Context, s *session, companyID string, args []string) error {
		if err := checkKeyID(companyID, args[0]); err != nil {
			return err
		}
		key, err := s.keys().Revoke(ctx, companyID, args[0])
		if err != nil {
			return explain(err, companyID, args[0])
		}
		return a.print(key, "%s is revoked since %s", key.ID, shown(key.RevokedAt))
	})
}

// checkKeyID keeps what is no id from becoming a key of the table.
func checkKeyID(companyID, keyID string) error {
	if !id.Valid(id.Key, keyID) {
		return fmt.Errorf("no key %q of company %s: `workspace key list --company %s` shows its keys", keyID, companyID, companyID)
	}
	return nil
}

// quotaMax bounds a quota to what one key could ever be served.
const quotaMax = 1_000_000

type keyQuota struct {
	keys.Key
	Class auth.Class `json:"class"`
	Limit int64      `json:"limit"`
}

func (a *app) keyQuotaCommand() *cobra.Command {
	classes := make([]string, 0, len(auth.Classes()))
	defaults := make([]string, 0, len(auth.Classes()))
	for _, c := range auth.Classes() {
		classes = append(classes, string(c))
		defaults = append(defaults, fmt.Sprintf("%s %d", c, auth.DefaultQuota(c)))
	}
	cmd := &cobra.Command{
		Use: "quota KEY_ID --company ID --class read --limit N", Short: "Give a key another quota", Args: takes("KEY_ID"),
		Long: `Set how many requests of a class a key may make in a minute; 0 freezes the class.
The defaults are ` + strings.Join(defaults, ", ") + `.`,
		Example: "  workspace key quota key_... --company co_... --class read --limit 6000",
	}
	class := cmd.Flags().String("class", "", "the `class` of requests: "+strings.Join(classes, ", "))
	limit := cmd.Flags().Int64("limit", 0, fmt.Sprintf("requests in a minute, 0 to %d", quotaMax))
	quota := a.companyAction(cmd, func(ctx context.Context, s *session, companyID string, args []string) error {
		if err := checkKeyID(companyID, args[0]); err != nil {
			return err
		}
		key, err := s.keys().SetQuota(ctx, companyID, args[0], auth.Class(*class), auth.Quota(*limit))
		if err != nil {
			return explain(err, companyID, args[0])
		}
		return a.print(keyQuota{key, auth.Class(*class), *limit}, "%s: %d requests of class %s in a minute", key.ID, *limit, *class)
	})
	quota.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if !slices.Contains(classes, *class) {
			return misuse(cmd, "--class: must be one of %s", strings.Join(classes, ", "))
		}
		if !cmd.Flags().Changed("limit") || *limit < 0 || *limit > quotaMax {
			return misuse(cmd, "--limit: must be 0 to %d", quotaMax)
		}
		return nil
	}
	return quota
}
