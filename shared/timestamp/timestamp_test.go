package timestamp_test

import (
	"slices"
	"testing"
	"testing/quick"
	"time"

	"growthworkspace/shared/timestamp"
)

// Ensure RFC 3339 times with any offset are accepted, and formatted in UTC with milliseconds.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"2026-08-11T09:30:00Z":               "2026-08-11T09:30:00.000Z",
		"2026-08-11t09:30:00z":               "2026-08-11T09:30:00.000Z",
		"2026-08-11T09:30:00.1239999999999Z": "2026-08-11T09:30:00.123Z",
		"2026-08-11T00:30:00+02:00":          "2026-08-10T22:30:00.000Z",
		"2026-08-11T23:30:00-23:59":          "2026-08-12T23:29:00.000Z",
		"2026-08-11T09:30:00-00:00":          "2026-08-11T09:30:00.000Z",
		"2024-02-29T00:00:00Z":               "2024-02-29T00:00:00.000Z",
		"0001-01-01T00:00:00Z":               "0001-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999Z":           "9999-12-31T23:59:59.999Z",
		"2016-12-31T23:59:60Z":               "2017-01-01T00:00:00.000Z",
		"2016-12-31T23:59:60.5Z":             "2017-01-01T00:00:00.500Z",
		"2017-01-01T00:59:60+01:00":          "2017-01-01T00:00:00.000Z",
	} {
		if _, ok := timestamp.Parse(text); !ok || timestamp.Normalise(text) != want {
			t.Errorf("%s: %v, %s, want %s", text, ok, timestamp.Normalise(text), want)
		}
	}
	for _, text := range []string{
		"", "2026-08-11", "2026-08-11T09:30Z", "2026-08-11T09:30:00", "2026-08-11 09:30:00Z", "2026-08-11T9:30:00Z", "2026-08-11T09:30:00,5Z", "2026-08-11T09:30:00.Z",
		"2026-08-11T24:00:00Z", "2026-08-11T09:60:00Z", "2026-08-11T09:30:61Z", "2026-08-11T09:30:60Z", "2026-08-11T23:59:60+01:00", "2026-02-29T00:00:00Z", "2026-00-01T00:00:00Z",
		"2026-08-11T09:30:00+24:00", "2026-08-11T09:30:00+02:60", "2026-08-11T09:30:00+0200", "2026-08-11T09:30:00+02", "2026-08-11T09:30:00 Z", " 2026-08-11T09:30:00Z", "2026-08-11T09:30:00Z\n",
		"0000-12-31T23:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "9999-12-31T23:59:60Z", "12026-08-11T09:30:00Z", "-2026-08-11T09:30:00Z", "２026-08-11T09:30:00Z", "2026-08-11T09:30:00Z\x00",
	} {
		if at, ok := timestamp.Parse(text); ok {
			t.Errorf("%q was parsed as %s", text, at)
		}
		if timestamp.Normalise(text) != text {
			t.Errorf("%q was changed", text)
		}
	}
}

// Ensure ParseDay accepts a day, and returns the UTC day of a timestamp.
func TestParseDay(t *testing.T) {
	for text, want := range map[string]string{
		"2026-08-11": "2026-08-11", "2026-08-11T23:59:59.999Z": "2026-08-11", "2026-08-11T00:30:00+02:00": "2026-08-10", "0001-01-01": "0001-01-01", "9999-12-31": "9999-12-31",
	} {
		day, ok := timestamp.ParseDay(text)
		if !ok || day.Format(time.DateOnly) != want {
			t.Errorf("%s: day %s (%t), want %s", text, day, ok, want)
		}
		if !day.Equal(day.Truncate(24*time.Hour)) || day.Location() != time.UTC {
			t.Errorf("%s: %s is not the start of a day in UTC", text, day)
		}
	}
	for _, text := range []string{"", "2026-8-11", "2026-02-30", "0000-01-01", "2026-08-11Z", "20260811", "2026-08", "2026-08-11T00:00:00", "now"} {
		if day, ok := timestamp.ParseDay(text); ok {
			t.Errorf("%q was parsed as %s", text, day)
		}
	}
}

// Ensure formatted times sort by time, in any zone.
func TestFormatSorts(t *testing.T) {
	zone := time.FixedZone("", -11*3600)
	at := time.Date(999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	var texts []string
	for _, d := range []time.Duration{0, time.Millisecond, time.Second, 24 * time.Hour, 300 * 24 * time.Hour} {
		texts = append(texts, timestamp.Format(at.Add(d).In(zone)))
	}
	if !slices.IsSorted(texts) || texts[1] != "1000-01-01T00:00:00.000Z" {
		t.Errorf("texts %q, want them in order, the second 1000-01-01T00:00:00.000Z", texts)
	}
}

// Ensure Format agrees with package time for any zone and year, and rounds down.
func TestFormat(t *testing.T) {
	if err := quick.Check(func(seconds int64, nanoseconds uint32, offset int16) bool {
		at := time.Unix(seconds%(1<<38), int64(nanoseconds%1e9)).In(time.FixedZone("", int(offset)))
		return timestamp.Format(at) == at.UTC().Format("2006-01-02T15:04:05.000Z")
	}, nil); err != nil {
		t.Error(err)
	}
}

// Ensure IsReversed returns true only if both days are valid and the first is later, in UTC.
func TestReversed(t *testing.T) {
	for _, tt := range []struct {
		first, last string
		want        bool
	}{
		{"2026-08-11", "2026-08-11", false},
		{"2026-08-12", "2026-08-11", true},
		{"2026-08-11", "2026-08-12", false},
		{"2026-08-11T23:30:00-01:00", "2026-08-11", true},
		{"2026-08-12T00:30:00+01:00", "2026-08-11T00:00:00Z", false},
		{"2026-02-30", "2026-02-01", false},
		{"", "2026-02-01", false},
	} {
		if got := timestamp.IsReversed(&tt.first, &tt.last); got != tt.want {
			t.Errorf("%s to %s: %v", tt.first, tt.last, got)
		}
	}
	day := "2026-08-11"
	if timestamp.IsReversed(&day, nil) || timestamp.IsReversed(nil, &day) || timestamp.IsReversed(nil, nil) {
		t.Error("no day is reversed")
	}
}
