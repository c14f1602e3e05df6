// Package paste reads the values of a metric that people paste into a form.
package paste

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/tabular"
)

// Value is a metric's value on one day.
type Value struct {
	Day   time.Time
	Value float64
}

// Values reads the values of a metric: a day and a value on each line, or only a value for today. A
// tab, a semicolon, a comma or a space separates the day from the value, and the first line may have
// headings. Values returns the last value of each day. The error names the first line that cannot be
// read. It is a tabular.Ambiguous if a column has several readings and answers has no answer.
func Values(text string, unit units.Unit, today time.Time, answers tabular.Answers) (values []Value, err error) {
	lines := splitLines(text)
	var days, numbers []string
	for _, l := range lines {
		days, numbers = append(days, l.day), append(numbers, l.value)
	}
	dates, reader := answers.Dates(time.UTC, slices.Values(days)), answers.Numbers(slices.Values(numbers))
	indexes := map[time.Time]int{}
	for _, l := range lines {
		day := today
		if l.day != "" {
			date, err := dates.Read(l.day)
			if err != nil {
				return nil, fmt.Errorf("line %d: the day %w", l.number, err)
			}
			day = date.Day
		}
		value, err := unit.Read(reader, l.value)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d must be a day and a number, like 2026-11-22 125: the value %w", l.number, err)
		case day.After(today):
			return nil, fmt.Errorf("line %d: %s is in the future", l.number, day.Format(time.DateOnly))
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

// line is a line with a value. day is empty if it has only a value.
type line struct {
	number     int
	day, value string
}

// splitLines splits each line into a day and a value. It leaves out empty lines, and a first line
// without a digit, which has headings.
func splitLines(text string) (lines []line) {
	number := 0
	for content := range strings.Lines(text) {
		number++
		if content = strings.TrimSpace(content); content == "" {
			continue
		}
		day, value := splitLine(content)
		lines = append(lines, line{number, day, value})
	}
	if len(lines) > 1 && !strings.ContainsAny(lines[0].day+lines[0].value, "0123456789") {
		lines = lines[1:]
	}
	return lines
}

// splitLine splits a line at a tab or a semicolon. If there is none, it splits the line after the
// longest beginning that is a day.
func splitLine(text string) (day, value string) {
	separators := "\t;"
	if strings.HasPrefix(text, `"`) {
		separators += ","
	}
	for _, separator := range separators {
		r := csv.NewReader(strings.NewReader(text))
		r.Comma = separator
		if cells, err := r.Read(); err == nil && len(cells) == 2 {
			return strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])
		}
	}
	isSeparator := func(c rune) bool { return c == ',' || unicode.IsSpace(c) }
	for at := strings.LastIndexFunc(text, isSeparator); at > 0; at = strings.LastIndexFunc(text[:at], isSeparator) {
		day = strings.Trim(text[:at], ", ")
		if _, err := tabular.NewDates(tabular.Format{}, time.UTC, nil).Read(day); err == nil || errors.As(err, new(*tabular.Ambiguous)) || looksLikeDay(day) {
			return day, strings.Trim(text[at:], "\t, \"")
		}
	}
	return "", strings.Trim(text, `"`)
}

// looksLikeDay reports whether text has the form of a day such as 2026-13-01, which does not exist.
func looksLikeDay(text string) bool {
	return len(text) == len(time.DateOnly) && text[4] == '-' && text[7] == '-'
}
