package studio

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/roadmap"
)

// functions are the functions that the templates can call.
var functions = template.FuncMap{
	"words": func(v any) string { return words(fmt.Sprint(v)) }, "replyWords": replyWords, "stars": stars, "day": day, "moment": moment, "excerpt": excerpt, "bar": chart.Bar, "plural": plural, "readable": roadmap.Readable, "heading": heading,
	"never": func() time.Time { return time.Time{} }, // the zero time, which templates do not show
}

// words formats an identifier of the API for people: needs_review becomes needs review. Names of
// platforms get their usual spelling.
func words[S ~string](s S) string {
	if name, known := names[string(s)]; known {
		return name
	}
	return strings.ReplaceAll(string(s), "_", " ")
}

var names = map[string]string{
	"app_store": "App Store", "google_play": "Google Play", "reddit": "Reddit", "x": "X", "instagram": "Instagram", "tiktok": "TikTok",
	"facebook": "Facebook", "push": "Push", "b2b": "B2B", "b2c": "B2C", "b2b2c": "B2B2C", "mvp": "MVP",
}

// replyWords formats the status of a review's reply for people.
func replyWords(status any) string {
	if text := fmt.Sprint(status); text != "none" {
		return words(text)
	}
	return "no reply"
}

// stars draws a rating of 1 to 5.
func stars(rating int) string {
	n := min(5, max(0, rating))
	return strings.Repeat("★", n) + strings.Repeat("☆", 5-n)
}

// day formats the day of a time, in UTC.
func day(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("Jan 2, 2006")
}

// moment formats a time, in UTC.
func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("Jan 2, 15:04") + " UTC"
}

// excerpt shortens a text to one line with a maximum number of characters. It cuts between words if
// it can.
func excerpt(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	cut := string([]rune(text)[:most])
	if i := strings.LastIndexFunc(cut, unicode.IsSpace); i > most/2 {
		cut = cut[:i]
	}
	return cut + "…"
}

// heading returns the name of a record as it stands before a sentence about the record. It adds a
// colon, unless the name ends with a punctuation mark.
func heading(name string) string {
	if last, _ := utf8.DecodeLastRuneInString(name); strings.ContainsRune("?!.…:;,", last) {
		return name
	}
	return name + ":"
}

// plural formats a number with its noun, in the singular or the plural.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// containsWords reports whether a text contains every word of a search, ignoring upper and lower
// case.
func containsWords(text, search string) bool {
	text = strings.ToLower(text)
	for word := range strings.FieldsSeq(strings.ToLower(search)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
