package metrics

import "time"

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

// bucket returns the first day, in UTC, of the bucket that contains a time. Weeks start on Monday (ISO 8601).
func (g Grain) bucket(t time.Time) (day string) {
	t = t.UTC()
	switch g {
	case GrainWeek:
		t = t.AddDate(0, 0, -(int(t.Weekday()+6) % 7))
	case GrainMonth:
		t = t.AddDate(0, 0, 1-t.Day())
	}
	return t.Format(time.DateOnly)
}

// Points are packed. One table record holds one period of a series, with one attribute per bucket: a month of days, or a
// year of weeks or months. split and join convert between a bucket's first day and its period and attribute.

// split returns the period of the bucket that starts on a day, and the bucket's attribute name.
func (g Grain) split(day string) (period, attribute string) {
	switch g {
	case GrainDay:
		return day[:len("2006-01")], "d" + day[len("2006-01-"):]
	case GrainWeek:
		return day[:len("2006")], "w" + day[len("2006-"):len("2006-01")] + day[len("2006-01-"):]
	default:
		return day[:len("2006")], "m" + day[len("2006-"):len("2006-01")]
	}
}

// join is the inverse of split. ok reports whether the attribute is a bucket of this grain.
func (g Grain) join(period, attribute string) (day string, ok bool) {
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

// records returns how many records hold the newest n buckets of a series without gaps, plus one. Reading that extra, older record
// proves that the oldest period needed was read completely.
func (g Grain) records(n int) int {
	switch g {
	case GrainDay:
		return 1 + months(n-1) + 1
	case GrainWeek:
		return 1 + ceiling(n-1, 52) + 1
	default:
		return 1 + ceiling(n-1, 12) + 1
	}
}

// months returns how many consecutive months always have at least that many days. The shortest run starts in February;
// the February of 2097 is followed by seven years without a leap day.
func months(days int) int {
	const year = 2097
	last := time.Date(year, time.February, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days-1)
	return 12*(last.Year()-year) + int(last.Month()-time.February) + 1
}

func ceiling(a, b int) int { return (a + b - 1) / b }
