// Package phrase turns values of the API into words for people.
package phrase

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words formats an identifier of the API for people: "needs_review" becomes "needs review". Names
// of platforms get their usual spelling.
func Words[S ~string](s S) string {
	if name, known := names[string(s)]; known {
		return name
	}
	return strings.ReplaceAll(string(s), "_", " ")
}

var names = map[string]string{
	"app_store": "App Store", "google_play": "Google Play", "reddit": "Reddit", "x": "X", "instagram": "Instagram", "tiktok": "TikTok",
	"facebook": "Facebook", "push": "Push", "b2b": "B2B", "b2c": "B2C", "b2b2c": "B2B2C", "mvp": "MVP",
}

// Stars draws a rating of 1 to 5.
func Stars(rating int) string {
	n := min(5, max(0, rating))
	return strings.Repeat("★", n) + strings.Repeat("☆", 5-n)
}

// Excerpt returns text as one line. If the line is longer than limit characters, Excerpt cuts it to
// at most that many, between words if it can, and appends an ellipsis.
func Excerpt(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	cut := string([]rune(text)[:limit])
	if i := strings.LastIndexFunc(cut, unicode.IsSpace); i > limit/2 {
		cut = cut[:i]
	}
	return cut + "…"
}

// Plural formats a number with its noun, in the singular or the plural.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
