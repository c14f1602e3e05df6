package metrics

import (
	"fmt"
	"time"
)

// Grain is the length of the time bucket that a point covers.
type Grain string

// The grains.
const (
	GrainDay   Grain = "day"
	GrainWeek  Grain = "week"
	GrainMonth Grain = "month"
)

// Values implements schema.Enum.
func (Grain) Values() []string {
	return []string{string(GrainDay), string(GrainWeek), string(GrainMonth)}
}

// bucketStart returns the first day, in UTC, of the bucket that contains a time. Weeks start on
// Monday (ISO 8601).
func (g Grain) bucketStart(t time.Time) (day string) {
	t = t.UTC()
	switch g {
	case GrainWeek:
		t = t.AddDate(0, 0, -(int(t.Weekday()+6) % 7))
	case GrainMonth:
		t = t.AddDate(0, 0, 1-t.Day())
	}
	return t.Format(time.DateOnly)
}

// lastDay is the latest day that a timestamp can have.
const lastDay = "9999-12-31"

// lastDayOf returns the last day of the bucket that starts on the given day.
func (g Grain) lastDayOf(start string) string {
	t, err := time.Parse(time.DateOnly, start)
	if err != nil || g == GrainDay {
		return start
	}
	if g == GrainWeek {
		t = t.AddDate(0, 0, 6)
	} else {
		t = t.AddDate(0, 1, -1)
	}
	if t.Year() > 9999 {
		return lastDay
	}
	return t.Format(time.DateOnly)
}

// dayAfter returns the next day. For lastDay it returns a string that sorts after all days.
func dayAfter(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil || day == lastDay {
		return "9999-12-32"
	}
	return t.AddDate(0, 0, 1).Format(time.DateOnly)
}

// bucketStartFor returns the first day of the bucket that contains the given day.
func (g Grain) bucketStartFor(day string) string {
	switch g {
	case GrainDay:
		return day
	case GrainMonth:
		return day[:len("2006-01-")] + "01"
	}
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	return g.bucketStart(t)
}

// Points are packed. One table record holds one period of a series, with one attribute per bucket:
// a month of days, or a year of weeks or months. recordLocation and dayOfAttribute convert between
// a bucket's first day and its period and attribute.

// recordLocation returns where the bucket that starts on the given day is stored: the period of its
// record and the name of its attribute.
func (g Grain) recordLocation(day string) (period, attribute string) {
	switch g {
	case GrainDay:
		return day[:len("2006-01")], "d" + day[len("2006-01-"):]
	case GrainWeek:
		return day[:len("2006")], "w" + day[len("2006-"):len("2006-01")] + day[len("2006-01-"):]
	default:
		return day[:len("2006")], "m" + day[len("2006-"):len("2006-01")]
	}
}

// dayOfAttribute is the inverse of recordLocation. ok reports whether the attribute belongs to a
// bucket of this grain.
func (g Grain) dayOfAttribute(period, attribute string) (day string, ok bool) {
	switch {
	case g == GrainDay && len(attribute) == len("d02") && attribute[0] == 'd':
		return period + "-" + attribute[1:], true
	case g == GrainWeek && len(attribute) == len("w0102") && attribute[0] == 'w':
		return period + "-" + attribute[1:3] + "-" + attribute[3:], true
	case g == GrainMonth && len(attribute) == len("m01") && attribute[0] == 'm':
		return period + "-" + attribute[1:] + "-01", true
	}
	return "", false
}

// attributes returns the attribute names of all buckets of a period, oldest first. The caller must
// not change the result.
func (g Grain) attributes(period string) (names []string) {
	layout := "2006"
	if g == GrainDay {
		layout = "2006-01"
	}
	first, err := time.Parse(layout, period)
	switch {
	case err != nil:
		return nil
	case g == GrainDay:
		return dayAttributes[:first.AddDate(0, 1, -1).Day()]
	case g == GrainMonth:
		return monthAttributes
	}
	for day := first.AddDate(0, 0, int(8-first.Weekday())%7); day.Year() == first.Year(); day = day.AddDate(0, 0, 7) {
		_, name := g.recordLocation(day.Format(time.DateOnly))
		names = append(names, name)
	}
	return names
}

// dayAttributes are the attribute names of the days of a month (up to 31), and monthAttributes
// those of the months of a year.
var dayAttributes, monthAttributes = numberedNames("d", 31), numberedNames("m", 12)

func numberedNames(letter string, most int) (names []string) {
	for n := range most {
		names = append(names, fmt.Sprintf("%s%02d", letter, n+1))
	}
	return names
}

// recordCountFor returns how many records hold the newest n buckets of a series without gaps, plus
// one. Reading that extra, older record proves that the oldest period needed has been read
// completely.
func (g Grain) recordCountFor(n int) int {
	switch g {
	case GrainDay:
		return 1 + monthsSpanning(n-1) + 1
	case GrainWeek:
		return 1 + ceilDiv(n-1, 52) + 1
	default:
		return 1 + ceilDiv(n-1, 12) + 1
	}
}

// dayRecordCountFor is like recordCountFor, but counts the records of the days that make up the
// newest n buckets.
func (g Grain) dayRecordCountFor(n int) int {
	switch g {
	case GrainWeek:
		return GrainDay.recordCountFor(7 * n)
	case GrainMonth:
		return n + 1
	default:
		return GrainDay.recordCountFor(n)
	}
}

// monthsSpanning returns how many consecutive months always have at least the given number of days.
// The worst case starts in February 2097, because February is short and the next seven years have
// no leap day.
func monthsSpanning(days int) int {
	const year = 2097
	last := time.Date(year, time.February, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days-1)
	return 12*(last.Year()-year) + int(last.Month()-time.February) + 1
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
