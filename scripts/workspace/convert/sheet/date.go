package sheet

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/timestamp"
)

// cellDate is the date, and perhaps the time, in a cell.
type cellDate struct {
	at      time.Time // midnight UTC of the day if the cell has no time
	hasTime bool
}

// dateReader reads the dates of a file.
type dateReader struct {
	layout        string         // the layout from --date-format; if empty, dates may have any of dateLayouts
	layoutHasTime bool           // whether layout includes a time
	zone          *time.Location // the zone of times without an offset; UTC by default
}

// dateLayouts are the date layouts that have only one meaning. A time may follow each of them.
var dateLayouts = []string{
	"2006-1-2", "2006/1/2", "2006.1.2", "20060102",
	"2 Jan 2006", "2 January 2006", "2. January 2006", "2-Jan-2006", "2 Jan, 2006",
	"Jan 2, 2006", "January 2, 2006", "Jan 2 2006", "January 2 2006",
	"Mon, 2 Jan 2006", "Monday, 2 January 2006", "Mon, Jan 2, 2006", "Monday, January 2, 2006",
}

// timeLayouts are the layouts of a time that follows a date.
var timeLayouts = []string{"15:04", "15:04:05", "3:04 PM", "3:04:05 PM", "3:04PM", "3:04:05PM"}

// offsetLayouts are the layouts of an offset that follows a time.
var offsetLayouts = []string{"", "Z07:00", " Z07:00", " -0700", "-0700", " UTC", " GMT"}

// newDateReader returns a reader for the values of --date-format and --timezone, which may be
// empty.
func newDateReader(format, zone string) (*dateReader, error) {
	r := &dateReader{zone: time.UTC}
	if zone != "" {
		loaded, err := time.LoadLocation(zone)
		if err != nil || zone == "Local" {
			return nil, fmt.Errorf("--timezone %s: must be a name of the IANA time zone database, for example Europe/Berlin", zone)
		}
		r.zone = loaded
	}
	if format != "" {
		layout, err := layoutOf(format)
		if err != nil {
			return nil, fmt.Errorf("--date-format %s: %w", format, err)
		}
		r.layout, r.layoutHasTime = layout, strings.ContainsAny(format, "Hh")
	}
	return r, nil
}

// formatTokens translates the tokens of --date-format. A longer token precedes its prefixes. The
// layouts for MM, DD and HH also accept one digit.
var formatTokens = []struct{ token, layout string }{
	{"YYYY", "2006"}, {"YY", "06"}, {"MMMM", "January"}, {"MMM", "Jan"}, {"MM", "1"}, {"M", "1"},
	{"DDDD", "Monday"}, {"DDD", "Mon"}, {"DD", "2"}, {"D", "2"}, {"HH", "15"}, {"H", "15"}, {"hh", "3"}, {"h", "3"},
	{"mm", "04"}, {"m", "4"}, {"ss", "05"}, {"s", "5"}, {"A", "PM"}, {"a", "pm"}, {"ZZ", "-0700"}, {"Z", "Z07:00"}, {"T", "T"},
}

const formatHelp = "use YYYY, YY, MM, MMM, DD, HH, hh, mm, ss, A, Z and the characters between them, for example DD.MM.YYYY"

// layoutOf translates a value of --date-format, such as DD.MM.YYYY, to a layout for package time.
func layoutOf(format string) (string, error) {
	var layout strings.Builder
	hasYear, hasMonth, afterToken := false, false, false // afterToken: whether rest directly follows a token
	for rest := format; rest != ""; {
		token, text := "", ""
		for _, t := range formatTokens {
			if strings.HasPrefix(rest, t.token) {
				token, text = t.token, t.layout
				break
			}
		}
		c := rest[0]
		switch {
		case token == "" && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'):
			return "", fmt.Errorf("%q has no meaning; %s", rest[:1], formatHelp)
		case token == "":
			token, text = rest[:1], rest[:1]
			afterToken = false
		default:
			after := rest[len(token):]
			isJoined := afterToken || after != "" && strings.IndexByte("YMDHhms", after[0]) >= 0
			if isJoined && (token == "MM" || token == "DD") { // numbers without a separator need their full width
				text = "0" + text
			}
			hasYear, hasMonth = hasYear || token[0] == 'Y', hasMonth || token[0] == 'M'
			afterToken = true
		}
		layout.WriteString(text)
		rest = rest[len(token):]
	}
	if !hasYear || !hasMonth {
		return "", errors.New("a date has a year and a month; " + formatHelp)
	}
	return layout.String(), nil
}

const hintFormat = "name the order with --date-format DD.MM.YYYY or --date-format MM/DD/YYYY"

func (r *dateReader) read(cell string) (cellDate, error) {
	text := strings.Join(strings.Fields(cell), " ")
	switch {
	case isBlank(text):
		return cellDate{}, errEmpty
	case text[0] == '=':
		return cellDate{}, errors.New("is a formula; export the values of the sheet")
	}
	if r.layout != "" {
		zone := time.UTC
		if r.layoutHasTime {
			zone = r.zone
		}
		at, err := time.ParseInLocation(r.layout, text, zone)
		if err != nil {
			return cellDate{}, fmt.Errorf("%q does not have the format of --date-format", text)
		}
		return checkYear(cellDate{at, r.layoutHasTime}, text)
	}
	if at, ok := timestamp.Parse(strings.Replace(text, " ", "T", 1)); ok {
		return checkYear(cellDate{at, true}, text)
	}
	date, clock := cutTime(text)
	day, err := readDate(date)
	if err != nil {
		return cellDate{}, err
	}
	if clock == "" {
		return checkYear(cellDate{day, false}, text)
	}
	for _, layout := range timeLayouts {
		for _, offset := range offsetLayouts {
			at, err := time.ParseInLocation("2006-01-02 "+layout+offset, day.Format(time.DateOnly)+" "+strings.ToUpper(clock), r.zone)
			if err != nil {
				continue
			}
			if strings.TrimSpace(offset) == "UTC" || strings.TrimSpace(offset) == "GMT" { // ParseInLocation would make up a zone with the offset 0
				at = time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
			}
			return checkYear(cellDate{at, true}, text)
		}
	}
	return cellDate{}, fmt.Errorf("%q is not a date: the time is not readable", text)
}

// checkYear returns an error for a year that is implausible in a company's data.
func checkYear(m cellDate, text string) (cellDate, error) {
	if year := m.at.Year(); year < 1970 || year > 2200 {
		return cellDate{}, fmt.Errorf("%q is in the year %d", text, year)
	}
	return m, nil
}

// cutTime splits text into a date and a time. The time begins after the last T or space before the
// first colon.
func cutTime(text string) (date, clock string) {
	colon := strings.IndexByte(text, ':')
	if colon < 0 {
		return text, ""
	}
	at := strings.LastIndexAny(text[:colon], " T")
	if at < 0 {
		return text, ""
	}
	return strings.TrimRight(text[:at], " ,"), text[at+1:]
}

// readDate parses a date without a time and returns it as midnight UTC. In other zones, a clock
// change may skip midnight, and the result could then fall on the day before.
func readDate(text string) (time.Time, error) {
	for _, layout := range dateLayouts {
		if day, err := time.Parse(layout, text); err == nil {
			return day, nil
		}
	}
	if day, ok, err := readNumericDate(text); ok {
		return day, err
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 20000 && n < 80000 {
		return time.Time{}, fmt.Errorf("%q is a serial number of a spreadsheet: format the column as a date and export it again", text)
	}
	return time.Time{}, fmt.Errorf("%q is not a date that can be recognised: describe it with --date-format", text)
}

// readNumericDate parses a date whose day and month are numbers and whose year is last. ok is false
// if text does not have this form. It returns an error if day and month could be swapped.
func readNumericDate(text string) (day time.Time, ok bool, err error) {
	at := strings.IndexAny(text, "./-")
	if at < 0 {
		return day, false, nil
	}
	parts := strings.Split(strings.TrimSuffix(text, "."), text[at:at+1])
	if len(parts) != 3 || len(parts[2]) != 4 && len(parts[2]) != 2 {
		return day, false, nil
	}
	var n [3]int
	for i, p := range parts {
		if p == "" || !allDigits(p) || i < 2 && len(p) > 2 {
			return day, false, nil
		}
		n[i], _ = strconv.Atoi(p)
	}
	if len(parts[2]) == 2 {
		return day, true, fmt.Errorf("%q has a year of two digits: describe it with --date-format, for example DD.MM.YY", text)
	}
	dayFirst, monthFirst := calendarDay(n[2], n[1], n[0]), calendarDay(n[2], n[0], n[1])
	switch {
	case dayFirst.IsZero() && monthFirst.IsZero():
		return day, true, fmt.Errorf("%q is not a date", text)
	case dayFirst.IsZero():
		return monthFirst, true, nil
	case monthFirst.IsZero() || dayFirst.Equal(monthFirst):
		return dayFirst, true, nil
	}
	return day, true, fmt.Errorf("%q could be %s or %s: %s", text, dayFirst.Format("2 January"), monthFirst.Format("2 January"), hintFormat)
}

// calendarDay returns midnight UTC of a day, or the zero time if there is no such day.
func calendarDay(year, month, day int) time.Time {
	at := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if at.Day() != day || int(at.Month()) != month {
		return time.Time{}
	}
	return at
}

// dayOf returns the day of a metric point as midnight UTC. If m has a time, the reader's zone
// decides the day.
func (r *dateReader) dayOf(m cellDate) time.Time {
	if !m.hasTime {
		return m.at
	}
	at := m.at.In(r.zone)
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
}

// timeOf returns the value of a field that is a time. A date without a time means midnight in the
// reader's zone.
func (r *dateReader) timeOf(m cellDate) time.Time {
	if m.hasTime {
		return m.at
	}
	return time.Date(m.at.Year(), m.at.Month(), m.at.Day(), 0, 0, 0, 0, r.zone)
}
