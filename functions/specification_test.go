package functions_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/schema/jsonschema"
)

// contract is a line of the hand-typed tables.
type contract struct {
	request  []string // id, method, path, scope, query and body
	response string
}

// contracts reads the hand-typed tables: the specification's 35 operations, and those that were added.
func contracts(t *testing.T) map[string]contract {
	t.Helper()
	own, added := rows(t, "operations.tsv"), rows(t, "additions.tsv")
	if len(own) != 35 || len(added) < 6 {
		t.Errorf("functions/testdata/operations.tsv has %d lines, want the specification's 35; additions.tsv has %d, want at least 6: a new operation goes there", len(own), len(added))
	}
	out := map[string]contract{}
	for _, row := range append(own, added...) {
		if len(row) != 8 || out[row[0]].request != nil {
			t.Fatalf("the line of %s in functions/testdata has %d columns, want 8, or is there twice", row[0], len(row))
		}
		out[row[0]] = contract{row[:6], row[6]}
	}
	return out
}

// Ensure the declared operations are those of the hand-typed tables, each with its path, scope, inputs, defaults and limits:
// the 35 of the specification and the additions.
func TestOperationsAreTheSpecification(t *testing.T) {
	table := contracts(t)
	for _, op := range functions.Operations(nil) {
		got := []string{op.ID, op.Method, strings.TrimPrefix(op.Path, "/v1"), cmp.Or(string(op.Scope), "any"), spell(op, schema.InQuery), spell(op, schema.InBody)}
		want, ok := table[op.ID]
		delete(table, op.ID)
		switch {
		case !ok:
			order := "-"
			if op.IsList() {
				order = "ORDER"
			}
			t.Errorf("functions/testdata/additions.tsv has no line for %s: check this one, type the order of a list, and add it:\n%s", op.ID, strings.Join(append(got, spellResponse(op), order), "\t"))
		case !slices.Equal(got, want.request):
			t.Errorf("%s differs from its line in functions/testdata\n got %q\nwant %q", op.ID, got, want.request)
		}
	}
	for id := range table {
		t.Errorf("%s has a line in functions/testdata and is not declared", id)
	}
}

// recordOf returns the type of an operation's record; for a list, the type of its records.
func recordOf(op api.Operation) reflect.Type {
	if op.IsList() {
		return op.Output.Field(0).Type.Elem()
	}
	return op.Output
}

// spellResponse returns the fields of an operation's record in the notation of operations.tsv.
func spellResponse(op api.Operation) string {
	var out []string
	for _, name := range jsonschema.Record(recordOf(op), nil).PropertyOrder {
		out = append(out, name+":"+kindOf(recordOf(op), name))
	}
	return strings.Join(out, " ")
}

// spell returns an operation's fields in the notation of operations.tsv, without cursor, which the specification lacks.
func spell(op api.Operation, in schema.Place) string {
	var out []string
	for _, f := range op.Input {
		if f.In != in || f.Name == "cursor" {
			continue
		}
		text := f.Name + ":" + string(f.Kind)
		if f.Enum != nil && f.Kind == schema.String {
			text = f.Name + ":" + strings.Join(f.Enum, "|")
		}
		if f.Required {
			text += "!"
		}
		if f.Default != "" {
			text += "=" + f.Default
		}
		if f.Name == "limit" {
			text += fmt.Sprintf("(%v..%v)", *f.Min, *f.Max)
		}
		out = append(out, text)
	}
	if out == nil {
		return "-"
	}
	return strings.Join(out, " ")
}

// Ensure every list has a cursor, because the bytes of a page are bounded, and no other operation has one. The list of companies has one
// record.
func TestListsHaveCursors(t *testing.T) {
	for _, op := range functions.Operations(nil) {
		has := func(name string) bool {
			return slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.Name == name })
		}
		if has("cursor") != (op.IsList() && op.ID != "list_companies") || has("limit") && !has("cursor") {
			t.Errorf("%s: limit %v, cursor %v, list %v", op.ID, has("limit"), has("cursor"), op.IsList())
		}
	}
}

// Ensure the body of every response has exactly the fields of the specification, in its order, and that their types and
// nullability are those of the specification.
func TestResourcesAreTheSpecification(t *testing.T) {
	t.Parallel()
	table := contracts(t)
	s := start(t, nil)
	key := s.Key(t)
	for _, op := range functions.Operations(nil) {
		r := s.Call(t, key, op.ID, arguments[op.ID])
		if r.Status != 200 {
			t.Errorf("%s: %d %s", op.ID, r.Status, r.Body)
			continue
		}
		text := []byte(r.Body)
		if op.IsList() {
			var list struct{ Items []json.RawMessage }
			r.Decode(t, &list)
			if len(list.Items) == 0 {
				t.Errorf("%s: the list is empty: run go run ./scripts/gen, which adds an example to functions/testdata/company.jsonl", op.ID)
				continue
			}
			if names := names(t, text); !slices.Equal(names, []string{"items"}) {
				t.Errorf("%s: the list has the fields %v", op.ID, names)
			}
			text = list.Items[0]
		}
		want := table[op.ID].response
		if other, same := strings.CutPrefix(want, "as "); same {
			want = table[other].response
		}
		compareFields(t, op, text, strings.Fields(want))
	}
}

func compareFields(t *testing.T, op api.Operation, text []byte, want []string) {
	t.Helper()
	var wantNames []string
	for _, f := range want {
		name, _, _ := strings.Cut(f, ":")
		wantNames = append(wantNames, name)
	}
	if got := names(t, text); !slices.Equal(got, wantNames) {
		t.Errorf("%s\n got %v\nwant %v", op.ID, got, wantNames)
	}
	for _, f := range want {
		name, kind, _ := strings.Cut(f, ":")
		if got := kindOf(recordOf(op), name); got != kind {
			t.Errorf("%s.%s is %s, want %s", op.ID, name, got, kind)
		}
	}
}

func kindOf(t reflect.Type, name string) string {
	for _, f := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != name {
			continue
		}
		if f.Type == reflect.TypeFor[json.RawMessage]() {
			return "any?"
		}
		nullable, kind := "", f.Type
		if kind.Kind() == reflect.Pointer {
			nullable, kind = "?", kind.Elem()
		}
		switch kind.Kind() {
		case reflect.String:
			return "string" + nullable
		case reflect.Float64, reflect.Int64:
			return "number" + nullable
		case reflect.Bool:
			return "boolean" + nullable
		case reflect.Slice:
			if kind.Elem().Kind() == reflect.Struct || f.Tag.Get("null") == "never" {
				return "array"
			}
			return "array?"
		}
	}
	return "absent"
}

// names returns the property names of a JSON object in their order.
func names(t *testing.T, text []byte) (out []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, name.(string))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
