package openapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	judge "github.com/santhosh-tekuri/jsonschema/v6"

	"growthworkspace/functions"
	"growthworkspace/functions/openapi"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/testkit/oracle"
)

// document contains the parts of openapi.json that the tests read.
type document struct {
	Paths      map[string]map[string]operation
	Tags       []struct{ Name, Description string }
	Components struct {
		Parameters map[string]parameter
		Headers    map[string]struct {
			Schema  json.RawMessage
			Example json.RawMessage
		}
		Responses map[string]response
		Schemas   map[string]json.RawMessage
	}
}

type operation struct {
	OperationID          string
	Summary, Description string
	Scope                string `json:"x-scope"`
	DraftScope           string `json:"x-draft-scope"`
	Tags                 []string
	Parameters           []parameter
	RequestBody          *response
	Responses            map[string]response
}

type parameter struct {
	Ref      string `json:"$ref"`
	Name, In string
	Required bool
	Schema   field
}

type field struct {
	Type    any
	Enum    []any
	Default any

	Description string

	Minimum, Maximum any

	Ref   string `json:"$ref"`
	AnyOf []field
}

type response struct {
	Ref     string `json:"$ref"`
	Headers map[string]any
	Content map[string]struct {
		Schema, Example json.RawMessage
	}
}

func documentText(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readDocument(t *testing.T) (d document) {
	t.Helper()
	if err := json.Unmarshal(documentText(t), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// eachOperation calls visit for every operation of the document.
func (d document) eachOperation(visit func(path, method string, op operation)) {
	for path, item := range d.Paths {
		for method, op := range item {
			visit(path, strings.ToUpper(method), op)
		}
	}
}

// Ensure the document escapes no printable characters, because people read it too.
func TestDocumentEscapesNothing(t *testing.T) {
	t.Parallel()
	if bytes.Contains(documentText(t), []byte(`\u00`)) {
		t.Error(`the document contains \u00 escapes`)
	}
}

// Ensure the document contains exactly the service's operations, with their paths, methods and
// scopes.
func TestDocumentHasTheOperations(t *testing.T) {
	t.Parallel()
	var want, got []string
	for _, op := range functions.Operations(nil) {
		want = append(want, fmt.Sprintf("%s %s %s %s %s", op.ID, op.Method, op.Path, op.Scope, op.DraftScope))
	}
	d := readDocument(t)
	d.eachOperation(func(path, method string, op operation) {
		got = append(got, fmt.Sprintf("%s %s %s %s %s", op.OperationID, method, path, op.Scope, op.DraftScope))
		if op.Summary == "" || len(op.Tags) != 1 || strings.HasPrefix(op.Description, "Needs the scope") {
			t.Errorf("%s lacks a summary, a tag or a description", op.OperationID)
		}
	})
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run go run ./scripts/gen\n%s", diff)
	}
	var areas, tags []string
	for _, a := range functions.All() {
		areas = append(areas, a.Name)
		if a.Name == "company" {
			areas = append(areas, "keys") // the company area's function also serves keys
		}
	}
	for _, tag := range d.Tags {
		tags = append(tags, tag.Name)
	}
	if diff := cmp.Diff(areas, tags); diff != "" {
		t.Errorf("the tags are not the areas (-areas +tags):\n%s", diff)
	}
}

// Ensure the document agrees with the handwritten operation tables, operations.tsv and
// additions.tsv.
func TestDocumentIsTheSpecification(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	tables := readOperationTable(t)
	for _, o := range tables {
		op, ok := d.Paths["/v1"+o.Path][strings.ToLower(o.Method)]
		if !ok {
			t.Errorf("%s: no %s %s", o.CellLocation("path"), o.Method, o.Path)
			continue
		}
		scope := op.Scope
		if scope == "" {
			scope = "any"
		}
		for column, cells := range map[string][2]string{
			"id": {op.OperationID, o.ID}, "scope": {scope + " " + op.DraftScope, o.Scope + " " + o.DraftScope}, "query": {d.queryNotation(t, op), o.Query}, "body": {d.bodyNotation(t, op, o.Method), o.Body},
		} {
			if cells[0] != cells[1] {
				t.Errorf("%s: the document has %s, want %s", o.CellLocation(column), cells[0], cells[1])
			}
		}
	}
	if len(tables) < 41 {
		t.Errorf("%d rows", len(tables))
	}
}

// readOperationTable returns the handwritten operation tables.
func readOperationTable(t *testing.T) oracle.Table {
	t.Helper()
	tables, err := oracle.Load()
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func (d document) queryNotation(t *testing.T, op operation) string {
	t.Helper()
	var out []string
	for _, p := range op.Parameters {
		if p.In == "query" && p.Name != "cursor" {
			out = append(out, d.fieldNotation(t, p.Name, p.Schema, p.Required, false))
		}
	}
	return join(out)
}

// acceptsNull reports whether null is a valid value. Null is valid if the field accepts any type,
// or if null is one of the field's types or alternatives.
func (f field) acceptsNull() bool {
	types, _ := f.Type.([]any)
	alternative := slices.ContainsFunc(f.AnyOf, func(one field) bool { return one.Type == "null" })
	return slices.Contains(types, "null") || alternative || f.Type == nil && f.Ref == "" && f.AnyOf == nil
}

func (d document) bodyNotation(t *testing.T, op operation, method string) string {
	t.Helper()
	if op.RequestBody == nil {
		return "-"
	}
	var schema struct {
		Properties map[string]field
		Required   []string
		Additional any `json:"additionalProperties"`
	}
	raw := d.resolve(t, op.RequestBody.Content["application/json"].Schema)
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Additional != false {
		t.Errorf("%s accepts other properties", op.OperationID)
	}
	var out []string
	for _, name := range propertyNames(t, raw) {
		out = append(out, d.fieldNotation(t, name, schema.Properties[name], slices.Contains(schema.Required, name), method == "PATCH"))
	}
	return join(out)
}

// resolve returns the schema that a reference points to, and any other schema unchanged.
func (d document) resolve(t *testing.T, raw json.RawMessage) json.RawMessage {
	t.Helper()
	var s struct {
		Ref string `json:"$ref"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	if s.Ref == "" {
		return raw
	}
	return d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
}

// resolveEnum returns the enum schema that a field refers to, directly or in one of its
// alternatives, with the field's default and description. It returns a field without a reference
// unchanged.
func (d document) resolveEnum(t *testing.T, f field) field {
	t.Helper()
	for _, one := range f.AnyOf {
		if one.Ref != "" {
			f.Ref = one.Ref
		}
	}
	if f.Ref == "" {
		return f
	}
	var enum field
	if err := json.Unmarshal(d.Components.Schemas[strings.TrimPrefix(f.Ref, "#/components/schemas/")], &enum); err != nil {
		t.Fatal(err)
	}
	enum.Default, enum.Description = f.Default, f.Description
	return enum
}

// fieldNotation returns a field in the notation of the operation tables. The notation shows whether
// a field accepts null, but only in the body of an update. In a create, null has the same effect as
// leaving the field out.
func (d document) fieldNotation(t *testing.T, name string, f field, required, update bool) string {
	t.Helper()
	null := update && f.acceptsNull()
	f = d.resolveEnum(t, f)
	kind := fmt.Sprint(f.Type)
	if f.Type == nil {
		kind = "any"
	}
	if types, ok := f.Type.([]any); ok {
		kind = fmt.Sprint(types[0])
	}
	if f.Enum != nil {
		var values []string
		for _, v := range f.Enum {
			if v != nil {
				values = append(values, fmt.Sprint(v))
			}
		}
		kind = strings.Join(values, "|")
	}
	if required {
		kind += "!"
	}
	if null {
		kind += "?"
	}
	if _, value, described := strings.Cut(f.Description, "; default "); described && f.Default == nil {
		f.Default = value // the description of a nullable enum contains its default; see jsonschema.Parameter
	}
	if f.Default != nil {
		kind += "=" + fmt.Sprint(f.Default)
	}
	if name == "limit" {
		kind += fmt.Sprintf("(%v..%v)", f.Minimum, f.Maximum)
	}
	return name + ":" + kind
}

func join(fields []string) string {
	if fields == nil {
		return "-"
	}
	return strings.Join(fields, " ")
}

// propertyNames returns the names of a schema's properties in document order.
func propertyNames(t *testing.T, schema json.RawMessage) (out []string) {
	t.Helper()
	var parts struct{ Properties json.RawMessage }
	if err := json.Unmarshal(schema, &parts); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(parts.Properties))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, name.(string))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Ensure every operation documents its success response and all of its error responses, with their
// headers.
func TestDocumentHasTheResponses(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	tables := readOperationTable(t)
	d.eachOperation(func(_, _ string, op operation) {
		want := []string{"200", "400", "401", "403", "404", "429", "default"}
		keyed := slices.ContainsFunc(op.Parameters, func(p parameter) bool { return p.Name == "Idempotency-Key" })
		o, ok := tables.Lookup(op.OperationID)
		if !ok {
			t.Fatalf("%s has no line for %s", oracle.AdditionsFile, op.OperationID)
		}
		if keyed || o.CanConflict {
			want = append(want, "409")
		}
		if op.RequestBody != nil {
			want = append(want, "413")
		}
		if slices.ContainsFunc(op.Parameters, func(p parameter) bool { return p.Name == "If-Match" }) {
			want = append(want, "412")
		}
		if slices.ContainsFunc(op.Parameters, func(p parameter) bool { return p.Ref == "#/components/parameters/If-None-Match" }) {
			want = append(want, "304")
		}
		isFeed := op.OperationID == "list_changes" // needs the table's stream
		if isFeed {
			want = append(want, "501")
		}
		if tagged := op.Responses["200"].Headers["ETag"] != nil; tagged && strings.HasPrefix(op.OperationID, "get_") != slices.Contains(want, "304") {
			t.Errorf("%s has an ETag: If-None-Match is documented for reads of one record only, want responses %v", op.OperationID, want)
		}
		var got []string
		for status, r := range op.Responses {
			got = append(got, status)
			if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
				r = d.Components.Responses[name]
			}
			for _, h := range []string{"Service-Version", "Service-Request-Id"} {
				if r.Headers[h] == nil {
					t.Errorf("%s %s has no %s", op.OperationID, status, h)
				}
			}
			for h, want := range map[string]bool{"Retry-After": status == "429" || status == "default", "WWW-Authenticate": status == "401"} {
				if got := r.Headers[h] != nil; got != want {
					t.Errorf("%s %s has the header %s: %t, want %t", op.OperationID, status, h, got, want)
				}
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s documents other responses; 409 without an Idempotency-Key is typed there: %s", o.CellLocation("conflict"), op.OperationID, diff)
		}
		hasMore := strings.HasPrefix(op.OperationID, "list_") || op.OperationID == "delete_metric_points"
		isList := strings.HasPrefix(op.OperationID, "list_") && !isFeed
		if h := op.Responses["200"].Headers; (h["Link"] != nil) != isList || (h["Service-After"] != nil) != isFeed || (h["Service-Has-More"] != nil) != hasMore || h["RateLimit-Remaining"] == nil {
			t.Errorf("%s: the headers are %v; want Link: %t, Service-Has-More: %t, and RateLimit-Remaining", op.OperationID, slices.Sorted(maps.Keys(h)), isList, hasMore)
		}
	})
	for _, id := range []string{"preview", "publish"} {
		path := "/v1/companies/{companyId}/plan/boards/{boardId}/publish"
		if id == "preview" {
			path += "/preview"
		}
		if d.Paths[path]["post"].Responses["200"].Headers["ETag"] == nil {
			t.Errorf("%s has no ETag", id)
		}
	}
}

// Ensure that every schema compiles, that every record schema requires all of its fields and allows
// no others, and that every example is valid, including its formats.
func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	d, compile := readDocument(t), compiler(t)
	inputs := map[string]bool{"PushFeedbackRecord": true, "PushMetricPointsPoint": true, "CreateBroadcastPostMedia": true, "UpdateBroadcastPostMedia": true}
	d.eachOperation(func(_, _ string, op operation) {
		if op.RequestBody != nil {
			inputs[pascalCase(op.OperationID)] = true
		}
	})
	for name, raw := range d.Components.Schemas {
		var s struct {
			Type       string
			Required   []string
			Additional any `json:"additionalProperties"`
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		compile("/components/schemas/" + name)
		if s.Type != "object" {
			continue // an enum
		}
		if s.Additional != false || !inputs[name] && !slices.Equal(s.Required, propertyNames(t, raw)) {
			t.Errorf("%s allows other fields, or has optional ones", name)
		}
	}
	examples := 0
	check := func(pointer string, example json.RawMessage) {
		t.Helper()
		examples++
		value, err := judge.UnmarshalJSON(bytes.NewReader(example))
		if err != nil {
			t.Errorf("%s: %v in %q", pointer, err, example)
			return
		}
		if err := compile(pointer).Validate(value); err != nil {
			t.Errorf("the example of %s is invalid: %v", pointer, err)
		}
	}
	const content = "/content/application~1json/schema"
	d.eachOperation(func(path, method string, op operation) {
		base := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(path) + "/" + strings.ToLower(method)
		check(base+"/responses/200"+content, op.Responses["200"].Content["application/json"].Example)
		if op.RequestBody != nil {
			check(base+"/requestBody"+content, op.RequestBody.Content["application/json"].Example)
		}
	})
	for name, r := range d.Components.Responses {
		if name == "NotModified" {
			continue // a 304 has no body
		}
		check("/components/responses/"+name+content, r.Content["application/json"].Example)
	}
	for name, h := range d.Components.Headers {
		check("/components/headers/"+name+"/schema", h.Example)
	}
	if examples < 60 {
		t.Errorf("%d examples", examples)
	}
}

// Ensure the types in generated clients have readable names. Each enum and each object within a
// schema must be a separate component, and the schema of a body must be named after its operation.
func TestTypesHaveNames(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	known := map[string]string{}
	for name, raw := range d.Components.Schemas {
		var component struct {
			Enum       []string
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal(raw, &component); err != nil {
			t.Fatal(err)
		}
		if component.Enum != nil {
			known[fmt.Sprint(component.Enum)] = name
			continue
		}
		for property, schema := range component.Properties {
			checkInlineSchemas(t, name+"."+property, schema)
		}
	}
	if len(known) < 30 || known["[draft in_review published archived]"] != "PlanStatus" {
		t.Errorf("the closed lists are %v", known)
	}
	bodies := 0
	d.eachOperation(func(_, _ string, op operation) {
		if op.RequestBody == nil {
			return
		}
		bodies++
		if got, want := string(op.RequestBody.Content["application/json"].Schema), pascalCase(op.OperationID); !strings.Contains(got, `"#/components/schemas/`+want+`"`) {
			t.Errorf("the body of %s is %s", op.OperationID, got)
		}
		for _, p := range op.Parameters {
			if p.Schema.Enum != nil {
				t.Errorf("%s of %s has a list without a name", p.Name, op.OperationID)
			}
		}
	})
	if bodies < 25 {
		t.Errorf("%d bodies", bodies)
	}
}

// checkInlineSchemas reports a test error if the schema of a property contains an enum or an object
// with properties, instead of a reference to one.
func checkInlineSchemas(t *testing.T, path string, schema json.RawMessage) {
	t.Helper()
	if bytes.Contains(schema, []byte(`"enum":`)) || bytes.Contains(schema, []byte(`"properties":`)) {
		t.Errorf("%s contains a type without a name: %s", path, schema)
	}
}

// pascalCase converts an operation id to Pascal case, such as create_plan_item to CreatePlanItem.
func pascalCase(id string) string {
	var out strings.Builder
	for word := range strings.SplitSeq(id, "_") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// Ensure the document's version, which the generated client packages also use, is valid both as a
// semantic version and as the version of a Python package. Its numbers must be those of the API
// version, which is a date.
func TestVersionOfTheDocument(t *testing.T) {
	t.Parallel()
	var d struct {
		Info struct {
			Version string
			Date    string `json:"x-service-version"`
		}
	}
	if err := json.Unmarshal(documentText(t), &d); err != nil {
		t.Fatal(err)
	}
	var year, month, day int
	_, err := fmt.Sscanf(d.Info.Version, "%d.%d.%d", &year, &month, &day)
	if err != nil || fmt.Sprintf("%d.%d.%d", year, month, day) != d.Info.Version || fmt.Sprintf("%04d-%02d-%02d", year, month, day) != fault.Version {
		t.Errorf("the version is %q: %v", d.Info.Version, err)
	}
	if d.Info.Date != fault.Version {
		t.Errorf("x-service-version is %q", d.Info.Date)
	}
}

// compiler returns a function that compiles the schema at a JSON pointer of the document.
func compiler(t *testing.T) func(pointer string) *judge.Schema {
	t.Helper()
	value, err := judge.UnmarshalJSON(bytes.NewReader(documentText(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := judge.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("openapi.json", value); err != nil {
		t.Fatal(err)
	}
	return func(pointer string) *judge.Schema {
		s, err := c.Compile("openapi.json#" + (&url.URL{Path: pointer}).EscapedPath())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// Ensure the document's server URL leads to the address from which the document was read, both at
// the root of a host and below a gateway's stage path.
func TestServerURLOfDocument(t *testing.T) {
	var document struct{ Servers []struct{ URL string } }
	text, err := os.ReadFile("openapi.json")
	if err == nil {
		err = json.Unmarshal(text, &document)
	}
	if err != nil || len(document.Servers) != 1 {
		t.Fatalf("%d servers, %v", len(document.Servers), err)
	}
	for _, base := range []string{"https://api.example.com", "http://127.0.0.1:8080", "https://id.execute-api.eu-central-1.amazonaws.com/prod", "https://example.com/a/b"} {
		serverURL, err := url.Parse(base + openapi.DocumentPath)
		if err == nil {
			serverURL, err = serverURL.Parse(document.Servers[0].URL)
		}
		if err != nil || strings.TrimSuffix(serverURL.String(), "/") != base {
			t.Errorf("the server of the document at %s%s is %v, %v", base, openapi.DocumentPath, serverURL, err)
		}
	}
}
