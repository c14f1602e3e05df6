package overview

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
	_ "time/tzdata" // for the time zones of companies, because the function may have no database of zones
)

// A date is represented as midnight UTC.

// company is what the rules read of the company's profile.
type company struct{ Timezone *string }

func (r *reader) startCompany() *records[company] {
	return startRecord[company](r, "get_company", map[string]any{})
}

// zoneOf returns the company's time zone and its name: UTC if the company has none, or if the key
// may not read it.
func zoneOf(profile *records[company]) (*time.Location, string) {
	for _, c := range profile.all {
		if zone, err := time.LoadLocation(value(c.Timezone, "")); err == nil && zone != time.UTC {
			return zone, zone.String()
		}
	}
	return time.UTC, "UTC"
}

// dateOf returns the date of a time in a zone.
func dateOf(at time.Time, zone *time.Location) time.Time {
	year, month, day := at.In(zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// dayStart returns the first instant of a date in a zone. A clock change can skip midnight, or
// repeat it.
func dayStart(date time.Time, zone *time.Location) time.Time {
	at := time.Date(date.Year(), date.Month(), date.Day(), 0, 0, 0, 0, zone)
	begin, end := at.ZoneBounds()
	switch {
	case dateOf(at, zone).Before(date): // midnight is skipped, and at is before the change
		return end
	case at.Hour() > 0 && !begin.IsZero(): // at is after the change
		return begin
	}
	if !begin.IsZero() {
		_, before := begin.Add(-time.Second).Zone()
		_, after := at.Zone()
		if earlier := at.Add(-time.Duration(before-after) * time.Second); before > after && earlier.Before(begin) &&
			dateOf(earlier, zone).Equal(date) {
			return earlier
		}
	}
	return at
}

// lastWholeDay returns the last date that is over both in a zone and in UTC, in which points count
// their days.
func lastWholeDay(now time.Time, zone *time.Location) time.Time {
	day := dateOf(now, zone)
	if inUTC := dateOf(now, time.UTC); inUTC.Before(day) {
		day = inUTC
	}
	return day.AddDate(0, 0, -1)
}

// isoWeek is a week of the ISO calendar, which starts on Monday.
type isoWeek struct{ year, number int }

var weekPattern = regexp.MustCompile(`^([12]\d{3})-W(\d{2})$`)

// thisWeek is the name of the week that is not over.
const thisWeek = "this"

// weekOf returns the week of a date.
func weekOf(date time.Time) isoWeek {
	year, number := date.ISOWeek()
	return isoWeek{year, number}
}

// parseWeek parses the name of a week, such as 2026-W47.
func parseWeek(name string) (isoWeek, error) {
	parts := weekPattern.FindStringSubmatch(name)
	if parts == nil {
		return isoWeek{}, fmt.Errorf("must be a week such as 2026-W47, or this, not %.40q", name)
	}
	year, _ := strconv.Atoi(parts[1])   // the pattern matches digits only
	number, _ := strconv.Atoi(parts[2]) // likewise
	w := isoWeek{year, number}
	if weekOf(w.monday()) != w {
		last := weekOf(time.Date(year, 12, 28, 0, 0, 0, 0, time.UTC)).number
		return isoWeek{}, fmt.Errorf("there is no week %s: %d has the weeks 01 to %02d", name, year, last)
	}
	return w, nil
}

// monday returns the first date of the week.
func (w isoWeek) monday() time.Time {
	fourth := time.Date(w.year, 1, 4, 0, 0, 0, 0, time.UTC) // January 4 is always in week 1
	return fourth.AddDate(0, 0, weekDays*(w.number-1)-(int(fourth.Weekday())+6)%weekDays)
}

func (w isoWeek) String() string { return fmt.Sprintf("%04d-W%02d", w.year, w.number) }

// span is a week in a company's time zone.
type span struct {
	isoWeek
	zone       *time.Location
	first      time.Time // the date of Monday
	start, end time.Time // the instants at which the week begins and ends in the zone
	now        time.Time
	daysOver   int // how many days of the week are over, both in the zone and in UTC
}

func newSpan(w isoWeek, zone *time.Location, now time.Time) span {
	first := w.monday()
	s := span{isoWeek: w, zone: zone, first: first, start: dayStart(first, zone),
		end: dayStart(first.AddDate(0, 0, weekDays), zone), now: now}
	s.daysOver = min(weekDays, max(0, 1+int(lastWholeDay(now, zone).Sub(first)/(24*time.Hour))))
	if lastWholeDay(now, zone).Before(first) {
		s.daysOver = 0
	}
	return s
}

// date returns a date of the week; 0 is Monday.
func (s span) date(day int) time.Time { return s.first.AddDate(0, 0, day) }

// contains reports whether an instant is in the week, up to now.
func (s span) contains(at time.Time) bool {
	return !at.Before(s.start) && at.Before(s.end) && !at.After(s.now)
}

// beforeContains reports whether an instant is in the week before. If this week is not over, only
// the same part of the week before counts.
func (s span) beforeContains(at time.Time) bool {
	until := s.start
	if s.now.Before(s.end) {
		local := s.now.In(s.zone)
		until = local.AddDate(0, 0, -weekDays)
	}
	return !at.Before(dayStart(s.date(-weekDays), s.zone)) && at.Before(until)
}
