package period

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Ensure each day is compared with the same weekday of an earlier week. A range of n weeks or
// months is compared with the n weeks or months right before it. OpenIndex is the index of the
// first bucket that has not ended.
func TestWindow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 15, 4, 0, 0, time.UTC)
	day := func(text string) time.Time {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct {
		id                    string
		grain                 Grain
		buckets, open, future int
		first, before         string
	}{
		{"month", Day, 30, 21, 22, "2026-11-01", "2026-10-04"},
		{"last-month", Day, 31, 31, 31, "2026-10-01", "2026-08-27"},
		{"7d", Day, 7, 6, 7, "2026-11-16", "2026-11-09"},
		{"30d", Day, 30, 29, 30, "2026-10-24", "2026-09-19"},
		{"90d", Week, 13, 12, 13, "2026-08-24", "2026-05-25"},
		{"12m", Month, 12, 11, 12, "2025-12-01", "2024-12-01"},
		{"month", Month, 1, 0, 1, "2026-11-01", "2026-10-01"},
	} {
		r, err := ParseRange(c.id, "", "", now)
		if err != nil {
			t.Fatal(err)
		}
		w := r.Window(c.grain, now)
		type window struct {
			Buckets, Open, Future int
			First, Before         time.Time
		}
		want := window{c.buckets, c.open, c.future, day(c.first), day(c.before)}
		if diff := cmp.Diff(want, window{len(w.Buckets), w.OpenIndex, w.FutureIndex, w.Buckets[0], w.Before[0]}); diff != "" {
			t.Errorf("%s by %s (-want +got):\n%s", c.id, c.grain, diff)
		}
		if len(w.Before) != c.buckets {
			t.Errorf("%s by %s: %d buckets before, want %d", c.id, c.grain, len(w.Before), c.buckets)
		}
		for i, at := range w.Before {
			if c.grain == Day && at.Weekday() != w.Buckets[i].Weekday() {
				t.Errorf("%s: %s is compared with %s", c.id, w.Buckets[i].Format("Mon, Jan 2"), at.Format("Mon, Jan 2"))
			}
		}
		if last := len(w.Against) - 1; last >= 0 && !w.Against[last].Before(w.Buckets[0]) {
			t.Errorf("%s by %s is compared with a part of itself: %s", c.id, c.grain, w.Against[last])
		}
	}
	for at, want := range map[string]string{ // a whole month is compared with the whole month before
		"2026-11-22": "Sep 1 to 30", "2026-12-22": "Oct 1 to 31", "2027-03-01": "Jan 1 to 31", "2026-10-31": "Aug 1 to 31",
	} {
		r, _ := ParseRange("last-month", "", "", day(at))
		w := r.Window(Day, day(at))
		if got := w.Text(w.Against, len(w.Against)); got != want || w.ExceedsRange(r) || len(w.Before) != len(w.Buckets) || w.First().After(w.Against[0]) {
			t.Errorf("before the month before %s: %s, want %s", at, got, want)
		}
	}
	if r, _ := ParseRange("month", "", "", now); !r.Window(Week, now).ExceedsRange(r) {
		t.Error("the weeks of November 2026 have days of October")
	}
	late := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC) // the days four weeks before the last days of March are also in March
	if r, _ := ParseRange("month", "", "", late); true {
		w := r.Window(Day, late)
		if got := w.Text(w.Against, len(w.Against)); got != "Jan 25 to Feb 23" {
			t.Errorf("the period before is %s, want Jan 25 to Feb 23", got)
		}
	}
	month, _ := ParseRange("", "", "", now)
	w := month.Window(Day, now)
	if got := w.Text(w.Buckets, w.OpenIndex) + ", " + w.Text(w.Against, len(w.Against)); got != "Nov 1 to 21, Oct 4 to 24" {
		t.Errorf("the periods are %s, want Nov 1 to 21, Oct 4 to 24", got)
	}
}

// Ensure ParseRange returns an error and the default range for an invalid range. A long range
// cannot be drawn by day, and is drawn by month by default.
func TestParseRange(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 15, 4, 0, 0, time.UTC)
	for _, bad := range [][3]string{{"fortnight", "", ""}, {"", "2026-11-02", ""}, {"", "2026-11-02", "2026-11-01"}, {"", "2000-01-01", "2026-11-01"}, {"", "yesterday", "2026-11-01"}} {
		if r, err := ParseRange(bad[0], bad[1], bad[2], now); err == nil || r.ID != "month" {
			t.Errorf("%q: range %s, error %v; want month and an error", bad, r.ID, err)
		}
	}
	r, err := ParseRange("", "2026-01-01", "2026-11-21", now)
	if err != nil {
		t.Fatal(err)
	}
	if r.DefaultGrain() != Month || r.Allows(Day) || !r.Allows(Week) {
		t.Errorf("usual grain %s, days %t, weeks %t; want months, no days, weeks", r.DefaultGrain(), r.Allows(Day), r.Allows(Week))
	}
}

// Ensure the days of the current week or month that have ended are compared with the same number of
// days of the week or month before.
func TestFullDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		now   string
		grain Grain
		want  string
	}{
		{"2026-11-18T15:00:00Z", Week, "2026-11-16 2026-11-17 2026-11-09 2026-11-10"}, // a Wednesday
		{"2026-11-16T15:00:00Z", Week, ""},                                            // a Monday
		{"2026-03-31T15:00:00Z", Month, "2026-03-01 2026-03-30 2026-02-01 2026-02-28"},
		{"2026-11-18T15:00:00Z", Day, ""},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		r := Range{From: c.grain.Start(now), To: now}
		got := ""
		if from, to, before, beforeTo, ok := r.Window(c.grain, now).FullDays(now); ok {
			for _, day := range []time.Time{from, to, before, beforeTo} {
				got += " " + day.Format(time.DateOnly)
			}
			got = got[1:]
		}
		if got != c.want {
			t.Errorf("%s by %s: %s, want %s", c.now, c.grain, got, c.want)
		}
	}
}
