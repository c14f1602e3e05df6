package schema_test

import (
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/schema"
)

type colour string

func (colour) Values() []string { return []string{"red", "green"} }

type point struct {
	Key   string            `json:"key" max:"10" pattern:"metricKey"`
	TS    string            `json:"ts" format:"date-time"`
	Value float64           `json:"value" min:"-5" max:"5"`
	Grain colour            `json:"grain" default:"red"`
	Dims  map[string]string `json:"dims" items:"2" each:"3"`
	Note  *string           `json:"note" max:"5"`
}

// shapes has body properties of every kind, with and without each bound.
type shapes struct {
	Name    *string           `json:"name" min:"2" max:"4"`
	Free    *string           `json:"free" max:"10"`
	Slug    *string           `json:"slug" max:"20" pattern:"slug"`
	Code    *string           `json:"code" max:"3" pattern:"currency"`
	Site    *string           `json:"site" format:"web" max:"2000"`
	At      *string           `json:"at" format:"date-time"`
	Colour  *colour           `json:"colour"`
	Whole   *int64            `json:"whole"`
	Ranged  *int64            `json:"ranged" min:"1" max:"2000000"`
	Least   *int64            `json:"least" min:"0"`
	Number  *float64          `json:"number"`
	Part    *float64          `json:"part" min:"0.5"`
	Most    *float64          `json:"most" max:"1.5"`
	Flag    *bool             `json:"flag"`
	Tags    []string          `json:"tags" items:"3" each:"2"`
	Pair    []string          `json:"pair" items:"2" min:"1"`
	Colours []colour          `json:"colours" items:"2"`
	Origins []string          `json:"origins" items:"3" each:"267" format:"origin"`
	Hosts   []string          `json:"hosts" items:"3" each:"70" format:"host"`
	Types   []string          `json:"types" items:"2" ref:"cty"`
	Dims    map[string]string `json:"dims" items:"2" each:"3"`
	Points  []point           `json:"points" items:"3" min:"1"`
	Default string            `json:"default" max:"9" default:"usual"`

	Note   schema.Clearable[*string]  `json:"note" max:"3"`
	Shade  schema.Clearable[*colour]  `json:"shade"`
	Size   schema.Clearable[*int64]   `json:"size" max:"9"`
	Labels schema.Clearable[[]string] `json:"labels" items:"2" each:"2"`
}

// bindBody binds a body as the HTTP transport does.
func bindBody(t reflect.Type, fields []schema.Field, text string) (*schema.Binder, []string) {
	b := schema.Bind(t, fields, schema.Source{Body: []byte(text), BodyBytesMax: len(text)})
	return b, b.Problems
}

var shapeFields = schema.Fields(reflect.TypeFor[shapes]())

func bindShapes(text string) (shapes, []string) {
	b, problems := bindBody(reflect.TypeFor[shapes](), shapeFields, text)
	return b.Input.Interface().(shapes), problems
}

// Ensure that a body is checked against every constraint in the tags, and that each problem begins
// with the path of its field.
func TestBodyProblems(t *testing.T) {
	pointBody := func(rest string) string {
		return `{"points":[{"key":"a","ts":"2026-08-11T00:00:00Z","value":1` + rest + `}]}`
	}
	for _, tt := range []struct{ name, body, want string }{
		{"OK empty", `{}`, ``},
		{"OK spaces", " \t\r\n{ } \n", ``},
		{"OK shortest", `{"name":"ab"}`, ``},
		{"OK longest in characters, not bytes", `{"name":"ääää"}`, ``},
		{"OK an emoji is one character", `{"name":"😀😀😀\ud83d\ude00"}`, ``},
		{"too short", `{"name":"a"}`, `body.name: must have at least 2 characters, has 1`},
		{"too long", `{"name":"abcde"}`, `body.name: must have at most 4 characters, has 5`},
		{"string: number", `{"name":1}`, `body.name: must be a string`},
		{"string: object", `{"name":{}}`, `body.name: must be a string`},
		{"null text", `{"free":null}`, `body.free: must not be null; clear it with ""`},
		{"null text that has a minimum", `{"name":null}`, `body.name: must not be null; leave it out`},
		{"null list", `{"tags":null}`, `body.tags: must not be null; clear it with []`},
		{"null number", `{"whole":null}`, `body.whole: must not be null; leave it out`},
		{"null closed list", `{"colour":null}`, `body.colour: must not be null; leave it out`},
		{"null map", `{"dims":null}`, `body.dims: must not be null; leave it out`},
		{"OK null clears", `{"note":null,"shade":null,"size":null,"labels":null}`, ``},
		{"OK clearable values", `{"note":"","shade":"red","size":9,"labels":[]}`, ``},
		{"clearable text", `{"note":"abcd"}`, `body.note: must have at most 3 characters, has 4`},
		{"clearable closed list", `{"shade":"blue"}`, `body.shade: must be one of red, green`},
		{"clearable list", `{"labels":["a",null]}`, `body.labels[1]: must be a string`},
		{"OK slug", `{"slug":"a-1-b"}`, ``},
		{"OK hosts", `{"hosts":["a","Shop.example.com","xn--bcher-kva.example"]}`, ``},
		{"OK types", `{"types":["cty_1"]}`, ``},
		{"type of another form", `{"types":["cty_1","cty_A"]}`, `body.types[1]: must match ^cty_[0-9a-z]{1,40}$`},
		{"host with a scheme", `{"hosts":["a","https://a"]}`, `body.hosts[1]: must be a host name without scheme, port or path, for example shop.example.com`},
		{"host with a port", `{"hosts":["a:80"]}`, `body.hosts[0]: must be a host name`},
		{"host with an empty label", `{"hosts":["a..b"]}`, `body.hosts[0]: must be a host name`},
		{"host too long", `{"hosts":["` + strings.Repeat("a.", 35) + `a"]}`, `body.hosts[0]: must have at most 70 characters, has 71`},
		{"OK origins", `{"origins":["https://example.com","http://localhost:3000"]}`, ``},
		{"origin", `{"origins":["https://a/","https://b"]}`, `body.origins[0]: must be an origin without path or wildcard, its host in small letters, for example https://example.com or http://localhost:3000`},
		{"the last of the origins", `{"origins":["https://a","https://b","*"]}`, `body.origins[2]: must be an origin`},
		{"label too long", `{"hosts":["` + strings.Repeat("a", 64) + `"]}`, `body.hosts[0]: must be a host name`},
		{"slug", `{"slug":"-a"}`, `body.slug: must match ^[a-z0-9]+(-[a-z0-9]+)*$`},
		{"slug with a line end", `{"slug":"a\n"}`, `body.slug: must match ^[a-z0-9]+(-[a-z0-9]+)*$`},
		{"slug empty", `{"slug":""}`, `body.slug: must match ^[a-z0-9]+(-[a-z0-9]+)*$`},
		{"OK currency", `{"code":"EUR"}`, ``},
		{"currency", `{"code":"eur"}`, `body.code: must match ^[A-Z]{3}$`},
		{"OK closed list", `{"colour":"green"}`, ``},
		{"closed list", `{"colour":"Green"}`, `body.colour: must be one of red, green`},
		{"closed list empty", `{"colour":""}`, `body.colour: must be one of red, green`},
		{"OK integer", `{"whole":-0}`, ``},
		{"OK integer 5.0", `{"whole":5.0}`, ``},
		{"OK integer 5e0", `{"whole":5e0}`, ``},
		{"OK integer 500e-2", `{"whole":500e-2}`, ``},
		{"OK integer 0e999999999999999999999", `{"whole":0.000e999999999999999999999}`, ``},
		{"OK largest safe", `{"whole":9007199254740991}`, ``},
		{"OK smallest safe", `{"whole":-9007199254740991}`, ``},
		{"integer beyond safe", `{"whole":9007199254740993}`, `body.whole: must be a whole number, between -9007199254740991 and 9007199254740991`},
		{"integer fraction", `{"whole":1.5}`, `body.whole: must be a whole number`},
		{"integer almost whole", `{"whole":1.00000000000000000000000000001}`, `body.whole: must be a whole number`},
		{"integer 1e400", `{"whole":1e400}`, `body.whole: must be a whole number`},
		{"integer 1e-999999999", `{"whole":1e-999999999}`, `body.whole: must be a whole number`},
		{"integer exponent past int64", `{"whole":1e99999999999999999999}`, `body.whole: must be a whole number`},
		{"integer -1e-99999999999999999999", `{"whole":-1e-99999999999999999999}`, `body.whole: must be a whole number`},
		{"integer as text", `{"whole":"5"}`, `body.whole: must be a whole number`},
		{"range low", `{"ranged":0}`, `body.ranged: must be between 1 and 2000000`},
		{"range high", `{"ranged":2000001}`, `body.ranged: must be between 1 and 2000000`},
		{"range wrong type", `{"ranged":true}`, `body.ranged: must be a whole number, between 1 and 2000000`},
		{"only a minimum", `{"least":-1}`, `body.least: must be between 0 and 9007199254740991`},
		{"OK number", `{"number":-1e125}`, ``},
		{"OK smallest number", `{"number":1e-129}`, ``},
		{"number past DynamoDB's", `{"number":-1.5e300,"part":1e126,"most":1e-130}`, "body.number: must be 0 or between 1e-129 and 1e125, positive or negative\nbody.part: must be 0 or between 1e-129 and 1e125, positive or negative\nbody.most: must be 0 or between 1e-129 and 1e125, positive or negative"},
		{"number past float64", `{"number":1e400}`, `body.number: must be 0 or between 1e-129 and 1e125, positive or negative`},
		{"number below float64", `{"number":-0.001E-400}`, `body.number: must be 0 or between 1e-129 and 1e125, positive or negative`},
		{"OK zero with an exponent", `{"number":0.00e-400}`, ``},
		{"number as text", `{"number":"1"}`, `body.number: must be a number`},
		{"number with a minimum only", `{"part":0.4}`, `body.part: must be at least 0.5`},
		{"number with a maximum only", `{"most":1.6}`, `body.most: must be at most 1.5`},
		{"OK flag", `{"flag":false}`, ``},
		{"flag as text", `{"flag":"true"}`, `body.flag: must be a boolean`},
		{"flag 1", `{"flag":1}`, `body.flag: must be a boolean`},
		{"OK list", `{"tags":["ab","",""]}`, ``},
		{"OK empty list", `{"tags":[]}`, ``},
		{"list too long", `{"tags":["","","",""]}`, `body.tags: must have at most 3 elements, has 4`},
		{"list element too long", `{"tags":["a","abc"]}`, `body.tags[1]: must have at most 2 characters, has 3`},
		{"list element null", `{"tags":[null]}`, `body.tags[0]: must be a string`},
		{"list element list", `{"tags":[["a"]]}`, `body.tags[0]: must be a string`},
		{"list is text", `{"tags":"a"}`, `body.tags: must be an array`},
		{"list is object", `{"tags":{}}`, `body.tags: must be an array`},
		{"list too short", `{"pair":[]}`, `body.pair: must have 1 to 2 elements, has 0`},
		{"OK list of a closed list", `{"colours":["red","red"]}`, ``},
		{"list of a closed list", `{"colours":["red","Red"]}`, `body.colours[1]: must be one of red, green`},
		{"list of a closed list: null", `{"colours":[null]}`, `body.colours[0]: must be a string`},
		{"OK map", `{"dims":{"a":"b","":"xyz"}}`, ``},
		{"OK longest map key and value", `{"dims":{"äöü":"äöü"}}`, ``},
		{"OK longest element", `{"tags":["äö","ab"]}`, ``},
		{"element too long", `{"tags":["äöü"]}`, `body.tags[0]: must have at most 2 characters, has 3`},
		{"map value", `{"dims":{"a":1}}`, `body.dims.a: must be a string`},
		{"map value too long", `{"dims":{"a":"wxyz"}}`, `body.dims.a: must have at most 3 characters, has 4`},
		{"map key too long", `{"dims":{"wxyz":"a"}}`, `body.dims.wxyz: must have at most 3 characters, has 4`},
		{"map too large, one problem", `{"dims":{"a":1,"b":1,"c":1}}`, `body.dims: must have at most 2 keys, has 3`},
		{"map is list", `{"dims":[]}`, `body.dims: must be an object`},
		{"OK point", pointBody(``), ``},
		{"point unknown", pointBody(`,"Key":1`), `body.points[0].Key: unknown property; did you mean key?`},
		{"point bound", pointBody(`,"note":"123456"`), `body.points[0].note: must have at most 5 characters, has 6`},
		{"point null", pointBody(`,"note":null`), `body.points[0].note: must not be null; clear it with ""`},
		{"point repeated", pointBody(`,"key":"b"`), `body.points[0].key: is repeated`},
		{"point map", pointBody(`,"dims":{"a":null}`), `body.points[0].dims.a: must be a string`},
		{"point is text", `{"points":["x"]}`, `body.points[0]: must be an object`},
		{"point is null", `{"points":[null]}`, `body.points[0]: must be an object`},
		{"no points", `{"points":[]}`, `body.points: must have 1 to 3 elements, has 0`},
		{"all of a point", `{"points":[{}]}`, "body.points[0].key: is required\nbody.points[0].ts: is required\nbody.points[0].value: is required"},
		{"OK web address", `{"site":"https://example.com:8080/a%20b?c=d#e"}`, ``},
		{"a user", `{"site":"https://user@example.com"}`, `body.site: must not have a user name or a password`},
		{"OK web address without TLS", `{"site":"http://[::1]:80"}`, ``},
		{"no host", `{"site":"http://"}`, `body.site: must be an http or https address with a host`},
		{"no host before the path", `{"site":"https:///a"}`, `body.site: must be an http or https address with a host`},
		{"no host before the port", `{"site":"https://:80"}`, `body.site: must be an http or https address with a host`},
		{"no host after a user", `{"site":"https://user@"}`, `body.site: must not have a user name or a password`},
		{"no slashes", `{"site":"https:example.com"}`, `body.site: must be an http or https address with a host`},
		{"script with a host", `{"site":"javascript://example.com/%0aalert(1)"}`, `body.site: must be an http or https address with a host`},
		{"script", `{"site":"javascript:alert(1)"}`, `body.site: must be an http or https address with a host`},
		{"another scheme", `{"site":"ftp://example.com"}`, `body.site: must be an http or https address with a host`},
		{"a space", `{"site":"https://example.com/a b"}`, `body.site: must be an http or https address with a host`},
		{"OK timestamp", `{"at":"2026-08-11T09:30:00.5+02:00"}`, ``},
		{"timestamp", `{"at":"2026-08-11"}`, `body.at: must be an RFC 3339 time, for example 2026-08-11T09:30:00Z`},
		{"OK URI", `{"site":"https://example.com/a?b=%20#c"}`, ``},
		{"no scheme", `{"site":"example.com"}`, `body.site: must be an http or https address with a host, for example https://example.com`},
		{"unknown", `{"nope":1}`, `body.nope: unknown property`},
		{"wrong case", `{"NAME":"ab"}`, `body.NAME: unknown property; did you mean name?`},
		{"repeated", `{"free":"a","free":"b"}`, `body.free: is repeated`},
		{"repeated by an escape", `{"free":"a","fr\u0065e":"b"}`, `body.free: is repeated`},
		{"repeated far down", `{"x":[0,{"y":[[{"z":1,"z":2}]]}]}`, "body.x[1].y[0][0].z: is repeated\nbody.x: unknown property"},
		{"NUL in a text", `{"free":"a\u0000b"}`, `body.free: must not have the character U+0000`},
		{"NUL in a list", `{"tags":["a","\u0000"]}`, `body.tags[1]: must not have the character U+0000`},
		{"NUL in a map", `{"dims":{"a":"\u0000"}}`, `body.dims.a: must not have the character U+0000`},
		{"NUL in a map's key", `{"dims":{"\u0000":"a"}}`, `body.dims.\u0000: must not have the character U+0000`},
		{"NUL in an element", pointBody(`,"note":"\u0000"`), `body.points[0].note: must not have the character U+0000`},
		{"all problems", `{"name":1,"flag":1,"Flag":1}`, "body.name: must be a string\nbody.flag: must be a boolean\nbody.Flag: unknown property; did you mean flag?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := bindShapes(tt.body)
			got := strings.Join(problems, "\n")
			if got != tt.want && (tt.want == "" || !strings.HasPrefix(got, tt.want) || strings.Contains(got, "\n")) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Ensure that valid values are bound unchanged, and that nested objects get their defaults. A time
// must be bound in UTC, and -0 as 0.
func TestBodyValues(t *testing.T) {
	in, problems := bindShapes(`{"whole":-500e-2,"at":"2026-08-11T09:30:00.5+02:00","tags":[],"dims":{"a":"\u0001"},"number":-0.0,"name":"\ud83d\ude00\\u","points":[{"key":"a.b","ts":"2026-08-11T00:00:00Z","value":1,"dims":{}},{"key":"b","ts":"2026-08-11T00:00:00Z","value":2,"grain":"green"}]}`)
	if problems != nil {
		t.Fatal(problems)
	}
	if math.Signbit(*in.Number) {
		t.Error("-0 is not bound as 0")
	}
	want := shapes{
		Whole: new(int64(-5)), At: new("2026-08-11T07:30:00.500Z"), Tags: []string{}, Dims: map[string]string{"a": "\x01"}, Number: new(0.0), Name: new("😀\\u"), Default: "usual",
		Points: []point{
			{Key: "a.b", TS: "2026-08-11T00:00:00.000Z", Value: 1, Grain: "red", Dims: map[string]string{}},
			{Key: "b", TS: "2026-08-11T00:00:00.000Z", Value: 2, Grain: "green"},
		},
	}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("the bound body (-want +got):\n%s", diff)
	}
}

type textInput struct {
	ItemID string        `path:"itemId"`
	Limit  int64         `query:"limit" default:"50" min:"1" max:"200"`
	Cursor schema.Cursor `query:"cursor"`
	Colour *colour       `query:"colour"`
	Key    string        `query:"key" max:"5"`
	From   *string       `query:"from" format:"day"`
	Ratio  *float64      `query:"ratio"`
	Flag   *bool         `query:"flag"`
	Big    *int64        `query:"big"`
	Match  *string       `header:"If-Match"`
}

// Ensure that each value has only one valid spelling in a path or a query, and that a limit that is
// out of range is rejected, not clamped.
func TestTextProblems(t *testing.T) {
	fields := schema.Fields(reflect.TypeFor[textInput]())
	for _, tt := range []struct{ field, text, want string }{
		{"limit", "1", ""},
		{"limit", "200", ""},
		{"limit", "0", "query.limit: must be between 1 and 200"},
		{"limit", "201", "query.limit: must be between 1 and 200"},
		{"limit", "-0", "query.limit: must be between 1 and 200"},
		{"limit", "5.0", "query.limit: must be a whole number, between 1 and 200"},
		{"limit", "5e0", "query.limit: must be a whole number, between 1 and 200"},
		{"limit", "+5", "query.limit: must be a whole number, between 1 and 200"},
		{"limit", "05", "query.limit: must be a whole number, between 1 and 200"},
		{"limit", " 5", "query.limit: must be a whole number, between 1 and 200"},
		{"limit", "", "query.limit: must be a whole number, between 1 and 200"},
		{"limit", "٥", "query.limit: must be a whole number, between 1 and 200"},
		{"limit", "99999999999999999999", "query.limit: must be a whole number, between 1 and 200"},
		{"big", "9007199254740991", ""},
		{"big", "9007199254740993", "query.big: must be a whole number, between -9007199254740991 and 9007199254740991"},
		{"colour", "red", ""},
		{"colour", "", "query.colour: must be one of red, green"},
		{"key", "äääää", ""},
		{"key", "a\xff", "query.key: is not valid UTF-8"},
		{"key", "123456", "query.key: must have at most 5 characters, has 6"},
		{"from", "2026-08-11", ""},
		{"from", "2026-08-11T23:00:00-02:00", ""},
		{"from", "2026-8-11", "query.from: must be a day, for example 2026-08-11"},
		{"from", "2026-02-29", "query.from: must be a day, for example 2026-08-11"},
		{"ratio", "-1.5e2", ""},
		{"ratio", "nan", "query.ratio: must be a number"},
		{"ratio", "Inf", "query.ratio: must be a number"},
		{"ratio", "0x1p4", "query.ratio: must be a number"},
		{"ratio", "1_0", "query.ratio: must be a number"},
		{"ratio", "+1", "query.ratio: must be a number"},
		{"ratio", ".5", "query.ratio: must be a number"},
		{"flag", "true", ""},
		{"flag", "True", "query.flag: must be a boolean"},
		{"flag", "1", "query.flag: must be a boolean"},
		{"cursor", strings.Repeat("a", schema.CursorCharsMax+1), "query.cursor: must have at most 1600 characters, has 1601"},
		{"If-Match", "", ""},
		{"If-Match", "\xff", "header.If-Match: is not valid UTF-8"},
	} {
		t.Run(tt.field+" "+tt.text[:min(len(tt.text), 20)], func(t *testing.T) {
			field := slices.IndexFunc(fields, func(f schema.Field) bool { return f.Name == tt.field })
			b := schema.BindText(reflect.TypeFor[textInput](), &fields[field], tt.text)
			if got := strings.Join(b.Problems, "\n"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Ensure an invalid id in the path is reported as not found, so that it never becomes part of a
// table key.
func TestPathIDs(t *testing.T) {
	field := schema.Fields(reflect.TypeFor[textInput]())[0]
	for text, missing := range map[string]bool{
		"itm_01k2": false, "itm_" + strings.Repeat("0", 40): false, "": true, "itm_": true, "itm_A": true, "itm_a/b": true, "itm_a#b": true,
		"itm_a\x00": true, "itm_" + strings.Repeat("0", 41): true, "itm": true, "itm_é": true, "itm_\xff": true,
	} {
		b := schema.BindText(reflect.TypeFor[textInput](), &field, text)
		if b.NotFound != missing || len(b.Problems) > 0 {
			t.Errorf("%q: missing is %v, problems %v", text, b.NotFound, b.Problems)
		}
	}
}

// Ensure a missing required argument is a problem and defaults are bound. Binder.Filters must
// return the values in the path and query, except limit and cursor.
func TestAbsentAndFilters(t *testing.T) {
	fields := schema.Fields(reflect.TypeFor[textInput]())
	b := schema.Bind(reflect.TypeFor[textInput](), fields, schema.Source{Path: map[string]string{fields[0].Name: "itm_1"}})
	if got := strings.Join(b.Problems, "\n"); got != "query.key: is required" {
		t.Errorf("problems: %s", got)
	}
	if diff := cmp.Diff(textInput{ItemID: "itm_1", Limit: 50}, b.Input.Interface().(textInput)); diff != "" {
		t.Errorf("the bound texts (-want +got):\n%s", diff)
	}
	query := url.Values{}
	for _, f := range fields {
		if f.In == schema.InQuery {
			query.Set(f.Name, "5")
		}
	}
	b = schema.Bind(reflect.TypeFor[textInput](), fields, schema.Source{Query: query.Encode()})
	if want := []string{"colour=5", "key=5", "from=5", "ratio=5", "flag=5", "big=5"}; !slices.Equal(b.Filters(), want) {
		t.Errorf("filters %q, want %q", b.Filters(), want)
	}
}

// Ensure the list of problems is not much larger than the request: names are truncated, and the
// number of problems is limited.
func TestProblemsAreBounded(t *testing.T) {
	var many strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&many, `"%05x":1,`, i)
	}
	long := strings.Repeat("ä", 30000)
	for name, body := range map[string]string{
		"many unknown":              `{` + many.String() + `"z":1}`,
		"long unknown":              `{"` + long + `":1}`,
		"repeated below a long one": `{"` + long + `":{` + strings.Repeat(`"a":1,`, 20000) + `"a":1}}`,
		"repeated far down":         strings.Repeat(`{"aaaaaaaaaaaaaaaa":`, 9000) + `{"a":1,"a":2}` + strings.Repeat(`}`, 9000),
		"large map":                 `{"dims":{` + many.String() + `"z":1}}`,
		"long map keys":             `{"points":[{"dims":{"` + long + `":1}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := bindShapes(body)
			total := 0
			for _, p := range problems {
				total += len(p)
				if len(p) > 400 {
					t.Errorf("a message of %d bytes", len(p))
				}
			}
			if len(problems) == 0 || len(problems) > 5002 || total > 1_200_000 {
				t.Errorf("%d problems of %d bytes for a body of %d", len(problems), total, len(body))
			}
		})
	}
	if _, problems := bindShapes(`{` + many.String() + `"z":1}`); !strings.HasPrefix(problems[len(problems)-1], "request: has more than 5000 problems") {
		t.Errorf("the limit is not reported: %s", problems[len(problems)-1])
	}
}
