package openapi

import (
	"encoding/json"
	"reflect"
	"slices"

	"growthworkspace/shared/api"
	"growthworkspace/shared/jsonschema"
	"growthworkspace/shared/schema"
)

// exampleCompany is the company's id in all examples.
const exampleCompany = "co_01k2c5v0q8e9t3m7x4r6n1b2wz"

// responseExample returns an example of an operation's response. A list has one record.
func (b *builder) responseExample(op api.Operation) json.RawMessage {
	if !op.IsList() {
		return b.recordExample(op.Output)
	}
	return b.marshal(ordered[[]json.RawMessage]{{"items", []json.RawMessage{b.recordExample(op.Output.Field(0).Type.Elem())}}})
}

// recordExample returns the example of the source, in the order of the fields, with null for missing properties. Without an
// example in the source, the values are made up.
func (b *builder) recordExample(t reflect.Type) json.RawMessage {
	s := jsonschema.Record(t, nil)
	given := b.object(b.source.Records[t.Name()].Example, "records."+t.Name(), s)
	var out ordered[json.RawMessage]
	for _, name := range s.PropertyOrder {
		value, ok := given[name]
		switch {
		case ok:
		case given != nil && (slices.Contains(s.Properties[name].Types, "null") || s.Properties[name].Type == ""):
			value = json.RawMessage("null")
		default:
			value = b.marshal(madeUp(s.Properties[name]))
		}
		out.set(name, value)
	}
	return b.marshal(out)
}

// bodyExample returns the example of the source. Without one, it takes the body's properties from the example of the record
// in the response.
func (b *builder) bodyExample(op api.Operation, body *jsonschema.Schema) json.RawMessage {
	path := "bodies." + op.ID
	b.used[path] = true
	given, ok := b.source.Bodies[op.ID]
	if !ok {
		given = b.recordExample(op.Output)
		path = ""
	}
	values := b.object(given, path, body)
	var out ordered[json.RawMessage]
	for _, name := range body.PropertyOrder {
		value := values[name]
		if len(value) == 0 || string(value) == "null" {
			if !slices.Contains(body.Required, name) {
				continue
			}
			value = b.marshal(madeUp(body.Properties[name]))
		}
		out.set(name, value)
	}
	return b.marshal(out)
}

// object decodes an example, or returns nil when there is none. It reports properties that s does not have, unless path is
// empty.
func (b *builder) object(text json.RawMessage, path string, s *jsonschema.Schema) (out map[string]json.RawMessage) {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &out); err != nil {
		b.problem("%s: %w", path, err)
	}
	for name := range out {
		if path != "" && s.Properties[name] == nil {
			b.problem("%s has the unknown property %s", path, name)
		}
	}
	return out
}

// madeUp returns a value that is valid for a schema.
func madeUp(s *jsonschema.Schema) any {
	kind := s.Type
	if kind == "" && len(s.Types) > 0 {
		kind = s.Types[0]
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case kind == "array":
		return []any{madeUp(s.Items)}
	case kind == "object":
		var out ordered[any]
		for _, name := range s.PropertyOrder {
			out.set(name, madeUp(s.Properties[name]))
		}
		return out
	case kind == "number", kind == "integer":
		return max(1, valueOf(s.Minimum))
	case kind == "boolean":
		return true
	case kind == "string":
		return madeUpText(s)
	}
	return nil
}

func madeUpText(s *jsonschema.Schema) string {
	switch s.Format {
	case "date-time":
		return "2026-08-11T09:30:00.000Z"
	case "date":
		return "2026-08-11"
	case "uri":
		return "https://example.com"
	}
	if s.Pattern == `^[A-Z]{3}$` {
		return "EUR"
	}
	return "text"
}

func valueOf(n *float64) float64 {
	if n == nil {
		return 0
	}
	return *n
}

func (b *builder) marshal(v any) json.RawMessage {
	text, err := schema.Encode(v)
	if err != nil {
		b.problem("an example does not encode: %w", err)
	}
	return text
}
