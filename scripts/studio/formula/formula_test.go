package formula_test

import (
	"strings"
	"testing"

	"growthworkspace/scripts/studio/formula"
)

var values = map[string]float64{"a.b": 6, "c": 3, "custom.d_1.e": 2, "zero": 0}

// Ensure the value of a formula follows the usual rules of arithmetic.
func TestValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"a.b / c": 2, "a.b/c": 2, "a.b - c - custom.d_1.e": 1, "a.b + c * custom.d_1.e": 12, "(a.b + c) * custom.d_1.e": 18, "-c + 1.5": -1.5, "100 * c / a.b": 50,
		"a.b / c / custom.d_1.e": 1, "a.b - -c": 9, "zero / c": 0,
	} {
		f, err := formula.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, ok := f.Value(lookup); !ok || got != want {
			t.Errorf("%s is %v (%t), want %v", text, got, ok, want)
		}
	}
}

func lookup(key string) (float64, bool) { v, ok := values[key]; return v, ok }

// Ensure a formula has no value if one of its metrics has no value, or if it divides by zero.
func TestNoValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a.b / missing", "missing", "a.b / zero", "zero / zero", "-missing", "c * (a.b / zero)"} {
		f, err := formula.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, ok := f.Value(lookup); ok {
			t.Errorf("%s is %v, want no value", text, got)
		}
	}
}

// Ensure Keys returns each key of a formula only once.
func TestKeys(t *testing.T) {
	t.Parallel()
	f, err := formula.Parse("(a.b - c) / a.b * 2")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.Keys(), " "); got != "a.b c" {
		t.Errorf("keys %q, want a.b c", got)
	}
}

// Ensure Parse refuses any text that is not a valid formula.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "a.b /", "/ a.b", "a.b c", "(a.b", "a.b)", "sum(a.b)", "a.b ^ 2", "A.b", "a..b", "1.", "a.b # x", "a.b, c", "über / c",
		strings.Repeat("(", 100) + "c" + strings.Repeat(")", 100), strings.Repeat("-", 2000) + "c",
	} {
		if _, err := formula.Parse(text); err == nil {
			t.Errorf("%.40q is a formula", text)
		}
	}
}
