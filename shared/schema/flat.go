package schema

import (
	"slices"
	"strings"
)

// Argument returns the name of the field in the arguments of a tool, which are one flat object. The header If-Match becomes
// ifMatch; other names stay as they are.
func (f Field) Argument() string {
	if f.In != InHeader {
		return f.Name
	}
	words := strings.Split(f.Name, "-")
	words[0] = strings.ToLower(words[0])
	return strings.Join(words, "")
}

// Flat binds all fields to one flat object, as tools send it, and adds a problem for every argument without a field. Names in
// also are allowed and ignored.
func (b *Binder) Flat(fields []Field, from Object, also ...string) {
	for i := range fields {
		f := &fields[i]
		value, present := from.Get(f.Argument())
		text, isText := value.(string)
		switch {
		case f.In == InPath && isText:
			b.Text(f, text, true)
		case f.In == InPath && present:
			b.Problem("path."+f.Name, "must be a string")
		default:
			b.set(f, argument{json: value}, present)
		}
	}
	for _, m := range from {
		known := func(f Field) bool { return f.Argument() == m.name }
		if !slices.ContainsFunc(fields, known) && !slices.Contains(also, m.name) {
			b.Problem("arguments."+m.name, "unknown argument")
		}
	}
}
