// Package openapi reads the operations of a service from an OpenAPI document, including everything
// that forms for these operations need. It supports only the parts of OpenAPI 3.1 that the
// service's document uses.
package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Document contains the operations of a service.
type Document struct {
	Areas []Area // in the order of the document's tags; every area has operations

	byID map[string]*Operation
}

// Area is a group of operations, such as the roadmap.
type Area struct {
	ID, Name   string
	About      string
	Operations []*Operation // in the order of the document
}

// Operation is one operation of the service.
type Operation struct {
	ID, Method, Path string
	Summary, About   string
	Scope, Quota     string // empty if the document does not say
	Parameters       []Parameter
	Body             *Body  // nil if requests have no body
	ResponseExample  string // an example of a response's body, as indented JSON; may be empty
	Secret           bool   // the response contains the secret of a key

	exampleID string // the id of the first record in the example, if it is a list
}

// Parameter is a parameter of an operation. The example ids in the document do not exist in any
// company.
type Parameter struct {
	Name, In         string // In is path, query or header
	About            string
	Type             string // in words
	Choices          []string
	Example, Default string
	Required         bool
}

// Body is the JSON body of a request.
type Body struct {
	Required   bool
	Sample     string // indented JSON
	Properties []Property
}

// Property is a property of a body.
type Property struct {
	Name, About string
	Type        string // in words
	Choices     []string
	Required    bool
}

// Operation returns the operation with the given id, or nil if there is none.
func (d *Document) Operation(id string) *Operation { return d.byID[id] }

// Lister returns an operation that lists records whose ids have the same prefix as id, or nil if
// there is none.
func (d *Document) Lister(id string) *Operation {
	return d.find(func(o *Operation) bool { return prefix(id) != "" && prefix(o.exampleID) == prefix(id) })
}

// ListerFor returns an operation that lists the records whose ids a parameter takes, or nil if
// there is none. A query parameter takes the same ids as a path parameter with the same name.
func (d *Document) ListerFor(p Parameter) *Operation {
	if p.In == "path" {
		return d.Lister(p.Example)
	}
	for _, area := range d.Areas {
		for _, o := range area.Operations {
			for _, other := range o.Parameters {
				if other.In == "path" && other.Name == p.Name {
					return d.Lister(other.Example)
				}
			}
		}
	}
	return nil
}

// sampleID matches an id in an example in the document.
var sampleID = regexp.MustCompile(`"([a-z]{2,4}_[0-9a-z]{26})"`)

// BodyListers returns the operations that list records with ids like those in the example of an
// operation's body. The ids in the example do not exist in any company.
func (d *Document) BodyListers(op *Operation) (out []*Operation) {
	if op.Body == nil {
		return nil
	}
	for _, m := range sampleID.FindAllStringSubmatch(op.Body.Sample, -1) {
		if lister := d.Lister(m[1]); lister != nil && !slices.Contains(out, lister) {
			out = append(out, lister)
		}
	}
	return out
}

// Use is an operation that takes the id of a record in its path.
type Use struct {
	*Operation

	Parameter string // the name of the parameter for the id
}

// Uses returns the operations whose path contains an id with the same prefix as id. They are in the
// order of the document, except that operations that delete something come last.
func (d *Document) Uses(id string) (out []Use) {
	for _, area := range d.Areas {
		for _, o := range area.Operations {
			for _, p := range o.Parameters {
				if p.In == "path" && prefix(id) != "" && prefix(p.Example) == prefix(id) {
					out = append(out, Use{o, p.Name})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Use) int { return deleteRank(a) - deleteRank(b) })
	return out
}

func deleteRank(u Use) int {
	if u.Method == http.MethodDelete {
		return 1
	}
	return 0
}

// Reader returns the operation that reads the record with the given id, and the name of the path
// parameter for the id. It returns nil if there is none.
func (d *Document) Reader(id string) (op *Operation, parameter string) {
	op = d.find(func(o *Operation) bool {
		for _, p := range o.Parameters {
			if strings.HasSuffix(o.Path, "/{"+p.Name+"}") && prefix(p.Example) == prefix(id) && prefix(id) != "" {
				parameter = p.Name
				return true
			}
		}
		return false
	})
	return op, parameter
}

// find returns the first GET operation for which matches returns true.
func (d *Document) find(matches func(*Operation) bool) *Operation {
	for _, area := range d.Areas {
		for _, o := range area.Operations {
			if o.Method == http.MethodGet && matches(o) {
				return o
			}
		}
	}
	return nil
}

// HasRecordPath reports whether the operation's path names one record.
func (o *Operation) HasRecordPath() bool { return strings.HasSuffix(o.Path, "}") }

// OperationsAtPath returns the operations with the given path, in the order of the document. For
// the path of a record, it also returns the operations below that path.
func (d *Document) OperationsAtPath(path string) (out []*Operation) {
	for _, area := range d.Areas {
		for _, o := range area.Operations {
			if o.Path == path || strings.HasSuffix(path, "}") && strings.HasPrefix(o.Path, path+"/") {
				out = append(out, o)
			}
		}
	}
	return out
}

// prefix returns the prefix of a record's id, such as "pst" for "pst_01k". It returns "" if id is
// not an id.
func prefix(id string) string {
	before, _, found := strings.Cut(id, "_")
	if !found {
		return ""
	}
	return before
}

// Parse reads a document. It returns an error if text is not a document, or if the document refers
// to a part that it does not contain.
func Parse(text []byte) (*Document, error) {
	var raw document
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	if len(raw.Paths) == 0 {
		return nil, errors.New("the OpenAPI document contains no operations")
	}
	d := &Document{byID: map[string]*Operation{}}
	for _, t := range raw.Tags {
		d.Areas = append(d.Areas, Area{ID: t.Name, Name: cmp.Or(t.DisplayName, t.Name), About: t.Description})
	}
	for _, path := range raw.Paths {
		for _, method := range path.Value {
			if !slices.Contains(methods, method.Name) {
				continue
			}
			op, tag, err := raw.operation(path.Name, method.Name, method.Value)
			if err != nil {
				return nil, fmt.Errorf("%s %s in the OpenAPI document: %w", strings.ToUpper(method.Name), path.Name, err)
			}
			at := slices.IndexFunc(d.Areas, func(a Area) bool { return a.ID == tag })
			if at < 0 {
				at, d.Areas = len(d.Areas), append(d.Areas, Area{ID: tag, Name: cmp.Or(tag, "Other")})
			}
			d.Areas[at].Operations = append(d.Areas[at].Operations, op)
			d.byID[op.ID] = op
		}
	}
	d.Areas = slices.DeleteFunc(d.Areas, func(a Area) bool { return len(a.Operations) == 0 })
	return d, nil
}

var methods = []string{"get", "post", "put", "patch", "delete"}

type document struct {
	Tags []struct {
		Name, Description string
		DisplayName       string `json:"x-displayName"`
	}
	Paths      ordered[ordered[json.RawMessage]]
	Components map[string]map[string]json.RawMessage
}

type operation struct {
	OperationID string
	Tags        []string
	Summary     string
	Description string
	Scope       string `json:"x-scope"`
	Quota       string `json:"x-quota"`
	Parameters  []json.RawMessage
	RequestBody *struct {
		Required bool
		Content  map[string]media
	}
	Responses map[string]json.RawMessage
}

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                json.RawMessage
	Example               json.RawMessage
}

type media struct {
	Schema  json.RawMessage
	Example json.RawMessage
}

type schema struct {
	Type                 typeNames
	Enum                 []any
	Default              json.RawMessage
	Description, Format  string
	AnyOf                []json.RawMessage
	Items                json.RawMessage
	Properties           ordered[json.RawMessage]
	Required             []string
	Minimum, Maximum     *json.Number
	MinLength, MaxLength *json.Number
	MinItems, MaxItems   *json.Number
}

// typeNames are the types of a schema. In the document, a single type may be a string instead of a
// list.
type typeNames []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *typeNames) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte(`"`)) {
		*t = typeNames{""}
		return json.Unmarshal(text, &(*t)[0])
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// ordered is a JSON object that keeps the order of its members.
type ordered[T any] []struct {
	Name  string
	Value T
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return errors.Join(err, errors.New("must be an object"))
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		var value T
		if err := d.Decode(&value); err != nil {
			return err
		}
		*o = append(*o, struct {
			Name  string
			Value T
		}{fmt.Sprint(token), value})
	}
	return nil
}

func (d *document) operation(path, method string, text []byte) (op *Operation, tag string, err error) {
	var raw operation
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, "", err
	}
	// Requests append the path to the base URL and contain the key. So the path must not be able to
	// change the host.
	if !strings.HasPrefix(path, "/") || raw.OperationID == "" {
		return nil, "", errors.New("the path must begin with / and the operation must have an id")
	}
	op = &Operation{ID: raw.OperationID, Method: strings.ToUpper(method), Path: path, Summary: raw.Summary, About: raw.Description, Scope: raw.Scope, Quota: raw.Quota}
	for _, p := range raw.Parameters {
		parameter, err := d.parameter(p)
		if err != nil {
			return nil, "", err
		}
		op.Parameters = append(op.Parameters, parameter)
	}
	if raw.RequestBody != nil {
		m := raw.RequestBody.Content["application/json"]
		op.Body = &Body{Required: raw.RequestBody.Required, Sample: indentJSON(m.Example)}
		if op.Body.Properties, err = d.properties(m.Schema); err != nil {
			return nil, "", err
		}
	}
	if len(raw.Tags) > 0 {
		tag = raw.Tags[0]
	}
	return op, tag, d.readExample(op, raw.Responses["200"])
}

func (d *document) parameter(text json.RawMessage) (Parameter, error) {
	var raw parameter
	if err := d.resolve(text, &raw); err != nil {
		return Parameter{}, err
	}
	s, err := d.schema(raw.Schema)
	if err != nil {
		return Parameter{}, err
	}
	out := Parameter{
		Name: raw.Name, In: raw.In, About: cmp.Or(raw.Description, s.Description), Required: raw.Required,
		Example: formatValue(raw.Example), Default: formatValue(s.Default),
	}
	out.Type, out.Choices, err = d.describeSchema(s)
	return out, err
}

// properties returns the properties of an object, the required ones first.
func (d *document) properties(text json.RawMessage) (out []Property, err error) {
	s, err := d.schema(text)
	if err != nil {
		return nil, err
	}
	for _, property := range s.Properties {
		inner, err := d.schema(property.Value)
		if err != nil {
			return nil, err
		}
		p := Property{Name: property.Name, About: inner.Description, Required: slices.Contains(s.Required, property.Name)}
		if p.Type, p.Choices, err = d.describeSchema(inner); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b Property) int {
		if a.Required == b.Required {
			return 0
		} else if a.Required {
			return -1
		}
		return 1
	})
	return out, nil
}

// readExample reads the example of a response.
func (d *document) readExample(op *Operation, text json.RawMessage) error {
	if text == nil {
		return nil
	}
	var raw struct{ Content map[string]media }
	if err := d.resolve(text, &raw); err != nil {
		return err
	}
	m := raw.Content["application/json"]
	op.ResponseExample = indentJSON(m.Example)
	var list struct{ Items []struct{ ID string } }
	if json.Unmarshal(m.Example, &list) == nil && len(list.Items) > 0 {
		op.exampleID = list.Items[0].ID
	}
	properties, err := d.properties(m.Schema)
	op.Secret = slices.ContainsFunc(properties, func(p Property) bool { return p.Name == "secret" })
	return err
}

// schema reads a schema. A description next to a reference replaces the description of the
// reference's target.
func (d *document) schema(text json.RawMessage) (s schema, err error) {
	if text == nil {
		return s, nil
	}
	return s, d.resolve(text, &s)
}

// resolve decodes a part of the document into out. If the part is a reference, it decodes the
// reference's target.
func (d *document) resolve(text json.RawMessage, out any) error {
	var reference struct {
		Ref string `json:"$ref"`
	}
	if err := json.Unmarshal(text, &reference); err != nil {
		return err
	}
	if reference.Ref != "" {
		kind, name, _ := strings.Cut(strings.TrimPrefix(reference.Ref, "#/components/"), "/")
		target, ok := d.Components[kind][name]
		if !ok {
			return fmt.Errorf("no part %s", reference.Ref)
		}
		if err := json.Unmarshal(target, out); err != nil {
			return err
		}
	}
	return json.Unmarshal(text, out)
}

// typeWords are the names of JSON types for people.
var typeWords = map[string]string{"string": "text", "integer": "whole number", "boolean": "true or false", "array": "list", "null": "null"}

// describeSchema describes in words which values a schema allows. choices lists the values if there
// are few.
func (d *document) describeSchema(s schema) (text string, choices []string, err error) {
	var kinds []string
	for _, option := range s.AnyOf {
		inner, err := d.schema(option)
		if err != nil {
			return "", nil, err
		}
		text, more, err := d.describeSchema(inner)
		if err != nil {
			return "", nil, err
		}
		kinds, choices = append(kinds, text), append(choices, more...)
	}
	for _, name := range s.Type {
		kind := cmp.Or(typeWords[name], name)
		switch {
		case name == "string" && s.Format == "date-time":
			kind = "time"
		case name == "string" && len(s.Enum) > 0:
			kind = "one of"
		case name == "string":
			kind += limits(s.MinLength, s.MaxLength, " characters")
		case name == "integer", name == "number":
			kind += limits(s.Minimum, s.Maximum, "")
		case name == "array":
			if items, err := d.schema(s.Items); err != nil {
				return "", nil, err
			} else if inner, more, err := d.describeSchema(items); err != nil {
				return "", nil, err
			} else if inner != "" {
				kind, choices = "list of "+inner, append(choices, more...)
			}
			kind += limits(s.MinItems, s.MaxItems, " entries")
		}
		kinds = append(kinds, kind)
	}
	for _, value := range s.Enum {
		choices = append(choices, fmt.Sprint(value))
	}
	return strings.Join(kinds, " or "), choices, nil
}

// limits describes a minimum and a maximum.
func limits(minimum, maximum *json.Number, noun string) string {
	switch {
	case minimum != nil && maximum != nil:
		return fmt.Sprintf(", %s to %s%s", *minimum, *maximum, noun)
	case maximum != nil:
		return fmt.Sprintf(", at most %s%s", *maximum, noun)
	case minimum != nil:
		return fmt.Sprintf(", at least %s%s", *minimum, noun)
	}
	return ""
}

// indentJSON indents JSON. It returns an empty string if there is no JSON.
func indentJSON(text json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil {
		return ""
	}
	return out.String()
}

// formatValue formats a JSON value for a parameter. It removes the quotation marks of a string.
func formatValue(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
