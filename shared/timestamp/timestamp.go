// Package timestamp spells and reads the times of records (decisions.md §1).
package timestamp

import "time"

const layout = "2006-01-02T15:04:05.000Z"

// Format spells a time as every timestamp field does: RFC 3339, UTC, milliseconds. Such texts sort by time.
func Format(t time.Time) string { return t.UTC().Format(layout) }

// Parse reads an RFC 3339 time with any offset. ok is false for any other text, and for years outside 1 to 9999, whose
// texts would not sort.
func Parse(s string) (t time.Time, ok bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	t = t.UTC()
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
