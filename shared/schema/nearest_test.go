package schema_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"growthworkspace/shared/schema"
)

// Ensure Nearest returns the name that was meant, and "" for an unrelated name.
func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"boardId", "title", "limit", "replyStatus", "metricKey", "growth.signups", "growth.signup_rate"}
	for sent, want := range map[string]string{
		"limit": "limit", "LIMIT": "limit", "limti": "limit", "limits": "limit", "limt": "limit", "linit": "limit",
		"board_id": "boardId", "board-id": "boardId", "boardid": "boardId", "board": "boardId", "reply_stauts": "replyStatus",
		"metric": "metricKey", "growth.signup": "growth.signups", "growth.signuprates": "growth.signup_rate",
		"": "", "-": "", "status": "replyStatus", "key": "", "x": "", "page": "", "tidal": "", "titleandmore": "",
	} {
		if got := schema.Nearest(sent, names); got != want {
			t.Errorf("%q: %q, want %q", sent, got, want)
		}
	}
	if got := schema.Nearest("ab", []string{"abc", "AB"}); got != "AB" {
		t.Errorf("the nearer one comes second: %q", got)
	}
	if got := schema.Nearest("abcdef", []string{"abcdxy", "abcdex"}); got != "abcdex" {
		t.Errorf("the one that is nearer by a letter comes second: %q", got)
	}
	if got := schema.Nearest("abcdef", []string{"abcdex", "abcdey"}); got != "abcdex" {
		t.Errorf("equally near: %q", got)
	}
}

// Ensure the messages about a tool's first 20 unknown arguments contain a hint, which is the
// nearest name or the list of all names. If the tool has no arguments, there must be no hint.
func TestHintsOfUnknownArguments(t *testing.T) {
	t.Parallel()
	problems := func(in reflect.Type, arguments string) []string {
		o, parseProblems := schema.ParseObject([]byte(arguments), "arguments")
		return schema.BindFlat(in, schema.Fields(in), schema.FlatArguments{Arguments: o, Problems: parseProblems}).Problems
	}
	names := make([]string, 22)
	for n := range names {
		names[n] = fmt.Sprintf(`"x%d":1`, n)
	}
	type titleInput struct {
		Title *string `json:"title" max:"9"`
	}
	got := problems(reflect.TypeFor[titleInput](), "{"+strings.Join(names, ",")+"}")
	for n := range names {
		want := fmt.Sprintf("arguments.x%d: unknown argument", n)
		if n < 20 {
			want += "; the arguments are title"
		}
		if got[n] != want {
			t.Errorf("%q, want %q", got[n], want)
		}
	}
	if got, want := problems(reflect.TypeFor[titleInput](), `{"titel":1}`)[0], "arguments.titel: unknown argument; did you mean title?"; got != want {
		t.Errorf("problem %q, want %q", got, want)
	}
	if got, want := problems(reflect.TypeFor[struct{}](), `{"x":1}`)[0], "arguments.x: unknown argument"; got != want {
		t.Errorf("problem %q, want %q", got, want)
	}
}
