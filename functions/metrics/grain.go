package metrics

import "time"

// Grain is the length of a point's bucket.
type Grain string

// The grains.
const (
	GrainDay   Grain = "day"
	GrainWeek  Grain = "week"
	GrainMonth Grain = "month"
)

// Values is schema.Enum.
func (Grain) Values() []string {
	return []string{string(GrainDay), string(GrainWeek), string(GrainMonth)}
}

// bucket returns the first day of the bucket that a time is in, UTC. Weeks are ISO's: they begin on Monday.
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

// Points are packed: one record of the table holds a period of a series, a month of days or a year of weeks or months,
// with one attribute for each bucket. split and join translate between a bucket's first day and the two.

// split returns the period that a bucket belongs to, by its first day, and the bucket's attribute.
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

// join is the inverse of split; ok is false for an attribute that is no bucket of this grain.
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

// records returns how many records of a series without gaps hold its newest n buckets, and one more, which shows that
// the last of them is complete. The newest record may hold a single bucket, so n-1 may be left to the others.
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

// months returns how many months in a row are sure to have that many days. The shortest run begins with a February; the
// one chosen here has no leap day in the seven years after it.
func months(days int) int {
	const year = 2097
	last := time.Date(year, time.February, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days-1)
	return 12*(last.Year()-year) + int(last.Month()-time.February) + 1
}

func ceiling(a, b int) int { return (a + b - 1) / b }
