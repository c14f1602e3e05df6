package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"growthworkspace/shared/id"
	"growthworkspace/shared/timestamp"
)

// Binder fills an input struct from the arguments of a call and collects all problems. Bind returns
// the Binder of an HTTP request, and BindFlat that of a tool call.
type Binder struct {
	Input       reflect.Value // the input struct; not valid if there are Problems, or if NotFound or TooLarge is true
	Problems    []string      // each begins with the path of a field
	NotFound    bool          // whether the path contains an id that no record can have
	TooLarge    bool          // whether the body is larger than Source.BodyBytesMax; if so, nothing else was read
	CursorScope CursorScope   // encodes the cursor of the next page

	filters          []string       // the values to which a cursor is bound: those in the path and query, except limit and cursor
	sentValues       map[string]any // for Digest
	acceptsPlainText bool           // whether to accept numbers and booleans sent as strings; see Field.parsePlainText
}

// newBinder returns a binder for an input of type t.
func newBinder(t reflect.Type) *Binder { return &Binder{Input: reflect.New(t).Elem()} }

// AddProblem records a problem with the field at path.
func (b *Binder) AddProblem(path, format string, args ...any) {
	b.Problems = appendProblem(b.Problems, path, fmt.Sprintf(format, args...))
}

// Problems contain names from the request. These are truncated, and the number of problems is
// limited, so that no response is much larger than its request. A batch of 500 points in which
// every field is invalid stays below the limit.
const (
	problemsMax  = 5000
	pathBytesMax = 200
)

func appendProblem(problems []string, path, text string) []string {
	if len(path) > pathBytesMax {
		path = strings.ToValidUTF8(path[:pathBytesMax], "") + "…"
	}
	return appendLimited(problems, strings.ReplaceAll(path, "\x00", `\u0000`)+": "+text)
}

func appendLimited(problems []string, problem string) []string {
	switch {
	case len(problems) < problemsMax:
		return append(problems, problem)
	case len(problems) == problemsMax:
		return append(problems, "request: has more than "+strconv.Itoa(problemsMax)+" problems; the others are not listed")
	}
	return problems
}

// bindText binds a field to a string from a path, a query or a header.
func (b *Binder) bindText(f *Field, text string, present bool) {
	b.bindField(f, argument{text: text, isRaw: true}, present)
}

// bindJSON binds a field to the property of that name in a JSON object.
func (b *Binder) bindJSON(f *Field, from Object) {
	value, present := from.Get(f.Name)
	b.bindField(f, argument{json: value}, present)
}

// bindField binds a field to its argument or, if there is none, to its default.
func (b *Binder) bindField(f *Field, a argument, present bool) {
	path := string(f.In) + "." + f.Name
	if present && !f.isAbsentNull(a) {
		b.recordSentArgument(f, a)
	}
	a, present = b.valueOrDefault(f, path, a, present)
	if !present {
		return
	}
	if f.In == InPath && !id.Valid("", a.text) {
		b.NotFound = true
		return
	}
	if f.In == InPath || f.In == InQuery && f.Name != "limit" && f.Name != "cursor" {
		b.filters = append(b.filters, f.Name+"="+a.filterText())
	}
	b.assign(f, path, f.ValueIn(b.Input), a)
}

// isAbsentNull reports whether the argument is null, and null has the same effect as leaving the
// field out.
func (f *Field) isAbsentNull(a argument) bool { return a.isNull() && f.Null == NullAbsent }

// valueOrDefault returns the value to assign: the argument or, if that was left out, the default.
// ok is false if there is neither. If a required argument is missing, it adds a problem.
func (b *Binder) valueOrDefault(f *Field, path string, a argument, present bool) (value argument, ok bool) {
	switch {
	case present && !f.isAbsentNull(a):
		return a, true
	case f.Required:
		b.AddProblem(path, "is required")
	}
	return argument{text: f.Default, isRaw: true}, f.Default != ""
}

func (b *Binder) assign(f *Field, path string, target reflect.Value, a argument) {
	if f.Null == NullClears && f.record == nil {
		target = markSent(target)
	}
	if a.isNull() {
		if f.Null != NullClears {
			b.AddProblem(path, "must not be null%s", clearHint(f))
		}
		return
	}
	if b.acceptsPlainText {
		a = f.parsePlainText(a)
	}
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	switch f.Kind {
	case String:
		if s, ok := a.asText(); ok {
			if a.isRaw && strings.ContainsRune(s, 0) { // ParseObject has already checked the strings in JSON
				b.AddProblem(path, "%s", nulProblem)
				return
			}
			b.checkText(f, path, s)
			if f.Format == "date-time" {
				s = timestamp.Normalise(s)
			}
			target.SetString(s)
			return
		}
		if a.isRaw {
			b.AddProblem(path, "is not valid UTF-8")
			return
		}
	case Integer:
		if n, ok := a.asInteger(); ok {
			b.checkRange(f, path, float64(n))
			target.SetInt(n)
			return
		}
		b.AddProblem(path, "must be a whole number%s", f.rangeText())
		return
	case Number:
		if n, problem, ok := a.asNumber(); ok {
			if problem != "" {
				b.AddProblem(path, "%s", problem)
			}
			b.checkRange(f, path, n)
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
			if target.Type() == anyJSON {
				b.assignListAsJSON(f, path, target, list)
				return
			}
			b.assignList(f, path, target, list)
			return
		}
	case Any:
		if text, ok := a.json.(json.RawMessage); ok {
			if len(text) > int(*f.Max) {
				b.AddProblem(path, "must have at most %d bytes as compact JSON, has %d", int(*f.Max), len(text))
			}
			target.SetBytes(text)
			return
		}
	case Map:
		if o, ok := a.json.(Object); ok {
			b.assignMap(f, path, target, o)
			return
		}
	}
	b.AddProblem(path, "must be %s %s", withArticle(f.Kind), f.Kind)
}

func (b *Binder) assignList(f *Field, path string, target reflect.Value, list []any) {
	if len(list) > f.ItemsMax || (f.Min != nil && len(list) < int(*f.Min)) {
		b.AddProblem(path, "must have %s elements, has %d", f.countText(), len(list))
		return
	}
	target.Set(reflect.MakeSlice(target.Type(), len(list), len(list)))
	for i, v := range list {
		elementPath := fmt.Sprintf("%s[%d]", path, i)
		if f.Fields != nil {
			b.assignObject(f.Fields, elementPath, target.Index(i), v)
			continue
		}
		s, ok := v.(string)
		if !ok {
			b.AddProblem(elementPath, "must be a string")
			continue
		}
		if f.Enum != nil && !slices.Contains(f.Enum, s) {
			b.AddProblem(elementPath, "must be one of %s", strings.Join(f.Enum, ", "))
		}
		if n := utf8.RuneCountInString(s); f.ItemCharsMax > 0 && n > f.ItemCharsMax {
			b.AddProblem(elementPath, "must have at most %d characters, has %d", f.ItemCharsMax, n)
		} else if problem := f.formProblem(s); problem != "" {
			b.AddProblem(elementPath, "%s", problem)
		}
		target.Index(i).SetString(s)
	}
}

// assignListAsJSON assigns a list to a field that may contain any JSON; see ElementTyper.
func (b *Binder) assignListAsJSON(f *Field, path string, target reflect.Value, list []any) {
	elements, before := reflect.New(reflect.SliceOf(f.Type)).Elem(), len(b.Problems)
	b.assignList(f, path, elements, list)
	if len(b.Problems) > before {
		return
	}
	text, err := Encode(elements.Interface())
	if err != nil {
		b.AddProblem(path, "%s", err)
		return
	}
	target.SetBytes(text)
}

func (b *Binder) assignObject(fields []Field, path string, target reflect.Value, v any) {
	o, ok := v.(Object)
	if !ok {
		b.AddProblem(path, "must be an object")
		return
	}
	b.checkUnknown(fields, InBody, path, o)
	for i := range fields {
		f := &fields[i]
		fieldPath := path + "." + f.Name
		v, present := o.Get(f.Name)
		if a, ok := b.valueOrDefault(f, fieldPath, argument{json: v}, present); ok {
			b.assign(f, fieldPath, f.ValueIn(target), a)
		}
	}
}

func (b *Binder) assignMap(f *Field, path string, target reflect.Value, o Object) {
	if f.ItemsMax > 0 && len(o) > f.ItemsMax {
		b.AddProblem(path, "must have at most %d keys, has %d", f.ItemsMax, len(o))
		return
	}
	values := reflect.MakeMap(target.Type())
	for _, m := range o {
		s, ok := m.value.(string)
		if !ok {
			b.AddProblem(path+"."+m.name, "must be a string")
			continue
		}
		if n := max(utf8.RuneCountInString(s), utf8.RuneCountInString(m.name)); f.ItemCharsMax > 0 && n > f.ItemCharsMax {
			b.AddProblem(path+"."+m.name, "must have at most %d characters, has %d", f.ItemCharsMax, n)
		}
		values.SetMapIndex(reflect.ValueOf(m.name), reflect.ValueOf(s))
	}
	target.Set(values)
}

// checkUnknown adds a problem for every property that the operation does not define. The problem
// suggests the nearest name.
func (b *Binder) checkUnknown(fields []Field, in Place, path string, o Object) {
	var names []string
	for _, f := range fields {
		if f.In == in {
			names = append(names, f.Name)
		}
	}
	for _, m := range o {
		if slices.ContainsFunc(fields, func(f Field) bool { return f.In == in && f.Name == m.name }) {
			continue
		}
		b.AddProblem(path+"."+m.name, "unknown property%s", b.didYouMean(m.name, names))
	}
}

func (b *Binder) checkText(f *Field, path, s string) {
	switch n := utf8.RuneCountInString(s); {
	case f.Enum != nil && !slices.Contains(f.Enum, s):
		b.AddProblem(path, "must be one of %s", strings.Join(f.Enum, ", "))
	case f.Min != nil && *f.Min == 1 && n == 0:
		b.AddProblem(path, "must not be empty")
	case f.Min != nil && n < int(*f.Min):
		b.AddProblem(path, "must have at least %d characters, has %d", int(*f.Min), n)
	case f.Max != nil && n > int(*f.Max):
		b.AddProblem(path, "must have at most %d characters, has %d", int(*f.Max), n)
	default:
		if problem := f.formProblem(s); problem != "" {
			b.AddProblem(path, "%s", problem)
		}
	}
}

// formProblem returns a message if a string violates the field's reference, pattern or format, and
// "" otherwise.
func (f *Field) formProblem(s string) string {
	switch {
	case f.Ref != "" && !id.Valid(f.Ref, s):
		return "must match " + f.Expression()
	case f.Pattern != "" && !patterns[f.Pattern].MatchString(s):
		return fmt.Sprintf("must match %s", patterns[f.Pattern])
	case f.Format != "":
		return formats[f.Format].check(s)
	}
	return ""
}

func (b *Binder) checkRange(f *Field, path string, n float64) {
	if (f.Min != nil && n < *f.Min) || (f.Max != nil && n > *f.Max) {
		b.AddProblem(path, "must be%s", strings.TrimPrefix(f.rangeText(), ","))
	}
}

func (f *Field) rangeText() string {
	formatNumber := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) } // %v would print a million as 1e+06
	switch {
	case f.Min != nil && f.Max != nil:
		return ", between " + formatNumber(*f.Min) + " and " + formatNumber(*f.Max)
	case f.Min != nil:
		return ", at least " + formatNumber(*f.Min)
	case f.Max != nil:
		return ", at most " + formatNumber(*f.Max)
	}
	return ""
}

func (f *Field) countText() string {
	if f.Min != nil {
		return fmt.Sprintf("%v to %d", *f.Min, f.ItemsMax)
	}
	return fmt.Sprintf("at most %d", f.ItemsMax)
}

// clearHint returns a hint that says how to clear a field, for callers that send null to do so.
func clearHint(f *Field) string {
	switch {
	case f.Required:
		return ""
	case f.Kind == String && f.In == InBody && f.Enum == nil && f.Min == nil && f.Format == "" && f.Pattern == "" && f.Ref == "":
		return `; clear it with ""`
	case f.Kind == Array:
		return "; clear it with []"
	}
	return "; leave it out"
}

func withArticle(k Kind) string {
	if strings.ContainsRune("aeiou", rune(k[0])) {
		return "an"
	}
	return "a"
}
