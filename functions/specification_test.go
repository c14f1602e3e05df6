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
)

// Ensure the declared operations are the 35 of the specification and the 6 additions, each with its path, scope, inputs
// and defaults.
func TestOperationsAreTheSpecification(t *testing.T) {
	registry := map[string]api.Operation{}
	for _, op := range functions.Operations(nil) {
		registry[op.ID] = op
	}
	table, additions := rows(t, "operations.tsv"), rows(t, "additions.tsv")
	if len(table) != 35 || len(additions) != 6 {
		t.Fatalf("operations.tsv has %d rows, want 35; additions.tsv has %d, want 6", len(table), len(additions))
	}
	for _, row := range append(table, additions...) {
		op, ok := registry[row[0]]
		if !ok {
			t.Errorf("%s is not declared", row[0])
			continue
		}
		delete(registry, row[0])
		got := []string{op.ID, op.Method, strings.TrimPrefix(op.Path, "/v1"), cmp.Or(string(op.Scope), "any"), spell(op, schema.InQuery), spell(op, schema.InBody)}
		if !slices.Equal(got, row) {
			t.Errorf("%s\n got %q\nwant %q", row[0], got, row)
		}
	}
	for id := range registry {
		t.Errorf("%s is declared but not in testdata/operations.tsv or additions.tsv", id)
	}
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
		out = append(out, text)
	}
	if out == nil {
		return "-"
	}
	return strings.Join(out, " ")
}

// Ensure every list with a limit has the default and the bounds of the specification, and a cursor.
func TestLimitsAreTheSpecification(t *testing.T) {
	limits := map[string][]string{}
	for _, row := range rows(t, "limits.tsv") {
		limits[row[0]] = row[1:]
	}
	for _, op := range functions.Operations(nil) {
		var got []string
		cursor := false
		for _, f := range op.Input {
			if f.Name == "limit" {
				got = []string{f.Default, fmt.Sprint(*f.Min), fmt.Sprint(*f.Max)}
			}
			cursor = cursor || f.Name == "cursor"
		}
		if !slices.Equal(got, limits[op.ID]) || cursor != (got != nil) {
			t.Errorf("%s: limit %v, want %v; cursor %v", op.ID, got, limits[op.ID], cursor)
		}
		if cursor && !op.IsList() {
			t.Errorf("%s has a cursor but is not a list", op.ID)
		}
	}
}

// Ensure the body of every response has exactly the fields of the specification, in its order, and that their types and
// nullability are those of the specification.
func TestResourcesAreTheSpecification(t *testing.T) {
	t.Parallel()
	want := map[string][]string{}
	for _, row := range rows(t, "resources.tsv") {
		want[row[0]] = strings.Fields(row[1])
	}
	same := map[string]string{ // operations that return the same resource as another one
		"list_companies": "get_company", "update_company": "get_company", "list_plan_boards": "get_plan_board", "list_plan_items": "get_plan_item",
		"create_plan_item": "get_plan_item", "update_plan_item": "get_plan_item", "list_feedback": "get_feedback", "update_feedback_reply": "get_feedback",
		"list_broadcast_posts": "get_broadcast_post", "create_broadcast_post": "get_broadcast_post", "update_broadcast_post": "get_broadcast_post",
		"get_current_key": "list_keys", "rotate_key": "create_key", "update_context_brand_kit": "get_context_brand_kit", "create_context_content_type": "list_context_content_types", "update_context_content_type": "list_context_content_types",
	}
	s := start(t, nil)
	key := s.Key(t)
	for _, op := range functions.Operations(nil) {
		args, ok := arguments[op.ID]
		if !ok {
			t.Errorf("no arguments for %s: add them to fixture_test.go", op.ID)
			continue
		}
		r := s.Call(t, key, op.ID, args)
		if r.Status != 200 {
			t.Errorf("%s: %d %s", op.ID, r.Status, r.Body)
			continue
		}
		text := []byte(r.Body)
		if op.IsList() {
			var list struct{ Items []json.RawMessage }
			r.Decode(t, &list)
			if len(list.Items) == 0 {
				t.Errorf("%s: the list is empty: add a record to testdata/company.jsonl", op.ID)
				continue
			}
			if names := names(t, text); !slices.Equal(names, []string{"items"}) {
				t.Errorf("%s: the list has the fields %v", op.ID, names)
			}
			text = list.Items[0]
		}
		resource := op.ID
		if other, ok := same[op.ID]; ok {
			resource = other
		}
		compareFields(t, op, text, want[resource])
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
	out := op.Output
	if op.IsList() {
		out = out.Field(0).Type.Elem()
	}
	for _, f := range want {
		name, kind, _ := strings.Cut(f, ":")
		if got := kindOf(out, name); got != kind {
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
