package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/schema/jsonschema"
	"growthworkspace/shared/transfer"
)

// companyFile contains a company with hand-written records of every type. Tests import it, and so
// do people who try out a deployment. demoFile contains the demo company.
const (
	companyFile = "functions/testdata/company.jsonl"
	demoFile    = "scripts/workspace/demo/demo.jsonl"
)

// withExamples returns the content of a file of records, with an example added for each type that
// has no record. If the records of that type have ids, it adds a second example, for a test to
// delete.
func withExamples(file string) (generatedFile, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return generatedFile{}, err
	}
	text, err = addExamples(file, text, functions.Transfers(nil))
	return generatedFile{file, text}, err
}

func addExamples(file string, text []byte, types []transfer.Type) ([]byte, error) {
	for _, kind := range types {
		if bytes.Contains(text, fmt.Appendf(nil, `{"type":%q,`, kind.Name)) {
			continue
		}
		ids := []string{""}
		if kind.Prefix != "" {
			ids = []string{kind.Prefix + "_1", kind.Prefix + "_2"}
		}
		for n, id := range ids {
			record := exampleOf(kind, n)
			if id != "" {
				record["id"] = id
			}
			example, err := schema.Encode(record)
			if err != nil {
				return nil, fmt.Errorf("encode an example of the type %s: %w", kind.Name, err)
			}
			line := fmt.Appendf(nil, `{"type":%q,"record":%s}`, kind.Name, bytes.TrimSpace(example))
			if _, problems := kind.Check(example); len(problems) > 0 {
				return nil, fmt.Errorf("add a record of the type %s to %s: an example is refused (%s):\n%s", kind.Name, file, strings.Join(problems, "; "), line)
			}
			text = append(append(text, line...), '\n')
		}
	}
	return text, nil
}

// exampleOf returns an example record of a type. The record has no id and refers to no other
// records. Its name ends with a number derived from n, so that names differ. Every other field has
// an example value.
func exampleOf(kind transfer.Type, n int) map[string]any {
	out, properties := map[string]any{}, jsonschema.Record(kind.Record, nil).Properties
	for _, f := range schema.CreateFields(kind.Record) { // an import accepts the fields of a create request
		properties[f.Name] = jsonschema.Parameter(f, nil)
	}
	for name, s := range properties {
		switch {
		case name == "id" || strings.HasSuffix(name, "Id"):
		case name == "name":
			out[name] = fmt.Sprintf("%s %d", strings.ToUpper(kind.Name[:1])+strings.ReplaceAll(kind.Name[1:], "-", " "), n+1)
		case strings.HasSuffix(name, "Url"): // an import requires valid URLs
			out[name] = fmt.Sprintf("https://example.com/%d", n+1)
		default:
			out[name] = jsonschema.Example(s)
		}
	}
	return out
}
