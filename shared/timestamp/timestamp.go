// Package timestamp spells and reads the times of records (decisions.md §1).
package timestamp

import (
	"regexp"
	"strings"
	"time"
)

const layout = "2006-01-02T15:04:05.000Z"

// form is RFC 3339 as far as time.Parse does not see to it.
var form = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// Format spells a time as every timestamp field does: RFC 3339, UTC, milliseconds. Such texts sort by time.
func Format(t time.Time) string {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.Format(layout)
	}
	hour, minute, second := t.Clock()
	text := []byte(layout) // filled in by hand: an answer has hundreds, and Format reads its layout anew for each
	digits(text[0:4], year)
	digits(text[5:7], int(month))
	digits(text[8:10], day)
	digits(text[11:13], hour)
	digits(text[14:16], minute)
	digits(text[17:19], second)
	digits(text[20:23], t.Nanosecond()/int(time.Millisecond))
	return string(text)
}

func digits(text []byte, n int) {
	for i := len(text) - 1; i >= 0; i, n = i-1, n/10 {
		text[i] = byte('0' + n%10)
	}
}

// Parse reads an RFC 3339 time with any offset. ok is false for any other text, and for years outside 1 to 9999, whose
// texts would not sort.
//
// time.Parse takes more (9:30, a comma, +24:00) and less (t, z, leap seconds) than RFC 3339. A leap second becomes the
// second after it, as in every count of seconds since 1970.
func Parse(s string) (t time.Time, ok bool) {
	s = strings.ToUpper(s)
	if !form.MatchString(s) {
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

// Normalise spells an RFC 3339 time as responses do. It returns s when s is none; what callers send was checked before.
func Normalise(s string) string {
	t, ok := Parse(s)
	if !ok {
		return s
	}
	return Format(t)
}

// ParseDay reads a day (2026-08-11), or an RFC 3339 time that it cuts to its day in UTC.
func ParseDay(s string) (day time.Time, ok bool) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, t.Year() >= 1
	}
	t, ok := Parse(s)
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC), ok
}
