package auth

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"

	"growthworkspace/shared/fault"
)

// Admission is the result of checking a key. It is the zero value if the key is rejected. If a
// valid key lacks the scope, is frozen or has used up its quota, only Quota is set.
type Admission struct {
	Quota      QuotaState // the bucket of the request's class
	Scopes     []Scope    // the key's scopes
	APIVersion string     // the API version for which the key was issued; empty for the current one
}

// ErrUnauthorised is the error for a key that is missing, malformed, unknown, revoked or expired.
// Its message is the same in all these cases, so that the caller cannot distinguish them. The
// wrapping error contains the reason, for the log.
var ErrUnauthorised = fault.New(fault.Unauthorised, "missing, unknown or revoked key; send Authorization: Bearer <secret key>")

// ErrPublishable is the error for a publishable key. It has its own message, because anyone can see
// that a key is publishable.
var ErrPublishable = fault.New(fault.Unauthorised, "publishable keys are not accepted; send a secret key, which begins with %s", SecretPrefix)

// ErrSuspended is the error for a key that the operator has suspended, either by itself or together
// with its company.
var ErrSuspended = fault.New(fault.Forbidden, "the company or the key is suspended by the operator")

// NewMissingScopeError returns the error for a valid key that lacks the scope of the operation.
func NewMissingScopeError(s Scope) *fault.Error {
	return fault.New(fault.Unauthorised, "the key lacks the scope %s", s)
}

// NewFrozenError returns the error for a request of a class whose quota is zero.
func NewFrozenError(c Class) *fault.Error {
	return fault.New(fault.Forbidden, "the operator has frozen the %s requests of this key; requests of other classes are still served", c)
}

// NewQuotaExceededError returns the error for a request whose bucket is empty. Admission.Quota
// contains the time to wait.
func NewQuotaExceededError(c Class) *fault.Error {
	return fault.New(fault.RateLimited, "too many %s requests; retry after the seconds in Retry-After", c)
}

// DeriveSecret derives a secret for one purpose from the key in the Authorization header. The
// secret cannot be derived from the hash of the key, which is all that the table stores. The error
// wraps ErrUnauthorised when the header contains no key.
func DeriveSecret(authorization []string, purpose string) ([32]byte, error) {
	secret, err := bearerToken(authorization)
	if err != nil {
		return [32]byte{}, fmt.Errorf("derive: %w", err)
	}
	derived, err := hkdf.Key(sha256.New, []byte(secret), nil, purpose, 32)
	if err != nil {
		return [32]byte{}, fmt.Errorf("derive: %w", err)
	}
	return [32]byte(derived), nil
}
