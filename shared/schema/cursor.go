package schema

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"unicode/utf8"
)

// positionBytes bounds a position, which is a sort key or what follows a prefix in one: DynamoDB takes 1,024 bytes, and
// would answer a longer one with an error that is none of the caller's business.
const positionBytes = 900

// CursorScope is what a cursor is bound to: the operation and the values of its filters and path parameters.
// It holds no company, because the partition always comes from the key: a forged cursor reaches nothing else.
type CursorScope struct {
	Operation string
	Filters   []string
}

// digestBytes is how much of the scope's digest a cursor begins with.
const digestBytes = 9

// digest is of the position too, so that a cursor that was cut or mistyped is found, as a typo in a key is.
func (c CursorScope) digest(position string) []byte {
	slices.Sort(c.Filters)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", c.Operation, c.Filters, position))
	return sum[:digestBytes]
}

// Encode spells a position as an opaque cursor.
func (c CursorScope) Encode(position string) string {
	return base64.RawURLEncoding.EncodeToString(append(c.digest(position), position...))
}

// decode returns the position of a cursor; ok is false for one of another list, of other filters, or for any other text.
func (c CursorScope) decode(cursor string) (position string, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(text) <= digestBytes || len(text) > digestBytes+positionBytes || !utf8.Valid(text[digestBytes:]) {
		return "", false
	}
	position = string(text[digestBytes:])
	return position, c.Encode(position) == cursor // so each position has one spelling
}

// BindCursor replaces the cursor of the input by its position, when all filters are known. The scope that it returns
// spells the cursor of the next page.
func (b *Binder) BindCursor(fields []Field, operation string) CursorScope {
	scope := CursorScope{operation, b.Filters}
	for i := range fields {
		target := fields[i].Of(b.Input)
		if cursor, ok := target.Interface().(Cursor); ok && cursor != "" {
			position, ok := scope.decode(string(cursor))
			if !ok {
				b.Problem(string(InQuery)+".cursor", "is not a cursor of this list with these filters; start without one")
			}
			target.SetString(position)
		}
	}
	return scope
}
