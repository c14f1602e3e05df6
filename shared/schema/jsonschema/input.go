// Package jsonschema describes the inputs and outputs of operations as JSON Schema 2020-12. The
// OpenAPI document and the tools both use it, so they always agree. The function Arguments is for
// the tools; the functions Parameter, Body and Record are for the document. The package is separate
// from package schema, so that a Lambda function that only reads requests does not link the JSON
// Schema library.
package jsonschema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	google "github.com/google/jsonschema-go/jsonschema"

	"growthworkspace/shared/schema"
)

// Schema is a JSON Schema.
type Schema = google.Schema

// companyArgument is the name of the optional argument that selects the company.
const companyArgument = "companyId"

// Arguments returns the schema for a tool's arguments: one object with everything that an HTTP
// request contains in its path, query, headers and body. If withCompanyID is true, the object also
// has the optional argument companyId.
//
// A model reads the schemas of all tools at once, so they contain less than the document's schemas
// (see removeUnusedLimits). They also do not forbid unknown arguments: the service's error for an
// unknown argument suggests the one that was meant, which a client that validated the arguments
// could not do.
func Arguments(fields []schema.Field, withCompanyID bool) *Schema {
	var all []property
	if withCompanyID {
		all = append(all, property{name: companyArgument, schema: &Schema{Type: "string", Description: "leave out"}})
	}
	return openObject(append(all, argumentProperties(fields)...))
}

func argumentProperties(fields []schema.Field) []property {
	out := make([]property, len(fields))
	for i, f := range fields {
		s := valueSchema(f, nil)
		s.Description = f.ToolDescription()
		if f.Fields != nil {
			s.Items = openObject(argumentProperties(f.Fields))
		}
		if f.Null == schema.NullClears {
			makeNullable(s)
		}
		removeUnusedLimits(s, f)
		out[i] = property{f.ArgumentName(), s, f.Required}
	}
	return out
}

// longTextMin is the length that a model does not exceed by accident. removeUnusedLimits removes
// length limits that are at least as large.
const longTextMin = 100

// removeUnusedLimits removes from an argument's schema what makes no difference to a caller:
//   - the requirement that a string is not empty, or that a page has at least one record
//   - the limits of long strings and of lists of strings
//   - the limits of an integer that only reflect the precision of JSON numbers
//   - regular expressions, because the descriptions explain the formats
//
// The pipeline checks all of these. The schema also does not mention null where it means the same
// as leaving the argument out, because several clients cannot read a schema with two types.
func removeUnusedLimits(s *Schema, f schema.Field) {
	s.MinLength, s.Pattern = nil, ""
	if s.Format == "uri" {
		s.Format = "" // the description says which addresses are valid, and not every client knows the format
	}
	if s.MaxLength != nil && *s.MaxLength >= longTextMin || strings.HasSuffix(f.Name, "Id") || f.In == schema.InHeader {
		s.MaxLength = nil
	}
	if f.Kind == schema.Array && f.Fields == nil {
		s.Items.MaxLength, s.Items.Pattern, s.MaxItems = nil, "", nil
	}
	if f.Kind == schema.Map {
		s.AdditionalProperties, s.PropertyNames = &Schema{Type: "string"}, nil
	}
	if s.Minimum != nil && (*s.Minimum == -schema.SafeIntegerMax || f.In == schema.InQuery) {
		s.Minimum = nil
	}
	if s.Maximum != nil && *s.Maximum == schema.SafeIntegerMax {
		s.Maximum = nil
	}
}

// RefFunc returns a reference to the schema component of a named type, which is a record or an
// enum. If a RefFunc is nil, the schema contains the named types in full.
type RefFunc func(t reflect.Type) *Schema

// Body returns the schema for the body of a request with the given fields, or nil if none of them
// is in the body.
func Body(fields []schema.Field, refer RefFunc) *Schema {
	body := slices.DeleteFunc(slices.Clone(fields), func(f schema.Field) bool { return f.In != schema.InBody })
	if len(body) == 0 {
		return nil
	}
	return closedObject(properties(body, refer))
}

// Parameter returns the schema for one argument of an HTTP request. Only an argument in the body
// can be null. The default of a nullable enum is given in the description: with the "default"
// keyword, the Go client from OpenAPI Generator would not compile.
func Parameter(f schema.Field, refer RefFunc) *Schema {
	s := valueSchema(f, refer)
	if f.In == schema.InBody && f.Null != schema.NullRefused {
		makeNullable(s)
		if f.Enum != nil && s.Default != nil {
			s.Description += "; default " + strings.Trim(string(s.Default), `"`)
			s.Default = nil
		}
	}
	return s
}

// makeNullable changes a schema to also accept null.
func makeNullable(s *Schema) {
	if s.Ref != "" {
		s.AnyOf, s.Ref = []*Schema{{Ref: s.Ref}, {Type: "null"}}, ""
		return
	}
	if s.Type == "" { // the schema accepts any JSON, including null
		return
	}
	s.Type, s.Types = "", []string{s.Type, "null"}
	if s.Enum != nil {
		s.Enum = append(s.Enum, nil)
	}
}

// valueSchema returns the schema for an argument's values other than null.
func valueSchema(f schema.Field, refer RefFunc) *Schema {
	if f.Kind == schema.String && f.Enum != nil && refer != nil {
		return &Schema{Ref: refer(f.Type).Ref, Description: f.Description(), Default: defaultOf(f)}
	}
	s := &Schema{Type: string(f.Kind), Description: f.Description(), Default: defaultOf(f)}
	if f.Kind == schema.Any {
		s.Type = ""
	}
	switch f.Kind {
	case schema.String:
		s.Enum, s.Pattern, s.Format = enum(f.Enum), f.Expression(), f.JSONFormat()
		s.MinLength, s.MaxLength = intOrNil(f.Min), intOrNil(f.Max)
	case schema.Integer, schema.Number:
		s.Minimum, s.Maximum = f.Min, f.Max
	case schema.Array:
		s.MinItems, s.MaxItems = intOrNil(f.Min), positiveOrNil(f.ItemsMax)
		s.Items = &Schema{Type: "string", Enum: enum(f.Enum), MaxLength: positiveOrNil(f.ItemCharsMax), Pattern: f.Expression(), Format: f.JSONFormat()}
		switch {
		case refer != nil && (f.Enum != nil || f.Fields != nil):
			s.Items = refer(f.Type)
		case f.Fields != nil:
			s.Items = closedObject(properties(f.Fields, nil))
		}
	case schema.Map:
		s.MaxProperties = positiveOrNil(f.ItemsMax)
		s.AdditionalProperties = &Schema{Type: "string", MaxLength: positiveOrNil(f.ItemCharsMax)}
		if f.ItemCharsMax > 0 {
			s.PropertyNames = &Schema{MaxLength: positiveOrNil(f.ItemCharsMax)}
		}
	}
	return s
}

type property struct {
	name     string
	schema   *Schema
	required bool
}

func properties(fields []schema.Field, refer RefFunc) []property {
	out := make([]property, len(fields))
	for i, f := range fields {
		out[i] = property{f.Name, Parameter(f, refer), f.Required}
	}
	return out
}

// closedObject returns the schema for an object with these properties, in order, and no others.
func closedObject(all []property) *Schema {
	s := openObject(all)
	s.AdditionalProperties = &Schema{Not: &Schema{}} // marshals as false
	return s
}

// openObject is like closedObject, but allows other properties.
func openObject(all []property) *Schema {
	s := &Schema{Type: "object", Properties: make(map[string]*Schema, len(all))}
	for _, p := range all {
		s.Properties[p.name] = p.schema
		s.PropertyOrder = append(s.PropertyOrder, p.name)
		if p.required {
			s.Required = append(s.Required, p.name)
		}
	}
	return s
}

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

func intOrNil(bound *float64) *int {
	if bound == nil {
		return nil
	}
	n := int(*bound)
	return &n
}

func positiveOrNil(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}
