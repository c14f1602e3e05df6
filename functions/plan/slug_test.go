package plan

import (
	"strings"
	"testing"
)

func TestDeriveSlug(t *testing.T) {
	for title, want := range map[string]string{
		"Dark mode": "dark-mode", "  --Hello,  World!-- ": "hello-world", "Größe": "grosse", "Smørrebrød à la carte": "smorrebrod-a-la-carte",
		"日本語": "item", "V2.0": "v2-0", "ﬁne": "fine", "İstanbul": "istanbul", strings.Repeat("a", 99) + " b": strings.Repeat("a", 99), strings.Repeat("a", 200): strings.Repeat("a", 100),
	} {
		if got := deriveSlug(title); got != want || !slugForm.MatchString(got) || len(got) > slugChars {
			t.Errorf("%q gives %q, want %q", title, got, want)
		}
	}
}

func TestNumberedSlug(t *testing.T) {
	for base, want := range map[string]string{"a": "a-12", strings.Repeat("a", 100): strings.Repeat("a", 97) + "-12", strings.Repeat("a", 96) + "-bcd": strings.Repeat("a", 96) + "-12"} {
		if got := numberedSlug(base, 12); got != want || !slugForm.MatchString(got) || len(got) > slugChars {
			t.Errorf("%q gives %q, want %q", base, got, want)
		}
	}
}
