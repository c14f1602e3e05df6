package user

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// Ensure text by third parties cannot move the terminal's cursor, neither in a table nor in a
// record.
func TestPrintEscapes(t *testing.T) {
	t.Parallel()
	op := functions.Operations(nil)[slices.IndexFunc(functions.Operations(nil), func(op api.Operation) bool { return op.ID == "list_feedback" })]
	record := map[string]any{"id": "fbk_1", "title": "a\x1b[2Jb", "body": "one\r\ntwo\n\x07three", "flags": []any{"money", "legal"}, "rating": json.Number("4")}
	element := op.Output.Field(0).Type.Elem()
	for _, text := range []string{tableOf(element, []map[string]any{record}, 200), fieldsOf(element, record, "")} {
		if strings.ContainsAny(text, "\x1b\r\x07") {
			t.Errorf("a control character is printed: %q", text)
		}
		for _, part := range []string{`a\x1b[2Jb`, "money, legal", "4"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not in: %s", part, text)
			}
		}
	}
	if text := fieldsOf(element, record, ""); !strings.Contains(text, "one\\r\n             two\n") {
		t.Errorf("lines of a text are not printed below each other: %s", text)
	}
	wide := strings.Repeat("long words ", 20)
	for width := range 200 {
		record["title"] = wide
		for line := range strings.Lines(tableOf(element, []map[string]any{record}, width)) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > max(width, cellCharsMax+10) {
				t.Fatalf("%d characters in a width of %d: %q", n, width, line)
			}
		}
	}
}

// Ensure every operation can be retried after a lost response: it is idempotent or accepts an
// Idempotency-Key.
func TestRepeatableFlags(t *testing.T) {
	t.Parallel()
	for _, op := range functions.Operations(nil) {
		c := &operationCall{Operation: op, fields: map[string]*fieldFlag{}}
		c.addFlags(&cobra.Command{})
		for _, name := range c.fieldNames(schema.InPath) {
			c.fields[name].values = []string{"x"}
		}
		if r := c.request(); !r.Repeatable && !r.AcceptsIdempotencyKey {
			t.Errorf("%s cannot be retried: %s %s", op.ID, r.Method, r.Path)
		}
	}
}
