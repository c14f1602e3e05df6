package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"growthworkspace/shared/timestamp"
)

// DecodeRecord decodes an imported record from a JSON object, as strictly as a request body. It
// reports unknown and repeated properties, wrong types, values that are not in an enum, invalid
// timestamps in fields with format:"date-time", and violations of the rules. A record may be
// partial: only fields that cannot be null are required. Timestamps are normalised.
//
// A field with the tag transfer:"name" is hidden from clients, but is part of an exported record. It
// lists names of properties that requests can set.
func DecodeRecord(text []byte, record any, rules ...Rules) (problems []string) {
	o, problems := ParseObject(text, "record")
	if o == nil {
		return problems
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return []string{"record: " + err.Error()}
	}
	target := reflect.ValueOf(record).Elem()
	known, bad := map[string]bool{}, false // bad means that a value is invalid, not that one is missing
	binders := make([]*Binder, len(rules))
	for i, r := range rules {
		binders[i] = newBinder(r.input)
	}
	for _, f := range recordFields(target.Type()) {
		name := transferName(f)
		known[name] = true
		value, present := o.Get(name)
		if value != nil && breaksRules(rules, binders, name, value) {
			continue
		}
		before := len(problems)
		problems = decodeField(problems, f, "record."+name, target.FieldByIndex(f.Index), value, raw[name], present)
		if names, ok := target.FieldByIndex(f.Index).Interface().([]string); ok && f.Tag.Get(transferTag) != "" {
			problems = append(problems, nameProblems(target.Type(), "record."+name, names)...)
		}
		bad = bad || present && len(problems) > before
	}
	for _, m := range o {
		if !known[m.name] {
			problems = appendProblem(problems, "record."+m.name, "unknown property")
		}
	}
	for _, b := range binders {
		problems = append(problems, b.Problems...)
		if bad = bad || len(b.Problems) > 0; !bad {
			problems = append(problems, checkProblems(b.Input)...)
		}
	}
	return problems
}

// fieldsByRecord caches the results of recordFields, because an import decodes many records.
var fieldsByRecord sync.Map

func recordFields(t reflect.Type) []reflect.StructField {
	if cached, ok := fieldsByRecord.Load(t); ok {
		return cached.([]reflect.StructField)
	}
	fields := slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		return f.Anonymous || transferName(f) == ""
	})
	fieldsByRecord.Store(t, fields)
	return fields
}

// transferName returns the name of a field in an import or export, or "" if it is in neither.
func transferName(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
		return name
	}
	return f.Tag.Get(transferTag)
}

const transferTag = "transfer"

// nameProblems reports names that are not those of properties that requests can set.
func nameProblems(record reflect.Type, path string, names []string) (problems []string) {
	for _, name := range names {
		if !slices.ContainsFunc(recordFields(record), func(f reflect.StructField) bool {
			_, settable := f.Tag.Lookup("set")
			return settable && transferName(f) == name
		}) {
			problems = appendProblem(problems, path, fmt.Sprintf("%q is not a property that requests can set", name))
		}
	}
	return problems
}

// EncodeRecord returns a record as JSON for DecodeRecord: as in a response, and with the fields that
// have a tag transfer:"name", unless they are empty.
func EncodeRecord(record any) ([]byte, error) {
	text, err := Encode(record)
	value := reflect.ValueOf(record)
	if err != nil || value.Kind() != reflect.Struct {
		return text, err
	}
	for _, f := range recordFields(value.Type()) {
		if field := value.FieldByIndex(f.Index); f.Tag.Get(transferTag) != "" && !field.IsZero() {
			hidden, err := Encode(map[string]any{f.Tag.Get(transferTag): field.Interface()})
			if err != nil {
				return nil, err
			}
			text = append(append(text[:len(text)-1], ','), hidden[1:]...)
		}
	}
	return text, nil
}

// Rules are the rules of a request body that also apply to imported records: the tags of an input's
// fields, and its Check method if it implements api.Checker.
type Rules struct {
	input  reflect.Type
	fields map[string]*Field
}

// NewRules returns the rules of an input as they apply to records of the given type. It leaves out
// the rules for the properties in except. If a field of the record is an enum, all of that enum's
// values are valid, because a record may have values that callers cannot set, such as some
// statuses. Properties that the input requires are optional in a record. Properties that may
// contain any JSON in a record are not checked.
func NewRules(record, input reflect.Type, except ...string) Rules {
	fieldsByName := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(record) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fieldsByName[name] = f
	}
	r := Rules{input, map[string]*Field{}}
	for _, f := range Fields(input) {
		recordField, ok := fieldsByName[f.Name]
		if f.In != InBody || f.Kind == Any || slices.Contains(except, f.Name) {
			continue
		}
		if !ok {
			panic(fmt.Sprintf("schema: %s has no property %s of %s", record, f.Name, input))
		}
		t := recordField.Type
		if t == anyJSON {
			continue
		}
		if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if _, isEnum := reflect.Zero(t).Interface().(Enum); isEnum {
			f.Enum = nil
		}
		r.fields[f.Name] = &f
	}
	return r
}

// breaksRules binds a value of a record to the inputs, and reports whether it breaks a rule of any
// of them.
func breaksRules(rules []Rules, binders []*Binder, name string, value any) (broken bool) {
	for i, r := range rules {
		if f, b := r.fields[name], binders[i]; f != nil {
			before := len(b.Problems)
			if f.record != nil {
				b.markPropertySent(f)
			}
			b.assign(f, "record."+name, f.ValueIn(b.Input), argument{json: value})
			broken = broken || len(b.Problems) > before
		}
	}
	return broken
}

// checkProblems returns the problems that the input's Check method finds. In their paths, it
// replaces the body of a request with the record.
func checkProblems(input reflect.Value) (problems []string) {
	checker, ok := input.Addr().Interface().(interface{ Check() []string })
	if !ok {
		return nil
	}
	for _, problem := range checker.Check() {
		problems = append(problems, "record."+strings.TrimPrefix(problem, string(InBody)+"."))
	}
	return problems
}

func decodeField(problems []string, f reflect.StructField, path string, target reflect.Value, value any, raw json.RawMessage, present bool) []string {
	kind := f.Type.Kind()
	if !present || value == nil {
		if kind != reflect.Pointer && kind != reflect.Slice {
			return appendProblem(problems, path, "is required")
		}
		return problems
	}
	if f.Type == reflect.TypeFor[json.RawMessage]() {
		target.SetBytes(slices.Clone(raw))
		return problems
	}
	if list, ok := value.([]any); ok && kind == reflect.Slice {
		target.Set(reflect.MakeSlice(f.Type, len(list), len(list)))
		for i, v := range list {
			if problem := decodeScalar(f, target.Index(i), v); problem != "" {
				problems = appendProblem(problems, fmt.Sprintf("%s[%d]", path, i), problem)
			}
		}
		return problems
	}
	if kind == reflect.Slice {
		return appendProblem(problems, path, "must be an array")
	}
	if kind == reflect.Pointer {
		target.Set(reflect.New(f.Type.Elem()))
		target = target.Elem()
	}
	if problem := decodeScalar(f, target, value); problem != "" {
		problems = appendProblem(problems, path, problem)
	}
	return problems
}

func decodeScalar(f reflect.StructField, target reflect.Value, value any) (problem string) {
	a := argument{json: value}
	switch target.Kind() {
	case reflect.String:
		s, ok := a.asText()
		if !ok {
			return "must be a string"
		}
		if e, ok := target.Interface().(Enum); ok && !slices.Contains(e.Values(), s) {
			return "must be one of " + strings.Join(e.Values(), ", ")
		}
		if f.Tag.Get("format") == "date-time" {
			if problem := checkTimestamp(s); problem != "" {
				return problem
			}
			s = timestamp.Normalise(s)
		}
		target.SetString(s)
	case reflect.Float64:
		n, problem, ok := a.asNumber()
		if !ok {
			return "must be a number"
		}
		if problem != "" {
			return problem
		}
		target.SetFloat(n)
	case reflect.Int64:
		n, ok := a.asInteger()
		if !ok {
			return "must be a whole number"
		}
		target.SetInt(n)
	case reflect.Bool:
		b, ok := a.asBool()
		if !ok {
			return "must be true or false"
		}
		target.SetBool(b)
	default:
		panic(fmt.Sprintf("schema: a record cannot hold a %s", target.Type()))
	}
	return ""
}
