package schema

import (
	"cmp"
	"reflect"
	"strings"
)

// Null says how a field treats null.
type Null int

// The ways in which a field can treat null. NullAbsent applies to every optional property of a
// POST, and to those optional arguments of a tool that an HTTP request has in its query or headers.
// NullClears applies to a Clearable property.
const (
	NullRefused Null = iota // null is a problem
	NullAbsent              // null has the same effect as leaving the field out
	NullClears              // null removes the stored value
)

// Clearable is a property of an update that can be cleared with null. T is the type of the stored
// field: a pointer, a slice or a map. The zero value means that the caller left the property out.
type Clearable[T any] struct {
	Sent  bool // whether the request contains the property
	Value T    // nil if the property is null or left out
}

// Apply assigns the property to the stored field if it was sent. null clears the field.
func (c Clearable[T]) Apply(field *T) {
	if c.Sent {
		*field = c.Value
	}
}

func (Clearable[T]) clearable() {}

// clearableMarker is implemented only by Clearable.
type clearableMarker interface{ clearable() }

// fieldValueType returns the type of the values in a struct field, and whether null clears them.
func fieldValueType(t reflect.Type) (value reflect.Type, isClearable bool) {
	if !t.Implements(reflect.TypeFor[clearableMarker]()) {
		return t, false
	}
	field, _ := t.FieldByName("Value")
	switch field.Type.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return field.Type, true
	}
	panic("schema: null cannot clear a " + field.Type.String())
}

// markSent marks a Clearable as sent and returns its Value, which the caller sets unless the
// argument is null.
func markSent(target reflect.Value) reflect.Value {
	target.FieldByName("Sent").SetBool(true)
	return target.FieldByName("Value")
}

// The end of the description of every property that null clears. clearText is for a body,
// toolClearText for an argument of a tool. toolClearText is shorter, because the tool's description
// already says that arguments that are left out keep their values.
const (
	clearText     = "null clears it; leave it out to keep it"
	toolClearText = "null clears it"
)

// What is added to the description of every field with the tag format:"day". dayText is for a
// request, toolDayText for an argument of a tool.
const (
	dayText     = "a day such as 2026-08-11, or an RFC 3339 time"
	toolDayText = "such as 2026-08-11"
)

// Description returns what the field means, what a day looks like, and whether null clears it.
func (f *Field) Description() string { return f.buildDescription(f.Doc, dayText, clearText) }

// ToolDescription is like Description, but for an argument of a tool. It uses fewer words, because
// models read the descriptions of all tools at once.
func (f *Field) ToolDescription() string {
	return f.buildDescription(cmp.Or(f.ToolDoc, f.Doc), toolDayText, toolClearText)
}

func (f *Field) buildDescription(doc, dayNote, clearNote string) string {
	var parts []string
	if doc != "" {
		parts = append(parts, doc)
	}
	if f.Format == "day" {
		parts = append(parts, dayNote)
	}
	if f.Null == NullClears {
		parts = append(parts, clearNote)
	}
	return strings.Join(parts, "; ")
}

// AcceptNull gives null the same effect as leaving a property out, for every optional property
// except those with the tag null:"never". It is for create operations, because there is no stored
// value that null could clear.
func AcceptNull(fields []Field) {
	for i := range fields {
		f := &fields[i]
		if f.In == InBody && !f.Required && !f.rejectsNull && f.Null == NullRefused {
			f.Null = NullAbsent
		}
		AcceptNull(f.Fields)
	}
}
