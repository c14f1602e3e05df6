package keys

import (
	"context"
	"errors"
	"fmt"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// granter is the key that creates another key. The zero value stands for the operator.
type granter struct{ key *storedKey }

// readGranter reads the granting key. Its scopes never change, so they are not read again when the
// new key is written. The write requires that the granting key is still valid; see
// validityChecks.
func (s *Store) readGranter(ctx context.Context, companyID, keyID string) (granter, error) {
	if keyID == "" {
		return granter{}, nil
	}
	key, err := table.Get[storedKey](ctx, s.table, recordKey(companyID, keyID))
	switch {
	case errors.Is(err, fault.ErrNotFound):
		return granter{}, fmt.Errorf("the granting key is unknown: %w", auth.ErrUnauthorised)
	case err != nil:
		return granter{}, err
	case key.RevokedAt != nil:
		return granter{}, fmt.Errorf("the granting key is revoked: %w", auth.ErrUnauthorised)
	case key.ExpiresAt != nil && *key.ExpiresAt <= timestamp.Format(s.now()):
		return granter{}, fmt.Errorf("the granting key has expired: %w", auth.ErrUnauthorised)
	}
	return granter{&key}, nil
}

// checkScopes returns an error that names every scope the granting key lacks. A key also has the
// scopes that its own scopes contain.
func (g granter) checkScopes(scopes []auth.Scope) error {
	if g.key == nil {
		return nil
	}
	missingErr := &fault.Error{Code: fault.Unauthorised}
	ownScopes := g.key.scopeList()
	for _, scope := range scopes {
		if !scope.IsGrantedBy(ownScopes) {
			missingErr.Messages = append(missingErr.Messages, fmt.Sprintf("the key lacks the scope %s, so it cannot grant it", scope))
		}
	}
	if len(missingErr.Messages) > 0 {
		return missingErr
	}
	return nil
}

// limitGrant limits a new key to the quotas and the expiry of the granting key.
func (g granter) limitGrant(fresh *storedKey) {
	if g.key == nil {
		return
	}
	fresh.keyQuotas = g.key.keyQuotas
	g.limitExpiry(fresh)
}

// limitExpiry makes a new key expire no later than the granting key.
func (g granter) limitExpiry(fresh *storedKey) {
	if g.key == nil {
		return
	}
	if expiresAt := g.key.ExpiresAt; expiresAt != nil && (fresh.ExpiresAt == nil || *fresh.ExpiresAt > *expiresAt) {
		fresh.ExpiresAt = expiresAt
	}
}

// validityChecks returns the writes that make the creation of a key fail if the granting key has
// been revoked or has expired.
func (g granter) validityChecks(s *Store) []table.Write {
	if g.key == nil {
		return nil
	}
	return []table.Write{s.table.WriteCheck(recordKey(g.key.CompanyID, g.key.ID),
		"attribute_exists(pk) AND attribute_not_exists(revokedAt) AND (attribute_not_exists(expiresAt) OR expiresAt > :now)", nil,
		table.Item{":now": table.String(timestamp.Format(s.now()))})}
}
