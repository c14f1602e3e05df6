package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"growthworkspace/shared/schema"
)

type rawInput struct {
	Name     *string                           `json:"name" max:"5"`
	Findings json.RawMessage                   `json:"findings" max:"21"`
	Old      schema.Clearable[json.RawMessage] `json:"old" max:"21"`
}

// Ensure the value of a property that accepts any JSON is kept unchanged, except for insignificant
// whitespace, and is checked like the rest of a body.
func TestAnyJSON(t *testing.T) {
	t.Parallel()
	fields := schema.Fields(reflect.TypeFor[rawInput]())
	if got := schema.RawProperties(fields); !reflect.DeepEqual(got, []string{"findings", "old"}) {
		t.Fatalf("raw properties %q, want findings and old", got)
	}
	const half = "body: is not valid Unicode: it has half of a surrogate pair"
	for text, want := range map[string]struct {
		findings string
		problem  string
	}{
		`{"findings":{"a" : [1.50, "\u00e9"]} }`: {`{"a":[1.50,"\u00e9"]}`, ""},
		` { "name" : "a" , "findings" : [ ] } `:  {`[]`, ""},
		`{"findings":123456789012345678901}`:     {`123456789012345678901`, ""},
		`{"findings":false,"name":"b"}`:          {`false`, ""},
		`{"findings":"null"}`:                    {`"null"`, ""},
		`{"findings":"a,}]\"\\"}`:                {`"a,}]\"\\"`, ""},
		`{"findings":[[],{},[{}],""]}`:           {`[[],{},[{}],""]`, ""},
		`{"findings":[{"a":1},{"a":2}]}`:         {`[{"a":1},{"a":2}]`, ""},
		`{"find\u0069ngs":1}`:                    {`1`, ""},
		`{"findings":"\\u0000"}`:                 {`"\\u0000"`, ""},
		`{"findings":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`: {"", "body: is nested more than 500 levels deep"},
		`{"findings":null}`:                                  {"", "body.findings: must not be null"},
		`{}`:                                                 {"", ""},
		`{"findings":"12345678901234567890"}`:                {"", "body.findings: must have at most 21 bytes as compact JSON, has 22"},
		`{"findings":[{"a":1,"\u0061":2}]}`:                  {"", `body.findings: has an object in which the property "a" is repeated`},
		`{"findings":"\u0000"}`:                              {"", "body.findings: must not have the character U+0000"},
		`{"findings":{"\u0000":1}}`:                          {"", "body.findings: must not have the character U+0000"},
		`{"findings":1,"findings":2}`:                        {"", "body.findings: is repeated"},
		`{"findings":"\ud800"}`:                              {"", half},
		`{"findings":{"a":1}`:                                {"", "body: is not valid JSON: unexpected end of JSON input"},
		`{"findings":{"a":1},}`:                              {"", "body: is not valid JSON"},
		`[{"findings":1}]`:                                   {"", "body: must be a JSON object"},
		`{"a\u0000":1,"findings":[1]}`:                       {"", `body.a\u0000: must not have the character U+0000`},
		`{"name":"\u0000","findings":[1]}`:                   {"", "body.name: must not have the character U+0000"},
		"{\"findings\":\"\xff\"}":                            {"", "body: is not valid UTF-8"},
		`{"findings":[1],"nope":{"findings":{"b":1,"b":2}}}`: {"", "body.nope.findings.b: is repeated"},
	} {
		b, problems := bindBody(reflect.TypeFor[rawInput](), fields, text)
		all := strings.Join(problems, "\n")
		if !strings.HasPrefix(all, want.problem) || (all == "") != (want.problem == "") {
			t.Errorf("%s: %q, want %q", text, all, want.problem)
		}
		if got := string(b.Input.Interface().(rawInput).Findings); all == "" && got != want.findings {
			t.Errorf("%s: %s, want %s", text, got, want.findings)
		}
	}
}

// Ensure that null clears a property that accepts any JSON, and that any other value is stored.
func TestAnyJSONClears(t *testing.T) {
	t.Parallel()
	fields := schema.Fields(reflect.TypeFor[rawInput]())
	for text, want := range map[string]schema.Clearable[json.RawMessage]{
		`{"old":null}`: {Sent: true}, `{}`: {}, `{"old":[ 1 ]}`: {Sent: true, Value: json.RawMessage(`[1]`)},
	} {
		b, _ := bindBody(reflect.TypeFor[rawInput](), fields, text)
		if got := b.Input.Interface().(rawInput).Old; len(b.Problems) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v; problems %q", text, got, want, b.Problems)
		}
	}
}

// Ensure only the values of the properties in rawNames may be large. JSON with too many bytes
// outside these values must be refused before those bytes are parsed into a tree.
func TestSizeLimitOutsideRawValues(t *testing.T) {
	const bytesMax = 1000
	names := func(n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, `,"%d":1`, i)
		}
		return out.String()
	}
	large := "[" + strings.Repeat("1,", 50_000) + "1]"
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"nothing else":       {`{"a":` + large + `}`, false},
		"at the limit":       {`{"a":` + large + `,"b":"` + strings.Repeat("x", bytesMax-len(`{"a":,"b":""}`)) + `"}`, false},
		"above it":           {`{"a":` + large + `,"b":"` + strings.Repeat("x", bytesMax-len(`{"a":,"b":""}`)+1) + `"}`, true},
		"space at the end":   {`{"a":1}` + strings.Repeat(" ", bytesMax), true},
		"space at the front": {strings.Repeat(" ", bytesMax) + `{"a":1}`, true},
		"another property":   {`{"zz":` + large + `,"a":1}`, true},
		"twice":              {`{"a":` + large + `,"a":` + large + `}`, true},
		"twice, one small":   {`{"a":` + large + `,"a":1}`, false},
		"many names":         {`{"a":1` + names(10_000) + `}`, true},
		"names within":       {`{"zz":{"a":1` + names(10_000) + `}}`, true},
		"deep":               {`{"zz":{"a":` + large + `}}`, true},
		"an array":           {large, true},
		"a text":             {`"` + strings.Repeat("x", bytesMax) + `"`, true},
		"a small text":       {`"a"`, false},
		"not JSON":           {`{"zz":` + large, true},
	} {
		read := func() { _, _, _ = schema.ParseObjectWithRaw([]byte(c.text), "body", []string{"a"}, bytesMax) }
		o, problems, tooLarge := schema.ParseObjectWithRaw([]byte(c.text), "body", []string{"a"}, bytesMax)
		if tooLarge != c.want || tooLarge && (o != nil || problems != nil) {
			t.Errorf("%s: %v, %d properties, %.200q", name, tooLarge, len(o), problems)
		}
		if got := testing.AllocsPerRun(1, read); got > bytesMax {
			t.Errorf("%s: %.0f allocations, want at most one for each of the %d bytes that are read", name, got, bytesMax)
		}
	}
}

// FuzzParseLarge checks that ParseObject and ParseObjectWithRaw accept the same JSON, and that
// their results differ only in the values of the properties that are not parsed.
func FuzzParseLarge(f *testing.F) {
	for _, text := range []string{`{"a":[{"b":"\\\"","c":[{}]}],"d":1}`, `{"a":{"b":1,"b":2}}`, `{"a":"\u0000"}`, ` {"a" :1, "a":2} `, `[]`, `{"a":"\ud83d"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, problems := schema.ParseObject(text, "body")
		withRaw, rawProblems, tooLarge := schema.ParseObjectWithRaw(text, "body", []string{"a"}, len(text))
		if tooLarge {
			t.Fatalf("%q is too large", text)
		}
		if (whole == nil) != (withRaw == nil) || (len(problems) == 0) != (len(rawProblems) == 0) || len(whole) != len(withRaw) {
			t.Fatalf("%q: %v %v, with a raw value %v %v", text, whole, problems, withRaw, rawProblems)
		}
		value, present := withRaw.Get("a")
		if raw, ok := value.(json.RawMessage); ok && !json.Valid(raw) || ok != (present && value != nil) {
			t.Fatalf("%q: the raw value is %v, want valid JSON", text, value)
		}
	})
}
