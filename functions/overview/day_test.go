package overview

import (
	"testing"
	"time"
)

// Ensure a day begins at its first instant in the zone, also when a clock change skips midnight or
// repeats it. The test looks for that instant minute by minute.
func TestDayStart(t *testing.T) {
	t.Parallel()
	for name, dates := range map[string][]string{
		"America/Sao_Paulo": {"2018-11-04", "2018-02-18"}, // skipped, and repeated the evening before
		"Asia/Beirut":       {"2022-03-27", "2022-10-30"},
		"Atlantic/Azores":   {"2026-03-29", "2026-10-25"},
		"Asia/Amman":        {"2021-03-26", "2021-10-29"},
		"America/Toronto":   {"1919-03-31"}, // the clock skips from 23:30 to 0:30
		"America/Havana":    {"2024-03-10", "2024-11-03"},
		"Pacific/Apia":      {"2011-12-29", "2011-12-31"}, // December 30 is missing
		"Europe/Berlin":     {"2026-03-29", "2026-10-25", "2026-08-10"},
		"Pacific/Kiritimati": {
			"2026-08-10",
		},
		"America/Los_Angeles": {"2026-03-08", "2026-11-01"},
		"UTC":                 {"2026-08-10"},
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range dates {
			date, err := time.Parse(time.DateOnly, text)
			if err != nil {
				t.Fatal(err)
			}
			want := date.Add(-36 * time.Hour)
			for want.In(zone).Format(time.DateOnly) != text {
				want = want.Add(time.Minute)
			}
			if got := dayStart(date, zone); !got.Equal(want) {
				t.Errorf("%s in %s begins at %s, want %s", text, name, got.UTC(), want)
			}
		}
	}
}

// Ensure a week is accepted exactly if the ISO calendar has it, and begins on its Monday.
func TestParseWeek(t *testing.T) {
	t.Parallel()
	for name, monday := range map[string]string{
		"2026-W01": "2025-12-29", "2026-W47": "2026-11-16", "2026-W53": "2026-12-28", "2020-W53": "2020-12-28", "2025-W52": "2025-12-22",
		"2025-W53": "", "2026-W00": "", "2026-W54": "", "2026-W7": "", "2026W47": "", "26-W47": "", "0001-W01": "", "last": "", "": "", "2026-w47": "",
	} {
		got := ""
		if w, err := parseWeek(name); err == nil {
			if got = w.monday().Format(time.DateOnly); w.String() != name {
				t.Errorf("%s is written as %s", name, w)
			}
		}
		if got != monday {
			t.Errorf("%q begins on %q, want %q", name, got, monday)
		}
	}
}

// Ensure a week contains the instants of its days in the zone up to now, and that the week before
// contains the same part. Days count as over when they are over in the zone and in UTC.
func TestSpan(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		out, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct {
		zone, now string
		daysOver  int
	}{
		{"Europe/Berlin", "2026-08-02T22:30:00Z", 0}, // Monday in Berlin, Sunday in UTC
		{"Europe/Berlin", "2026-08-04T22:30:00Z", 1}, // Tuesday is over in Berlin, but not in UTC
		{"America/Los_Angeles", "2026-08-05T03:00:00Z", 1},
		{"Pacific/Kiritimati", "2026-08-09T11:00:00Z", 6},
		{"Pacific/Kiritimati", "2026-08-10T00:00:00Z", 7},
		{"UTC", "2026-08-10T00:00:00Z", 7},
		{"UTC", "2026-09-10T00:00:00Z", 7},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		s := newSpan(isoWeek{2026, 32}, zone, at(c.now))
		if s.daysOver != c.daysOver {
			t.Errorf("%s in %s: %d days are over, want %d", c.now, c.zone, s.daysOver, c.daysOver)
		}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	s := newSpan(isoWeek{2026, 32}, berlin, at("2026-08-05T10:00:00Z"))
	for text, want := range map[string][2]bool{
		"2026-08-02T21:59:59Z": {false, false}, "2026-08-02T22:00:00Z": {true, false}, "2026-08-05T10:00:00Z": {true, false}, "2026-08-05T10:00:01Z": {false, false},
		"2026-07-26T21:59:59Z": {false, false}, "2026-07-26T22:00:00Z": {false, true}, "2026-07-29T09:59:59Z": {false, true}, "2026-07-29T10:00:00Z": {false, false},
	} {
		if got := [2]bool{s.contains(at(text)), s.beforeContains(at(text))}; got != want {
			t.Errorf("%s: in the week and in the week before: %v, want %v", text, got, want)
		}
	}
}
