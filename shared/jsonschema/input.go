// Package jsonschema describes the inputs and outputs of operations as JSON Schema 2020-12. The OpenAPI document and the tools are
// both made from it, so that the two cannot differ. Arguments is for tools; Parameter, Body and Record, which can refer to named
// schemas, are for the document. It is apart from package schema, so that a function that only reads requests links no schema
// library.
package jsonschema

import (
	"encoding/json"
	"slices"
	"strconv"

	google "github.com/google/jsonschema-go/jsonschema"

	"growthworkspace/shared/schema"
)

// Schema is a JSON Schema.
type Schema = google.Schema

// companyID is the argument that a tool may leave out, because a key has one company.
const companyID = "companyId"

// Arguments describes a tool's arguments: one closed object of what HTTP has in the path, the query, the headers and the body.
// company adds the company's id, which may be left out.
func Arguments(fields []schema.Field, company bool) *Schema {
	var all []property
	if company {
		all = append(all, property{name: companyID, schema: &Schema{
			Type: "string", Description: "may be left out: the key's own company, no other can be reached",
		}})
	}
	for _, f := range fields {
		all = append(all, property{f.Argument(), Parameter(f), f.Required})
	}
	return object(all)
}

// Body describes the body of a request with these fields; nil when none of them is in the body.
func Body(fields []schema.Field) *Schema {
	body := slices.DeleteFunc(slices.Clone(fields), func(f schema.Field) bool { return f.In != schema.InBody })
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
