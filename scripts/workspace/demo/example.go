package demo

import (
	"fmt"
	"strings"

	"growthworkspace/shared/jsonschema"
	"growthworkspace/shared/transfer"
)

// Example returns a made-up record of a type, without an id: its n-th name, an example in every other field, and nothing
// that names another record.
func Example(kind transfer.Type, n int) Record {
	out := Record{}
	for name, s := range jsonschema.Record(kind.Record, nil).Properties {
		switch {
		case name == "id" || strings.HasSuffix(name, "Id"):
		case name == "name":
			out[name] = fmt.Sprintf("%s %d", strings.ToUpper(kind.Name[:1])+strings.ReplaceAll(kind.Name[1:], "-", " "), n+1)
		default:
			out[name] = jsonschema.Example(s)
		}
	}
	return out
}

// examples is how many records a type gets that is not part of the story yet.
const examples = 3

// others adds examples of the types that have no record, so that every list has something to show.
func (g *generator) others(types []transfer.Type) {
	for _, kind := range types {
		if g.count[kind.Name] > 0 {
			continue
		}
		for n := range examples {
			g.add(kind.Name, stamped(Example(kind, n), g.ago(float64(30-n)), g.ago(10)))
		}
	}
}
