// Package id generates and validates the ids of records. An id consists of a prefix for the
// record's type, an underscore, and 26 characters of lower-case Crockford base32 that encode a
// time-ordered 128-bit value. Ids are opaque to clients. Sorting records by id sorts them by age.
package id

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"
)

// The id prefixes of records that belong to no area. Each area declares the prefixes for its own
// records next to their types.
const (
	CompanyPrefix = "co"
	KeyPrefix     = "key"
)

// publicKeyPrefix is the prefix of publishable keys, which authorise nothing.
const publicKeyPrefix = "pk_live"

const (
	alphabet   = "0123456789abcdefghjkmnpqrstvwxyz"
	bodyLen    = 26
	bodyLenMax = 40 // the maximum length of the part of an imported id after the underscore
)

// Generator is a function that returns a new id with the given prefix. Tests use their own to get
// predictable ids.
type Generator func(prefix string) string

// NewGenerator returns a Generator. The first 48 bits of its ids are the time in milliseconds; the
// other 80 bits are read from random. The Generator panics if random returns an error, because ids
// might then repeat.
func NewGenerator(now func() time.Time, random io.Reader) Generator {
	return func(prefix string) string {
		var b [16]byte
		binary.BigEndian.PutUint64(b[:8], uint64(now().UnixMilli())<<16)
		if _, err := io.ReadFull(random, b[6:]); err != nil {
			panic(fmt.Sprintf("id: no randomness: %v", err))
		}
		return FromBytes(prefix, b)
	}
}

// NewPublicKey returns a new publishable key: pk_live_ followed by 128 bits from random, encoded
// like an id. Unlike an id, it contains no time, so it reveals nothing about its record.
// NewPublicKey panics if random returns an error, because keys might then repeat.
func NewPublicKey(random io.Reader) string {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		panic(fmt.Sprintf("id: no randomness: %v", err))
	}
	return FromBytes(publicKeyPrefix, b)
}

// LowerBound returns an id that sorts before every id that a Generator returns at or after the
// given time.
func LowerBound(prefix string, at time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(at.UnixMilli())<<16)
	return FromBytes(prefix, b)
}

// FromBytes returns the id with the given prefix and 128-bit value.
func FromBytes(prefix string, b [16]byte) string {
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	out := make([]byte, len(prefix)+1+bodyLen)
	copy(out, prefix)
	out[len(prefix)] = '_'
	for i := len(out) - 1; i > len(prefix); i-- {
		out[i] = alphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out)
}

// Bytes returns the 128-bit value of an id. ok is false for a string that FromBytes cannot return.
func Bytes(prefix, s string) (b [16]byte, ok bool) {
	body, found := strings.CutPrefix(s, prefix+"_")
	if !found || len(body) != bodyLen || body[0] > '7' {
		return b, false
	}
	var hi, lo uint64
	for i := range len(body) {
		d := strings.IndexByte(alphabet, body[i])
		if d < 0 {
			return b, false
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(d)
	}
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	return b, true
}

// Valid reports whether s can be a record's id with the given prefix. Imported ids have 1 to 40
// characters from [0-9a-z] after the underscore. An empty prefix allows any prefix of lower-case
// letters.
func Valid(prefix, s string) bool {
	head, body, found := strings.Cut(s, "_")
	if !found || head == "" || (prefix != "" && head != prefix) || body == "" || len(body) > bodyLenMax {
		return false
	}
	return allBytesSatisfy(head, func(c byte) bool { return 'a' <= c && c <= 'z' }) &&
		allBytesSatisfy(body, func(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' })
}

// Pattern returns a regular expression for ids with the given prefix, for use in descriptions. It
// matches exactly the ids that Valid accepts.
func Pattern(prefix string) string { return fmt.Sprintf("^%s_[0-9a-z]{1,%d}$", prefix, bodyLenMax) }

func allBytesSatisfy(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}
