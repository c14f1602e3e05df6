package units

import (
	"slices"
	"strings"
	"testing"

	"growthworkspace/shared/tabular"
)

// Ensure Text formats each unit as people write it. An amount of money has the number of decimals
// of its currency, and a ratio is in percent.
func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit  Unit
		value float64
		want  string
		short string
	}{
		{Unit{Currency, "EUR"}, 824_000, "€ 8,240.00", "€ 8,240"},
		{Unit{Currency, "USD"}, -1_234_567, "−$ 12,345.67", "−$ 12.3k"},
		{Unit{Currency, "JPY"}, 824_000, "¥ 824,000", "¥ 824k"},
		{Unit{Currency, "KWD"}, 12_345, "KWD 12.345", "KWD 12.345"},
		{Unit{Currency, "CHF"}, 5, "CHF 0.05", "CHF 0.05"},
		{Unit{Currency, ""}, 150, "1.50", "1.50"},
		{Unit{Count, ""}, 1_234_567, "1,234,567", "1.23M"},
		{Unit{Count, ""}, 0, "0", "0"},
		{Unit{Count, ""}, -0.001, "0", "0"},
		{Unit{Ratio, ""}, 0.0213, "2.13 %", "2.13 %"},
		{Unit{Duration, ""}, 840, "840 ms", "840 ms"},
		{Unit{Duration, ""}, 1900, "1.9 s", "1.9 s"},
		{Unit{Duration, ""}, 7_900_000, "2.19 h", "2.19 h"},
		{Unit{Bytes, ""}, 6.1e12, "6.1 TB", "6.1 TB"},
		{Unit{"score", ""}, 4.5, "4.5", "4.5"},
		{Unit{}, 1234.567, "1,234.57", "1,234.57"},
	} {
		if got := c.unit.Text(c.value); got != unbroken(c.want) {
			t.Errorf("%v %v: %q, want %q", c.unit, c.value, got, unbroken(c.want))
		}
		if got := c.unit.Short(c.value); got != unbroken(c.short) {
			t.Errorf("%v %v: short %q, want %q", c.unit, c.value, got, unbroken(c.short))
		}
	}
}

// unbroken replaces the spaces in text with non-breaking spaces.
func unbroken(text string) string { return strings.ReplaceAll(text, " ", "\u00a0") }

func TestChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit        Unit
		now, before float64
		want        string
		sign        int
		ok          bool
	}{
		{Unit{Name: Count}, 412, 349, "+18\u00a0%", 1, true},
		{Unit{Name: Count}, 98, 100, "−2\u00a0%", -1, true},
		{Unit{Name: Count}, 5, 0, "", 0, false},
		{Unit{Name: Count}, 0, 0, "no change", 0, true},
		{Unit{Name: Count}, 100_001, 100_000, "no change", 0, true},
		{Unit{Name: Ratio}, 0.021, 0.018, "+0.3\u00a0points", 1, true},
		{Unit{Name: Ratio}, 0.018, 0, "+1.8\u00a0points", 1, true},
		{Unit{Name: Currency}, -50, -100, "+50\u00a0%", 1, true},
	} {
		if text, sign, ok := c.unit.Change(c.now, c.before); text != c.want || sign != c.sign || ok != c.ok {
			t.Errorf("%v from %v to %v: %q %d %v, want %q", c.unit, c.before, c.now, text, sign, ok, c.want)
		}
	}
}

// Ensure an axis has a few round steps in the display unit. The steps for a count are whole
// numbers.
func TestTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit      Unit
		low, high float64
		want      []float64
	}{
		{Unit{Name: Count}, 0, 3, []float64{0, 1, 2, 3}},
		{Unit{Name: Count}, 0, 0, []float64{0, 1}},
		{Unit{Name: Count}, 0, 43, []float64{0, 20, 40, 60}},
		{Unit{Name: Ratio}, 0, 0.042, []float64{0, 0.02, 0.04, 0.06}},
		{Unit{Name: Duration}, 0, 7_900_000, []float64{0, 3_600_000, 7_200_000, 10_800_000}},
		{Unit{Name: Currency, Currency: "EUR"}, 4_600_000, 4_816_000, []float64{4_600_000, 4_700_000, 4_800_000, 4_900_000}},
		{Unit{Name: Count}, -12, 30, []float64{-20, 0, 20, 40}},
	} {
		got := c.unit.Ticks(c.low, c.high)
		same := slices.EqualFunc(got, c.want, func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
		if !same {
			t.Errorf("%v from %v to %v: %v, want %v", c.unit, c.low, c.high, got, c.want)
		}
	}
}

// Ensure Typed formats a value in the unit in which people type it, and Parse returns exactly the
// same value.
func TestTyped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit  Unit
		value float64
		want  string
	}{
		{Unit{Name: Currency, Currency: "EUR"}, 1234, "12.34"}, {Unit{Name: Currency, Currency: "JPY"}, 1234, "1234"},
		{Unit{Name: Currency, Currency: "KWD"}, -1, "-0.001"}, {Unit{Name: Ratio}, 0.123, "12.3"}, {Unit{Name: Ratio}, 1, "100"},
		{Unit{Name: Count}, 42, "42"}, {Unit{Name: Count}, 0, "0"}, {Unit{}, 0.1, "0.1"}, {Unit{Name: Bytes}, 5e12, "5000000000000"},
	} {
		got := c.unit.Typed(c.value)
		if back, err := c.unit.Read(tabular.NewNumbers(".", nil), got); got != c.want || err != nil || back != c.value {
			t.Errorf("%v %v is typed %q, and back %v (%v); want %q", c.unit, c.value, got, back, err, c.want)
		}
	}
	for _, c := range []struct {
		unit Unit
		text string
		want float64
	}{
		{Unit{Name: Count}, " −1,234,000 ", -1_234_000}, {Unit{Name: Currency, Currency: "EUR"}, "1.234,56 €", 123_456}, {Unit{Name: Currency, Currency: "EUR"}, "EUR 12.50", 1250},
		{Unit{Name: Ratio}, "12,5 %", .125}, {Unit{Name: Ratio}, "12,5", .125}, {Unit{}, "0,5", .5}, {Unit{Name: Currency}, "$5", 500},
	} {
		if v, err := c.unit.Read(tabular.NewNumbers("", nil), c.text); err != nil || v != c.want {
			t.Errorf("%v %q is %v (%v), want %v", c.unit, c.text, v, err, c.want)
		}
	}
	for text, unit := range map[string]Unit{"": {}, "abc": {}, "1/3": {}, "0x10": {}, "1.": {}, "--1": {}, "1 2": {}, "1,204": {}, "5 €": {Name: Count}, "5 £": {Name: Currency, Currency: "EUR"}, "5 %": {Name: Count}} {
		if v, err := unit.Read(tabular.NewNumbers("", nil), text); err == nil {
			t.Errorf("%v %q is %v, want no number", unit, text, v)
		}
	}
}
