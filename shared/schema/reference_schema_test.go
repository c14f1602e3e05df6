package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"growthworkspace/shared/schema"
)

// patternTexts contains handwritten copies of the patterns, so that the test does not depend on the
// code that it checks.
var patternTexts = map[string]string{"slug": `^[a-z0-9]+(-[a-z0-9]+)*$`, "metricKey": `^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$`, "currency": `^[A-Z]{3}$`, "cty": `^cty_[0-9a-z]{1,40}$`, "web": `^https?://`,
	"origin": `^https?://[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$`,
	"host":   `^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`}

// referenceSchema returns the JSON Schema that the OpenAPI document and the tools must contain for
// the fields.
func referenceSchema(fields []schema.Field) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, f := range fields {
		p := map[string]any{"type": string(f.Kind)}
		low, high := "minimum", "maximum"
		switch f.Kind {
		case schema.String:
			low, high = "minLength", "maxLength"
		case schema.Array:
			low, p["maxItems"] = "minItems", f.ItemsMax
			element := map[string]any{"type": "string"}
			if f.ItemCharsMax > 0 {
				element["maxLength"] = f.ItemCharsMax
			}
			if f.Enum != nil {
				element["enum"] = f.Enum
			}
			if f.Format+f.Pattern+f.Ref != "" {
				element["pattern"] = patternTexts[f.Format+f.Pattern+f.Ref]
			}
			if f.Fields != nil {
				element = referenceSchema(f.Fields)
			}
			p["items"] = element
		case schema.Map:
			p["maxProperties"] = f.ItemsMax
			p["additionalProperties"] = map[string]any{"type": "string", "maxLength": f.ItemCharsMax}
			p["propertyNames"] = map[string]any{"maxLength": f.ItemCharsMax}
		}
		if f.Min != nil {
			p[low] = *f.Min
		}
		if f.Max != nil {
			p[high] = *f.Max
		}
		if f.Enum != nil && f.Kind == schema.String {
			p["enum"] = f.Enum
		}
		if f.Pattern+f.Ref != "" {
			p["pattern"] = patternTexts[f.Pattern+f.Ref]
		}
		switch f.Format {
		case "", "host", "origin":
		case "web":
			p["format"], p["pattern"] = "uri", patternTexts["web"]
		default:
			p["format"] = f.Format
		}
		if f.Null != schema.NullRefused {
			p["type"] = []any{string(f.Kind), "null"}
			if values, ok := p["enum"].([]string); ok {
				p["enum"] = append(anyOf(values), nil)
			}
		}
		properties[f.Name] = p
		if f.Required {
			required = append(required, f.Name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func anyOf(values []string) (out []any) {
	for _, v := range values {
		out = append(out, v)
	}
	return out
}

func compileReference(t testing.TB, fields []schema.Field) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(referenceSchema(fields))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("input.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("input.json")
}

// boundaryTexts contains strings that only just satisfy or violate a rule.
var boundaryTexts = []string{
	``, `a`, `ab`, `abcd`, `abcde`, `ääää`, `äääää`, `😀😀😀😀`, `😀😀😀😀😀`, `a-b`, `-a`, `a--b`, `A`, `a.b`, `a..b`, `a_1.2`, `1a`, `EUR`, `EU`, `eur`, `EURO`, `red`, `green`, `Red`,
	`red\n`, `a\n`, `EUR\n`, `\u0000`, `\u0000\u0000`, `\ud83d\ude00`, `0123456789`, `0123456789a`,
	`2026-08-11T09:30:00Z`, `2026-08-11t09:30:00z`, `2026-08-11T09:30:00.123456789123+02:00`, `2026-08-11T09:30:00,5Z`, `2026-08-11T9:30:00Z`, `2026-08-11T09:30:00`, `2026-08-11 09:30:00Z`,
	`2026-08-11T24:00:00Z`, `2026-08-11T23:59:60Z`, `2026-08-11T22:59:60Z`, `2026-08-11T22:59:60-01:00`, `2026-08-11T23:59:61Z`, `2026-02-29T00:00:00Z`, `2024-02-29T00:00:00Z`, `2026-13-01T00:00:00Z`, `2026-08-11T09:30:00+24:00`, `2026-08-11T09:30:00+23:59`, `2026-08-11T09:30:00+02`,
	`2026-08-11T09:30:00+02:60`, `2026-08-11T09:30:00.Z`, `2026-08-11`, `26-08-11T09:30:00Z`, `02026-08-11T09:30:00Z`,
	`https://example.com`, `https://example.com/a%20b?c=d#e`, `http://[::1]:80/`, `http://[::1`, `mailto:a@example.com`, `urn:a:b`, `ftp://h/`, `//example.com`, `/a`, `example.com`, `https://exa mple.com`, `https://example.com:port`, `https://user@a.b`, `https://a..b`, `https://a.b:65536`, `https://a.b:65535`, `1http://a`, `http://%zz`, `:`,
}

// wrongTypeValues contains values whose type is wrong for most fields.
var wrongTypeValues = []string{`null`, `true`, `false`, `1`, `-1`, `0`, `-0`, `0.5`, `"x"`, `[]`, `{}`, `[[]]`, `[null]`, `{"a":1}`, `1e2`}

var boundaryNumbers = []string{
	`0`, `-0`, `-0.0`, `0e5`, `1`, `1.0`, `1e0`, `10e-1`, `15e-1`, `1.5`, `1.6`, `0.5`, `0.4999`, `-5`, `-5.0000001`, `5`, `5.1`, `2000000`, `2e6`, `2000001`, `9007199254740991`, `9007199254740992`, `9007199254740993`, `-9007199254740991`,
	`-9007199254740992`, `9.007199254740991e15`, `1e19`, `1e125`, `-1e-129`, `1e300`, `1e-300`, `1e-9999`, `1.00000000000000000000000001`, `0.00000001e8`, `99999999999999999999`,
}

// generator generates random bodies in which most values are valid.
type generator struct{ *rand.Rand }

func (g generator) pick(from []string) string { return from[g.IntN(len(from))] }

func (g generator) object(fields []schema.Field) string {
	var members []string
	for _, f := range fields {
		if f.Required && g.IntN(40) > 0 || !f.Required && g.IntN(len(fields)) < 3 {
			members = append(members, fmt.Sprintf("%q:%s", f.Name, g.value(f)))
		}
	}
	if g.IntN(30) == 0 {
		members = append(members, fmt.Sprintf("%q:%s", g.pick([]string{"nope", "NAME", "", "Key", "name ", "\u00e4"}), g.pick(wrongTypeValues)))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (g generator) value(f schema.Field) string {
	if g.IntN(30) == 0 {
		return g.pick(wrongTypeValues)
	}
	if g.IntN(30) == 0 {
		return "null"
	}
	switch f.Kind {
	case schema.String:
		if f.Enum != nil && g.IntN(5) > 0 {
			return `"` + g.pick(f.Enum) + `"`
		}
		if g.IntN(8) > 0 {
			return `"` + map[string]string{"slug": "a-b", "metricKey": "a.b", "currency": "EUR", "web": "https://a.b", "date-time": "2026-08-11T09:30:00Z", "": "ab"}[f.Pattern+f.Format] + `"`
		}
		return `"` + g.pick(boundaryTexts) + `"`
	case schema.Integer, schema.Number:
		if g.IntN(8) > 0 {
			return "1"
		}
		return g.pick(boundaryNumbers)
	case schema.Boolean:
		return g.pick([]string{"true", "false"})
	case schema.Map:
		var members []string
		for i := range g.IntN(4) {
			members = append(members, fmt.Sprintf(`"%s%d":"%s"`, g.pick([]string{"", "a", "ab", "ää", "abc"}), i, g.pick([]string{"", "abc", "😀😀😀", "abcd"})))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	var elements []string
	for range 1 + g.IntN(4) - g.IntN(2) {
		element := `"` + g.pick([]string{"", "ab", "😀😀", "a", "b", "abc"}) + `"`
		if f.Enum != nil && g.IntN(5) > 0 {
			element = `"` + g.pick(f.Enum) + `"`
		}
		if f.Fields != nil {
			element = g.object(f.Fields)
		}
		if g.IntN(20) == 0 {
			element = g.pick(wrongTypeValues)
		}
		elements = append(elements, element)
	}
	return "[" + strings.Join(elements, ",") + "]"
}

// looserSchemaPattern matches bodies that a JSON Schema accepts but this service rejects. They
// contain one of these:
//   - a number that DynamoDB cannot store (1e300, 1e-300 and 1e-9999)
//   - an address without a host or with a user, or with a wrong host or port
//   - a character that RFC 3986 forbids but the schema validator's url.Parse accepts
//   - a time outside the years 1 to 9999 in UTC
//   - the character NUL
//
// It need not match bodies with repeated keys, lone surrogates or invalid UTF-8, because those are
// not JSON.
var looserSchemaPattern = regexp.MustCompile(`"site":"(https?:/?/?[/":]|https://(user@a\.b|a\.\.b|a\.b:65536)"|[^"]*[<>{}|\\^` + "`" + `])|"(at|ts)":"(0000|0001-01-01|9999-12-31)|1e-?300|1e-9999|\\u0000`)

// Ensure Bind accepts exactly the bodies that the published schema accepts.
func TestAgreesWithJSONSchema(t *testing.T) {
	type leaf struct {
		Title    string   `json:"title" min:"1" max:"4"`
		Colour   colour   `json:"colour"`
		Order    *int64   `json:"order"`
		Active   bool     `json:"active"`
		Must     []string `json:"must" items:"2" each:"2" required:"true"`
		Optional *string  `json:"optional" max:"4"`
	}
	type batch struct {
		Points []point `json:"points" items:"3" min:"1" required:"true"`
	}
	for _, input := range []reflect.Type{reflect.TypeFor[shapes](), reflect.TypeFor[leaf](), reflect.TypeFor[batch](), reflect.TypeFor[nullableInput]()} {
		fields := schema.Fields(input)
		if input == reflect.TypeFor[nullableInput]() {
			schema.AcceptNull(fields)
		}
		reference := compileReference(t, fields)
		g := generator{rand.New(rand.NewPCG(20260811, 1))}
		accepted, total := 0, 4000
		if testing.Short() {
			total = 1000
		}
		for range total {
			body := g.object(fields)
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
			if err != nil {
				t.Fatalf("%s is not JSON: %v", body, err)
			}
			schemaErr := reference.Validate(v)
			_, problems := bindBody(input, fields, body)
			if schemaErr == nil {
				accepted++
			}
			if (schemaErr == nil) != (len(problems) == 0) && !looserSchemaPattern.MatchString(body) {
				t.Errorf("%s\nours: %v\nreference: %v", body, problems, schemaErr)
			}
		}
		if accepted < total/10 || accepted > total*9/10 {
			t.Errorf("%s: %d of %d accepted: too few or too many for a useful test", input, accepted, total)
		}
	}
}

// Ensure Bind and the schema agree on each edge case by itself, so that no other problem in the
// same body hides a disagreement.
func TestBoundariesAgreeWithJSONSchema(t *testing.T) {
	reference := compileReference(t, shapeFields)
	checked := 0
	for _, f := range shapeFields {
		values := append(append([]string{}, wrongTypeValues...), boundaryNumbers...)
		for _, text := range boundaryTexts {
			values = append(values, `"`+text+`"`)
		}
		for _, value := range values {
			for _, body := range []string{fmt.Sprintf(`{%q:%s}`, f.Name, value), fmt.Sprintf(`{%q:[%s]}`, f.Name, value), fmt.Sprintf(`{%q:{"k":%s}}`, f.Name, value)} {
				v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				schemaErr := reference.Validate(v)
				_, problems := bindBody(reflect.TypeFor[shapes](), shapeFields, body)
				checked++
				if (schemaErr == nil) != (len(problems) == 0) && !looserSchemaPattern.MatchString(body) {
					t.Errorf("%s\nours: %v\nreference: %v", body, problems, schemaErr)
				}
			}
		}
	}
	if checked < 5000 {
		t.Errorf("only %d bodies", checked)
	}
}

// BenchmarkBind measures parsing and validating a push of 500 points.
func BenchmarkBind(b *testing.B) {
	type batch struct {
		Points []point `json:"points" items:"500" min:"1"`
	}
	fields := schema.Fields(reflect.TypeFor[batch]())
	one := `{"key":"a.b","ts":"2026-08-11T09:30:00Z","value":1.25,"grain":"red","dims":{"a":"b"}}`
	body := `{"points":[` + strings.Repeat(one+",", 499) + one + `]}`
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := bindBody(reflect.TypeFor[batch](), fields, body); problems != nil {
			b.Fatal(problems)
		}
	}
}
