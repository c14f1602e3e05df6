package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/timestamp"
)

// DecodeRecord fills a record from a JSON object, as strictly as a request's body. Problems are unknown and repeated properties,
// wrong types, values outside a closed list, and invalid timestamps where the field has format:"date-time". A record may be
// partial: only fields that cannot be null are required. Timestamps are normalised. It is for imports, whose records have more
// fields than requests do.
func DecodeRecord(text []byte, record any) (problems []string) {
	o, problems := ParseObject(text, "record")
	if o == nil {
		return problems
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return []string{"record: " + err.Error()}
	}
	target := reflect.ValueOf(record).Elem()
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(target.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		known[name] = true
		value, present := o.Get(name)
		problems = decodeField(problems, f, "record."+name, target.FieldByIndex(f.Index), value, raw[name], present)
	}
	for _, m := range o {
		if !known[m.name] {
			problems = note(problems, "record."+m.name, "unknown property")
		}
	}
	return problems
}

func decodeField(problems []string, f reflect.StructField, path string, target reflect.Value, value any, raw json.RawMessage, present bool) []string {
	kind := f.Type.Kind()
	if !present || value == nil {
		if kind != reflect.Pointer && kind != reflect.Slice {
			return note(problems, path, "is required")
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
			if wrong := decodeScalar(f, target.Index(i), v); wrong != "" {
				problems = note(problems, fmt.Sprintf("%s[%d]", path, i), wrong)
			}
		}
		return problems
	}
	if kind == reflect.Slice {
		return note(problems, path, "must be an array")
	}
	if kind == reflect.Pointer {
		target.Set(reflect.New(f.Type.Elem()))
		target = target.Elem()
	}
	if wrong := decodeScalar(f, target, value); wrong != "" {
		problems = note(problems, path, wrong)
	}
	return problems
}

func decodeScalar(f reflect.StructField, target reflect.Value, value any) (wrong string) {
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
			if wrong := checkTimestamp(s); wrong != "" {
				return wrong
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
