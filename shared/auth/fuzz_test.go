package auth_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"math/big"
	"strings"
	"testing"

	"growthworkspace/shared/auth"
)

// base62 returns n as width base62 digits. In the alphabet of math/big, lower case comes before
// upper case. In the alphabet of keys, it is the reverse, so base62 swaps the case of each letter.
func base62(n *big.Int, width int) string {
	text := []rune(n.Text(62))
	for i, c := range text {
		switch {
		case 'a' <= c && c <= 'z':
			text[i] = c - 'a' + 'A'
		case 'A' <= c && c <= 'Z':
			text[i] = c - 'A' + 'a'
		}
	}
	return strings.Repeat("0", max(0, width-len(text))) + string(text)
}

// FuzzKey checks that a key is accepted only if its last six characters are the checksum of the
// others, and that Mint returns the same key for its ids and random bits. For a rejected key, the
// Token must be empty, and the error must not contain the key.
func FuzzKey(f *testing.F) {
	secret, err := auth.Mint("co_01k2abcdefghjkmnpqrstvwxyz", "key_01k2zyxwvtsrqpnmkjhgfedcba", bytes.NewReader([]byte("twenty random bytes!")))
	if err != nil {
		f.Fatal(err)
	}
	body := strings.TrimPrefix(secret[:len(secret)-6], auth.SecretPrefix)
	for _, scheme := range []string{"Bearer ", "bearer  ", "Basic ", "", "Bearer\t", "\nBearer "} {
		f.Add(scheme, secret, body)
	}
	f.Add("Bearer ", "pk_live_x", strings.Repeat("z", 70))
	f.Add("Bearer ", "", strings.Repeat("0", 70))
	f.Add("Bearer ", secret+" ", body[:69]+"!")
	f.Add("Bearer ", secret[:40]+"x"+secret[41:], "x"+body[1:])
	f.Fuzz(func(t *testing.T, scheme, secret, body string) {
		token, err := auth.ParseHeader([]string{scheme + secret})
		checkParsedKey(t, scheme+secret, token, err)
		// The fuzzer cannot find a valid checksum, so one is added.
		whole := auth.SecretPrefix + body
		whole += base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(whole)))), 6)
		token, err = auth.Parse(whole)
		checkParsedKey(t, whole, token, err)
	})
}

func checkParsedKey(t *testing.T, sent string, token auth.Token, err error) {
	t.Helper()
	fields := strings.Fields(sent)
	if err != nil {
		if !errors.Is(err, auth.ErrUnauthorised) && !errors.Is(err, auth.ErrPublishable) || token != (auth.Token{}) {
			t.Fatalf("%q is rejected with %v and %v", sent, err, token)
		}
		for _, field := range fields {
			if len(field) > 16 && strings.Contains(err.Error(), field) {
				t.Fatalf("the error contains the key: %v", err)
			}
		}
		return
	}
	secret := fields[len(fields)-1]
	body := secret[:len(secret)-6]
	if sum := base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), 6); !strings.HasSuffix(secret, sum) || sha256.Sum256([]byte(secret)) != token.Hash {
		t.Fatalf("%q is accepted, its checksum is %s", sent, sum)
	}
	minted, err := auth.Mint(token.CompanyID, token.KeyID, bytes.NewReader(randomBits(body[len(body)-27:])))
	if err != nil || minted != secret {
		t.Fatalf("%q is accepted, Mint returns %q: %v", secret, minted, err)
	}
}

// randomBits decodes 27 base62 digits. It treats invalid digits as 0.
func randomBits(digits string) []byte {
	n := new(big.Int)
	for _, c := range []byte(digits) {
		digit := max(0, strings.IndexByte("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", c))
		n.Add(n.Mul(n, big.NewInt(62)), big.NewInt(int64(digit)))
	}
	return n.Mod(n, new(big.Int).Lsh(big.NewInt(1), 160)).FillBytes(make([]byte, 20))
}
