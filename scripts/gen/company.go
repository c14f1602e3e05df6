package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/transfer"
)

// companyFile contains a company with hand-written records of every type. Tests import it, and so
// do people who try out a deployment.
const companyFile = "functions/testdata/company.jsonl"

// companyJSONL returns the content of companyFile, with an example added for each type that has no
// record. If the records of that type have ids, it adds a second example, for a test to delete.
func companyJSONL() ([]byte, error) {
	text, err := os.ReadFile(companyFile)
	if err != nil {
		return nil, err
	}
	return addExamples(text, functions.Transfers(nil))
}

func addExamples(text []byte, types []transfer.Type) ([]byte, error) {
	for _, kind := range types {
		if bytes.Contains(text, fmt.Appendf(nil, `{"type":%q,`, kind.Name)) {
			continue
		}
		ids := []string{""}
		if kind.Prefix != "" {
			ids = []string{kind.Prefix + "_1", kind.Prefix + "_2"}
		}
		for n, id := range ids {
			record := demo.Example(kind, n)
			if id != "" {
				record["id"] = id
			}
			example, err := schema.Encode(record)
			if err != nil {
				return nil, fmt.Errorf("encode an example of the type %s: %w", kind.Name, err)
			}
			line := fmt.Appendf(nil, `{"type":%q,"record":%s}`, kind.Name, bytes.TrimSpace(example))
			if _, problems := kind.Check(example); len(problems) > 0 {
				return nil, fmt.Errorf("add a record of the type %s to %s: an example is refused (%s):\n%s", kind.Name, companyFile, strings.Join(problems, "; "), line)
			}
			text = append(append(text, line...), '\n')
		}
	}
	return text, nil
}
