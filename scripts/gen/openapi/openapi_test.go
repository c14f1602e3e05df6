package openapi_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"growthworkspace/scripts/gen/openapi"
	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
)

type part struct {
	PartName *string `json:"partName"`
}

type thing struct {
	ID     string          `json:"id"`
	Name   *string         `json:"name"`
	Size   float64         `json:"size"`
	SeenAt *string         `json:"seenAt" format:"date-time"`
	Parts  []part          `json:"parts"`
	Any    json.RawMessage `json:"any"`
}

func (thing) ETag() string { return "" }

type input struct {
	BigThingID string  `path:"bigThingId"`
	IfMatch    *string `header:"If-Match" doc:"a tag"`
	Name       string  `json:"name" min:"1" max:"20"`
	Count      *int64  `json:"count"`
	Kind       shade   `json:"kind"`
	Pieces     []piece `json:"pieces" items:"2"`
}

type shade string

func (shade) Values() []string { return []string{"red", "blue"} }

type piece struct {
	Size int64 `json:"size"`
}

func define[In, Out any](spec api.Spec) api.Operation {
	return api.Define(spec, func(context.Context, api.Caller, In) (out Out, err error) { return out, err })
}

var (
	update = define[input, thing](api.Spec{
		ID: "update_thing", Noun: api.Noun{Name: "thing"}, Method: "PATCH", Path: "/v1/companies/{companyId}/things/{bigThingId}", Scope: auth.PlanWrite, Effect: api.Write,
		Summary: "Update", Description: "Changes it.", Errors: []fault.Code{fault.Conflict},
	})
	list = define[struct{}, api.List[thing]](api.Spec{ID: "list_things", Method: "GET", Path: "/v1/companies/{companyId}/things", Summary: "List"})
)

const areas = `"areas":{"things":{"title":"Things","description":"All things."}}`

func build(t *testing.T, source string, operations ...api.Operation) (string, error) {
	t.Helper()
	s, err := openapi.ParseSource([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	text, err := openapi.Build(operations, s)
	return string(text), err
}

func mustBuild(t *testing.T, source string, operations ...api.Operation) (text string, value map[string]any) {
	t.Helper()
	text, err := build(t, source, operations...)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return text, value
}

// jsonAt returns part of a value as JSON. path contains the names of the members that lead to that
// part, separated by spaces.
func jsonAt(t *testing.T, value any, path string) string {
	t.Helper()
	for name := range strings.SplitSeq(path, " ") {
		value = value.(map[string]any)[name]
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Ensure Build needs only the declaration of an operation, and makes up values where the source has
// no example.
func TestBuild(t *testing.T) {
	t.Parallel()
	text, doc := mustBuild(t, "{"+areas+"}", update, list)
	if !strings.HasPrefix(text, "{\n  \"x-generated\": \"by go run ./scripts/gen; do not edit\",\n  \"openapi\": \"3.1.0\",") {
		t.Errorf("the document begins with %.120s", text)
	}
	const op = "paths /v1/companies/{companyId}/things/{bigThingId} patch "
	for path, want := range map[string]string{
		op + "operationId": `"update_thing"`,
		op + "x-scope":     `"plan:write"`,
		op + "x-quota":     `"write"`,
		op + "tags":        `["things"]`,
		op + "description": `"Changes it.\n\nNeeds the scope ` + "`plan:write`. Uses the quota `write`" + `."`,
		op + "parameters": `[{"$ref":"#/components/parameters/companyId"},{"description":"the id of the big thing","in":"path","name":"bigThingId","required":true,"schema":{"type":"string"}},` +
			`{"description":"a tag","in":"header","name":"If-Match","schema":{"type":"string"}},{"$ref":"#/components/parameters/Service-Version"}]`,
		op + "requestBody required":                              `true`,
		op + "requestBody content application/json example":      `{"kind":"red","name":"text"}`,
		op + "requestBody content application/json schema":       `{"$ref":"#/components/schemas/UpdateThing"}`,
		"components schemas UpdateThing required":                `["name","kind"]`,
		"components schemas UpdateThing properties kind":         `{"$ref":"#/components/schemas/shade"}`,
		"components schemas UpdateThing properties pieces items": `{"$ref":"#/components/schemas/UpdateThingPiece"}`,
		"components schemas UpdateThingPiece required":           `["size"]`,
		"components schemas shade":                               `{"enum":["red","blue"],"type":"string"}`,
		"components schemas ErrorEntry properties code $ref":     `"#/components/schemas/ErrorCode"`,
		"components parameters Service-Version schema":           `{"$ref":"#/components/schemas/ServiceVersion"}`,
		"info version":                                             `"2026.8.11"`,
		"info x-service-version":                                   `"2026-08-11"`,
		op + "responses 200 headers ETag":                          `{"$ref":"#/components/headers/ETag"}`,
		op + "responses 200 content application/json schema":       `{"$ref":"#/components/schemas/thing"}`,
		op + "responses 200 content application/json example":      `{"any":null,"id":"text","name":"text","parts":[{"partName":"text"}],"seenAt":"2026-08-11T09:30:00.000Z","size":1}`,
		op + "responses 409":                                       `{"$ref":"#/components/responses/Conflict"}`,
		op + "responses 412":                                       `{"$ref":"#/components/responses/PreconditionFailed"}`,
		op + "responses 413":                                       `{"$ref":"#/components/responses/PayloadTooLarge"}`,
		"paths /v1/companies/{companyId}/things get responses 413": `null`,
		"paths /v1/companies/{companyId}/things get x-scope":       `null`,
		"components schemas thing required":                        `["id","name","size","seenAt","parts","any"]`,
		"components schemas thing properties size format":          `"double"`,
		"components schemas thing properties parts items":          `{"$ref":"#/components/schemas/part"}`,
		"components schemas thingList properties items items":      `{"$ref":"#/components/schemas/thing"}`,
		"components securitySchemes secretKey scheme":              `"bearer"`,
		"components responses TooManyRequests":                     `null`,
		"components responses RateLimited headers Retry-After":     `{"$ref":"#/components/headers/Retry-After"}`,
		"components responses MethodNotAllowed":                    `null`,
		"servers":                                                  `[{"description":"the server of this document","url":"."}]`,
		"components schemas UpdateThing properties count":          `{"format":"int64","maximum":9007199254740991,"minimum":-9007199254740991,"type":"integer"}`,
	} {
		if got := jsonAt(t, doc, path); got != want {
			t.Errorf("%s\n got %s\nwant %s", path, got, want)
		}
	}
	if i, j := strings.Index(text, `"seenAt"`), strings.Index(text, `"any"`); i < 0 || j < i {
		t.Error("fields are not in the order of the type")
	}
	if again, _ := mustBuild(t, "{"+areas+"}", update, list); again != text {
		t.Error("the same declarations give a different document")
	}
}

// Ensure the examples of records come from the source, in the order of the fields. The examples of
// bodies have the same values.
func TestExamples(t *testing.T) {
	t.Parallel()
	source := `{` + areas + `,"records":{"thing":{"description":"A thing.","example":{"size":2,"name":"<Chair>","id":"thg_1","parts":[]}},"part":{"description":"A part."}}}`
	text, doc := mustBuild(t, source, update, list)
	const op = "paths /v1/companies/{companyId}/things/{bigThingId} patch "
	if got := jsonAt(t, doc, op+"requestBody content application/json example"); got != `{"kind":"red","name":"\u003cChair\u003e"}` {
		t.Errorf("body %s", got)
	}
	if got := jsonAt(t, doc, "paths /v1/companies/{companyId}/things get responses 200 content application/json example items"); !strings.HasPrefix(got, `[{"any":null,"id":"thg_1",`) {
		t.Errorf("list %s", got)
	}
	if !strings.Contains(text, `"name": "<Chair>"`) || jsonAt(t, doc, "components schemas part description") != `"A part."` {
		t.Error("the texts are not those of the source")
	}
	_, doc = mustBuild(t, `{`+areas+`,"bodies":{"update_thing":{"name":"Table","count":4,"kind":"blue"}}}`, update)
	if got := jsonAt(t, doc, op+"requestBody content application/json example"); got != `{"count":4,"kind":"blue","name":"Table"}` {
		t.Errorf("body %s", got)
	}
}

// Ensure Build reports errors in the source, such as descriptions that are no longer used because
// an operation or a record was renamed.
func TestSourceIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"no area":         {`{}`, "areas.things"},
		"an unknown area": {`{"areas":{"things":{"title":"","description":""},"stuff":{"title":"","description":""}}}`, "areas.stuff, which does not exist"},
		"a record":        {`{` + areas + `,"records":{"thin":{}}}`, "records.thin, which does not exist"},
		"a body":          {`{` + areas + `,"bodies":{"update_thin":{}}}`, "bodies.update_thin, which does not exist"},
		"a property":      {`{` + areas + `,"records":{"thing":{"example":{"nam":1}}}}`, "records.thing has the unknown property nam"},
		"a body's":        {`{` + areas + `,"bodies":{"update_thing":{"size":1}}}`, "bodies.update_thing has the unknown property size"},
	} {
		if _, err := build(t, c.source, update, list); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %s", name, err, c.want)
		}
	}
	if _, err := openapi.ParseSource([]byte(`{"record":{}}`)); err == nil {
		t.Error("an unknown member is accepted")
	}
}

// Ensure Build reports an error if two records, or a record and a body, have the same name.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	type UpdateThing struct {
		Other string `json:"other"`
	}
	body := define[struct{}, UpdateThing](api.Spec{ID: "get_update", Method: "GET", Path: "/v1/companies/{companyId}/things/update", Summary: "Get"})
	if _, err := build(t, "{"+areas+"}", update, body); err == nil || !strings.Contains(err.Error(), "are both called UpdateThing") {
		t.Errorf("error %v, want that a record and a body are both called UpdateThing", err)
	}
	type thing struct {
		Other string `json:"other"`
	}
	other := define[struct{}, thing](api.Spec{ID: "get_thing", Method: "GET", Path: "/v1/companies/{companyId}/things/other", Summary: "Get"})
	if _, err := build(t, "{"+areas+"}", list, other); err == nil || !strings.Contains(err.Error(), "are both called thing") {
		t.Errorf("error %v, want that two records are both called thing", err)
	}
}
