package contract

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Ensure the section of every rule is a page of scripts/docs/reference and a heading on that page.
func TestSections(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		page, anchor, _ := strings.Cut(r.section, "#")
		text, err := os.ReadFile(filepath.Join("..", "docs", "reference", page+".md"))
		if err != nil {
			t.Errorf("%s has no page: %v", r.name, err)
			continue
		}
		heading := "(?im)^#+ .*" + strings.ReplaceAll(regexp.QuoteMeta(anchor), "-", "[ -]") + "$"
		if !regexp.MustCompile(heading).Match(text) {
			t.Errorf("%s: %s has no such heading", r.name, r.section)
		}
	}
}

// Ensure RuleNames(false) returns exactly the specification's rules that publish nothing and do not
// need a record of every kind.
func TestSpecified(t *testing.T) {
	t.Parallel()
	var want []string
	for _, r := range rules {
		if r.specified && (r.level == levelReads || r.level == levelWrites) {
			want = append(want, r.name)
		}
	}
	if got := RuleNames(false); !slices.Equal(got, want) || len(want) < 20 || len(RuleNames(true)) != len(rules) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := SelectRules(RuleNames(false), []string{"paging"}); err == nil {
		t.Error("paging is not a rule of the specification")
	}
}
