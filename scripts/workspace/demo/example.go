package demo

import (
	"fmt"
	"strings"

	"growthworkspace/shared/schema"
	"growthworkspace/shared/schema/jsonschema"
	"growthworkspace/shared/transfer"
)

// Example returns an example record of a type, without an id. Its name ends with a number derived
// from n, and every other field that does not refer to another record has an example value.
func Example(kind transfer.Type, n int) Record {
	out, properties := Record{}, jsonschema.Record(kind.Record, nil).Properties
	for _, f := range schema.CreateFields(kind.Record) { // an import follows the rules of a create
		properties[f.Name] = jsonschema.Parameter(f, nil)
	}
	for name, s := range properties {
		switch {
		case name == "id" || strings.HasSuffix(name, "Id"):
		case name == "name":
			out[name] = fmt.Sprintf("%s %d", strings.ToUpper(kind.Name[:1])+strings.ReplaceAll(kind.Name[1:], "-", " "), n+1)
		case strings.HasSuffix(name, "Url"): // an import checks addresses
			out[name] = fmt.Sprintf("https://example.com/%d", n+1)
		default:
			out[name] = jsonschema.Example(s)
		}
	}
	return out
}

// examplesPerType is the number of example records for a type that has no other records in the demo
// company.
const examplesPerType = 3

// addExamples adds examples for the types that have no records yet, so that none of the demo
// company's lists is empty.
func (g *generator) addExamples(types []transfer.Type) {
	for _, kind := range types {
		if g.count[kind.Name] > 0 {
			continue
		}
		for n := range examplesPerType {
			g.add(kind.Name, withTimes(Example(kind, n), g.timeAgo(float64(30-n)), g.timeAgo(10)))
		}
	}
}
