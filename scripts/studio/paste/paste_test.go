package paste_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"growthworkspace/scripts/studio/paste"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/tabular"
)

// Ensure Values reads a value from each line, in the unit in which people type it.
func TestValues(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"12": "2026-11-23 12;", "2026-11-21 120\n2026-11-22\t1,250\r\n\n 2026-11-23,13.5": "2026-11-21 120;2026-11-22 1250;2026-11-23 13.5;", "2026-11-22 1\n2026-11-22 -2": "2026-11-22 -2;",
		"12,5": "2026-11-23 12.5;", "Day\tSign-ups\n16.11.2026\t1.204\n17.11.2026\t0,5": "2026-11-16 1204;2026-11-17 0.5;", "Day;Value\n2026-11-22;1.234,56": "2026-11-22 1234.56;",
		"\"11/16/2026\",\"12,5\"\n10/01/2026,7": "2026-11-16 12.5;2026-10-01 7;", "Nov 16, 2026 1 204\n16 Oct 2026, 3,5": "2026-11-16 1204;2026-10-16 3.5;", "2026-11-22 10:30 4": "2026-11-22 4;",
	} {
		values, err := paste.Values(text, units.Unit{}, today, tabular.Answers{})
		got := ""
		for _, v := range values {
			got += fmt.Sprint(v.Day.Format(time.DateOnly), " ", v.Value, ";")
		}
		if err != nil || got != want {
			t.Errorf("%q: %s, error %v, want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"": "at least one", "12\nmany": "line 2", "2026-11-24 5": "future", "2026-13-01 5": "not a date", "5 €": "currency", "2026-11-22 1,204": "could be 1204 or 1.204", "01/02/2026 5": "could be 1 February or 2 January", "1\n1.5\n1,5": "line 3"} {
		if _, err := paste.Values(text, units.Unit{}, today, tabular.Answers{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if values, err := paste.Values("12.5", units.Unit{Name: units.Ratio}, today, tabular.Answers{}); err != nil || values[0].Value != 0.125 {
		t.Errorf("values %v, error %v, want 0.125", values, err)
	}
	format, err := tabular.ParseFormat("DD/MM/YYYY")
	if err != nil {
		t.Fatal(err)
	}
	answers := tabular.Answers{Decimal: ",", DateFormat: format}
	if values, err := paste.Values("01/02/2026 1.204", units.Unit{}, today, answers); err != nil || len(values) != 1 || values[0].Value != 1204 || values[0].Day.Month() != time.February {
		t.Errorf("values with answers %v, error %v", values, err)
	}
	if values, err := paste.Values("13/02/2026 12.5\n01/03/2026 1,204", units.Unit{}, today, answers); err != nil || len(values) != 2 || values[1].Value != 1204 {
		t.Errorf("values of a column that contradicts an answer %v, error %v", values, err)
	}
}
