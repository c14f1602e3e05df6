package auth

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"

	"growthworkspace/shared/ratelimit"
)

// Admission is what is known of a key when it has let a request in.
type Admission struct {
	ratelimit.State // of the bucket

	Scopes     []Scope
	APIVersion string // with which the key was issued; empty: the current one
}

// Derive returns a secret that only the bearer of a key can make again, for a purpose. The table, which has the key's hash,
// cannot.
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
