package schema

import (
	"strings"
	"testing"
)

// Ensure that a cursor for a position of the maximum length is accepted, and that different filters
// never have the same cursor.
func TestCursorBounds(t *testing.T) {
	scope := CursorScope{"list_items", []string{"b=2", "a=1"}}
	cursor := scope.Encode(strings.Repeat("\xf0\x9f\x98\x80", positionBytesMax/4))
	if _, ok := scope.decode(cursor); !ok || len(cursor) > CursorCharsMax {
		t.Errorf("%d characters, %v", len(cursor), ok)
	}
	if _, ok := (CursorScope{"list_items", []string{"a=1", "b=2"}}).decode(cursor); !ok {
		t.Error("the order of the filters matters")
	}
	for _, other := range []CursorScope{{"list_items", []string{"a=1\x00b=2"}}, {"list_items", []string{"a=1 b=2"}}, {"list_items", []string{`a=1" "b=2`}}, {"list_items b=2", []string{"a=1"}}, {"list_items", nil}} {
		if _, ok := other.decode(cursor); ok {
			t.Errorf("accepted by %q", other)
		}
	}
}
