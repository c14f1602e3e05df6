package schema

import "reflect"

// Zones is exported for tests.
const Zones = zones

// BindText binds one field to a text, and leaves the others out.
func BindText(t reflect.Type, f *Field, text string) *Binder {
	b := newBinder(t)
	b.text(f, text, true)
	return b
}

// Filters returns what a cursor is bound to.
func (b *Binder) Filters() []string { return b.filters }
