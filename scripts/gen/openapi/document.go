package openapi

import (
	"bytes"
	"encoding/json"

	"growthworkspace/shared/schema"
	"growthworkspace/shared/schema/jsonschema"
)

// document is an OpenAPI document. Its members are in the order in which a human reader needs them.
type document struct {
	Generated  string                                  `json:"x-generated"`
	OpenAPI    string                                  `json:"openapi"`
	Info       info                                    `json:"info"`
	Servers    []server                                `json:"servers"`
	Security   []map[string][]string                   `json:"security"`
	Tags       []tag                                   `json:"tags"`
	Paths      orderedObject[orderedObject[operation]] `json:"paths"`
	Components components                              `json:"components"`
}

type info struct {
	Title       string  `json:"title"`
	Version     string  `json:"version"`
	Date        string  `json:"x-service-version"`
	Summary     string  `json:"summary"`
	Description string  `json:"description"`
	Contact     contact `json:"contact"`
	License     license `json:"license"`
}

type contact struct {
	Name string `json:"name"`
}

type license struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

type server struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

type tag struct {
	Name        string `json:"name"`
	Title       string `json:"x-displayName"`
	Description string `json:"description"`
}

type operation struct {
	ID          string             `json:"operationId"`
	Tags        []string           `json:"tags"`
	Summary     string             `json:"summary"`
	Description string             `json:"description"`
	Scope       string             `json:"x-scope,omitempty"`       // the scope that the key needs; empty: any valid key is accepted
	DraftScope  string             `json:"x-draft-scope,omitempty"` // the narrower scope that is sufficient for drafts; empty: there is none
	Quota       string             `json:"x-quota"`
	Parameters  []any              `json:"parameters"`
	RequestBody *requestBody       `json:"requestBody,omitempty"`
	Responses   orderedObject[any] `json:"responses"`
}

type parameter struct {
	Name        string             `json:"name"`
	In          string             `json:"in"`
	Required    bool               `json:"required,omitempty"`
	Description string             `json:"description,omitempty"`
	Schema      *jsonschema.Schema `json:"schema"`
	Example     string             `json:"example,omitempty"`
}

type requestBody struct {
	Required bool                     `json:"required"`
	Content  orderedObject[mediaType] `json:"content"`
}

type mediaType struct {
	Schema  any             `json:"schema"`
	Example json.RawMessage `json:"example,omitempty"`
}

type response struct {
	Description string                   `json:"description"`
	Headers     orderedObject[any]       `json:"headers"`
	Content     orderedObject[mediaType] `json:"content,omitempty"`
}

type header struct {
	Description string             `json:"description"`
	Required    bool               `json:"required,omitempty"`
	Schema      *jsonschema.Schema `json:"schema"`
	Example     any                `json:"example"`
}

type components struct {
	SecuritySchemes orderedObject[any]       `json:"securitySchemes"`
	Parameters      orderedObject[parameter] `json:"parameters"`
	Headers         orderedObject[header]    `json:"headers"`
	Responses       orderedObject[response]  `json:"responses"`
	Schemas         orderedObject[any]       `json:"schemas"`
}

type reference struct {
	Ref string `json:"$ref"`
}

func refTo(kind, name string) reference { return reference{"#/components/" + kind + "/" + name} }

func jsonContent(m mediaType) orderedObject[mediaType] {
	return orderedObject[mediaType]{{"application/json", m}}
}

// orderedObject is a JSON object whose members keep the order in which they were set.
type orderedObject[T any] []member[T]

type member[T any] struct {
	name  string
	value T
}

// at returns the value of the named member, or the zero value if there is none.
func (o orderedObject[T]) at(name string) (value T) {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return value
}

// set sets the value of a member. An existing member keeps its place, and a new one is added at the
// end.
func (o *orderedObject[T]) set(name string, value T) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member[T]{name, value})
}

// MarshalJSON implements json.Marshaler.
func (o orderedObject[T]) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := schema.Encode(m.name)
		if err != nil {
			return nil, err
		}
		value, err := schema.Encode(m.value)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
