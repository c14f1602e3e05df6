package openapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/schema/jsonschema"
)

// exampleCompany is the company's id in all examples.
const exampleCompany = "co_01kdvdna017fxb6j762bd9qnf4"

// responseExample returns an example of an operation's response. A list contains one record.
func (b *builder) responseExample(op api.Operation) json.RawMessage {
	if !op.IsList() {
		return b.recordExample(op.Output)
	}
	return b.marshal(orderedObject[[]json.RawMessage]{{"items", []json.RawMessage{b.recordExample(op.Output.Field(0).Type.Elem())}}})
}

// parameterExample returns an example of a path parameter or of a required query parameter, or an
// empty string. For a path parameter, it finds the read whose path ends with the parameter, and
// returns the id in the example of that read's record. For a day in the query, it returns a fixed
// day. For any other required query parameter, it returns the property with the parameter's name
// from the example of a record that a list at the same path returns.
func (b *builder) parameterExample(op api.Operation, f schema.Field) string {
	if f.In == schema.InQuery && f.Required && f.Format == "day" {
		return "2026-08-11"
	}
	for _, list := range b.operations {
		if f.In == schema.InQuery && f.Required && list.Method == http.MethodGet && list.Path == op.Path && list.IsList() {
			return b.propertyExample(list.Output.Field(0).Type.Elem(), f.Name)
		}
	}
	if f.In != schema.InPath {
		return ""
	}
	prefix, _, _ := strings.Cut(op.Path, "{"+f.Name+"}")
	for _, read := range b.operations {
		if read.Method == http.MethodGet && read.Path == prefix+"{"+f.Name+"}" {
			return b.propertyExample(read.Output, "id")
		}
	}
	return ""
}

// propertyExample returns the value of a property in the example of a record, or an empty string if
// the value is not a string.
func (b *builder) propertyExample(t reflect.Type, name string) (text string) {
	values := b.object(b.recordExample(t), "", nil)
	if err := json.Unmarshal(values[name], &text); err != nil {
		return ""
	}
	return text
}

// recordExample returns the source's example of a record. It puts the properties in the order of
// the fields, and adds missing ones as null. If the source has no example, it makes up values.
func (b *builder) recordExample(t reflect.Type) json.RawMessage {
	s := jsonschema.Record(t, nil)
	given := b.object(b.source.Records[t.Name()].Example, "records."+t.Name(), s)
	var out orderedObject[json.RawMessage]
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

// bodyExample returns the source's example of an operation's body. If there is none, it takes the
// body's properties from the example of the record in the response.
func (b *builder) bodyExample(op api.Operation) json.RawMessage {
	body := jsonschema.Body(op.Input, nil)
	path := "bodies." + op.ID
	b.usedSourceEntries[path] = true
	given, ok := b.source.Bodies[op.ID]
	if !ok {
		given = b.recordExample(op.Output)
		path = ""
	}
	values := b.object(given, path, body)
	var out orderedObject[json.RawMessage]
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

// object decodes an example, or returns nil if text is empty. Unless path is empty, it adds a
// problem for each property that the schema s does not have.
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

func (b *builder) marshal(v any) json.RawMessage {
	text, err := schema.Encode(v)
	if err != nil {
		b.problem("an example does not encode: %w", err)
	}
	return text
}
