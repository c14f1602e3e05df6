package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// argument is one value as it came: a text from a path, a query or a header, or a JSON value.
type argument struct {
	text string
	json any
	raw  bool // text is set
}

func (a argument) asText() (string, bool) {
	if a.raw {
		return a.text, utf8.ValidString(a.text)
	}
	s, ok := a.json.(string)
	return s, ok
}

// filterText is the value as a cursor is bound to it: the same for HTTP and for a tool.
func (a argument) filterText() string {
	if a.raw {
		return a.text
	}
	return fmt.Sprint(a.json)
}

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// asInteger takes what JSON Schema calls an integer: 5, and in a body 5.0 and 5e0 too. A query has one spelling.
func (a argument) asInteger() (int64, bool) {
	if a.raw {
		n, err := strconv.ParseInt(a.text, 10, 64)
		return n, err == nil && wholeNumber.MatchString(a.text)
	}
	number, ok := a.json.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := number.Float64()
	if err != nil || math.Abs(f) > safeInteger || (f != 0 && math.Abs(f) < 1) {
		return 0, false
	}
	if f == 0 { // 0, 0.0 and 0e9, but not 1e-999999999, which big.Rat would try to write out
		return 0, !strings.ContainsAny(string(number)[:mantissa(string(number))], "123456789")
	}
	r, ok := new(big.Rat).SetString(string(number))
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// mantissa returns the length of a number's part before its exponent.
func mantissa(number string) int {
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		return i
	}
	return len(number)
}

func (a argument) asNumber() (float64, bool) {
	text := a.text
	if !a.raw {
		number, ok := a.json.(json.Number)
		if !ok {
			return 0, false
		}
		text = string(number)
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsInf(n, 0) && !math.IsNaN(n)
}

func (a argument) asBool() (value, ok bool) {
	if a.raw {
		return a.text == "true", a.text == "true" || a.text == "false"
	}
	value, ok = a.json.(bool)
	return value, ok
}
