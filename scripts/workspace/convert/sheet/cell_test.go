package sheet

import (
	"errors"
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
		r := numberReader{decimal: tt.decimal}
		n, err := r.read(tt.cell)
		got := 0.0
		if err == nil && n.currency != "€" {
			err = n.checkCurrency("")
		}
		if err == nil {
			got, err = n.value(nil)
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
		scale, err := parseScale(tt.scale)
		if err != nil {
			t.Fatal(err)
		}
		n, err := new(numberReader).read(tt.cell)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := n.value(scale); got != tt.want || err != nil {
			t.Errorf("%s × %s: %v, %v; want %v", tt.cell, tt.scale, got, err, tt.want)
		}
	}
	for _, text := range []string{"", "0", "a", "1e9"} {
		if _, err := parseScale(text); err == nil {
			t.Errorf("scale %q is accepted", text)
		}
	}
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
		{"1.2.26", "", "", "has a year of two digits"},
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
		r, err := newDateReader(tt.format, tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.read(tt.cell)
		got := m.at.UTC().Format(time.RFC3339)
		if !m.hasTime {
			got = r.dayOf(m).Format(time.DateOnly)
		}
		if err != nil && !strings.Contains(err.Error(), tt.want) || err == nil && got != tt.want {
			t.Errorf("%q with %q: %s, %v; want %s", tt.cell, tt.format, got, err, tt.want)
		}
	}
	r, err := newDateReader("", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := r.read("2026-08-11"); err != nil || r.timeOf(m).UTC().Format(time.RFC3339) != "2026-08-10T22:00:00Z" {
		t.Errorf("midnight of a day in Berlin: %s, %v", r.timeOf(m), err)
	}
	for _, format := range []string{"DD.MM", "YYYY", "jjjj-MM-DD", "YYYY-MM-DD Q"} {
		if _, err := newDateReader(format, ""); err == nil {
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
	one, err := parseScale("1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, cell string) {
		r := &numberReader{}
		n, err := r.read(cell)
		if err != nil {
			return
		}
		want, err := n.value(nil)
		if err != nil {
			return
		}
		if again, err := (&numberReader{decimal: r.seenDecimal}).read(cell); err != nil || again != n {
			t.Fatalf("%q is %v, but with the decimal separator %q it is %v, %v", cell, n, r.seenDecimal, again, err)
		}
		if got, err := n.value(one); (err != nil || got != want) && !strings.ContainsAny(n.text, "eE") {
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
	r, err := newDateReader("", "Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, cell string) {
		m, err := r.read(cell)
		if errors.Is(err, errEmpty) || err != nil {
			return
		}
		day := r.dayOf(m)
		again, err := r.read(day.Format(time.DateOnly))
		if err != nil || !r.dayOf(again).Equal(day) || day.Year() < 1969 || day.Year() > 2201 {
			t.Fatalf("%q is %s, which is read as %v, %v", cell, day, again, err)
		}
	})
}
