package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// recordsOf declares the records that the operations of an area return, except those of earlier areas.
func (m *clientModel) recordsOf(area string, operations []api.Operation) string {
	var body, lists strings.Builder
	before := len(m.order)
	for _, op := range operations {
		t := op.Output
		if op.IsList() {
			t = itemOf(t)
		}
		m.record(&body, area, t)
	}
	for _, name := range m.order[before:] {
		m.list(&lists, name)
	}
	text := body.String() + lists.String()
	if strings.Contains(text, "json.RawMessage") {
		text = "import \"encoding/json\"\n\n" + text
	}
	return text
}

// itemOf returns the record type of a list.
func itemOf(list reflect.Type) reflect.Type { return list.Field(0).Type.Elem() }

// record declares a record type, after the types of its fields.
func (m *clientModel) record(out *strings.Builder, area string, t reflect.Type) {
	if known, ok := m.records[t.Name()]; ok {
		if known != t {
			m.fail("%s and %s are both called %s", known, t, t.Name())
		}
		return
	}
	m.records[t.Name()] = t
	var body strings.Builder
	for _, f := range visible(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind, doc := m.recordType(out, area, f.Type), f.Tag.Get("doc")
		if doc != "" {
			doc = " // " + doc
		}
		fmt.Fprintf(&body, "%s %s `json:%q`%s\n", f.Name, kind, name, doc)
	}
	fmt.Fprintf(out, "// %s is a record in a response. A field that may be null is a pointer or a slice.\ntype %s struct {\n%s}\n\n", t.Name(), t.Name(), body.String())
}

// visible returns the fields of a record that encoding/json encodes.
func visible(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		return f.Anonymous || !f.IsExported() || f.Tag.Get("json") == "" || f.Tag.Get("json") == "-"
	})
}

func (m *clientModel) recordType(out *strings.Builder, area string, t reflect.Type) string {
	switch {
	case t.String() == "json.RawMessage":
		return "json.RawMessage"
	case t.Kind() == reflect.Pointer:
		return "*" + m.recordType(out, area, t.Elem())
	case t.Kind() == reflect.Slice:
		return "[]" + m.recordType(out, area, t.Elem())
	case t.Kind() == reflect.Struct:
		m.record(out, area, t)
		return t.Name()
	case t.Kind() == reflect.String && reflect.Zero(t).CanInterface():
		if _, ok := reflect.Zero(t).Interface().(schema.Enum); ok {
			return m.closedList(area, t)
		}
	}
	return t.Kind().String()
}

// closedList returns the name of a closed list of values. It starts with the area's name, because several areas have a
// Status.
func (m *clientModel) closedList(area string, t reflect.Type) string {
	name := t.Name()
	if strings.Contains(t.PkgPath(), "/functions/") {
		name = goName(area) + name
	}
	known, ok := m.lists[name]
	switch {
	case !ok:
		m.lists[name] = t
		m.order = append(m.order, name)
	case known != t:
		m.fail("%s and %s are both called %s", known, t, name)
	}
	return name
}

// list declares a closed list.
func (m *clientModel) list(out *strings.Builder, name string) {
	fmt.Fprintf(out, "// %s is one of the values below. A later version of the service may add values.\ntype %s string\n\nconst (\n", name, name)
	for _, value := range reflect.Zero(m.lists[name]).Interface().(schema.Enum).Values() {
		fmt.Fprintf(out, "%s%s %s = %q\n", name, goName(value), name, value)
	}
	out.WriteString(")\n\n")
}
