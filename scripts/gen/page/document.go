package page

import (
	"encoding/json"
	"fmt"
	"strings"

	"growthworkspace/shared/api"
)

// document is what is read of the OpenAPI document: the words and examples that the declarations do not have.
type document struct {
	Info struct{ Title, Summary, Version, Description string }
	Tags []struct{ Name, Description string }

	Paths      map[string]map[string]described
	Components struct {
		Parameters map[string]parameter
		Responses  map[string]answer
		Schemas    map[string]object
	}
}

type described struct {
	ID          string `json:"operationId"`
	Tags        []string
	Parameters  []parameter
	RequestBody struct {
		Content map[string]content
	}
	Responses map[string]answer
}

type parameter struct {
	Ref               string `json:"$ref"`
	Name, Description string
	Example           string
}

type answer struct {
	Ref         string `json:"$ref"`
	Description string
	Headers     map[string]json.RawMessage
	Content     map[string]content
}

type content struct {
	Schema  object
	Example json.RawMessage
}

// object is a JSON Schema as far as records and bodies have one.
type object struct {
	Ref         string `json:"$ref"`
	Type        any
	Description string
	Format      string
	Enum        []any
	Items       *object
	Properties  map[string]object
	Required    []string
}

const jsonType = "application/json"

func read(text []byte) (d document, err error) {
	if err := json.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	return d, nil
}

// described returns what the document says of an operation.
func (d document) described(op api.Operation) (described, error) {
	found, ok := d.Paths[op.Path][strings.ToLower(op.Method)]
	if !ok || found.ID != op.ID || len(found.Tags) != 1 {
		return found, fmt.Errorf("the OpenAPI document has no %s: it was made of other operations", op.ID)
	}
	return found, nil
}

// view is the page of the operations.
func (d document) view(operations []api.Operation) (view, error) {
	v := view{Title: d.Info.Title, Summary: d.Info.Summary, Version: d.Info.Version, Operations: len(operations)}
	examples, err := d.examples(operations)
	if err != nil {
		return v, err
	}
	for _, tag := range d.Tags {
		v.Areas = append(v.Areas, area{Name: tag.Name, Description: prose(tag.Description)})
	}
	for _, op := range operations {
		found, err := d.described(op)
		if err != nil {
			return v, err
		}
		shown, err := d.operation(op, found, examples)
		if err != nil {
			return v, fmt.Errorf("%s: %w", op.ID, err)
		}
		for i := range v.Areas {
			if v.Areas[i].Name == found.Tags[0] {
				v.Areas[i].Operations = append(v.Areas[i].Operations, shown)
			}
		}
		if shown.Tool != "" {
			v.Tools++
		}
	}
	v.Records = d.records(operations, examples)
	v.Intro, v.Guide, err = d.guide(operations)
	return v, err
}

// examples are those of records by the names of their types, from the answers that have one.
func (d document) examples(operations []api.Operation) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, op := range operations {
		found, err := d.described(op)
		if err != nil {
			return nil, err
		}
		example := found.Responses["200"].Content[jsonType].Example
		if !op.IsList() {
			out[op.Output.Name()] = example
			continue
		}
		var list struct{ Items []json.RawMessage }
		if err := json.Unmarshal(example, &list); err != nil || len(list.Items) == 0 {
			return nil, fmt.Errorf("the example of %s is no list: %w", op.ID, err)
		}
		out[op.Output.Field(0).Type.Elem().Name()] = list.Items[0]
	}
	return out, nil
}
