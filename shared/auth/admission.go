package auth

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"

	"growthworkspace/shared/fault"
)

// Admission is what the check of a key found out. It is zero when the key is refused. When a valid key lacks the scope or has
// used up its quota, it has the Quota alone.
type Admission struct {
	Quota      QuotaState // of the request's class
	Scopes     []Scope    // that the key holds
	APIVersion string     // of the interface, with which the key was issued; empty: the current one
}

// ErrUnauthorised is the refusal of a key that is missing, malformed, unknown, revoked or expired. It has one message, so that
// the caller cannot tell these cases apart. What wraps it is the reason, for the log.
var ErrUnauthorised = fault.New(fault.Unauthorised, "missing, unknown or revoked key; send Authorization: Bearer <secret key>")

// ErrPublishable is the refusal of a publishable key. It may be told apart, because the kind of a key is public.
var ErrPublishable = fault.New(fault.Unauthorised, "a publishable key opens nothing here; send a secret key, which begins with %s", SecretPrefix)

// ErrSuspended is the refusal of a key that the operator has suspended, alone or with its company.
var ErrSuspended = fault.New(fault.Forbidden, "the company or the key is suspended by the operator")

// MissingScope returns the error of a valid key that lacks the scope of the operation.
func MissingScope(s Scope) *fault.Error {
	return fault.New(fault.Unauthorised, "the key lacks the scope %s", s)
}

// QuotaExceeded returns the error of a request whose bucket is empty. Admission.Quota says for how long.
func QuotaExceeded(c Class) *fault.Error {
	return fault.New(fault.RateLimited, "too many requests of the class %s; try again after the seconds of Retry-After", c)
}

// Derive returns a secret that only the bearer of the key can derive again, for one purpose. The table, which has the key's
// hash, cannot. The error wraps ErrUnauthorised when the header holds no key.
func Derive(authorization []string, purpose string) ([32]byte, error) {
	secret, err := bearer(authorization)
	if err != nil {
		return [32]byte{}, fmt.Errorf("derive: %w", err)
	}
	derived, err := hkdf.Key(sha256.New, []byte(secret), nil, purpose, 32)
	if err != nil {
		return [32]byte{}, fmt.Errorf("derive: %w", err)
	}
	return [32]byte(derived), nil
}
