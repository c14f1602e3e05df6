// Package period divides a range of days into buckets, such as weeks, and finds the earlier buckets
// with which to compare them.
package period

import (
	"fmt"
	"time"
)

// Grain is the length of a bucket.
type Grain string

// The grains of the API.
const (
	Day   Grain = "day"
	Week  Grain = "week"
	Month Grain = "month"
)

// Valid reports whether the grain is one of the API's grains.
func (g Grain) Valid() bool { return g == Day || g == Week || g == Month }

// Start returns the start of the bucket that contains a day. Weeks start on Monday.
func (g Grain) Start(day time.Time) time.Time {
	day = time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.UTC)
	switch g {
	case Week:
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case Month:
		return day.AddDate(0, 0, 1-day.Day())
	}
	return day
}

// Next returns the start of the bucket that is n buckets after the one that starts at start.
func (g Grain) Next(start time.Time, n int) time.Time {
	switch g {
	case Week:
		return start.AddDate(0, 0, 7*n)
	case Month:
		return start.AddDate(0, n, 0)
	}
	return start.AddDate(0, 0, n)
}

// Label formats a bucket, such as "Tue, Nov 3", "Nov 2 to Nov 8" or "November 2026".
func (g Grain) Label(start time.Time) string {
	switch g {
	case Week:
		return start.Format("Jan 2") + " to " + start.AddDate(0, 0, 6).Format("Jan 2")
	case Month:
		return start.Format("January 2006")
	}
	return start.Format("Mon, Jan 2")
}

// Tick formats a bucket like Label, but shorter, for the axis of a chart.
func (g Grain) Tick(start time.Time) string {
	if g == Month {
		return start.Format("Jan ’06")
	}
	return start.Format("Jan 2")
}

// Range is a range of days in UTC.
type Range struct {
	ID   string // the id in addresses, such as "month" or "30d"; empty for a custom range
	Name string // such as "This month"
	From time.Time
	To   time.Time // inclusive
}

// Ranges returns the ranges that people can choose by name, with the default range first.
func Ranges(now time.Time) []Range {
	today := Day.Start(now)
	first := Month.Start(today)
	lastDays := func(id, name string, days int) Range { return Range{id, name, today.AddDate(0, 0, 1-days), today} }
	return []Range{
		{"month", "This month", first, first.AddDate(0, 1, -1)},
		{"last-month", "Last month", first.AddDate(0, -1, 0), first.AddDate(0, 0, -1)},
		lastDays("7d", "7 days", 7), lastDays("30d", "30 days", 30), lastDays("90d", "90 days", 90),
		{"12m", "12 months", first.AddDate(0, -11, 0), first.AddDate(0, 1, -1)},
	}
}

// rangeDaysMax limits the length of a custom range.
const rangeDaysMax = 5 * 366

// ParseRange returns the range with the given id. If from or to is given, it returns the custom
// range between these two days. If the input is not valid, it returns the default range and an
// error that says what is wrong.
func ParseRange(id, from, to string, now time.Time) (Range, error) {
	all := Ranges(now)
	if from == "" && to == "" {
		for _, r := range all {
			if r.ID == id {
				return r, nil
			}
		}
		if id != "" {
			return all[0], fmt.Errorf("there is no range %q", id)
		}
		return all[0], nil
	}
	first, err1 := time.Parse(time.DateOnly, from)
	last, err2 := time.Parse(time.DateOnly, to)
	switch {
	case err1 != nil || err2 != nil:
		return all[0], fmt.Errorf("a range needs two days such as 2026-08-31")
	case last.Before(first):
		return all[0], fmt.Errorf("the last day is before the first")
	case last.Sub(first) > rangeDaysMax*24*time.Hour:
		return all[0], fmt.Errorf("a range has at most five years")
	}
	name := first.Format("Jan 2, 2006") + " to " + last.Format("Jan 2, 2006")
	return Range{"", name, first, last}, nil
}

// IsMonth reports whether the range is one whole calendar month.
func (r Range) IsMonth() bool { return r.From.Day() == 1 && r.To.Equal(r.From.AddDate(0, 1, -1)) }

// DefaultGrain returns the length of the buckets in which the range is drawn by default. It is
// chosen so that a chart has about 7 to 62 buckets.
func (r Range) DefaultGrain() Grain {
	switch days := r.days(); {
	case days <= 62:
		return Day
	case days <= 200:
		return Week
	}
	return Month
}

func (r Range) days() int { return int(r.To.Sub(r.From)/(24*time.Hour)) + 1 }

// bucketsMax is the maximum number of buckets in a chart. With more buckets, a user could not tell
// the points apart.
const bucketsMax = 130

// Allows reports whether the range may be drawn in this grain.
func (r Range) Allows(g Grain) bool {
	return g != Day && (g != Week || r.days() <= 7*bucketsMax) || r.days() <= bucketsMax
}

// Window is a range divided into buckets, with the earlier buckets with which it is compared.
type Window struct {
	Grain       Grain
	Buckets     []time.Time // starts of the buckets
	Before      []time.Time // for each bucket in Buckets, the earlier one to compare it with; a day is compared with the same weekday
	Against     []time.Time // the buckets whose combined value is compared with that of Buckets[:OpenIndex]
	OpenIndex   int         // the index in Buckets of the first bucket that has not ended, or len(Buckets)
	FutureIndex int         // the index in Buckets of the first bucket that has not begun, or len(Buckets)
}

// Window divides a range into buckets and chooses the earlier buckets with which to compare them. A
// day is compared with the same weekday some weeks earlier. In a range of n weeks or months, each
// is compared with the one n weeks or months earlier. The total of a month that has ended is
// compared with the total of the whole month before.
func (r Range) Window(g Grain, now time.Time) Window {
	w := Window{Grain: g}
	for at := g.Start(r.From); !at.After(r.To); at = g.Next(at, 1) {
		w.Buckets = append(w.Buckets, at)
	}
	for i, at := range w.Buckets {
		if !g.Next(at, 1).After(now) {
			w.OpenIndex = i + 1
		}
		if !at.After(now) {
			w.FutureIndex = i + 1
		}
	}
	distance := len(w.Buckets)
	if g == Day {
		distance = w.daysBack(r)
	}
	for _, at := range w.Buckets {
		w.Before = append(w.Before, g.Next(at, -distance))
	}
	w.Against = w.Before[:w.OpenIndex]
	if r.isNamedMonth() && g == Day && w.OpenIndex == len(w.Buckets) {
		w.Against = nil
		for at := Month.Next(w.Buckets[0], -1); at.Before(w.Buckets[0]); at = g.Next(at, 1) {
			w.Against = append(w.Against, at)
		}
	}
	return w
}

// isNamedMonth reports whether the range is "this month" or "last month".
func (r Range) isNamedMonth() bool { return r.ID == "month" || r.ID == "last-month" }

// daysBack returns the distance in days between a day and the earlier day with which it is
// compared. This is the smallest number of whole weeks for which the earlier days do not overlap
// the range. In the current month, only the days that have ended are compared. So four weeks are
// enough until the 28th day of the month has ended.
func (w Window) daysBack(r Range) int {
	n := len(w.Buckets)
	if r.isNamedMonth() {
		n = max(28, w.OpenIndex)
	}
	return (n + 6) / 7 * 7
}

// WeeksBack returns the distance in weeks between a day and the earlier day with which it is
// compared.
func (w Window) WeeksBack() int { return int(w.Buckets[0].Sub(w.Before[0]) / (7 * 24 * time.Hour)) }

// First returns the start of the earliest bucket to read, including those for comparison.
func (w Window) First() time.Time {
	if len(w.Against) > 0 && w.Against[0].Before(w.Before[0]) {
		return w.Against[0]
	}
	return w.Before[0]
}

// Partial reports whether the window contains a bucket that has begun but not ended.
func (w Window) Partial() bool { return w.OpenIndex < w.FutureIndex }

// ExceedsRange reports whether the buckets include days outside the range. For example, the first
// week of a month may begin in the month before.
func (w Window) ExceedsRange(r Range) bool {
	return w.Buckets[0].Before(r.From) || w.Grain.Next(w.Buckets[len(w.Buckets)-1], 1).AddDate(0, 0, -1).After(r.To)
}

// Text formats the days that the first n buckets of starts cover, such as "Nov 1 to 20".
func (w Window) Text(starts []time.Time, n int) string {
	if n == 0 {
		return ""
	}
	first, last := starts[0], w.Grain.Next(starts[n-1], 1).AddDate(0, 0, -1)
	switch {
	case first.Equal(last):
		return first.Format("Jan 2")
	case first.Year() == last.Year() && first.Month() == last.Month():
		return first.Format("Jan 2") + " to " + last.Format("2")
	case first.Year() == last.Year():
		return first.Format("Jan 2") + " to " + last.Format("Jan 2")
	}
	return first.Format("Jan 2, 2006") + " to " + last.Format("Jan 2, 2006")
}

// FullDays returns two ranges of equal length. from and to bound the finished days of the
// unfinished bucket. before and beforeTo bound the same number of days of the earlier bucket with
// which it is compared. ok is false if no day has finished, or if each bucket is a single day.
func (w Window) FullDays(now time.Time) (from, to, before, beforeTo time.Time, ok bool) {
	if w.Grain == Day || w.OpenIndex >= w.FutureIndex {
		return from, to, before, beforeTo, false
	}
	from, before = w.Buckets[w.OpenIndex], w.Before[w.OpenIndex]
	to = Day.Start(now).AddDate(0, 0, -1)
	n := int(to.Sub(from)/(24*time.Hour)) + 1
	beforeTo = before.AddDate(0, 0, n-1)
	if end := w.Grain.Next(before, 1).AddDate(0, 0, -1); beforeTo.After(end) { // the earlier month is shorter than this one
		beforeTo = end
	}
	return from, to, before, beforeTo, n > 0
}
