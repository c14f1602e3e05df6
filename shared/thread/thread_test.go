package thread

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Ensure a body that is too long for a single post on X is split at the ends of words.
func TestParts(t *testing.T) {
	t.Parallel()
	rep := strings.Repeat
	for _, tc := range []struct {
		name, body string
		want       []string
	}{
		{"short", "hello", nil},
		{"exactly one post", rep("a", 280), nil},
		{"exactly one post of wide characters", rep("日", 140), nil},
		{"a wide character more", rep("日", 141), []string{rep("日", 140), "日"}},
		{"narrow and wide characters", rep("日本 ", 70) + "a", []string{strings.TrimSpace(rep("日本 ", 56)), strings.TrimSpace(rep("日本 ", 14)) + " a"}},
		{"composed and decomposed letters weigh the same", rep("e\u0301", 280), nil},
		{"no cut inside a cluster", rep("e\u0301", 281), []string{rep("e\u0301", 280), "e\u0301"}},
		{"an emoji weighs 2, of one code point or of several", rep("👍🏽", 70) + rep("👩‍👩‍👧‍👦", 35) + rep("🇫🇷", 20) + rep("1️⃣", 10) + rep("😀", 5), nil},
		{"a family is not torn", "a" + rep("👩‍👩‍👧‍👦", 140), []string{"a" + rep("👩‍👩‍👧‍👦", 139), "👩‍👩‍👧‍👦"}},
		{"a Devanagari joiner makes no emoji", rep("क्\u200dष", 70), nil},
		{"one syllable more", rep("क्\u200dष", 71), []string{rep("क्\u200dष", 70), "क्\u200dष"}},
		{"quotes and dashes are narrow, arrows wide", rep("–“", 100) + rep("→", 40), nil},
		{"a link weighs 23", "see https://example.com/" + rep("a", 400) + "?q=1#top " + rep("b", 252), nil},
		{"a link that fits no more", rep("b", 257) + " https://t.co", []string{rep("b", 257), "https://t.co"}},
		{"the full stop after a link is no part of it", rep("b", 255) + " https://t.co.", nil},
		{"a long link in unspaced text is not torn", rep("日", 139) + "https://example.com/" + rep("a", 300) + "日", []string{rep("日", 139), "https://example.com/" + rep("a", 300) + "日"}},
		{"a host without a dot is no link", "https://localhost/" + rep("a", 270), []string{"https://localhost/" + rep("a", 262), rep("a", 8)}},
		{"no link within a word", "xhttps://example.com/" + rep("a", 270), []string{"xhttps://example.com/" + rep("a", 259), rep("a", 11)}},
		{"a link with an accent after it", rep("b", 278) + "\nhttps://a.example/b\u0301", []string{rep("b", 278), "https://a.example/b\u0301"}},
		{"one character more", rep("a", 281), []string{rep("a", 280), "a"}},
		{"wide characters are counted as one", rep("é", 281), []string{rep("é", 280), "é"}},
		{"cut at a word end", rep("a", 200) + " " + rep("b", 100), []string{rep("a", 200), rep("b", 100)}},
		{"a word that ends with the post", rep("a", 280) + " b", []string{rep("a", 280), "b"}},
		{"words that fill the post", rep("a", 100) + " " + rep("b", 179) + " c", []string{rep("a", 100) + " " + rep("b", 179), "c"}},
		{"a word that would be one too many", rep("a", 278) + " bb", []string{rep("a", 278), "bb"}},
		{"all white space at a cut is dropped", rep("a", 270) + " \n\n  " + rep("b", 20) + " c", []string{rep("a", 270), rep("b", 20) + " c"}},
		{"white space elsewhere stays", "  a\n\nb  " + rep("c", 200) + " " + rep("d", 200) + "  e ", []string{"  a\n\nb  " + rep("c", 200), rep("d", 200) + "  e "}},
		{"a long word between short ones", "a " + rep("b", 300) + " c", []string{"a", rep("b", 280), rep("b", 20) + " c"}},
		{"much white space at the end", "a" + rep(" ", 400), []string{"a"}},
		{"much white space at the beginning", rep(" ", 300) + "a", []string{"a"}},
		{"nothing but white space", rep(" \n", 300), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Parts(tc.body); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// Ensure the first and last characters of each narrow range weigh 1, and the characters just before
// and after the range weigh 2.
func TestNarrowRanges(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		want  int
		runes []rune
	}{
		{1, []rune{0, 0x10FF, 0x2002, 0x200D, 0x2010, 0x201F, 0x2032, 0x2037}}, // U+2002 in place of U+2000, because composition (NFC) replaces U+2000 with U+2002
		{2, []rune{0x1100, 0x1FFF, 0x200E, 0x200F, 0x2020, 0x2031, 0x2038}},
	} {
		for _, r := range tc.runes {
			if got := clusterWeight(string(r)); got != tc.want {
				t.Errorf("%U weighs %d", r, got)
			}
		}
	}
}

// Ensure an emoji of up to ten code points weighs 2, and a longer one as much as its code points.
// Otherwise a cluster of any length would weigh only 2.
func TestLongEmoji(t *testing.T) {
	t.Parallel()
	for cluster, want := range map[string]int{
		"👩" + strings.Repeat("\u200d👩", 4) + "\ufe0f": 2,  // 10 code points
		"👩" + strings.Repeat("\u200d👩", 5):            17, // 11 code points: six that weigh 2, five joiners that weigh 1
		"👩" + strings.Repeat("\u200d👩", 5) + "\u20e3": 19,
		"🏴\U000E0020": 2, "🏴\U000E007F": 2, "葛\U000E0100": 4, // the first and last tag of a flag, and a variant of an ideograph
	} {
		if got := clusterWeight(cluster); got != want {
			t.Errorf("%+q weighs %d, want %d", cluster, got, want)
		}
	}
}

// Ensure that the parts of any text consist of its words in order, and that no part weighs too much
// or begins within a character. Text must be split if and only if it weighs too much.
func FuzzParts(f *testing.F) {
	for _, seed := range []string{
		"", " ", "hello", strings.Repeat("aé😀日 ", 100), strings.Repeat("日", 300), strings.Repeat("👩‍👩‍👧‍👦", 200), strings.Repeat("🇫🇷", 200), strings.Repeat("e\u0301", 300),
		strings.Repeat("a https://example.com/b?c=d. ", 40), strings.Repeat("\u0600https://example.com", 20), strings.Repeat(" \u0301", 300), strings.Repeat("\r\n", 300) + "a",
		"a" + strings.Repeat("\u0301", 600), strings.Repeat("\u200d", 400), strings.Repeat("क्\u200dष", 200), strings.Repeat("한", 300),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if !utf8.ValidString(body) || len(body) > 20_000 {
			return // a request with such a body is refused
		}
		clusterStarts, total, bodyUnits := map[int]bool{}, Weight(body), splitUnits(body)
		for g, at := graphemes.FromString(body), 0; g.Next(); at += len(g.Value()) {
			clusterStarts[at] = true
		}
		parts := Parts(body)
		if (parts != nil) != (total > WeightMax && len(bodyUnits) > 1 && strings.TrimSpace(body) != "") {
			t.Fatalf("%d parts of a text that weighs %d", len(parts), total)
		}
		at := 0
		for _, part := range parts {
			gap := strings.Index(body[at:], part)
			if gap < 0 || strings.TrimSpace(body[at:at+gap]) != "" {
				t.Fatalf("part %q is not next in %q", part, body[at:])
			}
			if at += gap; !clusterStarts[at] {
				t.Fatalf("part %q begins within a character", part)
			}
			at += len(part)
			weight := 0
			partUnits := splitUnits(part)
			for _, u := range partUnits {
				weight += u.weight
			}
			if weight > WeightMax && len(partUnits) > 1 {
				t.Fatalf("part %q weighs %d", part, weight)
			}
		}
		if parts != nil && strings.TrimSpace(body[at:]) != "" {
			t.Fatalf("lost %q", body[at:])
		}
	})
}
