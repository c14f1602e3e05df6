package schema

import "reflect"

// Zones is exported for tests.
const Zones = zones

// BindText binds one field to a string. All other fields are left out.
func BindText(t reflect.Type, f *Field, text string) *Binder {
	b := newBinder(t)
	b.bindText(f, text, true)
	return b
}

// Filters returns the values to which a cursor is bound.
func (b *Binder) Filters() []string { return b.filters }
