package company

import (
	"context"
	"slices"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

type listKeysInput struct {
	Limit  int64      `query:"limit" default:"50" min:"1" max:"200"`
	Cursor api.Cursor `query:"cursor"`
}

func (s service) listKeys(ctx context.Context, caller api.Caller, in listKeysInput) (api.List[keys.Key], error) {
	all, err := s.keys.List(ctx, caller.CompanyID)
	if err != nil {
		return api.List[keys.Key]{}, err
	}
	for i := range all {
		all[i] = s.withLastUse(all[i], caller)
	}
	return api.NewList(table.PageOf(all, func(k keys.Key) string { return k.ID }, string(in.Cursor), int(in.Limit))), nil
}

// withLastUse sets k's last use to now if k is the caller's own key. That time is stored in
// parallel with the read of the key's record, so the record may still have the previous time.
func (s service) withLastUse(k keys.Key, caller api.Caller) keys.Key {
	if k.ID == caller.KeyID {
		k.LastUsedAt = new(s.store.now())
	}
	return k
}

type getCurrentKeyInput struct{}

func (s service) getCurrentKey(ctx context.Context, caller api.Caller, _ getCurrentKeyInput) (keys.Key, error) {
	key, err := s.keys.Get(ctx, caller.CompanyID, caller.KeyID)
	return s.withLastUse(key, caller), err
}

type createKeyInput struct {
	api.Idempotent

	Name      string       `json:"name" min:"1" max:"200" doc:"what the key is for"`
	Scopes    []auth.Scope `json:"scopes" min:"1" items:"50" required:"true" doc:"what the key may do; only scopes that the calling key has or that its scopes contain"`
	ExpiresAt *string      `json:"expiresAt" format:"date-time" doc:"when the key expires; omit for never"`
}

func (s service) createKey(ctx context.Context, caller api.Caller, in createKeyInput) (keys.IssuedKey, error) {
	grant := keys.Grant{Name: in.Name, APIVersion: fault.Version, GrantedBy: caller.KeyID}
	for _, scope := range in.Scopes {
		if !slices.Contains(grant.Scopes, scope) {
			grant.Scopes = append(grant.Scopes, scope)
		}
	}
	if in.ExpiresAt != nil {
		if *in.ExpiresAt <= s.store.now() {
			return keys.IssuedKey{}, fault.Invalid("body.expiresAt", "must be in the future")
		}
		grant.ExpiresAt, _ = timestamp.Parse(*in.ExpiresAt)
	}
	key, secret, err := s.keys.Issue(ctx, caller.CompanyID, grant, s.random)
	return keys.IssuedKey{Key: key, Secret: secret}, err
}

type rotateKeyInput struct {
	api.Idempotent

	KeyID          string `path:"keyId"`
	OverlapSeconds int64  `json:"overlapSeconds" default:"86400" min:"0" max:"2592000" doc:"how long the old key stays valid, at most until its own expiry"`
}

func (s service) rotateKey(ctx context.Context, caller api.Caller, in rotateKeyInput) (keys.IssuedKey, error) {
	overlap := time.Duration(in.OverlapSeconds) * time.Second
	key, secret, err := s.keys.RotateBy(ctx, caller.CompanyID, caller.KeyID, in.KeyID, overlap, s.random)
	return keys.IssuedKey{Key: key, Secret: secret}, err
}

type revokeKeyInput struct {
	api.Condition

	KeyID string `path:"keyId"`
}

func (s service) revokeKey(ctx context.Context, caller api.Caller, in revokeKeyInput) (api.Deleted, error) {
	_, err := s.keys.RevokeIf(ctx, caller.CompanyID, in.KeyID, func(k keys.Key) error { return in.Condition.RequireMatch(k) })
	if err != nil {
		return api.Deleted{}, err
	}
	return api.Deleted{ID: in.KeyID, Deleted: true}, nil
}
