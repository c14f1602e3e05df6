package convert

import (
	"context"
	"io"
	"strings"
	"testing"
)

// ideas is a kind whose files contain one idea per word. Equal words are versions of the same idea.
var ideas = Kind{Name: "ideas", Types: []string{"content-idea"}, Convert: func(_ context.Context, in Input, out *Output) error {
	text, err := io.ReadAll(in.Reader())
	for i, title := range strings.Fields(string(text)) {
		if err == nil {
			err = out.Emit(Record{Type: "content-idea", Row: i + 1, Identity: title, Fields: map[string]any{
				"id": DeriveID("ida", title), "title": title, "status": "suggested", "sourceKind": "manual",
			}})
		}
	}
	return err
}}

// Ensure PlaceOf returns the place of the version that is kept, whatever the order of the calls.
// Calls with ascending numbers must read the records only once in total, because an import that
// refuses every line calls PlaceOf for each of them.
func TestPlaceOf(t *testing.T) {
	t.Parallel()
	r, err := Convert(t.Context(), ideas, []Input{NewInput("1", []byte("a b c")), NewInput("2", []byte("b d"))})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Err(); err != nil || r.Total() != 4 {
		t.Fatalf("%d records, %v", r.Total(), err)
	}
	before := 0
	for _, c := range []struct {
		line int
		want string
	}{{1, "1, row 1"}, {2, "1, row 3"}, {2, "1, row 3"}, {4, "2, row 2"}, {3, "2, row 1"}, {1, "1, row 1"}, {5, "line 5"}} {
		pass := r.places
		if got := r.PlaceOf(c.line); got != c.want {
			t.Errorf("line %d: %s, want %s", c.line, got, c.want)
		}
		if before > 0 && (r.places == pass) != (c.line >= before) {
			t.Errorf("line %d after line %d: the same pass %t", c.line, before, r.places == pass)
		}
		before = c.line
	}
}
