package tabular

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		cell, decimal string
		want          float64
		problem       string
	}{
		{"0", "", 0, ""},
		{" 42 ", "", 42, ""},
		{"1234567", "", 1234567, ""},
		{"-7", "", -7, ""},
		{"−7", "", -7, ""},
		{"7-", "", -7, ""},
		{"+7", "", 7, ""},
		{"(7)", "", -7, ""},
		{"(-7)", "", 0, "has two signs"},
		{".5", "", .5, ""},
		{"0,5", "", .5, ""},
		{"0.125", "", .125, ""},
		{"1.5", "", 1.5, ""},
		{"1234,567", "", 1234.567, ""},
		{"1,234,567", "", 1234567, ""},
		{"1.234.567", "", 1234567, ""},
		{"1,234.5", "", 1234.5, ""},
		{"1.234,5", "", 1234.5, ""},
		{"12,34,567.8", "", 1234567.8, ""},
		{"1 234,5", "", 1234.5, ""},
		{"1\u00a0234", "", 1234, ""},
		{"1\u202f234\u202f567,8", "", 1234567.8, ""},
		{"1'234.50", "", 1234.5, ""},
		{"1.5E+03", "", 1500, ""},
		{"1.234E+03", "", 1234, ""},
		{"12 %", "", .12, ""},
		{"%12", "", .12, ""},
		{"€ 1.234,50", "", 1234.5, ""},
		{"-€5", "", -5, ""},
		{"€-5", "", -5, ""},
		{"1,234", ".", 1234, ""},
		{"1,234", ",", 1.234, ""},
		{"1.234", ",", 1234, ""},
		{"12,5", "", 12.5, ""},
		{"1.234,56", "", 1234.56, ""},
		{"1,234.56", "", 1234.56, ""},
		{"-1.234", "", 0, "could be -1234 or -1.234"},
		{"1,234", "", 0, "could be 1234 or 1.234"},
		{"12.345 €", "", 0, "could be 12345 or 12.345"},
		{"", "", 0, "is empty"},
		{"–", "", 0, "is empty"},
		{"N/A", "", 0, "is empty"},
		{"1.5", ",", 0, "is not a number"},
		{"1,23,4", "", 0, "is not a number"},
		{"1,2345.6", "", 0, "is not a number"},
		{"1..5", "", 0, "is not a number"},
		{"5.", "", 0, "is not a number"},
		{"abc", "", 0, "is not a number"},
		{"1e", "", 0, `"e" is neither a currency nor part of a number`},
		{"0x1F", "", 0, "is not a number"},
		{"NaN", "", 0, "is not a number"},
		{"1e999", "", 0, "is not a number"},
		{"1e99999 %", "", 0, "is not a number"},
		{"5 apples", "", 0, "neither a currency"},
		{"=1+1", "", 0, "is a formula"},
		{"#REF!", "", 0, "an error of the spreadsheet"},
		{"٣", "", 0, "is not a number"},
	} {
		n, err := NewNumbers(tt.decimal, nil).Read(tt.cell)
		got := 0.0
		if err == nil && n.Currency != "€" {
			err = n.CheckCurrency("")
		}
		if err == nil {
			got, err = n.Value(nil)
		}
		if got != tt.want || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%q with decimal %q: %v, %v; want %v, %s", tt.cell, tt.decimal, got, err, tt.want, tt.problem)
		}
	}
}

// Ensure multiplication by a scale is exact.
func TestScale(t *testing.T) {
	for _, tt := range []struct {
		cell, scale string
		want        float64
	}{{"19.99", "100", 1999}, {"0.29", "100", 29}, {"1.1", "1000", 1100}, {"3", "0.01", .03}, {"50 %", "100", 50}, {"7", "1/2", 3.5}} {
		scale, _ := new(big.Rat).SetString(tt.scale)
		n, err := NewNumbers("", nil).Read(tt.cell)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := n.Value(scale); got != tt.want || err != nil {
			t.Errorf("%s × %s: %v, %v; want %v", tt.cell, tt.scale, got, err, tt.want)
		}
	}
}

// newDates returns a reader of dates. column contains the cells that it may search.
func newDates(tb testing.TB, format, zone string, column []string) *Dates {
	tb.Helper()
	location, err := time.LoadLocation(zone)
	if err != nil {
		tb.Fatal(err)
	}
	var f Format
	if format != "" {
		if f, err = ParseFormat(format); err != nil {
			tb.Fatal(err)
		}
	}
	return NewDates(f, location, slices.Values(column))
}

func TestDates(t *testing.T) {
	for _, tt := range []struct{ cell, format, zone, want string }{
		{"2026-08-11", "", "", "2026-08-11"},
		{"2026-8-1", "", "", "2026-08-01"},
		{"20260811", "", "", "2026-08-11"},
		{"2026/08/11", "", "", "2026-08-11"},
		{"2026.08.11", "", "", "2026-08-11"},
		{"11 Aug 2026", "", "", "2026-08-11"},
		{"11. August 2026", "", "", "2026-08-11"},
		{"Aug 11, 2026", "", "", "2026-08-11"},
		{"August 11 2026", "", "", "2026-08-11"},
		{"Tue, 11 Aug 2026", "", "", "2026-08-11"},
		{"Tuesday, August 11, 2026", "", "", "2026-08-11"},
		{"13/08/2026", "", "", "2026-08-13"},
		{"08/13/2026", "", "", "2026-08-13"},
		{"13.8.2026", "", "", "2026-08-13"},
		{"08-08-2026", "", "", "2026-08-08"},
		{"2026-08-11T09:30:00Z", "", "", "2026-08-11T09:30:00Z"},
		{"2026-08-11 09:30:00+02:00", "", "", "2026-08-11T07:30:00Z"},
		{"2026-08-11 09:30", "", "", "2026-08-11T09:30:00Z"},
		{"2026-08-11 09:30:15", "", "Europe/Berlin", "2026-08-11T07:30:15Z"},
		{"2026-08-11 09:30 UTC", "", "Europe/Berlin", "2026-08-11T09:30:00Z"},
		{"2026-08-11 09:30 -0400", "", "", "2026-08-11T13:30:00Z"},
		{"Aug 11, 2026, 9:30 pm", "", "", "2026-08-11T21:30:00Z"},
		{"13/08/2026 21:30", "", "", "2026-08-13T21:30:00Z"},
		{"01.02.2026", "DD.MM.YYYY", "", "2026-02-01"},
		{"1.2.2026", "DD.MM.YYYY", "", "2026-02-01"},
		{"01/02/2026", "MM/DD/YYYY", "", "2026-01-02"},
		{"110826", "DDMMYY", "", "2026-08-11"},
		{"2026-08", "YYYY-MM", "", "2026-08-01"},
		{"11. Aug 2026, 21:30", "DD. MMM YYYY, HH:mm", "Europe/Berlin", "2026-08-11T19:30:00Z"},
		{"08/11/26 9:30 PM", "MM/DD/YY h:mm A", "", "2026-08-11T21:30:00Z"},
		{"2026-09-06", "", "America/Santiago", "2026-09-06"}, // a clock change skips this midnight
		{"06.09.2026", "DD.MM.YYYY", "America/Santiago", "2026-09-06"},
		{"13/09/2026", "", "America/Santiago", "2026-09-13"},
		{"01/02/2026", "", "", "could be 1 February or 2 January"},
		{"01/02/2026 10:30", "DD/MM/YYYY", "", "2026-02-01T10:30:00Z"},
		{"1763717000", "", "", "2025-11-21T09:23:20Z"},
		{"1763717000000", "", "Europe/Berlin", "2025-11-21T09:23:20Z"},
		{"1.2.26", "", "", "could be 1 February 2026, 2 January 2026 or 26 February 2001"},
		{"31.02.2026", "", "", "is not a date"},
		{"2026-02-30", "", "", "is not a date"},
		{"46245", "", "", "is a serial number of a spreadsheet"},
		{"yesterday", "", "", "is not a date"},
		{"2026-08-11 25:00", "", "", "the time is not readable"},
		{"0026-08-11", "", "", "is in the year 26"},
		{"", "", "", "is empty"},
		{"=TODAY()", "", "", "is a formula"},
		{"2026-08-11", "DD.MM.YYYY", "", "does not have the format"},
	} {
		date, err := newDates(t, tt.format, tt.zone, nil).Read(tt.cell)
		got := date.Time.UTC().Format(time.RFC3339)
		if !date.HasTime {
			got = date.Day.Format(time.DateOnly)
		}
		if err != nil && !strings.Contains(err.Error(), tt.want) || err == nil && got != tt.want {
			t.Errorf("%q with %q: %s, %v; want %s", tt.cell, tt.format, got, err, tt.want)
		}
	}
	if date, err := newDates(t, "", "Europe/Berlin", nil).Read("2026-08-11"); err != nil || date.Time.UTC().Format(time.RFC3339) != "2026-08-10T22:00:00Z" {
		t.Errorf("midnight of a day in Berlin: %s, %v", date.Time, err)
	}
	for _, format := range []string{"DD.MM", "YYYY", "jjjj-MM-DD", "YYYY-MM-DD Q"} {
		if _, err := ParseFormat(format); err == nil {
			t.Errorf("format %q is accepted", format)
		}
	}
}

// FuzzNumber checks that a number stays the same if it is read again with --decimal set to the
// separator that was recognised, and that multiplying it by one does not change it.
func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"1,234.5", "1.234", "(5 %)", "-€5", "1e3", "12,34,567", "1 234,5", "1e99999"} {
		f.Add(seed)
	}
	one := big.NewRat(1, 1)
	f.Fuzz(func(t *testing.T, cell string) {
		r := NewNumbers("", nil)
		n, err := r.Read(cell)
		if err != nil {
			return
		}
		want, err := n.Value(nil)
		if err != nil {
			return
		}
		if again, err := NewNumbers(r.decimal, nil).Read(cell); err != nil || again != n {
			t.Fatalf("%q is %v, but with the decimal separator %q it is %v, %v", cell, n, r.decimal, again, err)
		}
		if got, err := n.Value(one); (err != nil || got != want) && !strings.ContainsAny(n.Text, "eE") && len(n.Text) < 400 {
			t.Fatalf("%q × 1 is %v, %v; want %v", cell, got, err, want)
		}
	})
}

// FuzzDate checks that the day of any cell stays the same if it is formatted in ISO 8601 and read
// again.
func FuzzDate(f *testing.F) {
	for _, seed := range []string{"2026-08-11", "13/08/2026 9:30 pm", "Aug 11, 2026", "2026-08-11T23:59:60Z", "1.2.26"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cell string) {
		r := newDates(t, "", "Europe/Berlin", nil)
		date, err := r.Read(cell)
		if err != nil {
			return
		}
		again, err := r.Read(date.Day.Format(time.DateOnly))
		if err != nil || !again.Day.Equal(date.Day) || date.Day.Year() < 1969 || date.Day.Year() > 2201 {
			t.Fatalf("%q is %s, which is read as %v, %v", cell, date.Day, again, err)
		}
	})
}

// Ensure a column of numbers is decided as a whole: a cell with one reading decides for the cells
// before and after it, a cell that contradicts it is an error, and without such a cell nothing is
// guessed.
func TestColumnOfNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cells []string
		want  string
	}{
		{[]string{"1,204", "12,5"}, "1.204 12.5"},
		{[]string{"1.204", "7", "1.204.000"}, "1204 7 1204000"},
		{[]string{"1,204", "0.5", "3,900"}, "1204 0.5 3900"},
		{[]string{"1.204", "n/a", "5"}, `"1.204" could be 1204 or 1.204 is empty 5`},
		{[]string{"1,204", "1.5", "1,5"}, `1204 1.5 "1,5" has the decimal separator ",", but another number of the column has "."`},
	} {
		numbers := NewNumbers("", slices.Values(tt.cells))
		got := readColumn(tt.cells, func(cell string) (string, error) {
			n, err := numbers.Read(cell)
			return n.Text, err
		})
		if got != tt.want {
			t.Errorf("%q: %q, want %s", tt.cells, got, tt.want)
		}
	}
}

// readColumn returns what each cell is read as, or its error.
func readColumn(cells []string, read func(string) (string, error)) string {
	var got []string
	for _, cell := range cells {
		text, err := read(cell)
		if err != nil {
			text = err.Error()
		}
		got = append(got, text)
	}
	return strings.Join(got, " ")
}

// Ensure a column of dates is decided as a whole, and each format that an error names gives the
// reading that the error promises.
func TestColumnOfDates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cells []string
		want  string
	}{
		{[]string{"01/10/2026", "13/10/2026"}, "2026-10-01 2026-10-13"},
		{[]string{"01/10/2026", "10/13/2026", "02/01/2026"}, "2026-01-10 2026-10-13 2026-02-01"},
		{[]string{"08.08.2026", "01.10.2026"}, `2026-08-08 "01.10.2026" could be 1 October or 10 January`},
		{[]string{"13/10/2026", "10/13/2026"}, `2026-10-13 "10/13/2026" has the month first, but another date of the column has the day first`},
	} {
		dates := newDates(t, "", "UTC", tt.cells)
		got := readColumn(tt.cells, func(cell string) (string, error) {
			date, err := dates.Read(cell)
			return date.Day.Format(time.DateOnly), err
		})
		if got != tt.want {
			t.Errorf("%q: %q, want %s", tt.cells, got, tt.want)
		}
	}
	for _, cell := range []string{"01/10/2026", "1-10-2026", "01.10.2026.", "01/10/2026 10:30", "01/10/2026 10:30 PM +02:00", "01/02/03", "13/2/26", "1.10.70"} {
		_, err := newDates(t, "", "UTC", nil).Read(cell)
		var ambiguous *Ambiguous
		if !errors.As(err, &ambiguous) || len(ambiguous.Options) != len(ambiguous.Readings) {
			t.Errorf("%s: %v, want readings", cell, err)
			continue
		}
		for i, option := range ambiguous.Options {
			date, err := newDates(t, option, "UTC", nil).Read(cell)
			if got := date.Day.Format("2 January 2006"); err != nil || !strings.HasPrefix(got, ambiguous.Readings[i]) {
				t.Errorf("%s as %s: %s, %v; want %s", cell, option, got, err, ambiguous.Readings[i])
			}
		}
	}
}

// Ensure a cell belongs to the day that it names, even if a clock change skips midnight on that day.
func TestMissingMidnights(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"America/Santiago", "America/Havana", "America/Asuncion", "Africa/Cairo", "Asia/Beirut"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		missing := 0
		for day := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2027; day = day.AddDate(0, 0, 1) {
			exists := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone).Hour() == 0
			if !exists {
				missing++
			}
			for _, clock := range []string{"", " 00:00:00", "T00:30"} {
				cell := day.Format(time.DateOnly) + clock
				date, err := NewDates(Format{}, zone, nil).Read(cell)
				if local := date.Time.In(zone); err != nil || !date.Day.Equal(day) || local.Day() != day.Day() || local.Hour() > 3 || exists && clock != "T00:30" && local.Hour() != 0 {
					t.Fatalf("%s in %s: the day %s, the time %s, %v", cell, name, date.Day.Format(time.DateOnly), local, err)
				}
			}
		}
		if missing == 0 {
			t.Errorf("%s skips no midnight, so it tests nothing", name)
		}
	}
}
