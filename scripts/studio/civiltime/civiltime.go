// Package civiltime maps local dates and times to instants, even when daylight saving time begins
// or ends.
package civiltime

import (
	"slices"
	"time"
)

// Layout is the layout that forms use for a date and a time without a zone.
const Layout = "2006-01-02T15:04"

// Zone returns the time zone that has the given name in the IANA database. If there is no such
// zone, it returns UTC, and ok is false.
func Zone(name string) (zone *time.Location, ok bool) {
	if name == "" || name == "Local" { // time.LoadLocation returns UTC for "" and this machine's zone for "Local"
		return time.UTC, false
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC, false
	}
	return zone, true
}

// Times returns the times at which clocks in a zone show the same date and time as clock, the
// earliest first. It ignores clock's own zone. There are no such times if the clocks go forward
// over that time, and two if they go back and repeat it.
func Times(clock time.Time, zone *time.Location) (out []time.Time) {
	clock = wallClock(clock)
	guess := inZone(clock, zone)
	begin, end := guess.ZoneBounds()
	for _, near := range []time.Time{begin.Add(-time.Nanosecond), guess, end} {
		_, offset := near.In(zone).Zone()
		at := clock.Add(-time.Duration(offset) * time.Second).In(zone)
		if wallClock(at).Equal(clock) && !slices.ContainsFunc(out, at.Equal) {
			out = append(out, at)
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// Skipped finds the moment at which clocks in a zone go forward and skip a clock time. It returns
// what the clocks show right before and right after that moment. ok is false if the clock time is
// not skipped.
func Skipped(clock time.Time, zone *time.Location) (before, after time.Time, ok bool) {
	clock = wallClock(clock)
	begin, end := inZone(clock, zone).ZoneBounds()
	for _, change := range []time.Time{begin, end} {
		_, offset := change.Add(-time.Nanosecond).In(zone).Zone()
		before, after = wallClock(change.UTC().Add(time.Duration(offset)*time.Second)), wallClock(change.In(zone))
		if !change.IsZero() && !clock.Before(before) && clock.Before(after) {
			return before, after, true
		}
	}
	return time.Time{}, time.Time{}, false
}

// inZone returns the time at which clocks in a zone show the given clock time. If they skip it, the
// result is a time close to it.
func inZone(clock time.Time, zone *time.Location) time.Time {
	return time.Date(clock.Year(), clock.Month(), clock.Day(), clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), zone)
}

// wallClock returns the time in UTC that has the same date and time of day as clock, so that two
// clock times can be compared.
func wallClock(clock time.Time) time.Time { return inZone(clock, time.UTC) }
