package roundtrip

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"growthworkspace/functions"
)

// Ensure the proof finds no difference in a small company. `go run ./scripts/prove roundtrip` runs
// the proof at full size.
func TestSmallRoundTrip(t *testing.T) {
	t.Parallel()
	var report strings.Builder
	same, err := Run(t.Context(), 0.01, &report)
	if err != nil && strings.Contains(err.Error(), "no engine that speaks") && os.Getenv("CI_NO_SKIP") == "" {
		t.Skip(err)
	}
	if err != nil || !same {
		t.Fatal(err, "\n"+report.String())
	}
}

// Ensure the generated company has records of every type, and all of them are valid. Every value of
// every filter occurs in at least one record, and so does null.
func TestCompany(t *testing.T) {
	t.Parallel()
	c, err := newGeneratedCompany(0.01)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := c.lists()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range functions.Transfers(nil) {
		if len(c.records[kind.Name]) == 0 {
			t.Errorf("no records of the type %s", kind.Name)
		}
		seen := map[string]bool{}
		for _, r := range c.records[kind.Name] {
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, problems := kind.Check(text); len(problems) > 0 {
				t.Errorf("%s: problems %v: %s", kind.Name, problems, text)
			}
			if seen[r.identity(kind.Name)] {
				t.Errorf("two of %s %s", kind.Name, r.identity(kind.Name))
			}
			seen[r.identity(kind.Name)] = true
		}
	}
	for _, l := range lists {
		for _, f := range l.filters {
			counts := map[any]int{}
			for _, r := range l.records {
				counts[r[f.name]]++
			}
			for _, value := range append([]any{nil}, f.values...) {
				if value == nil && f.name == "replyStatus" {
					continue // an import replaces a null replyStatus with "none"
				}
				if !strings.HasSuffix(f.name, "Id") && len(l.records) > 20 && counts[value] == 0 {
					t.Errorf("%s: no record whose %s is %v", l.operation, f.name, value)
				}
			}
		}
	}
}

// Ensure the proof detects a list that lacks a record, repeats one, or has a different order or
// content.
func TestFindsDifferences(t *testing.T) {
	t.Parallel()
	a, b, c := record{"id": "a", "n": 1.0}, record{"id": "b", "n": nil}, record{"id": "c"}
	l := expectedList{kind: "post"}
	want := []record{a, b, c}
	for name, got := range map[string][]record{
		"fewer": {a, b}, "more": {a, b, c, c}, "order": {a, c, b}, "content": {a, {"id": "b", "n": 2.0}, c}, "none": {},
	} {
		if l.compare(got, want, true) == nil {
			t.Errorf("%s: no difference found", name)
		}
	}
	if err := l.compare([]record{a, {"id": "b", "companyId": "co_1"}, {"id": "c", "title": nil}}, want, true); err != nil {
		t.Error(err)
	}
	l = expectedList{kind: "post", records: []record{{"id": "a", "platform": "x"}, {"id": "b"}, {"id": "c", "platform": "push"}}, filters: []filter{{"platform", []any{"x", "push"}}}}
	parts := 0
	for _, chosen := range l.combinations() {
		parts += len(l.expectedRecords(chosen, window{}))
	}
	if parts != 3+2 { // three without a filter, and one for each of the filter's two values
		t.Errorf("%d records in all combinations", parts)
	}
}

// Ensure the proof detects an export that lacks, repeats or changes a record.
func TestCompareExport(t *testing.T) {
	t.Parallel()
	c := &generatedCompany{records: map[string][]record{"post": {{"id": "a", "n": 1.0}, {"id": "b"}}}}
	file := t.TempDir() + "/x.jsonl"
	a, b := `{"type":"post","record":{"id":"a","n":1.0,"companyId":"co_1"}}`, `{"type":"post","record":{"id":"b","n":null}}`
	for _, e := range []struct {
		name, text string
		same       bool
	}{
		{"same", b + a, true}, {"lacks", a, false}, {"twice", a + b + b, false}, {"more", a + b + `{"type":"post","record":{"id":"c"}}`, false},
		{"changed", b + `{"type":"post","record":{"id":"a","n":2}}`, false}, {"no JSON", a + b + "x", false},
	} {
		if err := os.WriteFile(file, []byte(e.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.compare(file); (err == nil) != e.same {
			t.Errorf("%s: error %v, want it the same: %t", e.name, err, e.same)
		}
	}
}
