package openapi

import (
	"encoding/json"
	"reflect"
	"slices"

	"growthworkspace/shared/api"
	"growthworkspace/shared/jsonschema"
	"growthworkspace/shared/schema"
)

// exampleCompany is the company of all examples.
const exampleCompany = "co_01k2c5v0q8e9t3m7x4r6n1b2wz"

// answerExample is an example of what an operation answers; a list has one record.
func (b *builder) answerExample(op api.Operation) json.RawMessage {
	if !op.IsList() {
		return b.recordExample(op.Output)
	}
	return b.marshal(ordered[[]json.RawMessage]{{"items", []json.RawMessage{b.recordExample(op.Output.Field(0).Type.Elem())}}})
}

// recordExample is the source's, in the order of the fields, with null for what it leaves out. Without one it is made
// up, so that a new record needs no more than its type.
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

// bodyExample is the source's, or has what the body and the record that it makes have in common.
func (b *builder) bodyExample(op api.Operation, body *jsonschema.Schema) json.RawMessage {
	place := "bodies." + op.ID
	b.used[place] = true
	given, ok := b.source.Bodies[op.ID]
	if !ok {
		given = b.recordExample(op.Output)
		place = ""
	}
	values := b.object(given, place, body)
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

// object reads an example of the source; nil when there is none. place is empty for one that may have more than s.
func (b *builder) object(text json.RawMessage, place string, s *jsonschema.Schema) (out map[string]json.RawMessage) {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &out); err != nil {
		b.problem("%s: %w", place, err)
	}
	for name := range out {
		if place != "" && s.Properties[name] == nil {
			b.problem("%s has %s, which is no property", place, name)
		}
	}
	return out
}

// madeUp is a value that a schema accepts.
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
