package civiltime

import "time"

// Clock is the time zone in which a page shows and accepts times.
type Clock struct {
	*time.Location

	Name string // as shown
	Note string // why the page does not use the company's time zone; empty if it does
}

// ClockOf returns the clock of a time zone. If the name is empty or unknown, it returns a clock
// that shows UTC.
func ClockOf(name string) Clock {
	zone, ok := Zone(name)
	switch {
	case ok:
		return Clock{Location: zone, Name: name}
	case name == "":
		return Clock{time.UTC, "UTC", "the company has no time zone"}
	}
	return Clock{time.UTC, "UTC", "the company's time zone " + name + " is not known here"}
}

// Moment formats a date and a time. If that time occurs twice because the clocks go back, Moment
// adds the zone's abbreviation or offset.
func (c Clock) Moment(at time.Time) string {
	return at.In(c.Location).Format("Mon, Jan 2, 2006, ") + c.Time(at)
}

// Soon is like Moment but leaves out the year, for a time within a few weeks.
func (c Clock) Soon(at time.Time) string {
	return at.In(c.Location).Format("Mon, Jan 2, ") + c.Time(at)
}

// Time formats the time of day. Like Moment, it adds the zone if that time occurs twice.
func (c Clock) Time(at time.Time) string {
	if len(Times(at.In(c.Location), c.Location)) > 1 {
		return at.In(c.Location).Format("15:04 MST")
	}
	return at.In(c.Location).Format("15:04")
}

// Stamp formats a time in recent months, with the abbreviation of the zone. It returns an empty
// string for the zero time.
func (c Clock) Stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.In(c.Location).Format("Jan 2, 15:04 MST")
}

// Day formats the day of a time. It returns an empty string for the zero time.
func (c Clock) Day(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.In(c.Location).Format("Jan 2, 2006")
}

// Input formats a time as the value of a form field.
func (c Clock) Input(at time.Time) string { return at.In(c.Location).Format(Layout) }

// DateOf returns the date of a time in a zone, represented as midnight UTC.
func DateOf(at time.Time, zone *time.Location) time.Time {
	at = at.In(zone)
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
}
