package mcp_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/mcpserver"
)

// Ensure every tool equals its committed snapshot, so that a review shows every change of what agents see.
func TestToolsAreAsCommitted(t *testing.T) {
	t.Parallel()
	const mend = "run go run ./scripts/gen"
	committed, err := filepath.Glob("testdata/tools/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range mcpserver.Tools(functions.Operations(nil)) {
		name := filepath.Join("testdata", "tools", tool.Name+".json")
		committed = slices.DeleteFunc(committed, func(other string) bool { return other == name })
		want, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("%v: %s", err, mend)
			continue
		}
		if diff := cmp.Diff(string(want), string(indented(t, tool))); diff != "" {
			t.Errorf("%s has changed (-committed +now); if this is intended, %s\n%s", tool.Name, mend, diff)
		}
	}
	for _, name := range committed {
		t.Errorf("%s belongs to no tool: %s", name, mend)
	}
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Ensure every operation is a tool except those that return a secret, and that the name, description, annotations and
// arguments of a tool match its operation. The input schema must be a closed object without alternatives at the top, which
// every client accepts.
func TestToolsAreTheOperations(t *testing.T) {
	t.Parallel()
	operations := slices.DeleteFunc(functions.Operations(nil), func(op api.Operation) bool { return op.NotTool })
	tools := mcpserver.Tools(operations)
	if len(tools) != len(operations) {
		t.Fatalf("%d tools for %d operations", len(tools), len(operations))
	}
	for i, op := range operations {
		tool := tools[i]
		if tool.Name != "service_"+op.ID {
			t.Errorf("the tool of %s is named %s", op.ID, tool.Name)
		}
		if !strings.HasPrefix(tool.Description, op.Summary) || !strings.Contains(tool.Description, op.Description) {
			t.Errorf("%s: description %q", tool.Name, tool.Description)
		}
		a := tool.Annotations
		if a.ReadOnlyHint != (op.Effect == api.Read) || *a.OpenWorldHint {
			t.Errorf("%s: annotations %+v", tool.Name, a)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(tool.InputSchema.(json.RawMessage), &schema); err != nil {
			t.Fatal(err)
		}
		if schema.Type != "object" || schema.AnyOf != nil || schema.OneOf != nil || schema.AllOf != nil || schema.AdditionalProperties == nil {
			t.Errorf("%s: the schema is not a closed object", tool.Name)
		}
		want := map[string]bool{}
		if op.Company() {
			want["companyId"] = false
		}
		for _, f := range op.Input {
			want[f.Argument()] = f.Required
		}
		got := map[string]bool{}
		for name := range schema.Properties {
			got[name] = slices.Contains(schema.Required, name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: arguments (-want +got)\n%s", tool.Name, diff)
		}
	}
}

// Ensure the hints of every tool say what its verb does to stored values, so that clients ask before they call it and repeat it only
// when that changes nothing more.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	type hints struct{ readOnly, destructive, idempotent bool }
	want := map[string]hints{
		"list": {true, false, true}, "get": {true, false, true}, "preview": {true, false, true},
		"create": {false, false, false},
		"update": {false, true, true}, "delete": {false, true, true}, "push": {false, true, true}, "publish": {false, true, true}, "revoke": {false, true, true},
	}
	seen := map[string]bool{}
	for _, tool := range mcpserver.Tools(functions.Operations(nil)) {
		verb, _, _ := strings.Cut(strings.TrimPrefix(tool.Name, "service_"), "_")
		seen[verb] = true
		a := tool.Annotations
		if got := (hints{a.ReadOnlyHint, *a.DestructiveHint, a.IdempotentHint}); got != want[verb] {
			t.Errorf("%s: %+v, want %+v", tool.Name, got, want[verb])
		}
		if strings.Contains(tool.Name, "feedback") && !strings.Contains(tool.Description, "not instructions") {
			t.Errorf("the description of %s lacks the warning about third-party text: %s", tool.Name, tool.Description)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("the verbs of the tools are %v", seen)
	}
}
