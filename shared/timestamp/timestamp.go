// Package timestamp formats and parses the times in records.
package timestamp

import (
	"regexp"
	"strings"
	"time"
)

const layout = "2006-01-02T15:04:05.000Z"

// pattern matches RFC 3339 more strictly than time.Parse does.
var pattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// Format returns a time in the format of every timestamp field: RFC 3339 in UTC, with milliseconds.
// Such strings sort by time.
func Format(t time.Time) string {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.Format(layout)
	}
	hour, minute, second := t.Clock()
	text := []byte(layout) // formatted by hand, because time.Format parses its layout each time, and a response can contain hundreds of times
	writeDigits(text[0:4], year)
	writeDigits(text[5:7], int(month))
	writeDigits(text[8:10], day)
	writeDigits(text[11:13], hour)
	writeDigits(text[14:16], minute)
	writeDigits(text[17:19], second)
	writeDigits(text[20:23], t.Nanosecond()/int(time.Millisecond))
	return string(text)
}

func writeDigits(text []byte, n int) {
	for i := len(text) - 1; i >= 0; i, n = i-1, n/10 {
		text[i] = byte('0' + n%10)
	}
}

// Parse parses an RFC 3339 time with any offset. ok is false for any other string, and for years
// outside 1 to 9999, which would not sort correctly.
//
// Unlike time.Parse, it rejects what is not in RFC 3339 ("9:30", a comma, "+24:00") and accepts
// what is ("t", "z", leap seconds). A leap second becomes the next second, as in Unix time.
func Parse(s string) (t time.Time, ok bool) {
	s = strings.ToUpper(s)
	if !pattern.MatchString(s) {
		return time.Time{}, false
	}
	leap := time.Duration(0)
	if s[17:19] == "60" {
		s, leap = s[:17]+"59"+s[19:], time.Second
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	t = t.UTC()
	if leap > 0 && (t.Hour() != 23 || t.Minute() != 59) {
		return time.Time{}, false
	}
	t = t.Add(leap)
	return t, err == nil && t.Year() >= 1 && t.Year() <= 9999
}

// Normalise converts an RFC 3339 time to the format used in responses. It returns any other string
// unchanged, because callers' values have already been validated.
func Normalise(s string) string {
	t, ok := Parse(s)
	if !ok {
		return s
	}
	return Format(t)
}

// IsReversed reports whether both strings are days that ParseDay accepts, and first is after last.
// A nil day is never reversed.
func IsReversed(first, last *string) bool {
	if first == nil || last == nil {
		return false
	}
	from, ok1 := ParseDay(*first)
	to, ok2 := ParseDay(*last)
	return ok1 && ok2 && from.After(to)
}

// ParseDay parses a day (2026-08-11) or an RFC 3339 time. For a time, it returns the UTC day.
func ParseDay(s string) (day time.Time, ok bool) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, t.Year() >= 1
	}
	t, ok := Parse(s)
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC), ok
}
