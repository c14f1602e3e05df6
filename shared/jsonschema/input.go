// Package jsonschema spells what operations take and answer as JSON Schema 2020-12. The OpenAPI document and the tools
// are both made from it, so that the two faces of an operation cannot differ. Input and Output are for tools; Parameter,
// Body and Record, which can refer to named schemas, for the document.
package jsonschema

import (
	"encoding/json"
	"slices"
	"strconv"

	google "github.com/google/jsonschema-go/jsonschema"

	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
)

// Schema is a JSON Schema.
type Schema = google.Schema

// companyID is the argument that a tool may leave out, because a key has one company (decisions.md §13).
const companyID = "companyId"

// Input describes a tool's arguments: one closed object of all that is in the path, the query, the headers and the body.
func Input(op api.Operation) *Schema {
	var all []property
	if op.Company() {
		all = append(all, property{name: companyID, schema: &Schema{
			Type: "string", Description: "may be left out: the key's own company, no other can be reached",
		}})
	}
	for _, f := range op.Input {
		all = append(all, property{f.Argument(), Parameter(f), f.Required})
	}
	return object(all)
}

// Body describes the body of a request; nil for an operation that takes none.
func Body(op api.Operation) *Schema {
	body := slices.DeleteFunc(slices.Clone(op.Input), func(f schema.Field) bool { return f.In != schema.InBody })
	if len(body) == 0 {
		return nil
	}
	return object(properties(body))
}

// Parameter describes one argument.
//
// A day is published with the format date, although a full timestamp is taken too: what a caller should send is the
// day, and a choice of two formats makes generated clients clumsy.
func Parameter(f schema.Field) *Schema {
	s := &Schema{Type: string(f.Kind), Description: f.Doc, Default: defaultOf(f)}
	switch f.Kind {
	case schema.String:
		s.Enum, s.Pattern, s.Format = enum(f.Enum), f.Expression(), f.Format
		if f.Format == "day" {
			s.Format = "date"
		}
		s.MinLength, s.MaxLength = count(f.Min), count(f.Max)
	case schema.Integer, schema.Number:
		s.Minimum, s.Maximum = f.Min, f.Max
	case schema.Array:
		s.MinItems, s.MaxItems = count(f.Min), positive(f.Items)
		s.Items = &Schema{Type: "string", Enum: enum(f.Enum), MaxLength: positive(f.Each)}
		if f.Fields != nil {
			s.Items = object(properties(f.Fields))
		}
	case schema.Map:
		s.MaxProperties = positive(f.Items)
		s.AdditionalProperties = &Schema{Type: "string", MaxLength: positive(f.Each)}
		if f.Each > 0 {
			s.PropertyNames = &Schema{MaxLength: positive(f.Each)}
		}
	}
	return s
}

type property struct {
	name     string
	schema   *Schema
	required bool
}

func properties(fields []schema.Field) []property {
	out := make([]property, len(fields))
	for i, f := range fields {
		out[i] = property{f.Name, Parameter(f), f.Required}
	}
	return out
}

// object is a closed object with its properties in order.
func object(all []property) *Schema {
	s := &Schema{
		Type: "object", Properties: make(map[string]*Schema, len(all)),
		AdditionalProperties: &Schema{Not: &Schema{}}, // marshals as false
	}
	for _, p := range all {
		s.Properties[p.name] = p.schema
		s.PropertyOrder = append(s.PropertyOrder, p.name)
		if p.required {
			s.Required = append(s.Required, p.name)
		}
	}
	return s
}

// defaultOf spells a default, which a tag holds as text, in its JSON type.
func defaultOf(f schema.Field) json.RawMessage {
	switch {
	case f.Default == "":
		return nil
	case f.Kind == schema.String:
		return json.RawMessage(strconv.Quote(f.Default))
	}
	return json.RawMessage(f.Default)
}

func enum(values []string) []any {
	var out []any
	for _, v := range values {
		out = append(out, v)
	}
	return out
}

func count(bound *float64) *int {
	if bound == nil {
		return nil
	}
	n := int(*bound)
	return &n
}

func positive(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}
