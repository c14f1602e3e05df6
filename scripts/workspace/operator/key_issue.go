package operator

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
)

// issuedKey is a new key with its secret. The secret is never printed again.
type issuedKey struct {
	keys.Key
	Secret string `json:"key"`
}

// draftingPreset is the name of the preset whose scopes are auth.DraftingAgentScopes.
const draftingPreset = "drafting-agent"

const shownOnceText = "The key is shown only once: the table stores only its hash."

func (o *operatorCommands) keyIssueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "issue --company ID --scopes all|a,b", Short: "Issue a key", Args: terminal.RequireArgs(),
		Long: "Issue a secret key and print it, once.\n\nThe scopes are " + scopeNames(auth.Scopes()) + `.
feedback:write contains feedback:draft, which contains feedback:read; the scopes of
broadcast likewise.

With --preset drafting-agent instead of --scopes, the key is for an agent that reads
everything but the keys and drafts replies, posts and ideas. People approve, schedule and
accept them with another key. Its scopes are ` + scopeNames(auth.DraftingAgentScopes()) + ".",
		Example: `  workspace key issue --company co_... --scopes all
  workspace key issue --company co_... --scopes feedback:read,feedback:write --name "reply bot" --expires 90d
  workspace key issue --company co_... --preset drafting-agent --name "drafts" --expires 90d
  KEY=$(workspace key issue --company co_... --scopes all --json | jq -r .key)`,
	}
	scopes := cmd.Flags().String("scopes", "", "all, or `scopes` separated by commas")
	preset := cmd.Flags().String("preset", "", draftingPreset+", instead of --scopes: a `key` for an agent that drafts")
	name := cmd.Flags().String("name", "", "what the key is for")
	expires := cmd.Flags().String("expires", "", "expire after this `duration` (90d, 12h) or on a date (2027-01-31); default: never")
	var grant keys.Grant
	check := func(cmd *cobra.Command) (err error) {
		grant = keys.Grant{Name: *name, APIVersion: fault.Version}
		switch {
		case *preset != "" && *scopes != "":
			return terminal.NewCommandUsageError(cmd, "--preset: leave out --scopes, because the preset names them")
		case *preset == draftingPreset:
			grant.Scopes = auth.DraftingAgentScopes()
		case *preset != "":
			return terminal.NewCommandUsageError(cmd, "--preset: no preset %q; the only one is %s", *preset, draftingPreset)
		default:
			if grant.Scopes, err = parseScopes(*scopes); err != nil {
				return terminal.NewCommandUsageError(cmd, "--scopes: %s", err)
			}
		}
		if grant.ExpiresAt, err = parseExpiry(*expires, o.Now()); err != nil {
			return terminal.NewCommandUsageError(cmd, "--expires: %s", err)
		}
		return nil
	}
	return o.companyAction(cmd, check, func(ctx context.Context, s *tableconn.Session, companyID string, _ []string) error {
		key, secret, err := s.Keys().Issue(ctx, companyID, grant, rand.Reader)
		if err != nil {
			return err
		}
		if at, err := s.Keys().SuspendedAt(ctx, companyID); err == nil && at != nil {
			o.Note("The company has been suspended since %s: the key works once it is resumed.", *at)
		}
		return o.Print(issuedKey{key, secret}, "%s\n\nid       %s\nscopes   %s\nexpires  %s\n\n%s",
			secret, key.ID, strings.Join(key.Scopes, ", "), expiryText(key), shownOnceText)
	})
}

type rotatedKey struct {
	issuedKey
	Replaces        string  `json:"replaces"`
	ReplacedExpires *string `json:"replacedExpiresAt"`
}

// overlapMax is the longest time for which an old key may keep working after a rotation. The API
// has the same limit.
const overlapMax = 30 * 24 * time.Hour

func (o *operatorCommands) keyRotateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rotate KEY_ID --company ID", Short: "Replace a key by a new one", Args: terminal.RequireArgs("KEY_ID"),
		Long: `Issue a key with the same name, scopes and quotas. The old key expires after the overlap;
until then both work, so that clients can be moved to the new one.`,
		Example: "  workspace key rotate key_... --company co_...\n  workspace key rotate key_... --company co_... --overlap 7d",
	}
	text := cmd.Flags().String("overlap", "24h", "the old key keeps working for this `duration`, 0s to 30d, such as 12h or 7d")
	var overlap time.Duration
	check := func(cmd *cobra.Command) (err error) {
		if overlap, err = terminal.ParseDuration(*text); err != nil || overlap > overlapMax {
			return terminal.NewCommandUsageError(cmd, "--overlap: must be 0s to 30d, such as 24h or 7d")
		}
		return nil
	}
	return o.keyAction(cmd, check, func(ctx context.Context, store *keys.Store, companyID, keyID string) error {
		fresh, secret, err := store.Rotate(ctx, companyID, keyID, overlap, rand.Reader)
		if err != nil {
			return err
		}
		result := rotatedKey{issuedKey: issuedKey{fresh, secret}, Replaces: keyID}
		// The new key already exists, so an error here must not keep it from being printed.
		if all, err := store.List(ctx, companyID); err == nil {
			if i := slices.IndexFunc(all, func(k keys.Key) bool { return k.ID == keyID }); i >= 0 {
				result.ReplacedExpires = all[i].ExpiresAt
			}
		}
		return o.Print(result, "%s\n\nid       %s\nexpires  %s\n\nThe old key, %s, expires at %s.\n%s",
			secret, fresh.ID, expiryText(fresh), keyID, terminal.FormatText(result.ReplacedExpires), shownOnceText)
	})
}

func expiryText(k keys.Key) string {
	if k.ExpiresAt == nil {
		return "never"
	}
	return *k.ExpiresAt
}

func scopeNames(scopes []auth.Scope) string {
	var names []string
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

func parseScopes(text string) (scopes []auth.Scope, err error) {
	choices := "all, or some of " + scopeNames(auth.Scopes())
	switch strings.TrimSpace(text) {
	case "":
		return nil, fmt.Errorf("name %s", choices)
	case "all":
		return auth.Scopes(), nil
	}
	for name := range strings.SplitSeq(text, ",") {
		scope := auth.Scope(strings.TrimSpace(name))
		if !scope.IsKnown() {
			return nil, fmt.Errorf("no scope %q; name %s", string(scope), choices)
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, nil
}
