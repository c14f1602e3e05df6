package keys

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
	"growthworkspace/shared/trail"
)

// secretKind is the only kind of key that this service issues. Publishable keys belong to the
// delivery API.
const secretKind = "secret"

// Grant is what a new key may do.
type Grant struct {
	Name       string
	Scopes     []auth.Scope
	APIVersion string
	ExpiresAt  time.Time // zero: never
	GrantedBy  string    // the id of the granting key; if empty, the operator grants the key and may grant everything
}

// Issue creates a key and returns its record and its secret, which is not stored and never returned
// again. random is the source of the secret bits: crypto/rand except in tests.
//
// Issue returns fault.Unauthorised, naming the missing scopes, if the granting key lacks any of the
// granted scopes. It returns auth.ErrUnauthorised if the granting key is revoked at any time before
// the new key is stored.
func (s *Store) Issue(ctx context.Context, companyID string, g Grant, random io.Reader) (Key, string, error) {
	issued, err := s.insertKey(ctx, companyID, func() (fresh storedKey, secret string, otherWrites []table.Write, err error) {
		grantingKey, err := s.readGranter(ctx, companyID, g.GrantedBy)
		if err != nil {
			return fresh, "", nil, err
		}
		if err := grantingKey.checkScopes(g.Scopes); err != nil {
			return fresh, "", nil, err
		}
		fresh, secret, err = s.newKey(companyID, g, random)
		grantingKey.limitGrant(&fresh)
		otherWrites = append(grantingKey.validityChecks(s), s.writeChange(companyID, fresh.ID, change.Created, ""))
		otherWrites = append(otherWrites, trail.Writes(ctx, s.table, companyID, trail.KeyIssue,
			trail.Details{KeyID: fresh.ID, Scopes: fresh.Scopes, ExpiresAt: fresh.ExpiresAt})...)
		return fresh, secret, otherWrites, err
	})
	if err != nil {
		return Key{}, "", fmt.Errorf("issue a key: %w", err)
	}
	return issued.Key, issued.Secret, nil
}

func (s *Store) newKey(companyID string, g Grant, random io.Reader) (storedKey, string, error) {
	for _, scope := range g.Scopes {
		if !scope.IsKnown() {
			return storedKey{}, "", fmt.Errorf("unknown scope %q", scope)
		}
	}
	keyID := s.table.NewID(id.KeyPrefix)
	secret, err := auth.Mint(companyID, keyID, random)
	if err != nil {
		return storedKey{}, "", err
	}
	token, err := auth.Parse(secret)
	if err != nil {
		return storedKey{}, "", fmt.Errorf("parse the new key: %w", err)
	}
	key := storedKey{Hash: hex.EncodeToString(token.Hash[:])}
	key.ID, key.CompanyID = keyID, companyID
	key.Name, key.Kind, key.Prefix = nilIfEmpty(g.Name), nilIfEmpty(secretKind), nilIfEmpty(auth.VisiblePrefix(secret))
	key.Scopes = make([]string, len(g.Scopes))
	for i, scope := range g.Scopes {
		key.Scopes[i] = string(scope)
	}
	key.APIVersion, key.CreatedAt = nilIfEmpty(g.APIVersion), nilIfEmpty(timestamp.Format(s.now()))
	if !g.ExpiresAt.IsZero() {
		key.ExpiresAt = nilIfEmpty(timestamp.Format(g.ExpiresAt))
	}
	return key, secret, nil
}

// List returns the company's keys, oldest first.
func (s *Store) List(ctx context.Context, companyID string) ([]Key, error) {
	stored, err := s.listStored(ctx, companyID)
	if err != nil {
		return nil, err
	}
	keys := make([]Key, len(stored))
	for i, k := range stored {
		keys[i] = k.Key
	}
	return keys, nil
}

func (s *Store) listStored(ctx context.Context, companyID string) ([]storedKey, error) {
	return table.ReadAll[storedKey](ctx, s.table, table.Collection{
		Partition: table.Partition(companyID, table.KeysArea), Prefix: table.JoinKey("key", ""), Consistent: true,
	})
}

// Revoke is RevokeIf without a condition.
func (s *Store) Revoke(ctx context.Context, companyID, keyID string) (Key, error) {
	return s.RevokeIf(ctx, companyID, keyID, func(Key) error { return nil })
}

// RevokeIf revokes a key at once, unless allow returns an error for the key's state at the time of
// the write. It returns fault.ErrNotFound if the key does not exist or is already revoked, and
// otherwise the error of allow.
func (s *Store) RevokeIf(ctx context.Context, companyID, keyID string, allow func(Key) error) (Key, error) {
	revoked, err := table.ModifyWith(ctx, s.table, recordKey(companyID, keyID), table.WithKeys(keysOf, func(k *storedKey) error {
		if k.RevokedAt != nil {
			return fault.ErrNotFound
		}
		if err := allow(k.Key); err != nil {
			return err
		}
		k.RevokedAt = nilIfEmpty(timestamp.Format(s.now()))
		return nil
	}), func(_ any, update table.Write) error {
		return s.table.Transact(ctx, append([]table.Write{update, s.writeChange(companyID, keyID, change.Updated, revokedStatus)},
			trail.Writes(ctx, s.table, companyID, trail.KeyRevoke, trail.Details{KeyID: keyID})...)...)
	})
	return revoked.Key, err
}

// Get returns one key, or fault.ErrNotFound if the company has no such key.
func (s *Store) Get(ctx context.Context, companyID, keyID string) (Key, error) {
	stored, err := table.Get[storedKey](ctx, s.table, recordKey(companyID, keyID))
	return stored.Key, err
}

// KeyOfToken returns the key that the token belongs to, even if the key is revoked, expired or
// suspended. It returns auth.ErrUnauthorised if no such key exists.
func (s *Store) KeyOfToken(ctx context.Context, token auth.Token) (Key, error) {
	stored, err := table.Get[storedKey](ctx, s.table, recordKey(token.CompanyID, token.KeyID))
	if errors.Is(err, fault.ErrNotFound) || err == nil && stored.Hash != hex.EncodeToString(token.Hash[:]) {
		return Key{}, fmt.Errorf("unknown: %w", auth.ErrUnauthorised)
	}
	return stored.Key, err
}

// Rotate is RotateBy for the operator.
func (s *Store) Rotate(ctx context.Context, companyID, keyID string, overlap time.Duration, random io.Reader) (Key, string, error) {
	return s.RotateBy(ctx, companyID, "", keyID, overlap, random)
}

// RotateBy issues a key with the same name and scopes, and lets the old key expire after overlap.
// Both keys work until then. rotatorID is the id of the key that requests the rotation, or empty if
// the operator requests it. As in Issue, the requesting key must have every scope of the new key,
// and the new key expires no later than the requesting key.
//
// RotateBy returns fault.ErrNotFound if the key does not exist, is revoked or has expired. It
// returns fault.Conflict if the key was already rotated. One of two concurrent rotations wins; the
// other starts again with the new record.
func (s *Store) RotateBy(ctx context.Context, companyID, rotatorID, keyID string, overlap time.Duration, random io.Reader) (Key, string, error) {
	issued, err := s.insertKey(ctx, companyID, func() (fresh storedKey, secret string, otherWrites []table.Write, err error) {
		var old storedKey
		var rotator granter
		err = parallel.Both(
			func() (err error) {
				old, err = table.Get[storedKey](ctx, s.table, recordKey(companyID, keyID))
				return err
			},
			func() (err error) { rotator, err = s.readGranter(ctx, companyID, rotatorID); return err },
		)
		if err != nil {
			return fresh, "", nil, err
		}
		if fresh, secret, err = s.newReplacement(old, random); err != nil {
			return fresh, "", nil, err
		}
		if err := rotator.checkScopes(old.scopeList()); err != nil {
			return fresh, "", nil, err
		}
		rotator.limitExpiry(&fresh)
		otherWrites = []table.Write{
			s.writeExpiry(old, fresh.ID, overlap),
			s.writeChange(companyID, keyID, change.Updated, ""), s.writeChange(companyID, fresh.ID, change.Created, ""),
		}
		otherWrites = append(otherWrites, trail.Writes(ctx, s.table, companyID, trail.KeyRotate,
			trail.Details{KeyID: keyID, ReplacedBy: fresh.ID, Scopes: fresh.Scopes, ExpiresAt: fresh.ExpiresAt})...)
		if rotatorID != keyID { // if a key rotates itself, the condition of writeExpiry is enough
			otherWrites = append(otherWrites, rotator.validityChecks(s)...)
		}
		return fresh, secret, otherWrites, nil
	})
	if err != nil {
		return Key{}, "", fmt.Errorf("rotate a key: %w", err)
	}
	return issued.Key, issued.Secret, nil
}

// writeExpiry returns the write that makes a key expire after overlap, or at its own expiry if that
// is earlier. The write fails if the key has changed since it was read.
func (s *Store) writeExpiry(old storedKey, replacementID string, overlap time.Duration) table.Write {
	expiresAt := timestamp.Format(s.now().Add(overlap))
	if old.ExpiresAt != nil {
		expiresAt = min(expiresAt, *old.ExpiresAt)
	}
	return s.table.WriteUpdate(recordKey(old.CompanyID, old.ID), "SET replacedBy = :by, expiresAt = :ends ADD rev :one", "rev = :rev", nil, table.Item{
		":by": table.String(replacementID), ":ends": table.String(expiresAt), ":one": table.Number(1), ":rev": table.Number(old.Rev),
	})
}

// newReplacement returns the key that replaces old, or an error if old cannot be rotated.
func (s *Store) newReplacement(old storedKey, random io.Reader) (storedKey, string, error) {
	switch {
	case old.RevokedAt != nil || old.ExpiresAt != nil && *old.ExpiresAt <= timestamp.Format(s.now()):
		return storedKey{}, "", fault.ErrNotFound
	case old.ReplacedBy != nil:
		return storedKey{}, "", fault.New(fault.Conflict, "the key has been rotated: %s replaces it", *old.ReplacedBy)
	}
	grant := Grant{Name: valueOrEmpty(old.Name), APIVersion: valueOrEmpty(old.APIVersion), Scopes: old.scopeList()}
	fresh, secret, err := s.newKey(old.CompanyID, grant, random)
	fresh.keyQuotas = old.keyQuotas
	fresh.ExpiresAt = old.ExpiresAt // a rotation never extends the life of a key
	return fresh, secret, err
}

// SetQuota changes the quota of one key; zero freezes the class.
func (s *Store) SetQuota(ctx context.Context, companyID, keyID string, class auth.Class, quota auth.Quota) (Key, error) {
	key, err := table.ModifyWith(ctx, s.table, recordKey(companyID, keyID), table.WithKeys(keysOf, func(k *storedKey) error {
		if quota < 0 {
			return fmt.Errorf("the quota %d is negative", quota)
		}
		n := float64(quota)
		switch class {
		case auth.ClassRead:
			k.ReadQuota = &n
		case auth.ClassWrite:
			k.WriteQuota = &n
		case auth.ClassPublish:
			k.PublishQuota = &n
		case auth.ClassPush:
			k.PushQuota = &n
		default:
			return fmt.Errorf("unknown class %q", class)
		}
		return nil
	}), func(_ any, update table.Write) error {
		return s.table.Transact(ctx, append([]table.Write{update},
			trail.Writes(ctx, s.table, companyID, trail.KeyQuota, trail.Details{KeyID: keyID, Class: string(class), Limit: new(int64(quota))})...)...)
	})
	return key.Key, err
}

func (s *Store) modify(ctx context.Context, companyID, keyID string, change func(*storedKey) error) (Key, error) {
	key, err := table.Modify(ctx, s.table, recordKey(companyID, keyID), keysOf, change)
	return key.Key, err
}

func keysOf(k storedKey) table.Keys { return table.Keys{Key: recordKey(k.CompanyID, k.ID)} }

func nilIfEmpty(s string) *string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return &s
}

func valueOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
