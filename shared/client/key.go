package client

import (
	"encoding/binary"
	"hash/crc32"
	"math/big"
	"slices"
	"strings"
)

// containedIn maps a scope to the next wider scope, which contains it.
var containedIn = map[string]string{
	"feedback:read": "feedback:draft", "feedback:draft": "feedback:write",
	"broadcast:read": "broadcast:draft", "broadcast:draft": "broadcast:write",
}

// Allows reports whether the key has a scope, such as feedback:draft, or a wider scope that
// contains it.
func (k Key) Allows(scope string) bool {
	scopes := k.Scopes.Or(nil)
	for ; scope != ""; scope = containedIn[scope] {
		if slices.Contains(scopes, scope) {
			return true
		}
	}
	return false
}

// A secret key is sk_live_ followed by base62 digits: 43 for the ids of the key and the company, 27
// for the secret, and 6 for a checksum (CRC-32) of everything before them.
const (
	keyPrefix    = "sk_live_"
	keyBodyChars = len(keyPrefix) + 43 + 27
	keyChars     = keyBodyChars + 6

	base62  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base32  = "0123456789abcdefghjkmnpqrstvwxyz"
	idChars = 26
)

// companyOf returns the company id that a secret key contains. It is empty for a string that is not
// a complete key. Whether the key exists is known only to the service.
func companyOf(key string) string {
	if len(key) != keyChars || !strings.HasPrefix(key, keyPrefix) {
		return ""
	}
	sum, ok := parseBase62(key[keyBodyChars:])
	if !ok || !sum.IsUint64() || sum.Uint64() != uint64(crc32.ChecksumIEEE([]byte(key[:keyBodyChars]))) {
		return ""
	}
	ids, ok := parseBase62(key[len(keyPrefix):][:43])
	if !ok || ids.BitLen() > 256 {
		return ""
	}
	var idBytes [32]byte // the id of the key, then the id of the company
	ids.FillBytes(idBytes[:])
	hi, lo := binary.BigEndian.Uint64(idBytes[16:]), binary.BigEndian.Uint64(idBytes[24:])
	var id [idChars]byte
	for i := idChars - 1; i >= 0; i-- {
		id[i] = base32[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return "co_" + string(id[:])
}

func parseBase62(text string) (n *big.Int, ok bool) {
	n = new(big.Int)
	for i := range len(text) {
		d := strings.IndexByte(base62, text[i])
		if d < 0 {
			return nil, false
		}
		n.Mul(n, big.NewInt(62)).Add(n, big.NewInt(int64(d)))
	}
	return n, true
}
