// Package units formats the values of metrics, and chooses the tick values of a chart's axis.
package units

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"growthworkspace/shared/tabular"
)

// Unit is the unit of a metric's values.
type Unit struct {
	Name     string // the API's name for the unit, such as "count", or empty
	Currency string // the ISO 4217 code if Name is currency_minor; empty if unknown
}

// The units of the API.
const (
	Currency = "currency_minor"
	Count    = "count"
	Ratio    = "ratio"
	Duration = "duration_ms"
	Bytes    = "bytes"
)

// exponents maps currencies to their numbers of decimals (ISO 4217). A currency that is not listed
// has two.
var exponents = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0, "UYI": 0,
	"VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0, "BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

// symbols maps currencies to their symbols. Other currencies are written with their code.
var symbols = map[string]string{"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥"}

// Exponent returns the number of decimals in an amount of the currency, such as 2 for euros.
func (u Unit) Exponent() int {
	if e, known := exponents[u.Currency]; known {
		return e
	}
	return 2
}

// scale is a display unit, such as hours for a duration.
type scale struct {
	from   float64 // the smallest absolute value that is shown in this display unit
	size   float64
	suffix string
}

var durations = []scale{{0, 1, "\u00a0ms"}, {1000, 1000, "\u00a0s"}, {60_000, 60_000, "\u00a0min"}, {3_600_000, 3_600_000, "\u00a0h"}, {172_800_000, 86_400_000, "\u00a0d"}}

var sizes = []scale{{0, 1, "\u00a0B"}, {1e3, 1e3, "\u00a0kB"}, {1e6, 1e6, "\u00a0MB"}, {1e9, 1e9, "\u00a0GB"}, {1e12, 1e12, "\u00a0TB"}, {1e15, 1e15, "\u00a0PB"}}

var numberScales = []scale{{0, 1, ""}, {1e4, 1e3, "k"}, {1e6, 1e6, "M"}, {1e9, 1e9, "B"}, {1e12, 1e12, "T"}}

func scaleFor(all []scale, value float64) scale {
	best := all[0]
	for _, s := range all {
		if math.Abs(value) >= s.from {
			best = s
		}
	}
	return best
}

// Whole reports whether values in this unit must be whole numbers.
func (u Unit) Whole() bool { return u.Name == Count }

// Text formats a value, such as "€ 8,240.00", "2.1 %" or "2.2 h". Its spaces are non-breaking, so
// that a number stays on the same line as its unit.
func (u Unit) Text(v float64) string {
	switch u.Name {
	case Currency:
		e := u.Exponent()
		return u.money(Number(v/math.Pow10(e), e, e))
	case Count:
		return Number(v, 0, 2)
	case Ratio:
		return Number(v*100, 0, 2) + "\u00a0%"
	case Duration:
		s := scaleFor(durations, v)
		return Number(v/s.size, 0, digits(v/s.size)) + s.suffix
	case Bytes:
		s := scaleFor(sizes, v)
		return Number(v/s.size, 0, digits(v/s.size)) + s.suffix
	}
	return Number(v, 0, 2)
}

// money puts the currency before an amount, and a minus sign before both.
func (u Unit) money(amount string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(amount, "−"); negative {
		sign, amount = "−", rest
	}
	switch symbol, known := symbols[u.Currency]; {
	case known:
		return sign + symbol + "\u00a0" + amount
	case u.Currency != "":
		return sign + u.Currency + "\u00a0" + amount
	}
	return sign + amount
}

// Short formats a value with about three digits, such as "€ 48.2k", for tiles and axes.
func (u Unit) Short(v float64) string {
	switch u.Name {
	case Currency:
		v /= math.Pow10(u.Exponent())
		if s := scaleFor(numberScales, v); s.size > 1 {
			return u.money(Number(v/s.size, 0, digits(v/s.size)) + s.suffix)
		}
		if v == math.Trunc(v) {
			return u.money(Number(v, 0, 0))
		}
		return u.money(Number(v, u.Exponent(), u.Exponent()))
	case Count, "", "score":
		s := scaleFor(numberScales, v)
		if s.size == 1 {
			return Number(v, 0, 2)
		}
		return Number(v/s.size, 0, digits(v/s.size)) + s.suffix
	}
	return u.Text(v)
}

// digits returns how many decimals to show so that a value has about three digits in all.
func digits(v float64) int {
	switch v = math.Abs(v); {
	case v >= 100 || v == math.Trunc(v):
		return 0
	case v >= 10:
		return 1
	}
	return 2
}

// Typed formats a value as people type it. It writes an amount of money in whole units of the
// currency, a ratio in percent, and any other value as it is. Read is its inverse.
func (u Unit) Typed(v float64) string {
	exact, ok := new(big.Rat).SetString(strconv.FormatFloat(v, 'f', -1, 64))
	if !ok { // v is not a finite number
		return ""
	}
	exact.Mul(exact, u.typedFactor())
	text := exact.FloatString(60)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Read returns the value that a person typed as text, with or without the sign of the unit. The
// error is a tabular.Ambiguous if the number has two readings.
func (u Unit) Read(numbers *tabular.Numbers, text string) (float64, error) {
	n, err := numbers.Read(text)
	if err != nil {
		return 0, err
	}
	if u.Name != Currency || u.Currency != "" {
		err = n.CheckCurrency(u.Currency)
	}
	if n.IsPercent && u.Name != Ratio {
		err = errors.New("is a percentage, but the metric has another unit")
	}
	if err != nil {
		return 0, err
	}
	n.IsPercent = false // people type a ratio in percent, with or without the sign
	return n.Value(new(big.Rat).Inv(u.typedFactor()))
}

// typedFactor returns the factor by which a value is multiplied to get the number that people type.
func (u Unit) typedFactor() *big.Rat {
	switch u.Name {
	case Currency:
		return big.NewRat(1, int64(math.Pow10(u.Exponent())))
	case Ratio:
		return big.NewRat(100, 1)
	}
	return big.NewRat(1, 1)
}

// TypedIn says in which unit people type a value, such as "in percent". It returns an empty string
// if people type a plain number.
func (u Unit) TypedIn() string {
	switch u.Name {
	case Currency:
		if u.Currency != "" {
			return "in " + u.Currency
		}
		return "in whole units of the currency"
	case Ratio:
		return "in percent"
	case Duration:
		return "in milliseconds"
	case Bytes:
		return "in bytes"
	}
	return ""
}

// Change formats how a value changed, in percent or, for a ratio, in percentage points. sign is -1,
// 0 or 1. ok is false if the change is undefined, such as a percentage of zero.
func (u Unit) Change(now, before float64) (text string, sign int, ok bool) {
	var v float64
	suffix := "\u00a0%"
	switch {
	case u.Name == Ratio:
		v, suffix = (now-before)*100, "\u00a0points"
	case before == 0 && now == 0:
		return "no change", 0, true
	case before == 0:
		return "", 0, false
	default:
		v = (now - before) / math.Abs(before) * 100
	}
	most := 0
	if math.Abs(v) < 10 {
		most = 1
	}
	text = Number(v, 0, most)
	switch {
	case text == "0":
		return "no change", 0, true
	case v > 0:
		return "+" + text + suffix, 1, true
	}
	return text + suffix, -1, true
}

// axisUnitSize returns the size of the display unit for an axis that reaches up to top. For
// example, it returns 3,600,000 if values in milliseconds are shown in hours.
func (u Unit) axisUnitSize(top float64) float64 {
	switch u.Name {
	case Currency:
		return math.Pow10(u.Exponent())
	case Ratio:
		return 0.01
	case Duration:
		return scaleFor(durations, top).size
	case Bytes:
		return scaleFor(sizes, top).size
	}
	return 1
}

// Ticks returns three to seven round values that cover the range from low to high, in steps of 1, 2
// or 5 times a power of ten. The steps for a count are whole numbers.
func (u Unit) Ticks(low, high float64) []float64 {
	if !(high > low) { // all values are equal: draw a flat line in the middle
		high, low = high+1, min(low, max(0, low-1))
	}
	size := u.axisUnitSize(max(math.Abs(low), math.Abs(high)))
	step := roundUp((high-low)/size/4) * size
	if u.Whole() && step < 1 {
		step = 1
	}
	var out []float64
	first := math.Floor(low/step + 1e-9)
	for n := first; ; n++ {
		out = append(out, n*step)
		if n*step >= high-step*1e-9 && len(out) > 1 || len(out) > 12 {
			return out
		}
	}
}

// roundUp returns the smallest number not below v that is 1, 2 or 5 times a power of ten.
func roundUp(v float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*base >= v*(1-1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// Number formats a number with commas as thousands separators. minDecimals and maxDecimals are the
// minimum and maximum number of decimals.
func Number(v float64, minDecimals, maxDecimals int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', maxDecimals, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	for len(fraction) > minDecimals && strings.HasSuffix(fraction, "0") {
		fraction = fraction[:len(fraction)-1]
	}
	var out strings.Builder
	if v < 0 && strings.Trim(text, "0.") != "" {
		out.WriteString("−")
	}
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	if fraction != "" {
		out.WriteString("." + fraction)
	}
	return out.String()
}
