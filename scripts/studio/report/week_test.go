package report

import (
	"testing"
	"time"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/civiltime"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/shared/client"
)

// Ensure a week has the name and the days of the ISO calendar.
func TestWeek(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"2026-W47": "2026-11-16", "2026-W01": "2025-12-29", "2026-W53": "2026-12-28", "2027-W01": "2027-01-04", "2020-W53": "2020-12-28", "2024-W52": "2024-12-23",
	} {
		w, err := weekNamed(name, time.Time{})
		if got := w.Monday().Format(time.DateOnly); err != nil || got != want || w.String() != name || weekOf(w.Monday().AddDate(0, 0, 6)) != w {
			t.Errorf("%s: %s, %v, want Monday %s", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"2027-W53": "there is no week 2027-W53: 2027 has the weeks 01 to 52", "2026-W00": "there is no week 2026-W00: 2026 has the weeks 01 to 53",
		"2026-47": `must be a week such as 2026-W47, this or last, not "2026-47"`, "": `must be a week such as 2026-W47, this or last, not ""`,
	} {
		if err := CheckWeek(name); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	sunday := time.Date(2027, 1, 3, 0, 0, 0, 0, time.UTC)
	last, err1 := weekNamed(LastWeek, sunday)
	this, err2 := weekNamed(ThisWeek, sunday)
	if err1 != nil || err2 != nil || last.String() != "2026-W52" || this.String() != "2026-W53" {
		t.Errorf("on January 3, 2027: last %s %v, this %s %v", last, err1, this, err2)
	}
}

// Ensure a day counts as over once it is over both in the company's zone and in UTC. A week must
// begin and end by the local time of its zone, even when the clocks change.
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
		zone, now, days string
		over            bool
	}{
		{"UTC", "2026-11-16T00:00:00Z", "", false},
		{"UTC", "2026-11-17T00:00:00Z", "Mon", false},
		{"UTC", "2026-11-18T23:00:00Z", "Mon to Tue", false},
		{"UTC", "2026-11-23T00:00:00Z", "the week", true},
		{"Pacific/Auckland", "2026-11-17T12:00:00Z", "Mon", false},       // Wednesday in Auckland, Tuesday in UTC
		{"Pacific/Auckland", "2026-11-22T11:00:00Z", "Mon to Sat", true}, // Monday in Auckland, Sunday in UTC
		{"America/Los_Angeles", "2026-11-18T01:00:00Z", "Mon", false},    // Tuesday in Los Angeles, Wednesday in UTC
		{"America/Los_Angeles", "2026-11-23T07:59:00Z", "Mon to Sat", false},
		{"America/Los_Angeles", "2026-11-23T08:00:00Z", "the week", true},
	} {
		s := newSpan(Week{2026, 47}, civiltime.ClockOf(c.zone), at(c.now))
		if s.days() != c.days || s.over() != c.over {
			t.Errorf("%s, %s: %q, over %t; want %q, %t", c.zone, c.now, s.days(), s.over(), c.days, c.over)
		}
	}
	// In Berlin, this week has 169 hours, because the clocks go back.
	s := newSpan(Week{2026, 43}, civiltime.ClockOf("Europe/Berlin"), at("2026-10-25T12:00:00Z"))
	if s.start != at("2026-10-18T22:00:00Z").In(s.start.Location()) || s.end.Sub(s.start) != 169*time.Hour {
		t.Errorf("from %s to %s", s.start, s.end)
	}
	if now := at("2026-10-18T12:00:00Z"); s.inWeekBefore(now) || !s.inWeekBefore(now.Add(-time.Hour-time.Second)) || s.inWeekBefore(at("2026-10-11T21:59:59Z")) {
		t.Error("the week before is counted until the same weekday and time on the clock")
	}
	if s.inWeek(s.end) || !s.inWeek(s.start) {
		t.Error("a week has its first moment and not that of the next week")
	}
	s = newSpan(Week{2026, 36}, civiltime.ClockOf("America/Santiago"), at("2026-09-06T03:30:00Z")) // the clocks skip the first hour of this Sunday
	if got := s.dayStart(6).UTC().Format(time.RFC3339); got != "2026-09-06T04:00:00Z" || s.daysOver != 5 {
		t.Errorf("a Sunday without a midnight begins at %s, and %d days are over; want 04:00 and 5", got, s.daysOver)
	}
	if got := newSpan(Week{2026, 53}, civiltime.ClockOf("UTC"), s.now).title(); got != "Week 53, Dec 28, 2026 to Jan 3, 2027" {
		t.Error(got)
	}
}

// Ensure the total of the finished days is not compared with a total of more days. The values of
// the last finished day may not have been pushed yet.
func TestDaysWithoutValues(t *testing.T) {
	t.Parallel()
	days := make([]chart.Value, 14)
	for i := range 9 { // nine days: the whole week before, and Monday and Tuesday
		days[i] = chart.Value{V: 1, OK: true}
	}
	for aggregation, want := range map[client.MetricsAggregation]string{
		client.MetricsAggregationSum: "the same days before have more values", client.MetricsAggregationLast: "",
	} {
		var v metricValues
		if v.setDays(span{daysOver: 3}, series.Metric{Aggregation: aggregation}, days); v.note != want {
			t.Errorf("%s: note %q, want %q", aggregation, v.note, want)
		}
	}
}
