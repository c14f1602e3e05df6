package operator

import (
	"testing"
	"time"
)

func TestParseExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"":                     {},
		"90d":                  now.AddDate(0, 0, 90),
		"12h":                  now.Add(12 * time.Hour),
		"2027-01-31":           time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC),
		"2027-01-31T01:00:00Z": time.Date(2027, 1, 31, 1, 0, 0, 0, time.UTC),
	} {
		if got, err := parseExpiry(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q ends at %v, want %v: %v", text, got, want, err)
		}
	}
	for _, text := range []string{"-1d", "0d", "d", "1.5d", "yesterday", "2026-08-11", "40000d", "-3h"} {
		if got, err := parseExpiry(text, now); err == nil {
			t.Errorf("%q ends at %v, want an error", text, got)
		}
	}
}
