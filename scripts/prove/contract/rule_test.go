package contract

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Ensure every rule names a page of scripts/docs/reference, and a heading that the page has.
func TestSections(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		page, anchor, _ := strings.Cut(r.section, "#")
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", page+".md"))
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		heading := "(?im)^#+ .*" + strings.ReplaceAll(regexp.QuoteMeta(anchor), "-", "[ -]") + "$"
		if !regexp.MustCompile(heading).Match(text) {
			t.Errorf("%s: %s has no such heading", r.name, r.section)
		}
	}
}

// Ensure --spec leaves out the rules that this implementation added, and no others.
func TestSpecified(t *testing.T) {
	t.Parallel()
	chosen, err := Choose(Names(true), nil, true)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, r := range rules {
		if r.specified {
			want++
		}
	}
	if len(chosen) != want || want == 0 || want == len(rules) {
		t.Errorf("%d rules of %d, want %d", len(chosen), len(rules), want)
	}
	if _, err := Choose(Names(true), []string{"paging"}, true); err == nil {
		t.Error("paging is not a rule of the specification")
	}
}
