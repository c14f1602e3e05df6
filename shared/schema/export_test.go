package schema

import "reflect"

// Zones is exported for tests.
const Zones = zones

// BindText binds one field to a string, and leaves out all other fields.
func BindText(t reflect.Type, f *Field, text string) *Binder {
	b := newBinder(t)
	b.text(f, text, true)
	return b
}

// Filters returns the values that a cursor is bound to.
func (b *Binder) Filters() []string { return b.filters }
