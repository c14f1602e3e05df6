package paste

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"growthworkspace/scripts/studio/units"
)

// Value is a metric's value on one day.
type Value struct {
	Day   time.Time
	Value float64
}

// Values reads the values of a metric, one on each line. A line contains a day such as 2026-11-22
// and the value, or only a value for today. The day and the value are separated by a tab, a
// semicolon, a comma or a space. It returns the last value of each day. The error names the first
// line that cannot be read.
func Values(text string, unit units.Unit, today time.Time) (values []Value, err error) {
	indexes := map[time.Time]int{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		day, typed := today, line
		if first, rest, ok := cutDay(line); ok {
			if day, err = time.Parse(time.DateOnly, first); err != nil {
				return nil, fmt.Errorf("line %d: there is no day %s", number, first)
			}
			typed = rest
		}
		value, ok := unit.Parse(typed)
		switch {
		case !ok:
			return nil, fmt.Errorf("line %d must be a day and a number, like 2026-11-22 125; it is %q", number, line)
		case day.After(today):
			return nil, fmt.Errorf("line %d: %s is in the future", number, day.Format(time.DateOnly))
		}
		if i, known := indexes[day]; known {
			values[i].Value = value
			continue
		}
		indexes[day] = len(values)
		values = append(values, Value{day, value})
	}
	if len(values) == 0 {
		return nil, errors.New("type at least one number")
	}
	return values, nil
}

// cutDay splits a line that starts with a day, such as 2026-11-22, into the day and the rest. ok is
// false for any other line.
func cutDay(line string) (day, rest string, ok bool) {
	const length = len(time.DateOnly)
	if len(line) <= length || line[4] != '-' || line[7] != '-' || !strings.ContainsRune("\t;, ", rune(line[length])) {
		return "", "", false
	}
	return line[:length], strings.Trim(line[length:], "\t;, "), true
}
