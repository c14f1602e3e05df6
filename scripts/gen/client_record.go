package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/scripts/gen/openapi"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// recordDeclarations returns Go declarations of the records that the operations of an area return,
// except those that an earlier area has declared.
func (m *clientModel) recordDeclarations(operations []api.Operation) string {
	var body, enums strings.Builder
	before := len(m.enumOrder)
	m.inputTypes, m.maps = map[string][]string{}, map[string]bool{}
	for _, op := range operations {
		m.addEnums(recordOf(op))
		m.addInputTypes(op.Input)
	}
	for _, op := range operations {
		m.declareRecord(&body, recordOf(op))
	}
	for _, name := range m.enumOrder[before:] {
		m.declareEnum(&enums, name)
	}
	text := body.String() + enums.String()
	return importsOf(text) + text
}

// addInputTypes collects the input fields that determine the type of a record's field with the same
// name.
func (m *clientModel) addInputTypes(fields []schema.Field) {
	for _, f := range fields {
		if f.Kind == schema.Array && f.Enum != nil {
			m.inputTypes[f.Name] = f.Enum
		}
		if f.Kind == schema.Map {
			m.maps[f.Name] = true
		}
		m.addInputTypes(f.Fields)
	}
}

// listElement returns the type of the records in a list.
func listElement(list reflect.Type) reflect.Type { return list.Field(0).Type.Elem() }

// recordOf returns the type of the record, or of each record in the list, that an operation
// returns.
func recordOf(op api.Operation) reflect.Type {
	if op.IsList() {
		return listElement(op.Output)
	}
	return op.Output
}

// addEnums registers the closed lists of values that a record uses.
func (m *clientModel) addEnums(t reflect.Type) {
	for _, f := range jsonFields(t) {
		element := f.Type
		for element.Kind() == reflect.Pointer || element.Kind() == reflect.Slice {
			element = element.Elem()
		}
		if element.Kind() == reflect.Struct {
			m.addEnums(element)
		} else if _, ok := reflect.Zero(element).Interface().(schema.Enum); ok {
			m.registerEnum(element)
		}
	}
}

// enumWithValues returns the name of the enum type with these values, or "" if there is none.
func (m *clientModel) enumWithValues(values []string) string {
	for _, known := range m.enumOrder {
		if slices.Equal(reflect.Zero(m.enums[known]).Interface().(schema.Enum).Values(), values) {
			return known
		}
	}
	return ""
}

// declareRecord writes the declaration of a record type to out, after those of the types of its
// fields.
func (m *clientModel) declareRecord(out *strings.Builder, t reflect.Type) {
	if known, ok := m.records[t.Name()]; ok {
		if known != t {
			m.fail("%s and %s are both called %s", known, t, t.Name())
		}
		return
	}
	m.records[t.Name()] = t
	var body strings.Builder
	for _, f := range jsonFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind, tag, doc := m.fieldType(out, f), name, f.Tag.Get("doc")
		if isNullable(f) {
			kind, tag = optionalType(kind), name+",omitzero"
		}
		if doc != "" {
			doc = " // " + doc
		}
		fmt.Fprintf(&body, "%s %s `json:%q`%s\n", f.Name, kind, tag, doc)
	}
	fmt.Fprintf(out, "// %s is a record in a response. A field that may be null is an Optional.\ntype %s struct {\n%s}\n\n", t.Name(), t.Name(), body.String())
}

// jsonFields returns the fields of a record that encoding/json encodes.
func jsonFields(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		return f.Anonymous || !f.IsExported() || f.Tag.Get("json") == "" || f.Tag.Get("json") == "-"
	})
}

// isNullable reports whether a field of a record may be null. A list of records is never null.
func isNullable(f reflect.StructField) bool {
	switch f.Type.Kind() {
	case reflect.Pointer:
		return true
	case reflect.Slice:
		return f.Type.Elem().Kind() != reflect.Struct && f.Tag.Get("null") != "never"
	}
	return false
}

// fieldType returns the Go type of a record's field.
func (m *clientModel) fieldType(out *strings.Builder, f reflect.StructField) string {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if f.Tag.Get("format") == "date-time" {
		return "time.Time"
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	// An input may limit the values in a list of strings to an enum, even though the record does
	// not. The record's field still gets the type of the input's field, so that a value from a
	// record can be sent.
	if enum := m.enumWithValues(m.inputTypes[name]); enum != "" && isStringSlice(t) {
		return "[]" + enum
	}
	if m.maps[name] && t.String() == "json.RawMessage" {
		return goName(name)
	}
	return m.recordType(out, t)
}

// isStringSlice reports whether a type is a slice of strings that may have any value.
func isStringSlice(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String && !t.Elem().Implements(reflect.TypeFor[schema.Enum]())
}

func (m *clientModel) recordType(out *strings.Builder, t reflect.Type) string {
	switch {
	case t.String() == "json.RawMessage":
		return "json.RawMessage"
	case t.Kind() == reflect.Slice:
		return "[]" + m.recordType(out, t.Elem())
	case t.Kind() == reflect.Struct:
		m.declareRecord(out, t)
		return t.Name()
	case t.Kind() == reflect.String && reflect.Zero(t).CanInterface():
		if _, ok := reflect.Zero(t).Interface().(schema.Enum); ok {
			return m.registerEnum(t)
		}
	}
	if t.Kind() == reflect.Int64 {
		return "int" // input fields have this type, because the constant in Value(3) is an int
	}
	return t.Kind().String()
}

// registerEnum registers an enum type and returns its name in the client.
func (m *clientModel) registerEnum(t reflect.Type) string {
	name := openapi.EnumName(t)
	known, ok := m.enums[name]
	switch {
	case !ok:
		m.enums[name] = t
		m.enumOrder = append(m.enumOrder, name)
	case known != t:
		m.fail("%s and %s are both called %s", known, t, name)
	}
	return name
}

// declareEnum writes the declaration of an enum type and its values to out.
func (m *clientModel) declareEnum(out *strings.Builder, name string) {
	fmt.Fprintf(out, "// %s is one of the values below. A later version of the service may add values.\ntype %s string\n\nconst (\n", name, name)
	for _, value := range reflect.Zero(m.enums[name]).Interface().(schema.Enum).Values() {
		fmt.Fprintf(out, "%s%s %s = %q\n", name, goName(value), name, value)
	}
	out.WriteString(")\n\n")
}
