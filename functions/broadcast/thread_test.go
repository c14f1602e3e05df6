package broadcast

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Ensure a body that is too long for one post on X is split at the ends of words.
func TestThreadParts(t *testing.T) {
	t.Parallel()
	rep := strings.Repeat
	for _, tc := range []struct {
		name, platform, body string
		want                 []string
	}{
		{"short", "x", "hello", nil},
		{"exactly one post", "x", rep("a", 280), nil},
		{"exactly one post of wide characters", "x", rep("日", 280), nil},
		{"one character more", "x", rep("a", 281), []string{rep("a", 280), "a"}},
		{"wide characters are counted as one", "x", rep("é", 281), []string{rep("é", 280), "é"}},
		{"cut at a word end", "x", rep("a", 200) + " " + rep("b", 100), []string{rep("a", 200), rep("b", 100)}},
		{"a word that ends with the post", "x", rep("a", 280) + " b", []string{rep("a", 280), "b"}},
		{"words that fill the post", "x", rep("a", 100) + " " + rep("b", 179) + " c", []string{rep("a", 100) + " " + rep("b", 179), "c"}},
		{"a word that would be one too many", "x", rep("a", 278) + " bb", []string{rep("a", 278), "bb"}},
		{"all white space at a cut is dropped", "x", rep("a", 270) + " \n\n  " + rep("b", 20) + " c", []string{rep("a", 270), rep("b", 20) + " c"}},
		{"white space elsewhere stays", "x", "  a\n\nb  " + rep("c", 200) + " " + rep("d", 200) + "  e ", []string{"  a\n\nb  " + rep("c", 200), rep("d", 200) + "  e "}},
		{"a long word between short ones", "x", "a " + rep("b", 300) + " c", []string{"a", rep("b", 280), rep("b", 20) + " c"}},
		{"much white space at the end", "x", "a" + rep(" ", 400), []string{"a"}},
		{"much white space at the beginning", "x", rep(" ", 300) + "a", []string{"a"}},
		{"nothing but white space", "x", rep(" \n", 300), nil},
		{"another platform", "facebook", rep("a", 1000), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			platform := Platform(tc.platform)
			if got := threadParts(&platform, &tc.body); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if threadParts(nil, new(string)) != nil || threadParts(new(Platform), nil) != nil {
		t.Error("a nil platform or body has parts")
	}
}

// Ensure no part of any text is too long, and only white space is dropped.
func TestThreadPartsLoseNothing(t *testing.T) {
	t.Parallel()
	random, platform := rand.New(rand.NewPCG(1, 2)), PlatformX
	for range 2000 {
		var b strings.Builder
		for b.Len() < 281+random.IntN(3000) {
			b.WriteString(strings.Repeat("aé😀", random.IntN(5)))
			b.WriteString(strings.Repeat("日", random.IntN(8)*random.IntN(8)*random.IntN(8)))
			b.WriteString(strings.Repeat([]string{" ", "\n", "\u2003"}[random.IntN(3)], random.IntN(3)))
		}
		body := b.String()
		rest := body
		for _, part := range threadParts(&platform, &body) {
			if n := utf8.RuneCountInString(part); n == 0 || n > xPostChars {
				t.Fatalf("a part of %d characters of %q", n, body)
			}
			lost, after, found := strings.Cut(rest, part)
			if !found || strings.TrimFunc(lost, unicode.IsSpace) != "" {
				t.Fatalf("lost %q before %q of %q", lost, part, body)
			}
			rest = after
		}
		if utf8.RuneCountInString(body) > xPostChars && strings.TrimFunc(rest, unicode.IsSpace) != "" {
			t.Fatalf("lost %q at the end of %q", rest, body)
		}
	}
}
