package schema

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"unicode/utf8"
)

// positionBytesMax is the maximum length of a position, which is a sort key or the last part of
// one. DynamoDB accepts keys of at most 1,024 bytes, and its error for a longer key would become an
// internal error.
const positionBytesMax = 900

// CursorScope identifies the list for which a cursor is valid: it consists of the list's operation
// and the values of its filters and path parameters. It need not include the company: the partition
// comes from the API key, so a forged cursor cannot access another company.
type CursorScope struct {
	Operation string
	Filters   []string
}

// cursorDigestBytes is the length of the digest at the beginning of a cursor.
const cursorDigestBytes = 9

// digest returns a digest of the list and the position. It includes the position so that a
// truncated or mistyped cursor is detected.
func (c CursorScope) digest(position string) []byte {
	slices.Sort(c.Filters)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", c.Operation, c.Filters, position))
	return sum[:cursorDigestBytes]
}

// Encode returns the opaque cursor for a position.
func (c CursorScope) Encode(position string) string {
	return base64.RawURLEncoding.EncodeToString(append(c.digest(position), position...))
}

// decode returns the position in a cursor. ok is false if the cursor belongs to a different list or
// to different filters, or if the string is not a cursor.
func (c CursorScope) decode(cursor string) (position string, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(text) <= cursorDigestBytes || len(text) > cursorDigestBytes+positionBytesMax || !utf8.Valid(text[cursorDigestBytes:]) {
		return "", false
	}
	position = string(text[cursorDigestBytes:])
	return position, c.Encode(position) == cursor // compared, so that each position has only one valid cursor
}

// bindCursor replaces the cursor in the input with its position. It must run after all filters are
// bound.
func (b *Binder) bindCursor(fields []Field, operation string) {
	b.CursorScope = CursorScope{operation, b.filters}
	for i := range fields {
		target := fields[i].ValueIn(b.Input)
		if cursor, ok := target.Interface().(Cursor); ok && cursor != "" {
			position, ok := b.CursorScope.decode(string(cursor))
			if !ok {
				b.AddProblem(string(InQuery)+".cursor", "is not a cursor of this list with these filters; send the request without cursor to start again")
			}
			target.SetString(position)
		}
	}
}
