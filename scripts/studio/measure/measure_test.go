package measure

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Ensure each unit is written as people read it: a currency with its own exponent, a ratio as
// percent.
func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit  Unit
		value float64
		want  string
		short string
	}{
		{Unit{Currency, "EUR"}, 824_000, "€ 8,240.00", "€ 8,240"},
		{Unit{Currency, "USD"}, -1_234_567, "−$ 12,345.67", "−$ 12.3k"},
		{Unit{Currency, "JPY"}, 824_000, "¥ 824,000", "¥ 824k"},
		{Unit{Currency, "KWD"}, 12_345, "KWD 12.345", "KWD 12.345"},
		{Unit{Currency, "CHF"}, 5, "CHF 0.05", "CHF 0.05"},
		{Unit{Currency, ""}, 150, "1.50", "1.50"},
		{Unit{Count, ""}, 1_234_567, "1,234,567", "1.23M"},
		{Unit{Count, ""}, 0, "0", "0"},
		{Unit{Count, ""}, -0.001, "0", "0"},
		{Unit{Ratio, ""}, 0.0213, "2.13 %", "2.13 %"},
		{Unit{Duration, ""}, 840, "840 ms", "840 ms"},
		{Unit{Duration, ""}, 1900, "1.9 s", "1.9 s"},
		{Unit{Duration, ""}, 7_900_000, "2.19 h", "2.19 h"},
		{Unit{Bytes, ""}, 6.1e12, "6.1 TB", "6.1 TB"},
		{Unit{"score", ""}, 4.5, "4.5", "4.5"},
		{Unit{}, 1234.567, "1,234.57", "1,234.57"},
	} {
		if got := c.unit.Text(c.value); got != c.want {
			t.Errorf("%v %v: %q, want %q", c.unit, c.value, got, c.want)
		}
		if got := c.unit.Short(c.value); got != c.short {
			t.Errorf("%v %v: short %q, want %q", c.unit, c.value, got, c.short)
		}
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit        Unit
		now, before float64
		want        string
		sign        int
		ok          bool
	}{
		{Unit{Name: Count}, 412, 349, "+18 %", 1, true},
		{Unit{Name: Count}, 98, 100, "−2 %", -1, true},
		{Unit{Name: Count}, 5, 0, "", 0, false},
		{Unit{Name: Count}, 0, 0, "no change", 0, true},
		{Unit{Name: Count}, 100_001, 100_000, "no change", 0, true},
		{Unit{Name: Ratio}, 0.021, 0.018, "+0.3 points", 1, true},
		{Unit{Name: Ratio}, 0.018, 0, "+1.8 points", 1, true},
		{Unit{Name: Currency}, -50, -100, "+50 %", 1, true},
	} {
		if text, sign, ok := c.unit.Change(c.now, c.before); text != c.want || sign != c.sign || ok != c.ok {
			t.Errorf("%v from %v to %v: %q %d %v, want %q", c.unit, c.before, c.now, text, sign, ok, c.want)
		}
	}
}

// Ensure an axis has a few round steps in the displayed unit, and whole ones for a count.
func TestTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit      Unit
		low, high float64
		want      []float64
	}{
		{Unit{Name: Count}, 0, 3, []float64{0, 1, 2, 3}},
		{Unit{Name: Count}, 0, 0, []float64{0, 1}},
		{Unit{Name: Count}, 0, 43, []float64{0, 20, 40, 60}},
		{Unit{Name: Ratio}, 0, 0.042, []float64{0, 0.02, 0.04, 0.06}},
		{Unit{Name: Duration}, 0, 7_900_000, []float64{0, 3_600_000, 7_200_000, 10_800_000}},
		{Unit{Name: Currency, Currency: "EUR"}, 4_600_000, 4_816_000, []float64{4_600_000, 4_700_000, 4_800_000, 4_900_000}},
		{Unit{Name: Count}, -12, 30, []float64{-20, 0, 20, 40}},
	} {
		got := c.unit.Ticks(c.low, c.high)
		same := slices.EqualFunc(got, c.want, func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
		if !same {
			t.Errorf("%v from %v to %v: %v, want %v", c.unit, c.low, c.high, got, c.want)
		}
	}
}

// Ensure a month is compared day by day with the month before, and other ranges with the days right
// before. The unfinished part must be known.
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
		id                  string
		grain               Grain
		buckets, open, next int
		first, before       string
	}{
		{"month", Day, 30, 21, 22, "2026-11-01", "2026-10-01"},
		{"last-month", Day, 31, 31, 31, "2026-10-01", "2026-09-01"},
		{"7d", Day, 7, 6, 7, "2026-11-16", "2026-11-09"},
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
		want := window{c.buckets, c.open, c.next, day(c.first), day(c.before)}
		if diff := cmp.Diff(want, window{len(w.Now), w.Open, w.Future, w.Now[0], w.Before[0]}); diff != "" {
			t.Errorf("%s by %s (-want +got):\n%s", c.id, c.grain, diff)
		}
		if len(w.Before) < c.buckets {
			t.Errorf("%s by %s: %d buckets before, want %d at least", c.id, c.grain, len(w.Before), c.buckets)
		}
	}
	for at, want := range map[string]string{ // a finished month is compared with the whole month before, longer or shorter
		"2026-11-22": "Sep 1 to 30", "2026-12-22": "Oct 1 to 31", "2027-03-01": "Jan 1 to 31", "2026-10-31": "Aug 1 to 31",
	} {
		r, _ := ParseRange("last-month", "", "", day(at))
		w := r.Window(Day, day(at))
		if got := w.Text(w.Before, w.Same); got != want || w.Beyond(r) || len(w.Before) < len(w.Now) {
			t.Errorf("before the month before %s: %s, want %s", at, got, want)
		}
	}
	if r, _ := ParseRange("month", "", "", now); !r.Window(Week, now).Beyond(r) {
		t.Error("the weeks of November 2026 have days of October")
	}
	late := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC) // February has no 30th
	if r, _ := ParseRange("month", "", "", late); true {
		w := r.Window(Day, late)
		if got := w.Text(w.Before, w.Same); got != "Feb 1 to 28" {
			t.Errorf("the period before is %s, want Feb 1 to 28", got)
		}
	}
	month, _ := ParseRange("", "", "", now)
	w := month.Window(Day, now)
	if got := w.Text(w.Now, w.Open) + ", " + w.Text(w.Before, w.Open); got != "Nov 1 to 21, Oct 1 to 21" {
		t.Errorf("the periods are %s, want Nov 1 to 21, Oct 1 to 21", got)
	}
}

// Ensure the error of an invalid range says so, and names the usual range.
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
	if r.Default() != Month || r.Allows(Day) || !r.Allows(Week) {
		t.Errorf("usual grain %s, days %t, weeks %t; want months, no days, weeks", r.Default(), r.Allows(Day), r.Allows(Week))
	}
}

// Ensure the finished part of a week or a month is compared with as many days of the bucket before.
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
		if from, to, before, beforeTo, some := r.Window(c.grain, now).FullDays(now); some {
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
