package user

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

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

// Ensure each write has an undo hint. For a create there must be a delete, and for an update an
// operation that reads the record beforehand.
func TestUndoOfWrites(t *testing.T) {
	t.Parallel()
	for _, op := range functions.Operations(nil) {
		_, found := undoTexts[op.ID]
		switch {
		case op.Effect == api.Read, op.Method == http.MethodDelete, op.ID == "publish_plan_board", op.ID == "rollback_plan_board":
			found = true
		case op.Effect == api.Create:
			found = deleteOperationFor(op) != nil
		case op.Method == http.MethodPatch:
			found = readOperationFor(op) != nil
		}
		if !found {
			t.Errorf("%s has no hint: add one to undoTexts in undo.go", op.ID)
		}
	}
	for id := range undoTexts {
		if !slices.ContainsFunc(operations(), func(op api.Operation) bool { return op.ID == id }) {
			t.Errorf("undoTexts has a hint for %s, which does not exist", id)
		}
	}
}

// Ensure the flag of an undo command sets exactly the old value, or is left out.
func TestFlagValue(t *testing.T) {
	t.Parallel()
	text, status := schema.Field{Kind: schema.String}, schema.Field{Kind: schema.String, Enum: []string{"draft"}}
	for _, c := range []struct {
		field schema.Field
		value string
		want  string
		ok    bool
	}{
		{text, `"it's \n"`, "it's \n", true},
		{text, `"\u001b[2J"`, "", false},
		{text, `"\u202e"`, "", false}, // U+202E would make the displayed command differ from the pasted one
		{text, `null`, "", false},
		{status, `"draft"`, "draft", true},
		{status, `"posted"`, "", false},
		{schema.Field{Kind: schema.Array}, `["a","b"]`, `["a","b"]`, true},
		{schema.Field{Kind: schema.Number}, `1.5`, `1.5`, true},
	} {
		if got, ok := flagValue(c.field, json.RawMessage(c.value)); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %q, %t; want %q, %t", c.value, got, ok, c.want, c.ok)
		}
	}
}

// Ensure the help of an operation names the fields of the response, and explains the fields of each
// object that a flag accepts.
func TestHelpNamesFields(t *testing.T) {
	t.Parallel()
	for _, op := range functions.Operations(nil) {
		help := helpOf(op)
		words := strings.FieldsFunc(help, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(",.:", c) })
		for _, name := range namesOf(recordFields(op.Record())) {
			if !slices.Contains(words, name) {
				t.Errorf("%s: the help does not name the field %s", op.ID, name)
			}
		}
		for _, f := range op.Input {
			for _, inner := range f.Fields {
				if !regexp.MustCompile(`(?m)^  ` + inner.Name + ` .*` + regexp.QuoteMeta(usageOf(inner)) + `$`).MatchString(help) {
					t.Errorf("%s: the help does not explain the field %s of --%s", op.ID, inner.Name, kebabCase(f.Name))
				}
			}
		}
	}
}
