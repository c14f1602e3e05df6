package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/infra"
)

// template is a CloudFormation template as a JSON object.
type template map[string]any

// index is a global secondary index, in a template or in the account.
type index struct {
	indexKeys
	status     types.IndexStatus // in the account
	definition map[string]any    // in a template: the element of GlobalSecondaryIndexes
	attributes []map[string]any  // in a template: the definitions of its key attributes
}

// indexKeys identifies an index. DynamoDB cannot change any of these fields.
type indexKeys struct {
	name       string
	keys       string // the key attributes, each with its key type, HASH or RANGE
	projection string
}

func keysOf(name string, keys keySchema, p *types.Projection) indexKeys {
	out := indexKeys{name: name, keys: keys.String()}
	if p != nil {
		out.projection = strings.Join(append([]string{string(p.ProjectionType)}, p.NonKeyAttributes...), " ")
	}
	return out
}

// core returns the members of the definition that do not refer to anything in the template.
func (i index) core() map[string]any {
	out := map[string]any{}
	for _, name := range []string{"IndexName", "KeySchema", "Projection"} {
		if value, ok := i.definition[name]; ok {
			out[name] = value
		}
	}
	return out
}

// parseTemplate parses a template. The CDK writes templates in JSON.
func parseTemplate(text []byte) (out template, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&out); err != nil || out == nil {
		return nil, errors.Join(errors.New("the template is not a JSON object"), err)
	}
	return out, nil
}

// text returns the template as JSON.
func (t template) text() []byte { return []byte(compactJSON(t)) }

func compactJSON(value any) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic("deploy: a template that was parsed does not encode: " + err.Error())
	}
	return strings.TrimSpace(out.String())
}

// resource returns a resource of the template, or nil.
func (t template) resource(id string) map[string]any {
	resources, _ := t["Resources"].(map[string]any)
	resource, _ := resources[id].(map[string]any)
	return resource
}

// tableProperties are the properties of the table that define its keys and indexes.
type tableProperties struct {
	AttributeDefinitions   []map[string]any
	KeySchema              keySchema
	GlobalSecondaryIndexes []map[string]any
	LocalSecondaryIndexes  []struct{ KeySchema keySchema }
}

// keySchema is the schema of a key. A template has the same names as the SDK.
type keySchema []types.KeySchemaElement

func (k keySchema) String() string {
	var parts []string
	for _, key := range k {
		parts = append(parts, aws.ToString(key.AttributeName)+" "+string(key.KeyType))
	}
	return strings.Join(parts, ", ")
}

func (k keySchema) contains(attribute any) bool {
	return slices.ContainsFunc(k, func(key types.KeySchemaElement) bool { return aws.ToString(key.AttributeName) == attribute })
}

// table returns the keys and indexes of the template's table.
func (t template) table() (p tableProperties, err error) {
	resource := t.resource(infra.TableID)
	if resource == nil {
		return p, fmt.Errorf("the template has no resource %s", infra.TableID)
	}
	return p, decodeInto(resource["Properties"], &p)
}

// decodeInto decodes a part of a template into a struct.
func decodeInto(value, out any) error {
	if err := json.Unmarshal([]byte(compactJSON(value)), out); err != nil {
		return fmt.Errorf("the template's resource %s is not as expected: %w", infra.TableID, err)
	}
	return nil
}

// indexes returns the indexes of the template's table.
func (t template) indexes() (out []index, err error) {
	p, err := t.table()
	if err != nil {
		return nil, err
	}
	for _, definition := range p.GlobalSecondaryIndexes {
		var i struct {
			IndexName  string
			KeySchema  keySchema
			Projection *types.Projection
		}
		if err := decodeInto(definition, &i); err != nil {
			return nil, err
		}
		attributes := slices.DeleteFunc(slices.Clone(p.AttributeDefinitions), func(a map[string]any) bool { return !i.KeySchema.contains(a["AttributeName"]) })
		out = append(out, index{indexKeys: keysOf(i.IndexName, i.KeySchema, i.Projection), definition: definition, attributes: attributes})
	}
	return out, nil
}

// withIndexes returns a copy of the template whose table has exactly the given indexes. Besides the
// indexes, it changes only the attribute definitions, because DynamoDB refuses the definition of an
// attribute that no key uses.
//
// The definition of an index from another version may refer to parameters and conditions that this
// template does not have, such as those of a maximum throughput. withIndexes drops a property
// with such references unless an index in this template has the same property with the same value.
func (t template) withIndexes(indexes []index) (template, error) {
	out, err := parseTemplate(t.text()) // a copy
	if err != nil {
		return nil, err
	}
	p, err := out.table()
	if err != nil {
		return nil, err
	}
	used := []keySchema{p.KeySchema}
	for _, local := range p.LocalSecondaryIndexes {
		used = append(used, local.KeySchema)
	}
	definitions, attributes := []any{}, []any{}
	all := p.AttributeDefinitions
	for _, i := range indexes {
		definition := i.core()
		for name, value := range i.definition {
			if slices.ContainsFunc(p.GlobalSecondaryIndexes, func(own map[string]any) bool { return own[name] != nil && compactJSON(own[name]) == compactJSON(value) }) {
				definition[name] = value
			}
		}
		definitions, all = append(definitions, definition), append(all, i.attributes...)
		var keys struct{ KeySchema keySchema }
		if err := decodeInto(i.definition, &keys); err != nil {
			return nil, err
		}
		used = append(used, keys.KeySchema)
	}
	defined := map[any]bool{}
	for _, a := range all {
		name := a["AttributeName"]
		if !defined[name] && slices.ContainsFunc(used, func(k keySchema) bool { return k.contains(name) }) {
			attributes, defined[name] = append(attributes, a), true
		}
	}
	properties := out.resource(infra.TableID)["Properties"].(map[string]any) // cannot panic: table has already read the properties
	properties["AttributeDefinitions"] = attributes
	if properties["GlobalSecondaryIndexes"] = definitions; len(definitions) == 0 {
		delete(properties, "GlobalSecondaryIndexes")
	}
	return out, nil
}
