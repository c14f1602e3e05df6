package plan

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"growthworkspace/shared/schema"
)

func TestDeriveSlug(t *testing.T) {
	for title, want := range map[string]string{
		"Dark mode": "dark-mode", "  --Hello,  World!-- ": "hello-world", "Größe": "grosse", "Smørrebrød à la carte": "smorrebrod-a-la-carte",
		"V2.0": "v2-0", "az AZ 09": "az-az-09", "a{b@c/d:e": "a-b-c-d-e", "ﬁne": "fine", "İstanbul": "istanbul",
		"Ωmega": "omega", "Don't stop": "dont-stop", "Don’t stop": "dont-stop", "Rock 'n' roll": "rock-n-roll", "Привет, мир": "privet-mir",
		"日本": "ri-ben", "日本語 v2": "ri-ben-yu-v2", "東京タワー": "dong-jing-tawa", "안녕 하세요": "annyeong-haseyo", "हिन्दी": "hindi", "עברית": "vryt", "ελληνικά": "ellinika",
		"Tiếng Việt": "tieng-viet", "Cafe\u0301": "cafe", "½ off": "1-2-off", "٣ ب": "3-b", "Ⅳ": "iv", "Zażółć gęślą": "zazolc-gesla", "ʼ": "u2bc", "\U0002A700": "u2a700",
		"": "item", "---": "item", "🚀": "item", "Rocket 🚀!": "rocket", "…!?": "item", "'": "item", "\u0301": "item", "№ 5": "no-5", strings.Repeat("a", 99) + " b": strings.Repeat("a", 99), strings.Repeat("a", 200): strings.Repeat("a", 100),
	} {
		if got := DeriveSlug(title); got != want || !schema.Pattern("slug").MatchString(got) || len(got) > slugCharsMax {
			t.Errorf("%q gives %q, want %q", title, got, want)
		}
	}
}

// Ensure the slug for any title is valid, and is "item" only if the title has no letter or digit.
func FuzzDeriveSlug(f *testing.F) {
	for _, seed := range []string{"Dark mode", "日本語", "Don't", "item", "ﷺ", "🚀", "\xff", "a\u0301\u0301", strings.Repeat("漢", 200), "\U0002A700"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, title string) {
		got := DeriveSlug(title)
		if !schema.Pattern("slug").MatchString(got) || len(got) > slugCharsMax {
			t.Errorf("%q gives %q", title, got)
		}
		readable := strings.ContainsFunc(norm.NFKC.String(title), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
		if got == "item" && readable && !strings.HasPrefix(DeriveSlug(title+"x"), "item") { // a title may really begin with "item"
			t.Errorf("%q gives %q", title, got)
		}
		if got != "item" && !readable && !strings.ContainsFunc(title, unicode.IsMark) {
			t.Errorf("%q without a letter or digit gives %q", title, got)
		}
	})
}

func TestNumberedSlug(t *testing.T) {
	for base, want := range map[string]string{"a": "a-12", strings.Repeat("a", 100): strings.Repeat("a", 97) + "-12", strings.Repeat("a", 96) + "-bcd": strings.Repeat("a", 96) + "-12"} {
		if got := numberedSlug(base, 12); got != want || !schema.Pattern("slug").MatchString(got) || len(got) > slugCharsMax {
			t.Errorf("%q gives %q, want %q", base, got, want)
		}
	}
}
