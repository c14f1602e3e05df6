package schema

import (
	"reflect"
	"strings"
)

// Zones returns the names in zones.
func Zones() []string {
	_, names, _ := strings.Cut(zones, "\n")
	return strings.Fields(names)
}

// BindText binds one field to a string. All other fields are left out.
func BindText(t reflect.Type, f *Field, text string) *Binder {
	b := newBinder(t)
	b.bindText(f, text, true)
	return b
}

// Filters returns the values to which a cursor is bound.
func (b *Binder) Filters() []string { return b.filters }
