package api

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
)

// Arguments are what a call brings, in the form of its transport: an HTTP request or the arguments of a tool.
type Arguments interface {
	// bind reads the arguments of an operation.
	bind(op *Operation) bound
}

// bound is an input, checked in full. When err is set the input must not be used.
type bound struct {
	input   reflect.Value
	err     *fault.Error // bad_request with every problem, or payload_too_large
	missing bool         // an id in the path that no record can have: not_found, once the rest is in order
	list    cursorScope  // what a cursor of this call is bound to
}

// argument is one value as it came: a text from a path, a query or a header, or a JSON value.
type argument struct {
	text string
	json any
	raw  bool // text is set
}

// binder fills one input and collects every problem on the way.
type binder struct {
	op       *Operation
	out      bound
	problems []string
}

func newBinder(op *Operation) *binder {
	return &binder{op: op, out: bound{input: reflect.New(op.input).Elem(), list: cursorScope{Operation: op.ID}}}
}

func (b *binder) problem(place, format string, args ...any) {
	b.problems = append(b.problems, place+": "+fmt.Sprintf(format, args...))
}

// set gives one field its value, or its default when there is none.
func (b *binder) set(f *Field, a argument, present bool) {
	place := string(f.In) + "." + f.Name
	if !present {
		if f.Required {
			b.problem(place, "is required")
			return
		}
		if f.Default == "" {
			return
		}
		a = argument{text: f.Default, raw: true}
	}
	if f.In == InPath && !id.Valid("", a.text) {
		b.out.missing = true
		return
	}
	if f.In == InPath || f.In == InQuery && f.Name != "limit" && f.Name != "cursor" {
		b.out.list.Filters = append(b.out.list.Filters, f.Name+"="+a.filterText())
	}
	b.assign(f, place, b.out.input.FieldByIndex(f.index), a)
}

func (b *binder) assign(f *Field, place string, target reflect.Value, a argument) {
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	if !a.raw && a.json == nil {
		b.problem(place, "must not be null%s", clearHint(f))
		return
	}
	switch f.Kind {
	case String:
		if s, ok := a.asText(); ok {
			b.checkText(f, place, s)
			target.SetString(s)
			return
		}
	case Integer:
		if n, ok := a.asInteger(); ok {
			b.checkRange(f, place, float64(n))
			target.SetInt(n)
			return
		}
		b.problem(place, "must be a whole number%s", f.rangeText())
		return
	case Number:
		if n, ok := a.asNumber(); ok {
			b.checkRange(f, place, n)
			target.SetFloat(n)
			return
		}
	case Boolean:
		if v, ok := a.asBool(); ok {
			target.SetBool(v)
			return
		}
	case Array:
		if list, ok := a.json.([]any); ok {
			b.assignList(f, place, target, list)
			return
		}
	case Map:
		if o, ok := a.json.(object); ok {
			b.assignMap(f, place, target, o)
			return
		}
	}
	b.problem(place, "must be %s %s", article(f.Kind), f.Kind)
}

func (b *binder) assignList(f *Field, place string, target reflect.Value, list []any) {
	if len(list) > f.Items || (f.Min != nil && len(list) < int(*f.Min)) {
		b.problem(place, "must have %s elements, has %d", f.countText(), len(list))
		return
	}
	target.Set(reflect.MakeSlice(target.Type(), len(list), len(list)))
	for i, v := range list {
		at := fmt.Sprintf("%s[%d]", place, i)
		if f.Fields != nil {
			b.assignObject(f.Fields, at, target.Index(i), v)
			continue
		}
		s, ok := v.(string)
		if !ok {
			b.problem(at, "must be a string")
			continue
		}
		if n := utf8.RuneCountInString(s); f.Each > 0 && n > f.Each {
			b.problem(at, "must have at most %d characters, has %d", f.Each, n)
		}
		target.Index(i).SetString(s)
	}
}

func (b *binder) assignObject(fields []Field, place string, target reflect.Value, v any) {
	o, ok := v.(object)
	if !ok {
		b.problem(place, "must be an object")
		return
	}
	b.unknown(fields, InBody, place, o)
	for i := range fields {
		f := &fields[i]
		at := place + "." + f.Name
		if v, ok := o.get(f.Name); ok {
			b.assign(f, at, target.FieldByIndex(f.index), argument{json: v})
		} else if f.Required {
			b.problem(at, "is required")
		}
	}
}

func (b *binder) assignMap(f *Field, place string, target reflect.Value, o object) {
	if f.Items > 0 && len(o) > f.Items {
		b.problem(place, "must have at most %d keys, has %d", f.Items, len(o))
	}
	values := reflect.MakeMap(target.Type())
	for _, m := range o {
		s, ok := m.value.(string)
		if !ok {
			b.problem(place+"."+m.name, "must be a string")
			continue
		}
		if n := max(utf8.RuneCountInString(s), utf8.RuneCountInString(m.name)); f.Each > 0 && n > f.Each {
			b.problem(place+"."+m.name, "must have at most %d characters, has %d", f.Each, n)
		}
		values.SetMapIndex(reflect.ValueOf(m.name), reflect.ValueOf(s))
	}
	target.Set(values)
}

// unknown reports the properties that the operation does not have. Near misses are named, so that a wrong case is
// found at a glance.
func (b *binder) unknown(fields []Field, in Place, place string, o object) {
	for _, m := range o {
		if slices.ContainsFunc(fields, func(f Field) bool { return f.In == in && f.Name == m.name }) {
			continue
		}
		hint := ""
		for _, f := range fields {
			if f.In == in && strings.EqualFold(f.Name, m.name) {
				hint = "; did you mean " + f.Name + "?"
			}
		}
		b.problem(place+"."+m.name, "unknown property%s", hint)
	}
}

func (b *binder) checkText(f *Field, place, s string) {
	switch n := utf8.RuneCountInString(s); {
	case f.Enum != nil && !slices.Contains(f.Enum, s):
		b.problem(place, "must be one of %s", strings.Join(f.Enum, ", "))
	case f.Min != nil && n < int(*f.Min):
		b.problem(place, "must have at least %d characters", int(*f.Min))
	case f.Max != nil && n > int(*f.Max):
		b.problem(place, "must have at most %d characters, has %d", int(*f.Max), n)
	case f.Pattern != "" && !patterns[f.Pattern].MatchString(s):
		b.problem(place, "must match %s", patterns[f.Pattern])
	case f.Format != "":
		if wrong := formats[f.Format](s); wrong != "" {
			b.problem(place, "%s", wrong)
		}
	}
}

func (b *binder) checkRange(f *Field, place string, n float64) {
	if (f.Min != nil && n < *f.Min) || (f.Max != nil && n > *f.Max) {
		b.problem(place, "must be%s", strings.TrimPrefix(f.rangeText(), ","))
	}
}

func (f *Field) rangeText() string {
	if f.Min == nil || f.Max == nil || *f.Max == safeInteger {
		return ""
	}
	return fmt.Sprintf(", between %v and %v", *f.Min, *f.Max)
}

func (f *Field) countText() string {
	if f.Min != nil {
		return fmt.Sprintf("%v to %d", *f.Min, f.Items)
	}
	return fmt.Sprintf("at most %d", f.Items)
}

// clearHint says how a field is emptied, which is what null often was meant for.
func clearHint(f *Field) string {
	switch {
	case f.Required:
		return ""
	case f.Kind == String && f.Enum == nil && f.Min == nil && f.Format == "":
		return `; clear it with ""`
	case f.Kind == Array:
		return "; clear it with []"
	}
	return "; leave it out"
}

func article(k Kind) string {
	if strings.ContainsRune("aeiou", rune(k[0])) {
		return "an"
	}
	return "a"
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
