package schema

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Ensure every position that is taken fits into the cursor that is taken, and filters cannot be confused.
func TestCursorBounds(t *testing.T) {
	scope := CursorScope{"list_items", []string{"b=2", "a=1"}}
	cursor := scope.Encode(strings.Repeat("\xf0\x9f\x98\x80", positionBytes/4))
	if _, ok := scope.decode(cursor); !ok || len(cursor) > CursorChars {
		t.Errorf("%d characters, %v", len(cursor), ok)
	}
	if _, ok := (CursorScope{"list_items", []string{"a=1", "b=2"}}).decode(cursor); !ok {
		t.Error("the order of the filters matters")
	}
	for _, other := range []CursorScope{{"list_items", []string{"a=1\x00b=2"}}, {"list_items", []string{"a=1 b=2"}}, {"list_items", []string{`a=1" "b=2`}}, {"list_items b=2", []string{"a=1"}}, {"list_items", nil}} {
		if _, ok := other.decode(cursor); ok {
			t.Errorf("taken by %q", other)
		}
	}
}

// FuzzCursor: no text makes decode panic; what it takes, it would have spelled the same way.
func FuzzCursor(f *testing.F) {
	scope := CursorScope{"list_items", []string{"stage=live"}}
	for _, text := range []string{"", "a", scope.Encode("here"), scope.Encode("a\x00b"), scope.Encode("here") + "\n", scope.Encode("here") + "=", strings.Repeat("A", 2000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if position, ok := scope.decode(text); ok && (scope.Encode(position) != text || position == "" || len(position) > positionBytes || !utf8.ValidString(position)) {
			t.Errorf("%q is %q", text, position)
		}
		if text != "" && utf8.ValidString(text) && len(text) <= positionBytes {
			if position, ok := scope.decode(scope.Encode(text)); !ok || position != text {
				t.Errorf("the position %q came back as %q", text, position)
			}
		}
	})
}
