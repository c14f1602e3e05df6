package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/api"
)

// record is a record that operations answer with.
type record struct {
	Name        string
	Description template.HTML
	Fields      []field
	Example     template.HTML
	UsedBy      []operationName
}

type operationName struct{ ID, Name string }

// records are those that operations answer with, and those inside of them, in the order of their first use.
func (d document) records(operations []api.Operation, examples map[string]json.RawMessage) (out []record) {
	for _, op := range operations {
		t := op.Output
		if op.IsList() {
			t = op.Output.Field(0).Type.Elem()
		}
		for _, t := range append([]reflect.Type{t}, inside(t)...) {
			at := slices.IndexFunc(out, func(r record) bool { return r.Name == t.Name() })
			if at < 0 {
				at = len(out)
				out = append(out, d.record(t.Name(), examples))
			}
			out[at].UsedBy = append(out[at].UsedBy, operationName{op.ID, humanised(op.ID)})
		}
	}
	return out
}

// inside are the records in the lists of a record.
func inside(t reflect.Type) (out []reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i).Type
		if f.Kind() == reflect.Slice && f.Elem().Kind() == reflect.Struct && !slices.Contains(out, f.Elem()) {
			out = append(out, f.Elem())
		}
	}
	return out
}

func (d document) record(name string, examples map[string]json.RawMessage) record {
	schema := d.Components.Schemas[name]
	out := record{Name: name, Description: prose(schema.Description)}
	if example := examples[name]; example != nil {
		out.Example = highlighted(languageJSON, indented(example))
	}
	for _, property := range schema.Required { // which is all of them, in their order
		p := schema.Properties[property]
		f := field{Name: property, Kind: p.kind(), Doc: prose(p.Description)}
		for _, v := range p.Enum {
			if v != nil {
				f.Enum = append(f.Enum, fmt.Sprint(v))
			}
		}
		if format := formatNames[p.Format]; format != "" {
			f.Limits = []string{format}
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}

// kind is the type of a value in words.
func (o object) kind() string {
	var names []string
	switch t := o.Type.(type) {
	case string:
		names = []string{t}
	case []any:
		for _, name := range t {
			names = append(names, fmt.Sprint(name))
		}
	}
	for i, name := range names {
		if name == "array" && o.Items != nil {
			if inner := strings.TrimPrefix(o.Items.Ref, "#/components/schemas/"); inner != "" {
				names[i] = "array of " + inner
			} else {
				names[i] = "array of " + o.Items.kind() + "s"
			}
		}
	}
	return cmp.Or(strings.Join(names, " or "), "any JSON value")
}
