package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// grantor is the key that creates another key. The zero value is the operator.
type grantor struct{ key *storedKey }

// grantor reads the granting key. Its scopes never change, so they are not read again when the new
// key is written. The write requires that the granting key is still valid; see alive.
func (s *Store) grantor(ctx context.Context, companyID, keyID string) (grantor, error) {
	if keyID == "" {
		return grantor{}, nil
	}
	key, err := table.Get[storedKey](ctx, s.table, keyKey(companyID, keyID))
	switch {
	case errors.Is(err, fault.ErrNotFound):
		return grantor{}, fmt.Errorf("the granting key is unknown: %w", auth.ErrUnauthorised)
	case err != nil:
		return grantor{}, err
	case key.RevokedAt != nil:
		return grantor{}, fmt.Errorf("the granting key is revoked: %w", auth.ErrUnauthorised)
	case key.ExpiresAt != nil && *key.ExpiresAt <= timestamp.Format(s.now()):
		return grantor{}, fmt.Errorf("the granting key has expired: %w", auth.ErrUnauthorised)
	}
	return grantor{&key}, nil
}

// holds returns an error that names every scope the granting key lacks.
func (g grantor) holds(scopes []auth.Scope) error {
	if g.key == nil {
		return nil
	}
	lacking := &fault.Error{Code: fault.Unauthorised}
	for _, scope := range scopes {
		if !slices.Contains(g.key.Scopes, string(scope)) {
			lacking.Messages = append(lacking.Messages, fmt.Sprintf("the key lacks the scope %s, so it cannot grant it", scope))
		}
	}
	if len(lacking.Messages) > 0 {
		return lacking
	}
	return nil
}

// bound limits a new key to the quotas and the expiry of its grantor.
func (g grantor) bound(fresh *storedKey) {
	if g.key == nil {
		return
	}
	fresh.quotas = g.key.quotas
	g.boundExpiry(fresh)
}

// boundExpiry limits a new key to the expiry of its grantor.
func (g grantor) boundExpiry(fresh *storedKey) {
	if g.key == nil {
		return
	}
	if ends := g.key.ExpiresAt; ends != nil && (fresh.ExpiresAt == nil || *fresh.ExpiresAt > *ends) {
		fresh.ExpiresAt = ends
	}
}

// alive returns the writes that make the creation of a key fail if the granting key has been
// revoked or has expired.
func (g grantor) alive(s *Store) []table.Write {
	if g.key == nil {
		return nil
	}
	return []table.Write{s.table.WriteCheck(keyKey(g.key.CompanyID, g.key.ID),
		"attribute_exists(pk) AND attribute_not_exists(revokedAt) AND (attribute_not_exists(expiresAt) OR expiresAt > :now)", nil,
		table.Item{":now": table.String(timestamp.Format(s.now()))})}
}
