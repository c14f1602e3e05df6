package auth

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"strings"

	"growthworkspace/shared/id"
)

// A secret key is spelled `sk_live_` + locator + secret + checksum, all base62 (decisions.md §6).
// The locator holds the ids of the company and the key: it tells which record to look at, and authorises nothing.
const (
	SecretPrefix      = "sk_live_"
	publishablePrefix = "pk_"

	secretBytes  = 20 // 160 random bits
	locatorChars = 43 // 32 bytes in base62
	secretChars  = 27 // 20 bytes in base62
	checkChars   = 6  // CRC-32 in base62
	tokenChars   = len(SecretPrefix) + locatorChars + secretChars + checkChars
	prefixChars  = len(SecretPrefix) + 12 // of the locator only: the key's id, whose random part tells two keys apart
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// ErrUnauthorised is what every refused key wraps. Its text is for the log; the caller reads one text for all of them,
// so that an unknown, a revoked and an expired key cannot be told apart (decisions.md §6).
var ErrUnauthorised = errors.New("key refused")

// ErrPublishable says that a publishable key was sent; it wraps ErrUnauthorised. The caller is told, because the kind of
// a key is public.
var ErrPublishable = fmt.Errorf("%w: publishable", ErrUnauthorised)

// ErrSuspended says that the operator has suspended the company or the key.
var ErrSuspended = errors.New("suspended")

// MissingScopeError says that a valid key lacks the scope of the operation.
type MissingScopeError struct{ Scope Scope }

func (e *MissingScopeError) Error() string { return "the key lacks the scope " + string(e.Scope) }

// Unwrap makes a missing scope an ErrUnauthorised: spec.md, Authentication 7, answers both with 401.
func (e *MissingScopeError) Unwrap() error { return ErrUnauthorised }

// Token is a secret key that is well formed: its checksum is right and it names a company and a key. Whether the key
// exists is for the table to say.
type Token struct {
	CompanyID string
	KeyID     string
	Hash      [sha256.Size]byte // of the whole key; the only form in which a key is stored
}

// ParseHeader reads the values of the Authorization header. It needs no table: a missing header, another scheme, a
// publishable key and a key with a typo are refused for nothing. The error wraps ErrUnauthorised.
func ParseHeader(values []string) (Token, error) {
	secret, err := bearer(values)
	if err != nil {
		return Token{}, err
	}
	return Parse(secret)
}

// bearer cuts the key out of the header, however its bearer spells the scheme and the spaces.
func bearer(values []string) (string, error) {
	if len(values) == 0 {
		return "", fmt.Errorf("%w: no Authorization header", ErrUnauthorised)
	}
	if len(values) > 1 {
		return "", fmt.Errorf("%w: more than one Authorization header", ErrUnauthorised)
	}
	scheme, secret, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", fmt.Errorf("%w: not a bearer token", ErrUnauthorised)
	}
	return strings.TrimSpace(secret), nil
}

// Parse reads a secret key. The error wraps ErrUnauthorised.
func Parse(secret string) (Token, error) {
	if strings.HasPrefix(secret, publishablePrefix) {
		return Token{}, ErrPublishable
	}
	if len(secret) != tokenChars || !strings.HasPrefix(secret, SecretPrefix) {
		return Token{}, fmt.Errorf("%w: not the form of a secret key", ErrUnauthorised)
	}
	body, check := secret[:tokenChars-checkChars], secret[tokenChars-checkChars:]
	if checksum(body) != check {
		return Token{}, fmt.Errorf("%w: wrong checksum", ErrUnauthorised)
	}
	var locator [32]byte
	if !decode(body[len(SecretPrefix):][:locatorChars], locator[:]) {
		return Token{}, fmt.Errorf("%w: wrong locator", ErrUnauthorised)
	}
	var bits [secretBytes]byte
	if !decode(body[len(SecretPrefix)+locatorChars:], bits[:]) { // no key that Mint spells: it costs no table call
		return Token{}, fmt.Errorf("%w: wrong secret", ErrUnauthorised)
	}
	return Token{
		CompanyID: id.FromBytes(id.Company, [16]byte(locator[16:])),
		KeyID:     id.FromBytes(id.Key, [16]byte(locator[:16])),
		Hash:      sha256.Sum256([]byte(secret)),
	}, nil
}

// Mint spells a new secret key for the key keyID of company companyID, with secret bits from random.
// The caller shows it once and stores only its hash. It fails on ids that this service did not generate.
func Mint(companyID, keyID string, random io.Reader) (string, error) {
	company, ok1 := id.Bytes(id.Company, companyID)
	key, ok2 := id.Bytes(id.Key, keyID)
	if !ok1 || !ok2 {
		return "", fmt.Errorf("mint a key: %q or %q is not a generated id", companyID, keyID)
	}
	secret := make([]byte, secretBytes)
	if _, err := io.ReadFull(random, secret); err != nil {
		return "", fmt.Errorf("mint a key: %w", err)
	}
	body := SecretPrefix + encode(append(key[:], company[:]...), locatorChars) + encode(secret, secretChars)
	return body + checksum(body), nil
}

// VisiblePrefix returns the start of a secret key that may be shown and stored, to tell keys apart by eye.

func VisiblePrefix(secret string) string {
	if len(secret) != tokenChars {
		return ""
	}
	return secret[:prefixChars]
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return encode([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}, checkChars)
}

// encode spells big-endian bytes in exactly width base62 digits.
func encode(b []byte, width int) string {
	out := make([]byte, width)
	n, digit, base := new(big.Int).SetBytes(b), new(big.Int), big.NewInt(62)
	for i := width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		out[i] = base62[digit.Int64()]
	}
	return string(out)
}

// decode is the inverse of encode; it fails on another alphabet and on a value that needs more than len(into) bytes.
func decode(s string, into []byte) bool {
	n, base := new(big.Int), big.NewInt(62)
	for i := range len(s) {
		d := strings.IndexByte(base62, s[i])
		if d < 0 {
			return false
		}
		n.Mul(n, base).Add(n, big.NewInt(int64(d)))
	}
	if n.BitLen() > 8*len(into) {
		return false
	}
	n.FillBytes(into)
	return true
}
