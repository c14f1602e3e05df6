package jsonschema_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	judge "github.com/santhosh-tekuri/jsonschema/v6"

	"growthworkspace/shared/api"
	"growthworkspace/shared/jsonschema"
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
	IfMatch *string    `header:"If-Match" doc:"a tag"`
	Name    string     `json:"name" min:"1" max:"200" doc:"how it is called"`
	Colour  *colour    `json:"colour"`
	Site    *string    `json:"site" format:"web" max:"2000"`
	Day     *string    `json:"day" format:"day"`
	Order   *int64     `json:"order" min:"0" max:"9"`
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
	return api.Define(api.Spec{ID: "create_thing", Method: method, Path: path, Effect: api.Create, Summary: "Create"},
		func(context.Context, api.Caller, input) (out Out, err error) { return out, err })
}

var operation = define[thing]("POST", "/v1/companies/{companyId}/things/{thingId}")

// Ensure the arguments of a tool are one flat, closed object, and the name of a header is in camel case.
func TestInput(t *testing.T) {
	t.Parallel()
	compare(t, jsonschema.Arguments(operation.Input, operation.Company()), `{
"type":"object",
"properties":{
"companyId":{"type":["string","null"],"description":"optional; the key's own company is the only one that it can access"},
"thingId":{"type":"string","description":"the thing"},
"limit":{"type":["integer","null"],"default":25,"minimum":1,"maximum":100},
"cursor":{"type":["string","null"],"minLength":1,"maxLength":1600},
"ifMatch":{"type":["string","null"],"description":"a tag"},
"name":{"type":"string","description":"how it is called","minLength":1,"maxLength":200},
"colour":{"type":["string","null"],"enum":["red","blue",null]},
"site":{"type":["string","null"],"maxLength":2000,"pattern":"^https?://","format":"uri"},
"day":{"type":["string","null"],"description":"a day such as 2026-08-11, or an RFC 3339 time","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt].+)?$"},
"order":{"type":["integer","null"],"minimum":0,"maximum":9},
"tags":{"type":["array","null"],"items":{"type":"string","maxLength":10},"maxItems":5},
"colours":{"type":["array","null"],"items":{"type":"string","enum":["red","blue"]},"maxItems":2},
"points":{"type":"array","items":{"type":"object","properties":{
"key":{"type":"string","minLength":1,"maxLength":20,"pattern":"^[a-z][a-z0-9_]*(\\.[a-z0-9_]+)*$"},
"dims":{"type":["object","null"],"maxProperties":10,"additionalProperties":{"type":"string","maxLength":30},"propertyNames":{"maxLength":30}}
},"required":["key"],"additionalProperties":false},"minItems":1,"maxItems":500},
"active":{"type":"boolean"}
},
"required":["thingId","name","points","active"],
"additionalProperties":false}`)
}

// Ensure only the properties of an update that null clears accept null, and say that it does; a parameter of HTTP never does.
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
	compare(t, jsonschema.Body(op.Input), `{
"type":"object",
"properties":{
"title":{"type":"string","maxLength":5},
"note":{"type":["string","null"],"description":"a note; null clears it; leave it out to keep it","maxLength":5},
"colour":{"type":["string","null"],"description":"null clears it; leave it out to keep it","enum":["red","blue",null]},
"tags":{"type":["array","null"],"items":{"type":"string","maxLength":10},"description":"its tags; null clears it; leave it out to keep it","maxItems":5}
},
"additionalProperties":false}`)
	compare(t, jsonschema.Parameter(op.Input[0]), `{"type":"integer","default":25,"minimum":1,"maximum":100}`)
}

// Ensure the schema of a body has only body properties, and is nil for an operation without a body.
func TestBody(t *testing.T) {
	t.Parallel()
	body := jsonschema.Body(operation.Input)
	want := []string{"name", "colour", "site", "day", "order", "tags", "colours", "points", "active"}
	if diff := cmp.Diff(want, body.PropertyOrder); diff != "" {
		t.Error(diff)
	}
	none := api.Define(api.Spec{ID: "get_thing", Method: "GET", Path: "/v1/things", Summary: "Get"},
		func(context.Context, api.Caller, struct{}) (thing, error) { return thing{}, nil })
	if jsonschema.Body(none.Input) != nil {
		t.Error("a GET has a body")
	}
	compare(t, jsonschema.Arguments(none.Input, none.Company()), `{"type":"object","properties":{},"additionalProperties":false}`)
}

const record = `{
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

// Ensure a record is a closed object with every field required, in the order of the type, nullable where it may be null.
func TestOutput(t *testing.T) {
	t.Parallel()
	_ = thing{hidden: ""}
	compare(t, jsonschema.Record(operation.Output, nil), record)
	compare(t, jsonschema.Record(define[api.List[thing]]("POST", "/v1/things/{thingId}").Output, nil),
		`{"type":"object","properties":{"items":{"type":"array","items":`+record+`}},"required":["items"],"additionalProperties":false}`)
}

// Ensure the JSON of a record is valid by its schema, with all fields empty and with all fields set.
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
			t.Errorf("%s: %v", text, err)
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
		t.Errorf("%s\n%s", diff, got)
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
