package studio

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/roadmap"
)

// functions are the functions that the templates can call.
var functions = template.FuncMap{
	"words": func(v any) string { return phrase.Words(fmt.Sprint(v)) }, "replyWords": replyWords, "stars": phrase.Stars, "day": formatDay, "excerpt": phrase.Excerpt, "bar": chart.Bar, "plural": phrase.Plural, "readable": roadmap.Heading, "heading": recordHeading, "upper": upperFirst,
	"never": func() time.Time { return time.Time{} }, // the zero time, which templates do not show
}

// replyWords formats the status of a review's reply for people.
func replyWords(status any) string {
	if text := fmt.Sprint(status); text != "none" {
		return phrase.Words(text)
	}
	return "no reply"
}

// formatDay formats the UTC day of at, for records that are stored by UTC day.
func formatDay(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("Jan 2, 2006")
}

// recordHeading formats the name of a record to be followed by a sentence about the record. It adds
// a colon, unless the name ends with a punctuation mark.
func recordHeading(name string) string {
	if last, _ := utf8.DecodeLastRuneInString(name); strings.ContainsRune("?!.…:;,", last) {
		return name
	}
	return name + ":"
}

// containsWords reports whether text contains every word of search, ignoring case.
func containsWords(text, search string) bool {
	text = strings.ToLower(text)
	for word := range strings.FieldsSeq(strings.ToLower(search)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// upperFirst returns text with its first letter capitalised.
func upperFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
