package sheet

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errEmpty is the error for a cell without a value.
var errEmpty = errors.New("is empty")

// blankCells are the strings that stand for a missing value in a column of numbers or dates.
var blankCells = []string{"", "-", "–", "—", "n/a", "na", "null"}

func isBlank(text string) bool {
	return slices.ContainsFunc(blankCells, func(b string) bool { return strings.EqualFold(text, b) })
}

// number is a decimal number as it is written in a cell.
type number struct {
	text      string // the number in the syntax of strconv.ParseFloat
	currency  string // the currency sign or code in the cell, such as €
	isPercent bool
}

// numberReader parses the numbers in a file. It remembers the first decimal separator, because all
// numbers in a file must have the same one.
type numberReader struct {
	decimal     string // "," or "." from --decimal; empty if the flag is not set
	seenDecimal string // the decimal separator in an earlier number
}

const hintDecimal = "name the decimal separator with --decimal . or --decimal ,"

// read parses a cell. It returns an error if --decimal is not set and the separator in the cell
// could be a decimal or a thousands separator.
func (r *numberReader) read(cell string) (number, error) {
	text := strings.TrimSpace(cell)
	if isBlank(text) {
		return number{}, errEmpty
	}
	switch text[0] {
	case '=':
		return number{}, errors.New("is a formula; export the values of the sheet")
	case '#':
		return number{}, fmt.Errorf("is %s, an error of the spreadsheet", text)
	}
	n, digits := number{}, text
	negative := false
	if inner, ok := strings.CutPrefix(digits, "("); ok && strings.HasSuffix(inner, ")") { // accountants write negative numbers in parentheses
		negative, digits = true, inner[:len(inner)-1]
	}
	digits, n.currency, n.isPercent = splitSigns(digits)
	minus, digits := cutMinus(digits)
	if minus && negative {
		return n, fmt.Errorf("%q has two signs", text)
	}
	negative = negative || minus
	mantissa, exponent := digits, ""
	if at := strings.IndexAny(digits, "eE"); at > 0 {
		mantissa, exponent = digits[:at], digits[at:]
		if _, err := strconv.Atoi(exponent[1:]); err != nil {
			return n, fmt.Errorf("%q is not a number", text)
		}
	}
	plain, used, err := r.plainDigits(mantissa, exponent != "")
	switch {
	case errors.Is(err, errAmbiguous):
		return n, fmt.Errorf("%q could be %s or %s: %s", text, strings.NewReplacer(",", "", ".", "").Replace(mantissa), strings.ReplaceAll(mantissa, ",", "."), hintDecimal)
	case err != nil:
		return n, fmt.Errorf("%q %w", text, err)
	case used != "" && r.decimal == "" && r.seenDecimal != "" && r.seenDecimal != used:
		return n, fmt.Errorf("%q has the decimal separator %q, but an earlier number has %q: %s", text, used, r.seenDecimal, hintDecimal)
	case used != "":
		r.seenDecimal = used
	}
	n.text = plain + exponent
	if negative {
		n.text = "-" + n.text
	}
	return n, nil
}

// cutMinus removes a minus sign before or after the digits, or a plus sign before them. minus
// reports whether there was a minus sign.
func cutMinus(s string) (minus bool, rest string) {
	for _, sign := range []string{"-", "−", "‒"} {
		if after, ok := strings.CutPrefix(s, sign); ok {
			return true, strings.TrimSpace(after)
		}
		if before, ok := strings.CutSuffix(s, sign); ok {
			return true, strings.TrimSpace(before)
		}
	}
	return false, strings.TrimPrefix(s, "+")
}

// splitSigns removes a percent sign and a currency from the ends of a number.
func splitSigns(s string) (digits, currency string, isPercent bool) {
	isSign := func(r rune) bool {
		return !unicode.IsDigit(r) && !strings.ContainsRune(".,'’-−‒+", r)
	}
	digits = s
	minus := ""
	for _, sign := range []string{"-", "−", "‒"} { // the minus sign may precede the currency, as in -€5
		if after, ok := strings.CutPrefix(digits, sign); ok {
			minus, digits = "-", strings.TrimSpace(after)
			break
		}
	}
	head := digits[:len(digits)-len(strings.TrimLeftFunc(digits, isSign))]
	digits = digits[len(head):]
	tail := digits[len(strings.TrimRightFunc(digits, isSign)):]
	digits = digits[:len(digits)-len(tail)]
	signs := strings.TrimSpace(head) + strings.TrimSpace(tail)
	if rest := strings.ReplaceAll(signs, "%", ""); len(rest) == len(signs)-1 {
		signs, isPercent = rest, true
	}
	return minus + digits, strings.TrimSpace(signs), isPercent
}

var (
	errAmbiguous = errors.New("is ambiguous")
	errNoNumber  = errors.New("is not a number")
)

// plainDigits returns a mantissa with a decimal point and without thousands separators. used is the
// mantissa's decimal separator, or empty if it cannot be determined from the mantissa.
func (r *numberReader) plainDigits(s string, hasExponent bool) (plain, used string, err error) {
	s = strings.Map(func(c rune) rune {
		if c == '\'' || c == '’' || unicode.IsSpace(c) { // these can only separate thousands
			return ' '
		}
		return c
	}, s)
	commas, dots := strings.Count(s, ","), strings.Count(s, ".")
	decimal := r.decimal
	if decimal == "" {
		switch {
		case commas > 0 && dots > 0: // the one that occurs last is the decimal separator
			decimal = "."
			if strings.LastIndex(s, ",") > strings.LastIndex(s, ".") {
				decimal = ","
			}
		case commas > 1:
			decimal = "."
		case dots > 1:
			decimal = ","
		case commas+dots == 1:
			decimal = "."
			if commas == 1 {
				decimal = ","
			}
			if !hasExponent && isThousands(s) {
				return "", "", errAmbiguous
			}
		}
	}
	whole, fraction, hasFraction := strings.Cut(s, decimal)
	if decimal == "" {
		whole, fraction, hasFraction = s, "", false
	}
	if hasFraction && (fraction == "" || !allDigits(fraction)) {
		return "", "", errNoNumber
	}
	plain, ok := joinGroups(whole, decimal)
	if !ok || plain == "" && !hasFraction {
		return "", "", errNoNumber
	}
	if commas+dots > 0 {
		used = decimal
	}
	if hasFraction {
		plain += "." + fraction
	}
	return plain, used, nil
}

// isThousands reports whether the only separator in s could be a thousands separator.
func isThousands(s string) bool {
	at := strings.IndexAny(s, ",.")
	head, tail := s[:at], s[at+1:]
	return len(tail) == 3 && allDigits(tail) && len(head) >= 1 && len(head) <= 3 && allDigits(head) && head[0] != '0'
}

// joinGroups removes the thousands separators of a whole number. The last group must have three
// digits. The groups before it may have two, as in India, or three.
func joinGroups(s, decimal string) (joined string, ok bool) {
	if allDigits(s) {
		return s, true
	}
	at := strings.IndexAny(s, ",. ")
	if at < 0 {
		return "", false
	}
	separator := s[at : at+1]
	if separator == decimal {
		return "", false
	}
	groups := strings.Split(s, separator)
	for i, g := range groups {
		last, first := i == len(groups)-1, i == 0
		if !allDigits(g) || first && (g == "" || len(g) > 3) || last && len(g) != 3 || !first && !last && len(g) != 2 && len(g) != 3 {
			return "", false
		}
	}
	return strings.Join(groups, ""), true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

var hundred = big.NewRat(100, 1)

// value returns the number as a float64. It multiplies the number by scale, unless scale is nil,
// and divides a percentage by 100. This arithmetic is exact, so 19.99 times 100 is 1999.
func (n number) value(scale *big.Rat) (float64, error) {
	if scale == nil && !n.isPercent {
		v, err := strconv.ParseFloat(n.text, 64)
		if err != nil || math.IsInf(v, 0) {
			return 0, fmt.Errorf("%q is not a number", n.text)
		}
		return v, nil
	}
	if at := strings.IndexAny(n.text, "eE"); at > 0 && len(n.text)-at > 5 { // an exact fraction could have thousands of digits
		return 0, fmt.Errorf("%q is not a number", n.text)
	}
	exact, ok := new(big.Rat).SetString(n.text)
	if !ok {
		return 0, fmt.Errorf("%q is not a number", n.text)
	}
	if n.isPercent {
		exact.Quo(exact, hundred)
	}
	if scale != nil {
		exact.Mul(exact, scale)
	}
	v, _ := exact.Float64()
	if math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is too large", n.text)
	}
	return v, nil
}

// currencySigns maps each currency sign to the codes of the currencies that use it.
var currencySigns = map[string]string{
	"€": "EUR", "£": "GBP FKP GIP SHP", "₹": "INR", "₩": "KRW KPW", "₺": "TRY", "₽": "RUB", "₴": "UAH", "₪": "ILS", "₫": "VND", "₱": "PHP", "₦": "NGN",
	"zł": "PLN", "Kč": "CZK", "Ft": "HUF", "kr": "SEK NOK DKK ISK", "kr.": "DKK ISK", "R$": "BRL", "US$": "USD", "CA$": "CAD", "A$": "AUD", "NZ$": "NZD", "HK$": "HKD",
	"$": "USD CAD AUD NZD SGD HKD TWD MXN ARS CLP COP UYU JMD BBD BSD BZD FJD GYD LRD NAD SBD SRD TTD XCD",
	"¥": "JPY CNY", "￥": "JPY CNY", "元": "CNY", "円": "JPY", "Fr": "CHF", "Fr.": "CHF", "SFr.": "CHF", "R": "ZAR",
}

// checkCurrency returns an error if the cell shows a currency other than its column's. want is the
// code of the column's currency, or empty.
func (n number) checkCurrency(want string) error {
	if n.currency == "" {
		return nil
	}
	code, known := currencySigns[n.currency]
	if !known && utf8.RuneCountInString(n.currency) == 3 && strings.ToUpper(n.currency) == n.currency && !allDigits(n.currency) {
		code, known = n.currency, true
	}
	switch {
	case !known:
		return fmt.Errorf("%q is neither a currency nor part of a number", n.currency)
	case want == "":
		return fmt.Errorf("has the currency %s: name it with --currency COLUMN=%s", n.currency, strings.Fields(code)[0])
	case !slices.Contains(strings.Fields(code), want):
		return fmt.Errorf("has the currency %s, but the column has %s", n.currency, want)
	}
	return nil
}
