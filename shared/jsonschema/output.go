package jsonschema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/schema"
)

// Record describes a record or a list: a closed object whose fields are all required, in the order of the specification, with null
// where a field may be null. inner describes the records in it, so that a document can refer to them by name; nil writes them
// out.
func Record(t reflect.Type, inner func(reflect.Type) *Schema) *Schema {
	if inner == nil {
		inner = func(t reflect.Type) *Schema { return Record(t, nil) }
	}
	var all []property
	for _, f := range fields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		s := value(f.Type, inner)
		if f.Tag.Get("null") == "never" {
			s.Type, s.Types = s.Types[0], nil
		}
		s.Description = f.Tag.Get("doc")
		if format := f.Tag.Get("format"); format != "" {
			s.Format = format
		}
		if f.Type == anyJSON && s.Description == "" {
			s.Description = "any JSON value" // a schema without a word is spelled true, which readers stumble over
		}
		all = append(all, property{name, s, true})
	}
	return object(all)
}

// fields returns the fields of a record as encoding/json has them: those of embedded records in their place.
func fields(t reflect.Type) (out []reflect.StructField) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Anonymous:
			out = append(out, fields(f.Type)...)
		case f.Tag.Get("json") != "" && f.Tag.Get("json") != "-":
			out = append(out, f)
		case f.IsExported():
			panic(fmt.Sprintf("jsonschema: %s.%s has no name", t, f.Name))
		}
	}
	return out
}

var anyJSON = reflect.TypeFor[json.RawMessage]()

// value describes a field's value by its Go type. A pointer may be null, and so may an array of texts, which nobody may
// have set, unless it is tagged null:"never"; an array of records is always there.
func value(t reflect.Type, inner func(reflect.Type) *Schema) *Schema {
	switch {
	case t == anyJSON:
		return &Schema{}
	case t.Kind() == reflect.Pointer:
		s := value(t.Elem(), inner)
		s.Type, s.Types = "", []string{s.Type, "null"}
		if s.Enum != nil {
			s.Enum = append(s.Enum, nil)
		}
		return s
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return &Schema{Type: "array", Items: inner(t.Elem())}
	case t.Kind() == reflect.Slice:
		return &Schema{Types: []string{"array", "null"}, Items: value(t.Elem(), inner)}
	case t.Kind() == reflect.Struct:
		return inner(t)
	}
	s := &Schema{}
	switch t.Kind() {
	case reflect.String:
		s.Type = "string"
		if e, ok := reflect.Zero(t).Interface().(schema.Enum); ok {
			s.Enum = enum(slices.Clone(e.Values()))
		}
	case reflect.Float64:
		s.Type = "number"
	case reflect.Int64:
		s.Type = "integer"
	case reflect.Bool:
		s.Type = "boolean"
	default:
		panic(fmt.Sprintf("jsonschema: a record cannot hold a %s", t))
	}
	return s
}
