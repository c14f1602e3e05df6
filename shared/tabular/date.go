package tabular

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

// Date is the date, and perhaps the time, in a cell.
type Date struct {
	Day     time.Time // midnight UTC of the day that the cell names
	Time    time.Time // the time; if the cell has none, the beginning of the day in the reader's zone
	HasTime bool
}

// Dates reads the dates of one column. All of them have the same order of day and month: if the
// caller names no format, the first date with a single reading decides.
type Dates struct {
	format Format
	zone   *time.Location
	order  dateOrder
	column iter.Seq[string] // all cells of the column; nil once they have been searched

	fallback Format // the format of a date with several readings if no other date decides; may be zero
}

// dateOrder is the order of day and month in a date such as 13/08/2026.
type dateOrder string

const (
	dayFirst   dateOrder = "the day first"
	monthFirst dateOrder = "the month first"
)

// NewDates returns a reader for a column. zone is the zone of times without an offset. The zero
// Format stands for any format with a single reading. The reader searches column, which may be nil,
// when a cell has two readings and no cell before it has decided between them.
func NewDates(format Format, zone *time.Location, column iter.Seq[string]) *Dates {
	return &Dates{format: format, zone: zone, column: column}
}

// dateLayouts are the date layouts that have only one meaning. A time may follow each of them.
var dateLayouts = []string{
	"2006-1-2", "2006/1/2", "2006.1.2", "20060102",
	"2 Jan 2006", "2 January 2006", "2. January 2006", "2-Jan-2006", "2 Jan, 2006",
	"Jan 2, 2006", "January 2, 2006", "Jan 2 2006", "January 2 2006",
	"Mon, 2 Jan 2006", "Monday, 2 January 2006", "Mon, Jan 2, 2006", "Monday, January 2, 2006",
}

// timeLayouts are the layouts of a time that follows a date.
var timeLayouts = []string{"15:04:05", "15:04", "3:04 PM", "3:04:05 PM", "3:04PM", "3:04:05PM"}

// offsetLayouts are the layouts of an offset that follows a time.
var offsetLayouts = []string{"", "Z07:00", " Z07:00", " -0700", "-0700", " UTC", " GMT"}

// Format is a format of dates.
type Format struct {
	text, layout       string
	hasTime, hasOffset bool
}

// formatTokens translates the tokens of a format. A longer token precedes its prefixes. The
// layouts for MM, DD and HH also accept one digit.
var formatTokens = []struct{ token, layout string }{
	{"YYYY", "2006"}, {"YY", "06"}, {"MMMM", "January"}, {"MMM", "Jan"}, {"MM", "1"}, {"M", "1"},
	{"DDDD", "Monday"}, {"DDD", "Mon"}, {"DD", "2"}, {"D", "2"}, {"HH", "15"}, {"H", "15"}, {"hh", "3"}, {"h", "3"},
	{"mm", "04"}, {"m", "4"}, {"ss", "05"}, {"s", "5"}, {"A", "PM"}, {"a", "pm"}, {"ZZ", "-0700"}, {"Z", "Z07:00"}, {"T", "T"},
}

const formatHelp = "use YYYY, YY, MM, MMM, DD, HH, hh, mm, ss, A, Z and the characters between them, for example DD.MM.YYYY"

// ParseFormat parses a format such as DD.MM.YYYY. If it has no time, a time may follow the date.
func ParseFormat(format string) (Format, error) {
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
			return Format{}, fmt.Errorf("%q has no meaning; %s", rest[:1], formatHelp)
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
		return Format{}, errors.New("a date has a year and a month; " + formatHelp)
	}
	return Format{format, layout.String(), strings.ContainsAny(format, "Hh"), strings.Contains(format, "Z")}, nil
}

// Read parses a cell. The error is ErrEmpty if the cell has no value, and an Ambiguous if the cell
// has several readings and no other cell decides between them.
func (d *Dates) Read(cell string) (Date, error) {
	date, shown, err := d.read(cell, d.order)
	if errors.As(err, new(*Ambiguous)) && d.column != nil {
		for other := range d.column {
			if _, d.order, _ = d.read(other, ""); d.order != "" {
				break
			}
		}
		d.column = nil
		date, _, err = d.read(cell, d.order)
	}
	if errors.As(err, new(*Ambiguous)) && d.fallback.layout != "" {
		named := &Dates{format: d.fallback, zone: d.zone}
		if other, _, otherErr := named.read(cell, ""); otherErr == nil {
			return other, nil
		}
	}
	if err == nil && d.order == "" {
		d.order = shown
	}
	return date, err
}

// read parses a cell. shown is the order of day and month if the cell has only one reading and
// shows it.
func (d *Dates) read(cell string, order dateOrder) (date Date, shown dateOrder, err error) {
	text := cell
	if strings.ContainsAny(cell, " \t\r\n\u00a0\u202f") {
		text = strings.Join(strings.Fields(cell), " ")
	}
	switch {
	case IsBlank(text):
		return date, "", ErrEmpty
	case text[0] == '=':
		return date, "", errors.New("is a formula; export the values of the sheet")
	case d.format.hasTime:
		wall, err := time.Parse(d.format.layout, text)
		if err != nil {
			return date, "", fmt.Errorf("%q does not have the format %s", text, d.format.text)
		}
		date = d.dateOf(wall, d.format.hasOffset)
	default:
		if date, shown, err = d.readParts(text, order); err != nil {
			return date, "", err
		}
	}
	if year := date.Day.Year(); year < 1970 || year > 2200 {
		return Date{}, "", fmt.Errorf("%q is in the year %d", text, year)
	}
	return date, shown, nil
}

// readParts parses a date and the time that may follow it.
func (d *Dates) readParts(text string, order dateOrder) (date Date, shown dateOrder, err error) {
	if at, ok := parseUnixTime(text); ok {
		return d.dateOf(at, true), "", nil
	}
	datePart, clock := cutTime(text)
	var day time.Time
	if d.format.layout != "" {
		if day, err = time.Parse(d.format.layout, datePart); err != nil {
			return date, "", fmt.Errorf("%q does not have the format %s", text, d.format.text)
		}
	} else if day, shown, err = readDay(datePart, order); err != nil {
		return date, "", err
	}
	if clock == "" {
		return Date{Day: day, Time: WallTime(day, d.zone)}, shown, nil
	}
	clock = strings.ToUpper(clock)
	for _, offset := range offsetLayouts {
		for _, layout := range timeLayouts {
			if at, err := time.Parse("2006-01-02 "+layout+offset, day.Format(time.DateOnly)+" "+clock); err == nil {
				return d.dateOf(at, offset != ""), shown, nil
			}
		}
	}
	return date, "", fmt.Errorf("%q is not a date: the time is not readable", text)
}

// dateOf returns the date for a time. Without an offset, at is the time that a clock in the reader's
// zone shows, as if it were UTC.
func (d *Dates) dateOf(at time.Time, hasOffset bool) Date {
	if !hasOffset {
		return Date{midnight(at), WallTime(at, d.zone), true}
	}
	return Date{midnight(at.In(d.zone)), at, true}
}

// midnight returns midnight UTC of a time's day.
func midnight(at time.Time) time.Time {
	year, month, day := at.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// WallTime returns the time at which a clock in the zone shows wall, which is in UTC. If a clock
// change skips that time, the result is as long after the change as wall is after the beginning of
// the gap, so that it is on the same day.
func WallTime(wall time.Time, zone *time.Location) time.Time {
	year, month, day := wall.Date()
	at := time.Date(year, month, day, wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), zone)
	if at.Hour() == wall.Hour() && at.Day() == day && at.Minute() == wall.Minute() {
		return at
	}
	_, before := at.Add(-12 * time.Hour).Zone()
	return wall.Add(-time.Duration(before) * time.Second).In(zone)
}

// parseUnixTime parses a number of seconds or milliseconds since 1970. Both have more digits than a
// day such as 20260811.
func parseUnixTime(text string) (at time.Time, ok bool) {
	if len(text) != 10 && len(text) != 13 || !allDigits(text) {
		return at, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if len(text) == 10 {
		n *= 1000
	}
	return time.UnixMilli(n).UTC(), err == nil
}

// cutTime splits text into a date and a time. The time begins after the last T or space before the
// first colon.
func cutTime(text string) (date, clock string) {
	colon := strings.IndexByte(text, ':')
	if colon < 0 {
		return text, ""
	}
	at := strings.LastIndexAny(text[:colon], " Tt")
	if at < 0 {
		return text, ""
	}
	return strings.TrimRight(text[:at], " ,"), text[at+1:]
}

// readDay parses a date without a time and returns it as midnight UTC.
func readDay(text string, order dateOrder) (day time.Time, shown dateOrder, err error) {
	for _, layout := range dateLayouts {
		if day, err := time.Parse(layout, text); err == nil {
			return day, "", nil
		}
	}
	if day, shown, ok, err := readNumericDate(text, order); ok {
		return day, shown, err
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 20000 && n < 80000 {
		return day, "", fmt.Errorf("%q is a serial number of a spreadsheet: format the column as a date and export it again", text)
	}
	return day, "", &UnknownDate{text}
}

// UnknownDate is the error for a cell that is not in a known format of dates.
type UnknownDate struct{ Cell string }

func (u *UnknownDate) Error() string {
	return fmt.Sprintf("%q is not a date that can be recognised", u.Cell)
}

// numericFormats are the formats of a date whose day and month are numbers and whose year is last,
// or has two digits.
var numericFormats = []struct {
	format           string
	order            dateOrder
	day, month, year int // the indexes of the parts
}{{"DD MM YYYY", dayFirst, 0, 1, 2}, {"MM DD YYYY", monthFirst, 1, 0, 2}, {"YY MM DD", "", 2, 1, 0}}

// readNumericDate parses a date such as 13/08/2026. ok is false if text does not have this form.
// The error is an Ambiguous if the date has several readings, of which order chooses none.
func readNumericDate(text string, order dateOrder) (day time.Time, shown dateOrder, ok bool, err error) {
	at := strings.IndexAny(text, "./-")
	if at < 0 {
		return day, "", false, nil
	}
	separator := text[at : at+1]
	parts := strings.Split(strings.TrimSuffix(text, "."), separator)
	if len(parts) != 3 || len(parts[2]) != 4 && len(parts[2]) != 2 {
		return day, "", false, nil
	}
	var n [3]int
	for i, p := range parts {
		if p == "" || !allDigits(p) || i < 2 && len(p) > 2 {
			return day, "", false, nil
		}
		n[i], _ = strconv.Atoi(p)
	}
	isShort := len(parts[2]) == 2 // the year has two digits, so it could even be first
	found := &Ambiguous{Cell: text, IsDate: true}
	var days []time.Time
	var orders []dateOrder
	for _, f := range numericFormats {
		format, year, layout := f.format, n[f.year], "2 January"
		if isShort {
			format, year, layout = strings.Replace(format, "YYYY", "YY", 1), 2000+n[f.year], "2 January 2006"
			if year >= 2069 { // like package time, which reads the date once its format is known
				year -= 100
			}
		}
		reading := calendarDay(year, n[f.month], n[f.day])
		if reading.IsZero() || !isShort && f.order == "" {
			continue
		}
		if strings.HasSuffix(text, ".") {
			format += "."
		}
		days, orders = append(days, reading), append(orders, f.order)
		found.Readings = append(found.Readings, reading.Format(layout))
		found.Options = append(found.Options, strings.ReplaceAll(format, " ", separator))
	}
	switch {
	case len(days) == 0:
		return day, "", true, fmt.Errorf("%q is not a date", text)
	case isShort:
		return day, "", true, found
	case len(days) == 1 && order != "" && orders[0] != order:
		return day, "", true, fmt.Errorf("%q has %s, but another date of the column has %s", text, orders[0], order)
	case len(days) == 1:
		return days[0], orders[0], true, nil
	case days[0].Equal(days[1]) || order == dayFirst:
		return days[0], "", true, nil
	case order == monthFirst:
		return days[1], "", true, nil
	}
	return day, "", true, found
}

// calendarDay returns midnight UTC of a day, or the zero time if there is no such day.
func calendarDay(year, month, day int) time.Time {
	at := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if at.Day() != day || int(at.Month()) != month {
		return time.Time{}
	}
	return at
}
