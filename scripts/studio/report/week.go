package report

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"growthworkspace/scripts/studio/civiltime"
	"growthworkspace/shared/tabular"
)

// Week is a week of the ISO calendar. It starts on Monday.
type Week struct{ Year, Number int }

// The names that Read accepts in addition to ISO weeks.
const (
	LastWeek = "last" // the last week that is over
	ThisWeek = "this"
)

var weekPattern = regexp.MustCompile(`^(\d{4})-W(\d{2})$`)

// CheckWeek returns an error unless name is LastWeek, ThisWeek or an ISO week such as 2026-W47.
func CheckWeek(name string) error {
	_, err := weekNamed(name, time.Time{})
	return err
}

// weekNamed returns the week with the given name. today is the current date in the company's time
// zone.
func weekNamed(name string, today time.Time) (Week, error) {
	switch name {
	case LastWeek:
		return weekOf(today.AddDate(0, 0, -7)), nil
	case ThisWeek:
		return weekOf(today), nil
	}
	parts := weekPattern.FindStringSubmatch(name)
	if parts == nil {
		return Week{}, fmt.Errorf("must be a week such as 2026-W47, this or last, not %q", name)
	}
	year, _ := strconv.Atoi(parts[1])   // the pattern matches digits only
	number, _ := strconv.Atoi(parts[2]) // likewise
	w := Week{year, number}
	if weekOf(w.Monday()) != w {
		return Week{}, fmt.Errorf("there is no week %s: %d has the weeks 01 to %02d", name, year, weekOf(time.Date(year, 12, 28, 0, 0, 0, 0, time.UTC)).Number)
	}
	return w, nil
}

// weekOf returns the week that contains a date.
func weekOf(date time.Time) Week {
	year, number := date.ISOWeek()
	return Week{year, number}
}

// Monday returns the first date of the week, represented as midnight UTC.
func (w Week) Monday() time.Time {
	fourth := time.Date(w.Year, 1, 4, 0, 0, 0, 0, time.UTC) // January 4 is always in week 1
	return fourth.AddDate(0, 0, 7*(w.Number-1)-(int(fourth.Weekday())+6)%7)
}

// String returns the name of the week, such as 2026-W47.
func (w Week) String() string { return fmt.Sprintf("%04d-W%02d", w.Year, w.Number) }

// span is a week in a company's time zone.
type span struct {
	Week

	clock      civiltime.Clock
	monday     time.Time // the first date, as midnight UTC
	start, end time.Time // the moments when the week begins and ends in the zone
	now        time.Time
	daysOver   int // how many days of the week are over, both in the zone and in UTC
}

func newSpan(w Week, clock civiltime.Clock, now time.Time) span {
	s := span{Week: w, clock: clock, monday: w.Monday(), now: now}
	s.start, s.end = s.dayStart(0), s.dayStart(7)
	for s.daysOver < 7 && !now.Before(s.dayStart(s.daysOver+1)) && !now.Before(s.monday.AddDate(0, 0, s.daysOver+1)) {
		s.daysOver++
	}
	return s
}

// dayStart returns the time at which a day starts in the zone. Day 0 is the Monday of the week.
func (s span) dayStart(day int) time.Time {
	return tabular.WallTime(s.monday.AddDate(0, 0, day), s.clock.Location) // a clock change can skip midnight
}

// inWeek reports whether a moment is in the week.
func (s span) inWeek(at time.Time) bool { return !at.Before(s.start) && at.Before(s.end) }

// inWeekBefore reports whether a moment is in the previous week. If this week is not over, only the
// corresponding part of the previous week counts.
func (s span) inWeekBefore(at time.Time) bool {
	until := s.start
	if s.now.Before(s.end) {
		until = s.now.In(s.clock.Location).AddDate(0, 0, -7)
	}
	return !at.Before(s.dayStart(-7)) && at.Before(until)
}

// over reports whether the week is over.
func (s span) over() bool { return !s.now.Before(s.end) }

// days names the days of the week that metrics compare, such as "Mon to Wed". It returns "the week"
// if all days are over, and "" if none is.
func (s span) days() string {
	switch s.daysOver {
	case 0:
		return ""
	case 1:
		return "Mon"
	case 7:
		return "the week"
	}
	return "Mon to " + s.monday.AddDate(0, 0, s.daysOver-1).Format("Mon")
}

// title names the week, such as "Week 47, Nov 16 to Nov 22, 2026".
func (s span) title() string {
	last := s.monday.AddDate(0, 0, 6)
	first := s.monday.Format("Jan 2")
	if last.Year() != s.monday.Year() {
		first = s.monday.Format("Jan 2, 2006")
	}
	return fmt.Sprintf("Week %d, %s to %s", s.Number, first, last.Format("Jan 2, 2006"))
}
