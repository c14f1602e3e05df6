package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"growthworkspace/shared/schema"
)

// positionBytes bounds a position, which is a sort key or a part of one: DynamoDB takes 1,024 bytes.
const positionBytes = 1000

// cursorScope is what a cursor is bound to: the operation and the values of its filters and path parameters.
// It holds no company, because the partition always comes from the key: a forged cursor reaches nothing else.
type cursorScope struct {
	Operation string
	Filters   []string
}

type cursorText struct {
	Scope    string `json:"s"`
	Position string `json:"p"`
}

func (c cursorScope) digest() string {
	slices.Sort(c.Filters)
	sum := sha256.Sum256([]byte(c.Operation + "\x00" + strings.Join(c.Filters, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// encode spells a position as an opaque cursor.
func (c cursorScope) encode(position string) string {
	text, err := json.Marshal(cursorText{c.digest(), position})
	if err != nil {
		panic("api: two strings do not marshal: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// decode returns the position of a cursor; ok is false for one of another list, of other filters, or for any other text.
func (c cursorScope) decode(cursor string) (position string, ok bool) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || !utf8.Valid(text) {
		return "", false
	}
	var t cursorText
	if json.Unmarshal(text, &t) != nil || t.Scope != c.digest() || t.Position == "" || len(t.Position) > positionBytes {
		return "", false
	}
	return t.Position, true
}

// bindCursor replaces the cursor of an input by its position. It runs when all filters are known.
func bindCursor(op *Operation, b *schema.Binder) cursorScope {
	scope := cursorScope{op.ID, b.Filters}
	for i := range op.Input {
		f := &op.Input[i]
		target := f.Of(b.Input)
		if cursor, ok := target.Interface().(Cursor); ok && cursor != "" {
			position, ok := scope.decode(string(cursor))
			if !ok {
				b.Problem(string(f.In)+"."+f.Name, "is not a cursor of this list with these filters; start without one")
			}
			target.SetString(position)
		}
	}
	return scope
}
