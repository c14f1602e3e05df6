package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// cursorChars bounds a cursor: a position is a sort key, which DynamoDB bounds at 1,024 bytes.
const cursorChars = 1600

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

// bindCursors replaces the cursor of an input by its position. It runs when all filters are known.
func (b *binder) bindCursors() {
	for i := range b.op.Input {
		f := &b.op.Input[i]
		target := b.out.input.FieldByIndex(f.index)
		if cursor, ok := target.Interface().(Cursor); ok && cursor != "" {
			position, ok := b.out.list.decode(string(cursor))
			if !ok {
				b.problem(string(f.In)+"."+f.Name, "is not a cursor of this list with these filters; start without one")
			}
			target.SetString(position)
		}
	}
}
