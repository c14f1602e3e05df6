package auth

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"regexp"
	"strings"

	"growthworkspace/shared/id"
)

// A secret key is `sk_live_` + locator + secret + checksum, all base62. The locator contains the
// ids of the company and the key: it says which record to read, and authorises nothing. The
// checksum detects a typo without a read of the table.
const (
	SecretPrefix      = "sk_live_"
	publishablePrefix = "pk_"

	secretBytes  = 20 // 160 random bits
	locatorChars = 43 // 32 bytes in base62
	secretChars  = 27 // 20 bytes in base62
	checkChars   = 6  // CRC-32 in base62
	tokenChars   = len(SecretPrefix) + locatorChars + secretChars + checkChars
	prefixChars  = len(SecretPrefix) + 12 // only a part of the locator: the key's id, whose random part identifies the key
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Token is a well-formed secret key: its checksum is correct and it contains the ids of a company
// and a key. The key may not exist.
type Token struct {
	CompanyID string
	KeyID     string
	Hash      [sha256.Size]byte // of the whole key; the only form in which a key is stored
}

// ParseHeader parses the values of the Authorization header. It detects a missing header, another
// scheme and a key with a typo. The error wraps ErrUnauthorised, or is ErrPublishable.
func ParseHeader(values []string) (Token, error) {
	secret, err := bearer(values)
	if err != nil {
		return Token{}, err
	}
	return Parse(secret)
}

// bearer returns the key in the header. The scheme may be in any letter case.
func bearer(values []string) (string, error) {
	if len(values) == 0 {
		return "", fmt.Errorf("no Authorization header: %w", ErrUnauthorised)
	}
	if len(values) > 1 {
		return "", fmt.Errorf("more than one Authorization header: %w", ErrUnauthorised)
	}
	scheme, secret, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", fmt.Errorf("not a bearer token: %w", ErrUnauthorised)
	}
	return strings.TrimSpace(secret), nil
}

// Parse parses a secret key. The error wraps ErrUnauthorised, or is ErrPublishable.
func Parse(secret string) (Token, error) {
	if strings.HasPrefix(secret, publishablePrefix) {
		return Token{}, ErrPublishable
	}
	if len(secret) != tokenChars || !strings.HasPrefix(secret, SecretPrefix) {
		return Token{}, fmt.Errorf("not the form of a secret key: %w", ErrUnauthorised)
	}
	body, check := secret[:tokenChars-checkChars], secret[tokenChars-checkChars:]
	if checksum(body) != check {
		return Token{}, fmt.Errorf("wrong checksum: %w", ErrUnauthorised)
	}
	var locator [32]byte
	if !decode(body[len(SecretPrefix):][:locatorChars], locator[:]) {
		return Token{}, fmt.Errorf("wrong locator: %w", ErrUnauthorised)
	}
	var bits [secretBytes]byte
	if !decode(body[len(SecretPrefix)+locatorChars:], bits[:]) { // Mint never creates such a key
		return Token{}, fmt.Errorf("wrong secret: %w", ErrUnauthorised)
	}
	return Token{
		CompanyID: id.FromBytes(id.Company, [16]byte(locator[16:])),
		KeyID:     id.FromBytes(id.Key, [16]byte(locator[:16])),
		Hash:      sha256.Sum256([]byte(secret)),
	}, nil
}

// Mint returns a new secret key for the key keyID of the company companyID, with secret bits from
// random. The caller shows it once and stores only its hash. It returns an error for ids that this
// service did not generate.
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

// VisiblePrefix returns the start of a secret key, which may be shown and stored to identify the
// key. It is empty for any other text.
func VisiblePrefix(secret string) string {
	if len(secret) != tokenChars {
		return ""
	}
	return secret[:prefixChars]
}

// keys matches secret keys in a text, whole, cut off or escaped for a URL.
var keys = regexp.MustCompile(`(?i)sk(_|%5f)live(_|%5f)[0-9a-z]+`)

// Redact returns a text with only the visible part of each secret key in it. Callers send keys by
// mistake where a name or a value should be, and error messages repeat those.
func Redact(text string) string {
	return keys.ReplaceAllStringFunc(text, func(key string) string {
		return key[:min(len(key), prefixChars)] + "…"
	})
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return encode([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}, checkChars)
}

// encode returns big-endian bytes as exactly width base62 digits.
func encode(b []byte, width int) string {
	out := make([]byte, width)
	n, digit, base := new(big.Int).SetBytes(b), new(big.Int), big.NewInt(62)
	for i := width - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		out[i] = base62[digit.Int64()]
	}
	return string(out)
}

// decode is the inverse of encode. It returns false for another alphabet and for a value of more
// than len(into) bytes.
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
