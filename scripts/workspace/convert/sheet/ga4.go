package sheet

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const ga4DateLayout = "20060102"

// isNthDay reports whether a cell is a number of a day, such as 0003, and not a date.
func isNthDay(cell string) bool {
	cell = strings.TrimSpace(cell)
	return len(cell) < len(ga4DateLayout) && !isText(cell)
}

// reportPeriod contains the first and last days of a report, read from the report's comments. The two
// days are on separate lines or together on one line.
type reportPeriod struct {
	start, end time.Time
	needsEnd   bool // whether the start was read and the end is still missing
}

var (
	ga4DateLine  = regexp.MustCompile(`^(.*):\s*(\d{8})\s*$`)
	ga4RangeLine = regexp.MustCompile(`^\s*(\d{8})-(\d{8})\s*$`)
)

func (r *reportPeriod) readComment(line string) {
	day := func(text string) time.Time {
		at, err := time.Parse(ga4DateLayout, text)
		if err != nil {
			return time.Time{}
		}
		return at
	}
	if found := ga4RangeLine.FindStringSubmatch(line); found != nil {
		r.start, r.end = day(found[1]), day(found[2])
		return
	}
	found := ga4DateLine.FindStringSubmatch(line)
	if found == nil || day(found[2]).IsZero() {
		return
	}
	label := strings.ToLower(strings.TrimSpace(found[1]))
	switch {
	case label == "account" || label == "property": // a name of eight digits would look like a date
	case label == "end date", r.needsEnd && label != "start date":
		r.end, r.needsEnd = day(found[2]), false
	default:
		r.start, r.end, r.needsEnd = day(found[2]), time.Time{}, true
	}
}

// nthDay converts a cell that counts days from the report's first day, starting with 0.
func (r *reportPeriod) nthDay(cell string) (time.Time, error) {
	n, err := strconv.Atoi(strings.TrimSpace(cell))
	if err != nil || n < 0 || n > 100_000 {
		return time.Time{}, fmt.Errorf("%q is not a number of a day", cell)
	}
	day := r.start.AddDate(0, 0, n)
	if !r.end.IsZero() && day.After(r.end) {
		return time.Time{}, fmt.Errorf("%q is %s, after the end of the report", cell, day.Format(time.DateOnly))
	}
	return day, nil
}
