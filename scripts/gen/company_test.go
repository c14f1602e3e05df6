package main

import (
	"bytes"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/transfer"
)

func typesNamed(names ...string) (out []transfer.Type) {
	for _, kind := range functions.Transfers(nil) {
		for _, name := range names {
			if kind.Name == name {
				out = append(out, kind)
			}
		}
	}
	return out
}

// Ensure addExamples adds two valid examples for a type without a record, the second for a test to
// delete. If an import would reject the example, the error names the file.
func TestAddExamples(t *testing.T) {
	t.Parallel()
	types := typesNamed("channel", "brand-goal")
	have := []byte(`{"type":"channel","record":{"id":"chn_7"}}` + "\n")
	got, err := addExamples(companyFile, have, types)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(got, append(have, `{"type":"brand-goal","record":{`...)) || !bytes.Contains(got, []byte(`"id":"bgl_1"`)) {
		t.Errorf("want the file and then the brand goal bgl_1:\n%s", got)
	}
	if !bytes.Contains(got, []byte(`"id":"bgl_2"`)) {
		t.Errorf("want a second brand goal bgl_2, which a delete can take:\n%s", got)
	}
	if n := bytes.Count(got, []byte("\n")); n != 3 {
		t.Errorf("%d lines, want 3:\n%s", n, got)
	}
	if again, err := addExamples(companyFile, got, types); err != nil || !bytes.Equal(again, got) {
		t.Errorf("the second run changes the file: %v\n%s", err, again)
	}
	if _, err := addExamples(companyFile, nil, typesNamed("item")); err == nil || !strings.HasPrefix(err.Error(), "add a record of the type item to functions/testdata/company.jsonl: ") {
		t.Errorf("error %v, want one that asks for an item in functions/testdata/company.jsonl", err)
	}
}
