package jsonschema_test

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	judge "github.com/santhosh-tekuri/jsonschema/v6"

	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/schema/jsonschema"
)

type colour string

func (colour) Values() []string { return []string{"red", "blue"} }

type point struct {
	Key  string            `json:"key" min:"1" max:"20" pattern:"metricKey"`
	Dims map[string]string `json:"dims" items:"10" each:"30"`
}

type input struct {
	ThingID string     `path:"thingId" doc:"the thing"`
	Limit   int64      `query:"limit" default:"25" min:"1" max:"100"`
	Cursor  api.Cursor `query:"cursor"`
	IfMatch *string    `header:"If-Match" max:"2000" doc:"a tag" tool:"a tag that you read"`
	Name    string     `json:"name" min:"1" max:"200" doc:"how it is called"`
	Colour  *colour    `json:"colour"`
	Site    *string    `json:"site" format:"web" max:"2000"`
	Day     *string    `json:"day" format:"day"`
	Order   *int64     `json:"order" min:"0" max:"9"`
	Rank    *int64     `json:"rank"`
	Tags    []string   `json:"tags" items:"5" each:"10"`
	Colours []colour   `json:"colours" items:"2"`
	Points  []point    `json:"points" items:"500" min:"1" required:"true"`
	Active  bool       `json:"active"`
}

type part struct {
	ID string `json:"id"`
}

type base struct {
	ID   string  `json:"id" doc:"its id"`
	Note *string `json:"note" format:"date-time"`
}

type thing struct {
	base

	Colour *colour         `json:"colour" doc:"its colour"`
	Tags   []string        `json:"tags"`
	Flags  []colour        `json:"flags"`
	Keys   []string        `json:"keys" null:"never"`
	Parts  []part          `json:"parts"`
	Size   *float64        `json:"size"`
	Count  float64         `json:"count"`
	Active bool            `json:"active"`
	Any    json.RawMessage `json:"any"`

	hidden string
}

func define[Out any](method, path string) api.Operation {
	return api.Define(api.Spec{ID: "create_thing", Noun: api.Noun{Name: "thing"}, Method: method, Path: path, Effect: api.Create, Summary: "Create"},
		func(context.Context, api.Caller, input) (out Out, err error) { return out, err })
}

var operation = define[thing]("POST", "/v1/companies/{companyId}/things/{thingId}")

// Ensure that the arguments of a tool form one flat object, that the name of a header is in camel
// case, and that the schemas contain only what is useful to a model.
func TestInput(t *testing.T) {
	t.Parallel()
	compare(t, jsonschema.Arguments(operation.Input, operation.HasCompanyID()), `{
"type":"object",
"properties":{
"companyId":{"type":"string","description":"leave out"},
"thingId":{"type":"string","description":"the thing"},
"limit":{"type":"integer","description":"records per page","default":25,"maximum":100},
"cursor":{"type":"string","description":"nextCursor of the last result"},
"ifMatch":{"type":"string","description":"a tag that you read"},
"name":{"type":"string","description":"how it is called"},
"colour":{"type":"string","enum":["red","blue"]},
"site":{"type":"string"},
"day":{"type":"string","description":"such as 2026-08-11"},
"order":{"type":"integer","minimum":0,"maximum":9},
"rank":{"type":"integer"},
"tags":{"type":"array","items":{"type":"string"}},
"colours":{"type":"array","items":{"type":"string","enum":["red","blue"]}},
"points":{"type":"array","items":{"type":"object","properties":{
"key":{"type":"string","maxLength":20},
"dims":{"type":"object","maxProperties":10,"additionalProperties":{"type":"string"}}
},"required":["key"]},"minItems":1,"maxItems":500},
"active":{"type":"boolean"}
},
"required":["thingId","name","points","active"]}`)
}

// Ensure that the schema of an update accepts null only for properties that null clears, and that
// their descriptions say so. A parameter of an HTTP request must never accept null.
func TestClearable(t *testing.T) {
	t.Parallel()
	type update struct {
		Limit  int64                   `query:"limit" default:"25" min:"1" max:"100"`
		Title  *string                 `json:"title" max:"5"`
		Note   api.Clearable[*string]  `json:"note" max:"5" doc:"a note"`
		Colour api.Clearable[*colour]  `json:"colour"`
		Tags   api.Clearable[[]string] `json:"tags" items:"5" each:"10" doc:"its tags"`
	}
	op := api.Define(api.Spec{ID: "update_thing", Method: "PATCH", Path: "/v1/things", Effect: api.Write, Summary: "Update"},
		func(context.Context, api.Caller, update) (out thing, err error) { return out, err })
	compare(t, jsonschema.Body(op.Input, nil), `{
"type":"object",
"properties":{
"title":{"type":"string","maxLength":5},
"note":{"type":["string","null"],"description":"a note; null clears it; leave it out to keep it","maxLength":5},
"colour":{"type":["string","null"],"description":"null clears it; leave it out to keep it","enum":["red","blue",null]},
"tags":{"type":["array","null"],"items":{"type":"string","maxLength":10},"description":"its tags; null clears it; leave it out to keep it","maxItems":5}
},
"additionalProperties":false}`)
	compare(t, jsonschema.Parameter(op.Input[0], nil), `{"type":"integer","description":"maximum number of records per page","default":25,"minimum":1,"maximum":100}`)
	compare(t, jsonschema.Arguments(op.Input[2:3], false), `{
"type":"object",
"properties":{"note":{"type":["string","null"],"description":"a note; null clears it","maxLength":5}}}`)
}

// Ensure the pattern for the elements of a list is in the document, but not in the arguments of a
// tool.
func TestElements(t *testing.T) {
	t.Parallel()
	type in struct {
		Hosts []string `json:"hosts" items:"5" each:"253" format:"host" doc:"host names"`
	}
	op := api.Define(api.Spec{ID: "push_things", Method: "POST", Path: "/v1/things", Summary: "S", Effect: api.Write},
		func(context.Context, api.Caller, in) (thing, error) { return thing{}, nil })
	if got := jsonschema.Body(op.Input, nil).Properties["hosts"].Items.Pattern; got != schema.FormatPattern("host") {
		t.Errorf("the document: %q", got)
	}
	compare(t, jsonschema.Arguments(op.Input, false), `{
"type":"object",
"properties":{"hosts":{"type":"array","items":{"type":"string"},"description":"host names"}}}`)
}

// Ensure the schema for a body contains only body properties, and is nil for an operation without a
// body.
func TestBody(t *testing.T) {
	t.Parallel()
	body := jsonschema.Body(operation.Input, nil)
	want := []string{"name", "colour", "site", "day", "order", "rank", "tags", "colours", "points", "active"}
	if diff := cmp.Diff(want, body.PropertyOrder); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	getOperation := api.Define(api.Spec{ID: "get_thing", Method: "GET", Path: "/v1/things", Summary: "Get"},
		func(context.Context, api.Caller, struct{}) (thing, error) { return thing{}, nil })
	if jsonschema.Body(getOperation.Input, nil) != nil {
		t.Error("a GET has a body")
	}
	compare(t, jsonschema.Arguments(getOperation.Input, getOperation.HasCompanyID()), `{"type":"object","properties":{}}`)
}

// Ensure named types become references. A schema with a reference may also have a description and
// accept null. Without a RefFunc, the same types must be included in full.
func TestNamedTypesBecomeReferences(t *testing.T) {
	t.Parallel()
	type in struct {
		Shade   colour                 `query:"shade" default:"red" doc:"a shade"`
		Colour  colour                 `json:"colour" doc:"its colour"`
		Other   api.Clearable[*colour] `json:"other"`
		Colours []colour               `json:"colours" items:"2"`
		Parts   []point                `json:"parts" items:"2"`
	}
	refer := func(t reflect.Type) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/" + t.Name()} }
	op := api.Define(api.Spec{ID: "push_things", Method: "POST", Path: "/v1/things", Summary: "S", Effect: api.Write},
		func(context.Context, api.Caller, in) (thing, error) { return thing{}, nil })
	compare(t, jsonschema.Parameter(op.Input[0], refer), `{"$ref":"#/colour","description":"a shade","default":"red"}`)
	compare(t, jsonschema.Body(op.Input, refer), `{
"type":"object",
"properties":{
"colour":{"$ref":"#/colour","description":"its colour"},
"other":{"description":"null clears it; leave it out to keep it","anyOf":[{"$ref":"#/colour"},{"type":"null"}]},
"colours":{"type":["array","null"],"items":{"$ref":"#/colour"},"maxItems":2},
"parts":{"type":["array","null"],"items":{"$ref":"#/point"},"maxItems":2}
},
"required":["colour"],
"additionalProperties":false}`)
	s := jsonschema.Record(reflect.TypeFor[thing](), refer)
	compare(t, s.Properties["colour"], `{"description":"its colour","anyOf":[{"$ref":"#/colour"},{"type":"null"}]}`)
	compare(t, s.Properties["flags"], `{"type":["array","null"],"items":{"$ref":"#/colour"}}`)
	compare(t, s.Properties["parts"], `{"type":"array","items":{"$ref":"#/part"}}`)
}

const recordSchema = `{
"type":"object",
"properties":{
"id":{"type":"string","description":"its id"},
"note":{"type":["string","null"],"format":"date-time"},
"colour":{"type":["string","null"],"description":"its colour","enum":["red","blue",null]},
"tags":{"type":["array","null"],"items":{"type":"string"}},
"flags":{"type":["array","null"],"items":{"type":"string","enum":["red","blue"]}},
"keys":{"type":"array","items":{"type":"string"}},
"parts":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false}},
"size":{"type":["number","null"]},
"count":{"type":"number"},
"active":{"type":"boolean"},
"any":{"description":"any JSON value"}
},
"required":["id","note","colour","tags","flags","keys","parts","size","count","active","any"],
"additionalProperties":false}`

// Ensure the schema for a record is a closed object with every field required, in the order of the
// struct. A field is nullable in the schema if and only if it can be nil in the struct.
func TestOutput(t *testing.T) {
	t.Parallel()
	_ = thing{hidden: ""}
	compare(t, jsonschema.Record(operation.Output, nil), recordSchema)
	compare(t, jsonschema.Record(define[api.List[thing]]("POST", "/v1/things/{thingId}").Output, nil),
		`{"type":"object","properties":{"items":{"type":"array","items":`+recordSchema+`}},"required":["items"],"additionalProperties":false}`)
}

// Ensure the JSON of a record is valid according to its schema, whether all fields are empty or all
// are set.
func TestOutputDescribesTheEncoding(t *testing.T) {
	t.Parallel()
	full := thing{
		base: base{"1", new("2026-08-11T09:30:00.000Z")}, Colour: new(colour("red")), Tags: []string{"a"}, Flags: []colour{"blue"}, Keys: []string{"k"},
		Parts: []part{{"p"}}, Size: new(1.5), Count: 1, Active: true, Any: json.RawMessage(`[1]`),
	}
	s := compile(t, jsonschema.Record(operation.Output, nil))
	for _, v := range []thing{{Parts: []part{}, Keys: []string{}}, full} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, string(text)); err != nil {
			t.Errorf("%s is not valid: %v", text, err)
		}
	}
	text, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range [][2]string{
		{`"red"`, `"green"`}, {`"2026-08-11T09:30:00.000Z"`, `"today"`}, {`"count":1,`, ``}, {`"id":"1"`, `"id":null`}, {`"id":"1"`, `"id":"1","more":1`},
		{`[{"id":"p"}]`, `null`}, {`["k"]`, `null`}, {`["blue"]`, `["pink"]`},
	} {
		if broken := strings.Replace(string(text), wrong[0], wrong[1], 1); broken == string(text) || validate(t, s, broken) == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
}

func compare(t *testing.T, s *jsonschema.Schema, want string) {
	t.Helper()
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := json.Compact(&text, []byte(want)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text.String(), string(got)); diff != "" {
		t.Errorf("schema (-want +got):\n%s\ngot %s", diff, got)
	}
}

func compile(t *testing.T, s *jsonschema.Schema) *judge.Schema {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	value, err := judge.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := judge.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", value); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func validate(t *testing.T, s *judge.Schema, text string) error {
	t.Helper()
	value, err := judge.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

// Ensure that a map that limits the length of its values also limits the length of its keys, and
// that no other map does.
func TestMaps(t *testing.T) {
	t.Parallel()
	type in struct {
		Short map[string]string `json:"short" items:"10" each:"1"`
		Any   map[string]string `json:"any" items:"10"`
	}
	op := api.Define(api.Spec{ID: "push_things", Method: "POST", Path: "/v1/things", Summary: "S", Effect: api.Write},
		func(context.Context, api.Caller, in) (thing, error) { return thing{}, nil })
	compare(t, jsonschema.Body(op.Input, nil), `{
"type":"object",
"properties":{
"short":{"type":["object","null"],"maxProperties":10,"additionalProperties":{"type":"string","maxLength":1},"propertyNames":{"maxLength":1}},
"any":{"type":["object","null"],"maxProperties":10,"additionalProperties":{"type":"string"}}
},
"additionalProperties":false}`)
}

// Ensure an example is valid according to its schema, is the first value of an enum, and is null
// only if no other value is valid.
func TestExample(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		schema *jsonschema.Schema
		want   any
	}{
		{&jsonschema.Schema{Type: "string"}, "text"},
		{&jsonschema.Schema{Types: []string{"string", "null"}}, "text"},
		{&jsonschema.Schema{Type: "string", Enum: []any{"red", "blue"}}, "red"},
		{&jsonschema.Schema{Type: "string", Format: "date-time"}, "2026-08-11T09:30:00.000Z"},
		{&jsonschema.Schema{Type: "string", Pattern: schema.FormatPattern("day")}, "2026-08-11"},
		{&jsonschema.Schema{Type: "integer"}, 1.0},
		{&jsonschema.Schema{Type: "number", Minimum: new(5.0)}, 5.0},
		{&jsonschema.Schema{Type: "boolean"}, true},
		{&jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "integer"}}, []any{1.0}},
		{&jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"a": {Type: "boolean"}}}, map[string]any{"a": true}},
		{&jsonschema.Schema{Type: "null"}, nil},
	} {
		if diff := cmp.Diff(tt.want, jsonschema.Example(tt.schema)); diff != "" {
			t.Errorf("example of %+v (-want +got):\n%s", tt.schema, diff)
		}
	}
}
