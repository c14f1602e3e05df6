package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/mcpserver"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/oracle"
)

// Ensure every tool equals its committed snapshot, so that a review shows every change to what
// agents see.
func TestToolsMatchSnapshots(t *testing.T) {
	t.Parallel()
	const fixHint = "run go run ./scripts/gen"
	committed, err := filepath.Glob("testdata/tools/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range mcpserver.Tools(functions.Operations(nil)) {
		name := filepath.Join("testdata", "tools", tool.Name+".json")
		committed = slices.DeleteFunc(committed, func(other string) bool { return other == name })
		want, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("%s has no snapshot: %v: %s", tool.Name, err, fixHint)
			continue
		}
		if diff := cmp.Diff(string(want), string(indentJSON(t, tool))); diff != "" {
			t.Errorf("%s has changed (-committed +now); if this is intended, %s\n%s", tool.Name, fixHint, diff)
		}
	}
	for _, name := range committed {
		t.Errorf("%s belongs to no tool: %s", name, fixHint)
	}
}

func indentJSON(t *testing.T, v any) []byte {
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

// Ensure every operation is a tool unless it is declared not to be one, and that the name,
// description, annotations and arguments of a tool match its operation. At its top level, the input
// schema must be an object without alternatives, because some clients accept nothing else.
func TestToolsMatchOperations(t *testing.T) {
	t.Parallel()
	operations := toolOperations()
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
		if a := tool.Annotations; a.ReadOnly != (op.Effect == api.Read) || a.OpenWorld {
			t.Errorf("%s: annotations %+v", tool.Name, a)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		if schema.Type != "object" {
			t.Errorf("%s: the schema has the type %q, want object", tool.Name, schema.Type)
		}
		if schema.AnyOf != nil || schema.OneOf != nil || schema.AllOf != nil {
			t.Errorf("%s: the schema has alternatives at the top: anyOf %v, oneOf %v, allOf %v", tool.Name, schema.AnyOf, schema.OneOf, schema.AllOf)
		}
		want := map[string]bool{}
		if op.HasCompanyID() {
			want["companyId"] = false
		}
		for _, f := range op.Input {
			want[f.ArgumentName()] = f.Required
		}
		if op.Effect == api.Read {
			want["fields"] = false
		}
		if op.Effect == api.Read && !op.IsList() {
			want["at"] = false
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

// Ensure the annotations of every tool say what it does to stored values, so that clients know when
// to ask a person before a call, and which calls are safe to repeat. A read-only tool must have no
// other hint.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	tables, err := oracle.Load()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[oracle.Hints]string{
		{ReadOnly: true}:                      `{"readOnlyHint":true,"openWorldHint":false}`,
		{}:                                    `{"destructiveHint":false,"openWorldHint":false}`,
		{Destructive: true, Idempotent: true}: `{"destructiveHint":true,"idempotentHint":true,"openWorldHint":false}`,
	}
	seen := map[oracle.Hints]bool{}
	for _, tool := range mcpserver.Tools(functions.Operations(nil)) {
		o, ok := tables.Lookup(strings.TrimPrefix(tool.Name, "service_"))
		if !ok {
			t.Errorf("%s has no line for %s", oracle.AdditionsFile, tool.Name)
			continue
		}
		seen[o.Hints()] = true
		got, err := json.Marshal(tool.Annotations)
		if err != nil {
			t.Fatal(err)
		}
		if want := texts[o.Hints()]; string(got) != want {
			t.Errorf("the annotations of %s are %s, want %s", tool.Name, got, want)
		}
		if strings.Contains(tool.Name, "feedback") && !strings.Contains(tool.Description, "not instructions") {
			t.Errorf("the description of %s lacks the warning about third-party text: %s", tool.Name, tool.Description)
		}
	}
	if len(seen) != len(texts) {
		t.Errorf("the tools have the hints %v, want each of %v", seen, texts)
	}
}

// Ensure the list of tools is small enough to leave room in a model's context. go test -v prints
// the size of every tool and area in bytes.
func TestToolSizes(t *testing.T) {
	t.Parallel()
	operations := toolOperations()
	total, areas := 0, map[string]int{}
	var table strings.Builder
	for i, tool := range mcpserver.Tools(operations) {
		text, err := schema.Encode(tool)
		if err != nil {
			t.Fatal(err)
		}
		size := len(text) + len(",")
		area, _, _ := strings.Cut(string(operations[i].Scope), ":")
		areas[area] += size
		total += size
		fmt.Fprintf(&table, "%6d %-10s %s\n", size, area, tool.Name)
	}
	for area, size := range areas {
		if area == "" {
			continue
		}
		size += areas[""] // every key sees the tools that need no scope
		fmt.Fprintf(&table, "%6d %s of %d\n", size, area, oracle.AreaToolsBytesMax)
		if size > oracle.AreaToolsBytesMax {
			t.Errorf("the tools of %s have %d bytes, more than %d", area, size, oracle.AreaToolsBytesMax)
		}
	}
	fmt.Fprintf(&table, "%6d whole of %d: %d tools, %d bytes each\n", total, oracle.ToolsBytesMax, len(operations), total/len(operations))
	if total > oracle.ToolsBytesMax {
		t.Errorf("the tools have %d bytes, more than %d", total, oracle.ToolsBytesMax)
	}
	t.Log("\n" + table.String())
}

// httpTermPattern matches HTTP terms, which mean nothing to a model that calls tools.
var httpTermPattern = regexp.MustCompile(`\b(HTTP|PATCH|POST|GET|PUT|DELETE|If-Match|Idempotency-Key|[45][0-9]{2}|(?i:path|query|headers?|endpoints?|status code))\b|\bbody\.`)

// Ensure the description of every tool says in full sentences what the tool does, and that every
// argument has a description that a model can act on. The description of an id must name the tool
// that lists such ids. If null clears a value, the argument's description must say so. No
// description may mention HTTP.
func TestToolDescriptions(t *testing.T) {
	t.Parallel()
	operations := toolOperations()
	lists, ids := map[string]bool{}, map[string]bool{}
	for _, op := range operations {
		lists[mcpserver.ToolName(op)] = op.IsList()
		for _, f := range op.Input {
			ids[f.Name] = ids[f.Name] || f.In == schema.InPath
		}
	}
	toolNamePattern := regexp.MustCompile(`service_[a-z_]+`)
	for _, tool := range mcpserver.Tools(operations) {
		if !regexp.MustCompile(`^[A-Z][a-z]+ [^. ]+ [^.]+\.`).MatchString(tool.Description+".") || strings.Contains(tool.Description, "..") {
			t.Errorf("%s: %q is no sentence", tool.Name, tool.Description)
		}
		var arguments jsonschema.Schema
		if err := json.Unmarshal(tool.InputSchema, &arguments); err != nil {
			t.Fatal(err)
		}
		if problems := descriptionProblems("", &arguments, lists, ids); len(problems) > 0 {
			t.Errorf("%s has unclear arguments: %s", tool.Name, strings.Join(problems, "; "))
		}
		for _, name := range append(toolNamePattern.FindAllString(tool.Description, -1), toolNamePattern.FindAllString(string(tool.InputSchema), -1)...) {
			if _, isTool := lists[name]; !isTool && !strings.HasSuffix(name, "_") {
				t.Errorf("%s names %s, which is no tool", tool.Name, name)
			}
		}
		if word := httpTermPattern.FindString(tool.Description); word != "" {
			t.Errorf("%s: %q is a word of HTTP", tool.Name, word)
		}
	}
}

// descriptionProblems returns what is wrong with the descriptions of arguments, including those of
// the fields of array elements.
func descriptionProblems(prefix string, s *jsonschema.Schema, lists, ids map[string]bool) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p, path := s.Properties[name], prefix+name
		word := httpTermPattern.FindString(p.Description)
		switch list := regexp.MustCompile(`service_list_[a-z_]+`).FindString(p.Description); {
		case p.Description == "" && (path == "fields" || path == "at"): // the server's instructions describe them
		case p.Description == "":
			out = append(out, path+" has no description")
		case word != "" && !slices.Contains(p.Enum, any(word)):
			out = append(out, fmt.Sprintf("%s: %q is a word of HTTP", path, word))
		case ids[strings.TrimSuffix(name, "s")] && !lists[list]:
			out = append(out, path+" names no tool that lists the ids")
		case slices.Contains(p.Types, "null") && !strings.Contains(p.Description, "null clears it"):
			out = append(out, path+" does not say that null clears it")
		}
		if p.Items != nil {
			out = append(out, descriptionProblems(path+"[].", p.Items, lists, ids)...)
		}
	}
	return out
}

func toolOperations() []api.Operation {
	return slices.DeleteFunc(functions.Operations(nil), func(op api.Operation) bool { return op.NotTool })
}
