package demo

import (
	"fmt"
	"strings"

	"growthworkspace/shared/schema"
	"growthworkspace/shared/schema/jsonschema"
	"growthworkspace/shared/transfer"
)

// Example returns an example record of a type. The record has no id and refers to no other records.
// Its name ends with a number derived from n, so that names differ. Every other field has an
// example value.
func Example(kind transfer.Type, n int) Record {
	out, properties := Record{}, jsonschema.Record(kind.Record, nil).Properties
	for _, f := range schema.CreateFields(kind.Record) { // an import accepts the fields of a create request
		properties[f.Name] = jsonschema.Parameter(f, nil)
	}
	for name, s := range properties {
		switch {
		case name == "id" || strings.HasSuffix(name, "Id"):
		case name == "name":
			out[name] = fmt.Sprintf("%s %d", strings.ToUpper(kind.Name[:1])+strings.ReplaceAll(kind.Name[1:], "-", " "), n+1)
		case strings.HasSuffix(name, "Url"): // an import requires valid URLs
			out[name] = fmt.Sprintf("https://example.com/%d", n+1)
		default:
			out[name] = jsonschema.Example(s)
		}
	}
	return out
}

// examplesPerType is the number of example records for each type that the demo company would
// otherwise lack.
const examplesPerType = 3

// addExamples adds example records of the types that have no records yet, so that no list of the
// demo company is empty.
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
