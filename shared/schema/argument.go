package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// argument is a value as it was sent: a raw string from a path, a query or a header, or a JSON
// value.
type argument struct {
	text  string
	json  any
	isRaw bool // whether the value is in text instead of json
}

// isNull reports whether the argument is the JSON value null.
func (a argument) isNull() bool { return !a.isRaw && a.json == nil }

func (a argument) asText() (string, bool) {
	if a.isRaw {
		return a.text, utf8.ValidString(a.text)
	}
	s, ok := a.json.(string)
	return s, ok
}

// filterText returns the value as a string that becomes part of a cursor's scope. It is the same
// for an HTTP request and for a tool call.
func (a argument) filterText() string {
	if a.isRaw {
		return a.text
	}
	return fmt.Sprint(a.json)
}

// numberPattern is the syntax of a JSON number, which also applies to numbers in a query.
// integerPattern is the syntax of an integer in a query.
var (
	numberPattern  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	integerPattern = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
)

// asInteger accepts what JSON Schema calls an integer: 5 and, in a body, also 5.0 and 5e0.
func (a argument) asInteger() (int64, bool) {
	text := a.text
	if a.isRaw && !integerPattern.MatchString(text) {
		return 0, false
	}
	if !a.isRaw {
		number, ok := a.json.(json.Number)
		if !ok {
			return 0, false
		}
		text = plainInteger(string(number))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && -SafeIntegerMax <= n && n <= SafeIntegerMax
}

// plainInteger returns a number in integer notation, without a fraction or an exponent. It returns
// "" if the number is not an integer, or has more digits than an int64 can hold. A huge exponent,
// as in 1e-999999999, is never expanded.
func plainInteger(number string) string {
	number, negative := strings.CutPrefix(number, "-")
	digits, exponentText := number, "0"
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		digits, exponentText = number[:i], number[i+1:]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	exponent, err := strconv.Atoi(exponentText)
	significant := strings.TrimRight(digits, "0")
	zeros := exponent - len(fraction) + len(digits) - len(significant)
	if err != nil || zeros < 0 || zeros+len(significant) > 19 {
		return ""
	}
	if negative {
		significant = "-" + significant
	}
	return significant + strings.Repeat("0", zeros)
}

// asNumber returns the argument as a number, with a problem if DynamoDB cannot store it. ok reports
// whether the argument is a number at all. -0 becomes 0: DynamoDB has no -0, and a record must have
// the same entity tag before it is stored and when it is read again.
func (a argument) asNumber() (n float64, problem string, ok bool) {
	text := a.text
	if !a.isRaw {
		number, ok := a.json.(json.Number)
		if !ok {
			return 0, "", false
		}
		text = string(number)
	}
	if !numberPattern.MatchString(text) { // nan, 0x1p4 and +1 are not JSON
		return 0, "", false
	}
	n, err := strconv.ParseFloat(text, 64)
	abs := math.Abs(n)
	if err != nil || abs > numberMax || abs < numberMin && !isZero(text) {
		problem = "must be 0 or between 1e-129 and 1e125, positive or negative"
	}
	return n + 0, problem, true // -0 + 0 is 0
}

// isZero reports whether a number is exactly 0. ParseFloat cannot tell, because it also returns 0
// for 1e-400.
func isZero(number string) bool {
	digits, _, _ := strings.Cut(strings.ToLower(number), "e")
	return !strings.ContainsAny(digits, "123456789")
}

// Besides 0, DynamoDB stores numbers whose absolute value is in this range.
const (
	numberMin = 1e-129
	numberMax = 1e125
)

func (a argument) asBool() (value, ok bool) {
	if a.isRaw {
		return a.text == "true", a.text == "true" || a.text == "false"
	}
	value, ok = a.json.(bool)
	return value, ok
}
