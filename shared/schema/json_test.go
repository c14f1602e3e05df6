package schema_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"growthworkspace/shared/schema"
)

// Ensure a body that is not a strict JSON object is rejected with one problem.
func TestParseObjectRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", ``, "body: is not valid JSON: unexpected end of JSON input"},
		{"spaces", " \n", "body: is not valid JSON: unexpected end of JSON input"},
		{"null", `null`, "body: must be a JSON object"},
		{"list", `[{}]`, "body: must be a JSON object"},
		{"text", `"{}"`, "body: must be a JSON object"},
		{"number", `1`, "body: must be a JSON object"},
		{"trailing data", `{} {}`, "body: is not valid JSON: there is more text after the value"},
		{"trailing comma", `{"a":1,}`, "body: is not valid JSON"},
		{"single quotes", `{'a':1}`, "body: is not valid JSON"},
		{"comment", `{}//`, "body: is not valid JSON"},
		{"BOM", "\ufeff{}", "body: is not valid JSON"},
		{"UTF-16", "{\x00}\x00", "body: is not valid JSON"},
		{"NaN", `{"a":NaN}`, "body: is not valid JSON"},
		{"plus", `{"a":+1}`, "body: is not valid JSON"},
		{"leading zero", `{"a":01}`, "body: is not valid JSON"},
		{"dot", `{"a":1.}`, "body: is not valid JSON"},
		{"raw NUL", "{\"a\":\"\x00\"}", "body: is not valid JSON"},
		{"raw line end", "{\"a\":\"\n\"}", "body: is not valid JSON"},
		{"bad escape", `{"a":"\x"}`, "body: is not valid JSON"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "body: is not valid UTF-8"},
		{"overlong UTF-8", "{\"a\":\"\xc0\xaf\"}", "body: is not valid UTF-8"},
		{"surrogate in UTF-8", "{\"a\":\"\xed\xa0\x80\"}", "body: is not valid UTF-8"},
		{"invalid UTF-8 in a name", "{\"\xff\":1}", "body: is not valid UTF-8"},
		{"lone high surrogate", `{"a":"\ud800"}`, "body: is not valid Unicode"},
		{"lone low surrogate", `{"a":"\udc00"}`, "body: is not valid Unicode"},
		{"pair the wrong way", `{"a":"\udc00\ud800"}`, "body: is not valid Unicode"},
		{"high, then a character", `{"a":"\ud800a"}`, "body: is not valid Unicode"},
		{"high, then an escape", `{"a":"\uD83D\n"}`, "body: is not valid Unicode"},
		{"high, then a backslash and udc00", `{"a":"\ud83d\\udc00"}`, "body: is not valid Unicode"},
		{"high in one text, low in the next", `{"a":"\ud83d","b":"\ude00"}`, "body: is not valid Unicode"},
		{"lone surrogate in a name", `{"\ud800":1}`, "body: is not valid Unicode"},
		{"501 levels", strings.Repeat(`{"a":`, 501) + `1` + strings.Repeat(`}`, 501), "body: is nested more than 500 levels deep"},
		{"501 levels of arrays", `{"a":` + strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500) + `}`, "body: is nested more than 500 levels deep"},
		{"10,001 levels", strings.Repeat(`{"a":`, 10001) + `1` + strings.Repeat(`}`, 10001), "body: is nested more than 500 levels deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, problems := schema.ParseObject([]byte(tt.text), "body")
			if o != nil || len(problems) != 1 || !strings.HasPrefix(problems[0], tt.want) {
				t.Errorf("got %v, want %s", problems, tt.want)
			}
		})
	}
}

// Ensure that the character NUL is refused in every string and key, and that the problem contains
// its path. In the path, a key that contains NUL is escaped as in JSON.
func TestNULIsRefused(t *testing.T) {
	for text, want := range map[string][]string{
		`{"a":"\u0000"}`:                           {"body.a"},
		`{"a":"x\u0000y","b":1,"c":"\u0000"}`:      {"body.a", "body.c"},
		`{"a\u0000":1}`:                            {`body.a\u0000`},
		`{"a":{"b":[1,{"c":"\u0000"}]}}`:           {"body.a.b[1].c"},
		`{"a":["x",["\u0000"]],"b":{"\u0000":{}}}`: {"body.a[1][0]", `body.b.\u0000`},
	} {
		for i := range want {
			want[i] += ": must not have the character U+0000"
		}
		if o, problems := schema.ParseObject([]byte(text), "body"); o == nil || !slices.Equal(problems, want) {
			t.Errorf("%s: object %v with problems %q, want an object with %q", text, o, problems, want)
		}
	}
}

// Ensure strings with valid Unicode are decoded correctly, including surrogate pairs and escaped
// backslashes before a u.
func TestParseObjectUnicode(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"\ud83d\ude00"}`: "😀", `{"a":"\uD83D\uDE00x"}`: "😀x", `{"a":"\\ud800"}`: `\ud800`, `{"a":"\\\\ud800\\"}`: `\\ud800\`, `{"a":"\\u0000"}`: `\u0000`,
		`{"a":"` + strings.Repeat(`[{\"`, 600) + `"}`: strings.Repeat(`[{"`, 600), `{"b":[` + strings.Repeat(`[{}],`, 600) + `[]],"a":"wide"}`: "wide",
		`{"b":` + strings.Repeat(`[`, 499) + strings.Repeat(`]`, 499) + `,"a":"500 levels"}`: "500 levels",
		`{"a":"\ud800\udc00"}`: "\U00010000", `{"a":"\udbff\udfff"}`: "\U0010FFFF", `{"a":"\ud7ff\ue000"}`: "\ud7ff\ue000",
		`{"a":"\ufffd"}`: "\ufffd", `{"\u0061":"b"}`: "b", `{"a":"\ud83d\ude00\ud83d\ude00"}`: "😀😀", `{"a":"\"\\"}`: `"\`,
	} {
		o, problems := schema.ParseObject([]byte(text), "body")
		if got, _ := o.Get("a"); got != want || problems != nil {
			t.Errorf("%s: got %q, %v", text, got, problems)
		}
	}
}

// Ensure that a repeated key is a problem, in small and in large objects, and that the first value
// is kept.
func TestParseObjectRepeated(t *testing.T) {
	for _, size := range []int{1, 15, 16, 17, 100} {
		for _, repeatedIndex := range []int{0, size / 2, size - 1} {
			var text strings.Builder
			text.WriteString("{")
			for i := range size {
				fmt.Fprintf(&text, `"k%d":%d,`, i, i)
			}
			fmt.Fprintf(&text, `"k%d":"again"}`, repeatedIndex)
			o, problems := schema.ParseObject([]byte(text.String()), "")
			if want := fmt.Sprintf(".k%d: is repeated", repeatedIndex); len(problems) != 1 || problems[0] != want || len(o) != size {
				t.Errorf("%d of %d: %v, %d members", repeatedIndex, size, problems, len(o))
			}
			if v, _ := o.Get(fmt.Sprint("k", repeatedIndex)); v == "again" {
				t.Error("the second value won")
			}
		}
	}
}

// Ensure hostile bodies of the maximum size need little time and memory. A naive parser would build
// a long path at each level of a deep body, search all keys for each key of a wide one, and copy a
// long path for each repeated key.
func TestParseObjectIsLinear(t *testing.T) {
	var names strings.Builder
	for i := range 26000 {
		fmt.Fprintf(&names, `"%05x":1,`, i)
	}
	for name, text := range map[string]string{
		"deep":     strings.Repeat(`{"`+strings.Repeat("a", 500)+`":`, 500) + `1` + strings.Repeat(`}`, 500),
		"deeper":   strings.Repeat(`{"aaaaaaaaaaaaaaaaaaaa":`, 9999) + `1` + strings.Repeat(`}`, 9999),
		"wide":     `{` + names.String() + `"z":1}`,
		"repeated": `{"` + strings.Repeat("x", 100000) + `":{` + strings.Repeat(`"a":1,`, 20000) + `"a":1}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = schema.ParseObject([]byte(text), "body")
		runtime.ReadMemStats(&after)
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 64 {
			t.Errorf("%s: %d MB allocated for a body of %d KB", name, mb, len(text)>>10)
		}
	}
}

// FuzzParseObject compares ParseObject with encoding/json. For valid UTF-8 without lone surrogates,
// both must accept the same JSON objects and decode the same values, unless a key is repeated or a
// string contains the character NUL.
func FuzzParseObject(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":[1,{"b":null}],"c":"\ud83d\ude00"}`, `{"a":1,"a":2}`, `[]`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a":1e400}`, `{"\\u":"\\ud800"}`, `{"":{"":[[]]}} x`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, problems := schema.ParseObject([]byte(text), "")
		for _, p := range problems {
			if len(p) > 1000 {
				t.Errorf("a problem of %d bytes", len(p))
			}
		}
		var decoded map[string]any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		valid := json.Valid([]byte(text)) && d.Decode(&decoded) == nil && decoded != nil
		if len(problems) == 0 && (!valid || !utf8.ValidString(text)) {
			t.Fatalf("accepted %q", text)
		}
		isExpectedProblem := len(problems) > 0 && (strings.HasSuffix(problems[0], "is repeated") || strings.HasSuffix(problems[0], "U+0000"))
		if valid && len(problems) > 0 && o != nil && !isExpectedProblem {
			t.Fatalf("rejected %q: %v", text, problems)
		}
		if valid && o == nil && utf8.ValidString(text) && !strings.HasPrefix(problems[0], ": is not valid Unicode") && problems[0] != ": is nested more than 500 levels deep" {
			t.Fatalf("rejected %q: %v", text, problems)
		}
		if valid && len(problems) == 0 && !sameValue(o, decoded) {
			t.Fatalf("%q: %v, encoding/json has %v", text, o, decoded)
		}
	})
}

func sameValue(ours, theirs any) bool {
	switch v := theirs.(type) {
	case map[string]any:
		o, ok := ours.(schema.Object)
		if !ok || len(o) != len(v) {
			return false
		}
		for name, value := range v {
			if mine, present := o.Get(name); !present || !sameValue(mine, value) {
				return false
			}
		}
		return true
	case []any:
		list, ok := ours.([]any)
		if !ok || len(list) != len(v) {
			return false
		}
		for i := range v {
			if !sameValue(list[i], v[i]) {
				return false
			}
		}
		return true
	}
	return ours == theirs
}
