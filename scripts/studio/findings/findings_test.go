package findings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/studio/findings"
)

// Ensure findings in each known format are read as pages with issues, and findings in any other
// format are reported as unknown.
func TestRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, expected string }{
		"pages with findings":  {`[{"url":"https://a.example/x","score":71,"findings":[{"rule":"r","severity":"high","text":"T"}]},{"url":"https://a.example","findings":[]}]`, "/x 71 [r high T] / []"},
		"pages with issues":    {`{"tool":"t","pages":[{"page":"/x","issues":["T",{"message":"U","level":"warn"}]}]}`, "/x [ T] [ warn U]"},
		"issues with pages":    {`{"issues":[{"page":"/x","severity":"low","title":"T"},{"path":"/y","code":"c"}]}`, "/x [low T] /y [c c]"},
		"issues by page":       {`{"/b":[{"id":"r","impact":"serious","help":"T"}],"/a":[]}`, "/a [] /b [r serious T]"},
		"errors and warnings":  {`{"url":"/x","errors":["E"],"warnings":["W"]}`, "/x [error E] [warning W]"},
		"texts":                {`["No sitemap"]`, " [No sitemap]"},
		"lighthouse":           {`{"finalUrl":"https://a.example/","audits":{"b":{"score":0.4,"title":"B","displayValue":"3 s"},"a":{"score":1,"title":"A"},"c":{"score":null},"d":{"score":0.6,"title":"D"}}}`, "/ [b high B: 3 s] [d medium D]"},
		"nothing":              {`[]`, ""},
		"another host":         {`[{"url":"https://a.example.org/x","issues":["T"]}]`, "https://a.example.org/x [T]"},
		"unknown: an object":   {`{"depth":3}`, "unknown"},
		"unknown: numbers":     {`[1,2]`, "unknown"},
		"unknown: no JSON":     {`{`, "unknown"},
		"unknown: very deep":   {strings.Repeat("[", 20) + `"x"` + strings.Repeat("]", 20), "unknown"},
		"unknown: other lists": {`{"matrix":[[1]]}`, "unknown"},
	} {
		got := findings.Read([]byte(test.text), "https://a.example/")
		var out []string
		for _, p := range got.Pages {
			line := p.Name
			if p.Scored {
				line += fmt.Sprintf(" %g", p.Score)
			}
			for _, i := range p.Issues {
				line += " [" + strings.Join(strings.Fields(i.Rule+" "+i.Severity+" "+i.Text), " ") + "]"
			}
			if len(p.Issues) == 0 {
				line += " []"
			}
			out = append(out, line)
		}
		text := strings.ReplaceAll(strings.Join(out, " "), "[ ", "[")
		if !got.Known {
			text = "unknown"
		}
		if expected := strings.ReplaceAll(test.expected, "[ ", "["); text != expected {
			t.Errorf("%s: %q, expected %q", name, text, expected)
		}
	}
}

// Ensure Compare treats an issue as the same issue if only a number in its text changes, but treats
// a second occurrence on the same page as new. Groups lists the group with the worst severity
// first.
func TestCompareAndGroups(t *testing.T) {
	t.Parallel()
	before := findings.Read([]byte(`[{"page":"/a","rule":"alt","severity":"low","text":"2 images"},{"page":"/a","severity":"low","text":"Old"}]`), "")
	now := findings.Read([]byte(`[{"page":"/a","rule":"alt","severity":"low","text":"3 images"},{"page":"/a","rule":"alt","severity":"low","text":"logo"},
		{"page":"/b","severity":"High","text":"New"},{"page":"/c","severity":"High","text":"New"},{"page":"/c","severity":"odd","text":"New"}]`), "")
	fresh, gone := findings.Compare(now, before)
	if diff := cmp.Diff([]findings.Issue{{Page: "/a", Severity: "low", Text: "Old"}}, gone); diff != "" {
		t.Errorf("issues that are gone (-want +got):\n%s", diff)
	}
	if len(fresh) != 4 || fresh[0].Text != "logo" {
		t.Errorf("new issues %+v, want 4, the first with the text logo", fresh)
	}
	groups := []findings.Group{
		{Severity: "High", Text: "New", Pages: []string{"/b", "/c"}, Count: 2},
		{Severity: "low", Rule: "alt", Text: "logo", Pages: []string{"/a"}, Count: 1},
		{Severity: "odd", Text: "New", Pages: []string{"/c"}, Count: 1},
	}
	if diff := cmp.Diff(groups, findings.Groups(fresh)); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// Ensure an outline keeps the order of the JSON, reports whether something was left out, and has a
// limited size.
func TestOutline(t *testing.T) {
	t.Parallel()
	got, whole := findings.Outline([]byte(`{"z":1,"a":{"b":[true,null,"two\nlines"],"c":{},"d":[]}}`))
	if expected := "z: 1\na:\n  b:\n    1. true\n    2. null\n    3. two lines\n  c: (empty)\n  d: (empty list)\n"; got != expected || !whole {
		t.Errorf("outline %q, whole %t; want %q, whole", got, whole, expected)
	}
	for _, text := range []string{"[" + strings.Repeat("1,", 5000) + "1]", `"` + strings.Repeat("x", 5000) + `"`, strings.Repeat("[", 5000), strings.Repeat(`{"a":`, 5000)} {
		if got, whole := findings.Outline([]byte(text)); whole || len(got) > 100_000 {
			t.Errorf("%.20s: %d bytes, %v", text, len(got), whole)
		}
	}
}
