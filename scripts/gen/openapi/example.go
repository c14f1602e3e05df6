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
			value = b.marshal(jsonschema.Example(s.Properties[name]))
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
			value = b.marshal(jsonschema.Example(body.Properties[name]))
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

func (b *builder) marshal(v any) json.RawMessage {
	text, err := schema.Encode(v)
	if err != nil {
		b.problem("an example does not encode: %w", err)
	}
	return text
}
