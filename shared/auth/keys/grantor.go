package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// grantor is who makes a key. The zero value is the operator.
type grantor struct{ key *Key }

// grantor reads the key that grants. What it may do never changes, so it need not be read again when the new key is
// written; whether it still works is a condition of that write.
func (s *Store) grantor(ctx context.Context, companyID, keyID string) (grantor, error) {
	if keyID == "" {
		return grantor{}, nil
	}
	key, err := s.Get(ctx, companyID, keyID)
	switch {
	case errors.Is(err, fault.ErrNotFound):
		return grantor{}, fmt.Errorf("%w: the granting key is unknown", auth.ErrUnauthorised)
	case err != nil:
		return grantor{}, err
	case key.RevokedAt != nil:
		return grantor{}, fmt.Errorf("%w: the granting key is revoked", auth.ErrUnauthorised)
	}
	return grantor{&key}, nil
}

// holds returns an error that names every scope that the key would grant and lacks (decisions.md §6).
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

// unrevoked are the writes that let no key come into being once the one that grants it is revoked.
func (g grantor) unrevoked(t *table.Client) []table.Write {
	if g.key == nil {
		return nil
	}
	return []table.Write{t.WriteCheck(keyKey(g.key.CompanyID, g.key.ID), "attribute_exists(pk) AND attribute_not_exists(revokedAt)", nil, nil)}
}
