package tabular

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrEmpty is the error for a cell without a value.
var ErrEmpty = errors.New("is empty")

// Ambiguous is the error for a cell that can be read in several ways, in a column whose other cells
// do not decide between them.
type Ambiguous struct {
	Cell     string
	Readings []string // such as 1234 and 1.234, or 1 February and 2 January
	Options  []string // the decimal separator, or the date format, that gives each reading
	IsDate   bool
}

func (a *Ambiguous) Error() string {
	return fmt.Sprintf("%q could be %s", a.Cell, Alternatives(a.Readings))
}

// Alternatives joins texts with commas and "or".
func Alternatives(texts []string) string {
	last := len(texts) - 1
	if last <= 0 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

// blankCells are the strings that stand for a missing value in a column of numbers or dates.
var blankCells = []string{"", "-", "–", "—", "n/a", "na", "null"}

// IsBlank reports whether a cell of a column of numbers or dates stands for a missing value.
func IsBlank(cell string) bool {
	cell = strings.TrimSpace(cell)
	return slices.ContainsFunc(blankCells, func(b string) bool { return strings.EqualFold(cell, b) })
}

// Number is a decimal number as it is written in a cell.
type Number struct {
	Text      string // the number in the syntax of strconv.ParseFloat
	Currency  string // the currency sign or code in the cell, such as €
	IsPercent bool
}

// Numbers reads the numbers of one column. All of them have the same decimal separator: if the
// caller does not name it, the first number with a single reading decides.
type Numbers struct {
	decimal string // "," or "."; empty until a number has decided
	isNamed bool
	column  iter.Seq[string] // all cells of the column; nil once they have been searched

	fallback string // the decimal separator if no number decides; may be empty
}

// NewNumbers returns a reader for a column. decimal is "." or ",", or empty if it is unknown. The
// reader searches column, which may be nil, when a cell has two readings and no cell before it has
// decided between them.
func NewNumbers(decimal string, column iter.Seq[string]) *Numbers {
	return &Numbers{decimal: decimal, isNamed: decimal != "", column: column}
}

// Read parses a cell. The error is ErrEmpty if the cell has no value, and an Ambiguous if the cell
// has two readings and no other cell decides between them.
func (numbers *Numbers) Read(cell string) (Number, error) {
	n, used, err := readNumber(cell, numbers.decimal)
	if errors.As(err, new(*Ambiguous)) && numbers.column != nil {
		for other := range numbers.column {
			if _, numbers.decimal, _ = readNumber(other, ""); numbers.decimal != "" {
				break
			}
		}
		numbers.column = nil
		n, used, err = readNumber(cell, numbers.decimal)
	}
	if errors.As(err, new(*Ambiguous)) && numbers.fallback != "" {
		n, used, err = readNumber(cell, numbers.fallback)
	}
	if err != nil && numbers.decimal != "" && !numbers.isNamed { // explain a number that contradicts the others
		if _, other, otherErr := readNumber(cell, ""); otherErr == nil && other != "" && other != numbers.decimal {
			return Number{}, fmt.Errorf("%q has the decimal separator %q, but another number of the column has %q", strings.TrimSpace(cell), other, numbers.decimal)
		}
	}
	if err == nil && numbers.decimal == "" {
		numbers.decimal = used
	}
	return n, err
}

// readNumber parses a cell. decimal is the decimal separator, or empty if it is unknown. used is the
// decimal separator if the cell has only one reading and shows it; otherwise, used is empty.
func readNumber(cell, decimal string) (n Number, used string, err error) {
	text := strings.TrimSpace(cell)
	if IsBlank(text) {
		return n, "", ErrEmpty
	}
	switch text[0] {
	case '=':
		return n, "", errors.New("is a formula; export the values of the sheet")
	case '#':
		return n, "", fmt.Errorf("is %s, an error of the spreadsheet", text)
	}
	digits := text
	negative := false
	if inner, ok := strings.CutPrefix(digits, "("); ok && strings.HasSuffix(inner, ")") { // accountants write negative numbers in parentheses
		negative, digits = true, inner[:len(inner)-1]
	}
	digits, n.Currency, n.IsPercent = splitSigns(digits)
	minus, digits := cutMinus(digits)
	if minus && negative {
		return n, "", fmt.Errorf("%q has two signs", text)
	}
	negative = negative || minus
	mantissa, exponent := digits, ""
	if at := strings.IndexAny(digits, "eE"); at > 0 {
		mantissa, exponent = digits[:at], digits[at:]
		if _, err := strconv.Atoi(exponent[1:]); err != nil {
			return n, "", fmt.Errorf("%q is not a number", text)
		}
	}
	plain, used, err := plainDigits(mantissa, decimal, exponent != "")
	if errors.Is(err, errTwoReadings) {
		sign := ""
		if negative {
			sign = "-"
		}
		whole, fraction := ",", "." // the decimal separators that make the number a whole one, and one with a fraction
		if strings.Contains(mantissa, ",") {
			whole, fraction = ".", ","
		}
		return n, "", &Ambiguous{Cell: text, Options: []string{whole, fraction}, Readings: []string{
			sign + strings.NewReplacer(",", "", ".", "").Replace(mantissa), sign + strings.ReplaceAll(mantissa, ",", "."),
		}}
	}
	if err != nil {
		return n, "", fmt.Errorf("%q %w", text, err)
	}
	if n.Text = plain + exponent; negative {
		n.Text = "-" + n.Text
	}
	return n, used, nil
}

var minusSigns = []string{"-", "−", "‒"}

// cutMinus removes a minus sign before or after the digits, or a plus sign before them. minus
// reports whether there was a minus sign.
func cutMinus(s string) (minus bool, rest string) {
	for _, sign := range minusSigns {
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
	for _, sign := range minusSigns { // the minus sign may precede the currency, as in -€5
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
	errTwoReadings = errors.New("has two readings")
	errNoNumber    = errors.New("is not a number")
)

// plainDigits returns a mantissa with a decimal point and without thousands separators. used is the
// mantissa's decimal separator, or empty if the mantissa does not show it.
func plainDigits(s, decimal string, hasExponent bool) (plain, used string, err error) {
	s = strings.Map(func(c rune) rune {
		if c == '\'' || c == '’' || unicode.IsSpace(c) { // these can only separate thousands
			return ' '
		}
		return c
	}, s)
	commas, dots := strings.Count(s, ","), strings.Count(s, ".")
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
				return "", "", errTwoReadings
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

// Value returns the number as a float64. It multiplies the number by scale, unless scale is nil,
// and divides a percentage by 100. This arithmetic is exact, so 19.99 times 100 is 1999.
func (n Number) Value(scale *big.Rat) (float64, error) {
	if scale == nil && !n.IsPercent {
		v, err := strconv.ParseFloat(n.Text, 64)
		if err != nil || math.IsInf(v, 0) {
			return 0, fmt.Errorf("%q is not a number", n.Text)
		}
		return v, nil
	}
	if at := strings.IndexAny(n.Text, "eE"); at > 0 && len(n.Text)-at > 5 || len(n.Text) > 400 { // an exact fraction could have thousands of digits
		return 0, fmt.Errorf("%q is not a number", n.Text)
	}
	exact, ok := new(big.Rat).SetString(n.Text)
	if !ok {
		return 0, fmt.Errorf("%q is not a number", n.Text)
	}
	if n.IsPercent {
		exact.Quo(exact, hundred)
	}
	if scale != nil {
		exact.Mul(exact, scale)
	}
	v, _ := exact.Float64()
	if math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is too large", n.Text)
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

// CheckCurrency returns an error if the cell shows a currency other than its column's. want is the
// code of the column's currency, or empty.
func (n Number) CheckCurrency(want string) error {
	if n.Currency == "" {
		return nil
	}
	code, known := currencySigns[n.Currency]
	if !known && utf8.RuneCountInString(n.Currency) == 3 && strings.ToUpper(n.Currency) == n.Currency && !allDigits(n.Currency) {
		code, known = n.Currency, true
	}
	switch {
	case !known:
		return fmt.Errorf("%q is neither a currency nor part of a number", n.Currency)
	case want == "":
		return &Currency{n.Currency, strings.Fields(code)[0]}
	case !slices.Contains(strings.Fields(code), want):
		return fmt.Errorf("has the currency %s, but the column has %s", n.Currency, want)
	}
	return nil
}

// Currency is the error for a cell with a currency in a column whose currency nobody has named.
type Currency struct {
	Sign string
	Code string // a currency that has this sign
}

func (c *Currency) Error() string { return "has the currency " + c.Sign }
