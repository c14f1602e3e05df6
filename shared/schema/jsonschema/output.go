package jsonschema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/schema"
)

// Record returns the schema for a record or a list: a closed object whose fields are all required,
// in the order of the struct.
func Record(t reflect.Type, refer RefFunc) *Schema {
	var all []property
	for _, f := range jsonFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		s := typeSchema(f.Type, refer)
		if f.Tag.Get("null") == "never" {
			s.Type, s.Types = s.Types[0], nil
		}
		s.Description = f.Tag.Get("doc")
		if f.Tag.Get("format") == "date-time" { // the other formats apply only to requests
			s.Format = "date-time"
		}
		if f.Type == anyJSON && s.Description == "" {
			s.Description = "any JSON value" // without a description, the empty schema would be encoded as true, which some readers do not support
		}
		all = append(all, property{name, s, true})
	}
	return closedObject(all)
}

// jsonFields returns the fields of a record that encoding/json encodes, including the fields of
// embedded records.
func jsonFields(t reflect.Type) (out []reflect.StructField) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Anonymous:
			out = append(out, jsonFields(f.Type)...)
		case f.Tag.Get("json") != "" && f.Tag.Get("json") != "-":
			out = append(out, f)
		case f.IsExported() && f.Tag.Get("json") == "":
			panic(fmt.Sprintf("jsonschema: %s.%s has no name", t, f.Name))
		}
	}
	return out
}

var anyJSON = reflect.TypeFor[json.RawMessage]()

// typeSchema returns the schema for a Go type. A pointer may be null. So may an array of strings,
// except that Record changes this for fields with the tag null:"never". An array of records is
// never null.
func typeSchema(t reflect.Type, refer RefFunc) *Schema {
	switch {
	case t == anyJSON:
		return &Schema{}
	case t.Kind() == reflect.Pointer:
		s := typeSchema(t.Elem(), refer)
		makeNullable(s)
		return s
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return &Schema{Type: "array", Items: nestedSchema(t.Elem(), refer)}
	case t.Kind() == reflect.Slice:
		return &Schema{Types: []string{"array", "null"}, Items: typeSchema(t.Elem(), refer)}
	case t.Kind() == reflect.Struct:
		return nestedSchema(t, refer)
	}
	s := &Schema{}
	switch t.Kind() {
	case reflect.String:
		s.Type = "string"
		if e, ok := reflect.Zero(t).Interface().(schema.Enum); ok {
			if refer != nil {
				return refer(t)
			}
			s.Enum = enum(slices.Clone(e.Values()))
		}
	case reflect.Float64:
		s.Type = "number"
	case reflect.Int64:
		s.Type = "integer"
	case reflect.Bool:
		s.Type = "boolean"
	default:
		panic(fmt.Sprintf("jsonschema: a record cannot contain a %s", t))
	}
	return s
}

func nestedSchema(t reflect.Type, refer RefFunc) *Schema {
	if refer != nil {
		return refer(t)
	}
	return Record(t, nil)
}
