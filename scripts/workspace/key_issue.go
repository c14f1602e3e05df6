package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/timestamp"
	"growthworkspace/shared/version"
)

// issuedKey is a new key as it is printed, the only time that it is.
type issuedKey struct {
	keys.Key
	Secret string `json:"key"`
}

const onlyNow = "This is the only time that the key is shown: the table has its hash only."

func (a *app) keyIssueCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "issue --company ID --scopes all|a,b", Short: "Issue a key", Args: takes(),
		Long: "Issue a secret key and print it, once.\n\nThe scopes are " + strings.Join(scopeNames(), ", ") + ".",
		Example: `  workspace key issue --company co_... --scopes all
  workspace key issue --company co_... --scopes feedback:read,feedback:write --name "reply bot" --expires 90d
  KEY=$(workspace key issue --company co_... --scopes all --json | jq -r .key)`,
	}
	scopes := cmd.Flags().String("scopes", "", "all, or `scopes` with commas between")
	name := cmd.Flags().String("name", "", "what the key is for")
	expires := cmd.Flags().String("expires", "", "when it ends: a `time` from now (90d, 12h) or a date (2027-01-31); never without it")
	var grant keys.Grant
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		grant = keys.Grant{Name: *name, APIVersion: version.Current}
		if grant.Scopes, err = parseScopes(*scopes); err != nil {
			return misuse(cmd, "--scopes: %s", err)
		}
		if grant.ExpiresAt, err = parseEnd(*expires, a.now()); err != nil {
			return misuse(cmd, "--expires: %s", err)
		}
		return nil
	}
	return a.companyAction(cmd, func(ctx context.Context, s *session, companyID string, _ []string) error {
		return a.issueKey(ctx, s, companyID, grant)
	})
}

func (a *app) issueKey(ctx context.Context, s *session, companyID string, grant keys.Grant) error {
	key, secret, err := s.keys().Issue(ctx, companyID, grant, rand.Reader)
	if err != nil {
		return err
	}
	if at, err := s.keys().SuspendedAt(ctx, companyID); err == nil && at != nil {
		a.note("The company is suspended since %s: the key works once it is resumed.", *at)
	}
	return a.print(issuedKey{key, secret}, "%s\n\nid       %s\nscopes   %s\nexpires  %s\n\n%s",
		secret, key.ID, strings.Join(key.Scopes, ", "), never(key.ExpiresAt), onlyNow)
}

func never(at *string) string {
	if at == nil {
		return "never"
	}
	return *at
}

func scopeNames() []string {
	names := make([]string, 0, len(auth.Scopes()))
	for _, s := range auth.Scopes() {
		names = append(names, string(s))
	}
	return names
}

func parseScopes(text string) ([]auth.Scope, error) {
	known := "all, or some of " + strings.Join(scopeNames(), ", ")
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("name %s", known)
	}
	if strings.TrimSpace(text) == "all" {
		return auth.Scopes(), nil
	}
	var scopes []auth.Scope
	for name := range strings.SplitSeq(text, ",") {
		scope := auth.Scope(strings.TrimSpace(name))
		if !scope.Known() {
			return nil, fmt.Errorf("no scope %q; name %s", string(scope), known)
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, nil
}

var errEnd = errors.New("must be a time from now such as 90d or 12h, or a date such as 2027-01-31")

// parseEnd reads when a key ends; the zero time is never. A date ends with its first moment, UTC.
func parseEnd(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	end := time.Time{}
	if d, err := parseSpan(text); err == nil {
		end = now.Add(d)
	} else if t, ok := timestamp.Parse(text); ok {
		end = t
	} else if t, ok := timestamp.ParseDay(text); ok {
		end = t
	} else {
		return end, errEnd
	}
	if !end.After(now) || end.Year() > 9999 {
		return end, fmt.Errorf("%s is not in the future", text)
	}
	return end, nil
}

const spanDaysMax = 36500

// parseSpan reads 90d, 12h, 90m, 3600s.
func parseSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > spanDaysMax {
			return 0, fmt.Errorf("must be 0 to %d days", spanDaysMax)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("must be a length of time such as 24h or 7d")
	}
	return d, nil
}

// explain says which key an error of the store is of.
func explain(err error, companyID, keyID string) error {
	var refused *fault.Error
	switch {
	case errors.Is(err, fault.ErrNotFound):
		return fmt.Errorf("no key %q of company %s that still works: `workspace key list --company %s` shows its keys", keyID, companyID, companyID)
	case errors.As(err, &refused):
		return fmt.Errorf("key %s: %s", keyID, strings.Join(refused.Messages, "; "))
	}
	return fmt.Errorf("key %s: %w", keyID, err)
}
