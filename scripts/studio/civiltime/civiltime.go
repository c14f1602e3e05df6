// Package civiltime maps local dates and times to instants, including around daylight saving
// changes.
package civiltime

import (
	"slices"
	"time"
)

// Layout is the layout of a date and a time without a zone in a form.
const Layout = "2006-01-02T15:04"

// Zone returns the time zone with a name of the IANA database. If there is none, it returns UTC,
// and ok is false.
func Zone(name string) (zone *time.Location, ok bool) {
	if name == "" || name == "Local" { // Go's names for UTC and for this machine's zone
		return time.UTC, false
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC, false
	}
	return zone, true
}

// Times returns the times at which clocks in a zone show what clock says, the earliest first.
// clock's own zone does not matter. There is none if the clocks are put forward over it, and there
// are two if they are put back over it.
func Times(clock time.Time, zone *time.Location) (out []time.Time) {
	clock = utc(clock)
	guess := inZone(clock, zone)
	begin, end := guess.ZoneBounds()
	for _, near := range []time.Time{begin.Add(-time.Nanosecond), guess, end} {
		_, offset := near.In(zone).Zone()
		at := clock.Add(-time.Duration(offset) * time.Second).In(zone)
		if utc(at).Equal(clock) && !slices.ContainsFunc(out, at.Equal) {
			out = append(out, at)
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// Skipped returns what clocks in a zone showed before and after they were put forward over a clock
// time. ok is false when they were not.
func Skipped(clock time.Time, zone *time.Location) (before, after time.Time, ok bool) {
	clock = utc(clock)
	begin, end := inZone(clock, zone).ZoneBounds()
	for _, change := range []time.Time{begin, end} {
		_, offset := change.Add(-time.Nanosecond).In(zone).Zone()
		before, after = utc(change.UTC().Add(time.Duration(offset)*time.Second)), utc(change.In(zone))
		if !change.IsZero() && !clock.Before(before) && clock.Before(after) {
			return before, after, true
		}
	}
	return time.Time{}, time.Time{}, false
}

// inZone is a time close to the one that the clock means.
func inZone(clock time.Time, zone *time.Location) time.Time {
	return time.Date(clock.Year(), clock.Month(), clock.Day(), clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), zone)
}

// utc returns what a clock shows as a time that can be compared.
func utc(clock time.Time) time.Time { return inZone(clock, time.UTC) }
