package functions_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/schema/jsonschema"
	"growthworkspace/shared/testkit/oracle"
)

// Ensure operations.tsv lists the specification's 35 operations, and that a separate file lists the
// added operations.
func TestTables(t *testing.T) {
	count := map[string]int{}
	for _, o := range operationTable {
		count[o.File]++
	}
	if own, added := count[oracle.SpecificationFile], count[oracle.AdditionsFile]; own != 35 || added < 6 {
		t.Errorf("%s has %d lines, want the specification's 35; %s has %d, want at least 6: a new operation goes there", oracle.SpecificationFile, own, oracle.AdditionsFile, added)
	}
}

// Ensure the declared operations (the specification's 35 and the added ones) match the handwritten
// tables in path, scope, inputs, defaults and limits.
func TestOperationsAreTheSpecification(t *testing.T) {
	declared := map[string]bool{}
	for _, op := range functions.Operations(nil) {
		declared[op.ID] = true
		got := map[string]string{
			"id": op.ID, "method": op.Method, "path": strings.TrimPrefix(op.Path, "/v1"), "scope": scopeNotation(op),
			"query": fieldNotation(op, schema.InQuery), "body": fieldNotation(op, schema.InBody),
		}
		o, ok := operationTable.Lookup(op.ID)
		if !ok {
			got["response"] = responseNotation(op)
			if op.IsList() {
				got["order"] = "ORDER"
			}
			if len(pathFields(op)) > 0 || strings.Contains(got["query"], "!") {
				got["fixture"] = "FIXTURE"
			}
			t.Errorf("%s has no line for %s: check this one, type the words in capitals and what is not the default, and add it:\n%s", oracle.AdditionsFile, op.ID, oracle.FormatRow(got))
			continue
		}
		want := map[string]string{"id": o.ID, "method": o.Method, "path": o.Path, "scope": strings.TrimSuffix(o.Scope+"|"+o.DraftScope, "|"), "query": o.Query, "body": o.Body}
		for _, column := range slices.Sorted(maps.Keys(want)) {
			if got[column] != want[column] {
				t.Errorf("%s: %s\n got %s\nwant %s", o.CellLocation(column), op.ID, got[column], want[column])
			}
		}
	}
	for _, o := range operationTable {
		if !declared[o.ID] {
			t.Errorf("%s: %s is not declared", o.CellLocation("id"), o.ID)
		}
	}
}

// scopeNotation returns the scopes of an operation in the notation of operations.tsv.
func scopeNotation(op api.Operation) string {
	return strings.TrimSuffix(cmp.Or(string(op.Scope), "any")+"|"+string(op.DraftScope), "|")
}

// recordTypeOf returns the type of the record that an operation returns or, for a list, the type of
// the listed records.
func recordTypeOf(op api.Operation) reflect.Type {
	if op.IsList() {
		return op.Output.Field(0).Type.Elem()
	}
	return op.Output
}

// responseNotation returns the fields of an operation's record in the notation of operations.tsv.
func responseNotation(op api.Operation) string {
	var out []string
	for _, name := range jsonschema.Record(recordTypeOf(op), nil).PropertyOrder {
		out = append(out, name+":"+typeNotation(recordTypeOf(op), name))
	}
	return strings.Join(out, " ")
}

// fieldNotation returns the fields that an operation accepts in one part of the request, such as
// the query, in the notation of operations.tsv. It omits the field "cursor", which is not in the
// specification.
func fieldNotation(op api.Operation, in schema.Place) string {
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
		if f.Null == schema.NullClears {
			text += "?"
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

// Ensure every list accepts a cursor, because the size of a page is bounded. There are two
// exceptions: the list of companies has only one record, and a feed accepts the parameter "after"
// instead. No other operation may accept a cursor.
func TestListsHaveCursors(t *testing.T) {
	for _, op := range functions.Operations(nil) {
		has := func(name string) bool {
			return slices.ContainsFunc(op.Input, func(f schema.Field) bool { return f.Name == name })
		}
		if has("cursor") != (op.IsList() && op.ID != "list_companies" && !op.IsFeed()) || has("limit") && !has("cursor") && !op.IsFeed() {
			t.Errorf("%s: limit %v, cursor %v, list %v", op.ID, has("limit"), has("cursor"), op.IsList())
		}
	}
}

// Ensure the body of every response has exactly the fields of the specification, in the same order,
// with the same types and nullability.
func TestResourcesAreTheSpecification(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	for _, op := range functions.Operations(nil) {
		r := s.Call(t, key, op.ID, fixtureArguments[op.ID])
		o := operationRow(t, op)
		if r.Status != 200 {
			t.Errorf("%s, or sample: %s: %d %s", o.CellLocation("fixture"), op.ID, r.Status, r.Body)
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
			if names := propertyNames(t, text); !slices.Equal(names, []string{"items"}) {
				t.Errorf("%s: the list has the fields %v", op.ID, names)
			}
			text = list.Items[0]
		}
		if other, same := strings.CutPrefix(o.Response, "as "); same {
			o, _ = operationTable.Lookup(other)
		}
		compareFields(t, op, o, text)
	}
}

// compareFields compares the fields of a response with those that the operation tables list for its
// operation.
func compareFields(t *testing.T, op api.Operation, o oracle.Operation, text []byte) {
	t.Helper()
	want := strings.Fields(o.Response)
	var wantNames []string
	for _, f := range want {
		name, _, _ := strings.Cut(f, ":")
		wantNames = append(wantNames, name)
	}
	if got := propertyNames(t, text); !slices.Equal(got, wantNames) {
		t.Errorf("%s: %s\n got %v\nwant %v", o.CellLocation("response"), op.ID, got, wantNames)
	}
	for _, f := range want {
		name, kind, _ := strings.Cut(f, ":")
		if got := typeNotation(recordTypeOf(op), name); got != kind {
			t.Errorf("%s: %s.%s is %s, want %s", o.CellLocation("response"), op.ID, name, got, kind)
		}
	}
}

func typeNotation(t reflect.Type, name string) string {
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
				return "array" + nullable
			}
			return "array?"
		case reflect.Struct:
			return "object" + nullable
		}
	}
	return "absent"
}

// propertyNames returns the property names of a JSON object, in order.
func propertyNames(t *testing.T, text []byte) (out []string) {
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
