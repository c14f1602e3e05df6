package functions_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	judge "github.com/santhosh-tekuri/jsonschema/v6"

	"growthworkspace/functions"
	"growthworkspace/shared/schema/jsonschema"
)

// Ensure valid arguments and responses match the published schemas of their operations, including
// the formats.
func TestSchemas(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	for _, op := range functions.Operations(nil) {
		arguments := marshal(t, fixtureArguments[op.ID])
		var values map[string]any
		if err := json.Unmarshal(arguments, &values); err != nil {
			t.Fatal(err)
		}
		if err := validate(t, jsonschema.Arguments(op.Input, op.HasCompanyID()), string(arguments)); err != nil {
			t.Errorf("%s: the arguments %s: %v", op.ID, arguments, err)
		}
		r := s.Call(t, key, op.ID, values)
		if r.Status != 200 {
			t.Errorf("%s: status %d, want 200: %s", op.ID, r.Status, r.Body)
			continue
		}
		if err := validate(t, jsonschema.Record(op.Output, nil), r.Body); err != nil {
			t.Errorf("%s: the response %s: %v", op.ID, r.Body, err)
		}
	}
}

// Ensure every field that refers to a record has the id prefix of an existing record type. A wrong
// prefix would cause every id to be refused.
func TestReferences(t *testing.T) {
	t.Parallel()
	prefixes := map[string]bool{}
	for _, typ := range functions.Transfers(nil) {
		prefixes[typ.Prefix] = true
	}
	for _, op := range functions.Operations(nil) {
		for _, f := range op.Input {
			if f.Ref != "" && !prefixes[f.Ref] {
				t.Errorf("%s: no record has an id with the prefix %s of %s", op.ID, f.Ref, f.Name)
			}
		}
	}
}

func validate(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	schema := marshal(t, s)
	value, err := judge.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := judge.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", value); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	instance, err := judge.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(instance)
}
