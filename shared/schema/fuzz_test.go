package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"growthworkspace/shared/id"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/timestamp"
)

// FuzzBind checks that a body is accepted if it is a JSON object without repeated keys and is valid
// according to the published schema, and that any other body is refused. The exception is a valid
// body whose problems are all expected differences (see isExpectedDifference). Accepted bodies must
// be bound to the same values as with encoding/json, with times in UTC. Every problem must begin
// with a path.
func FuzzBind(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"name":"ab","whole":5.0,"tags":["a"]}`, `{"points":[{"key":"a","ts":"2026-08-11T00:00:00Z","value":1,"dims":{"a":"b"}}]}`, `{"whole":1e-999999999}`,
		`{"number":1e400}`, `{"number":1.1e125}`, `{"number":-1e-130}`, `{"NAME":null,"flag":[{}],"points":{}}`, `{"site":"https://[::1]/%20","at":"2026-08-11t23:59:60z"}`, `{"ranged":0.0000002e7,"colour":"red"}`,
		`{"free":"a","free":"b"}`, `{"free":"\ud83d\ude00","slug":"a-1","code":"EUR","flag":true,"pair":["a"],"default":""}`, `{"points":[{"key":"a","key":"b"}]}`,
		`{"at":"0000-01-01T00:00:00Z","part":0.5,"most":-1e-5,"least":-0}`, `{"a: b":1,"":2,"points":[{"value":null}]}`, "{\"free\":\"\xff\"}", `[]`, `{"free":"\udc00"}`, ``,
	} {
		f.Add(body)
	}
	reference := compileReference(f, shapeFields)
	f.Fuzz(func(t *testing.T, body string) {
		got, problems := bindShapes(body)
		for _, p := range problems {
			if !beginsWithPath(p, "body") || !utf8.ValidString(p) {
				t.Fatalf("%q: no path: %q", body, p)
			}
		}
		if hugeExponentPattern.MatchString(body) {
			return // the schema validator would expand the huge number
		}
		value, wantErr := parseStrictly(body)
		if wantErr == nil {
			wantErr = reference.Validate(value)
		}
		switch {
		case wantErr != nil && len(problems) == 0:
			t.Fatalf("accepted %q: %v", body, wantErr)
		case wantErr == nil && len(problems) > 0:
			for _, p := range problems {
				if !isExpectedDifference(value, p) {
					t.Fatalf("refused %q: %s", body, p)
				}
			}
		case wantErr == nil:
			want := decodeShapes(t, value)
			for i := range want.Points {
				want.Points[i].TS = timestamp.Normalise(want.Points[i].TS)
			}
			if want.At != nil {
				want.At = new(timestamp.Normalise(*want.At))
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%q is bound as %+v, encoding/json reads %+v", body, got, want)
			}
		}
	})
}

// beginsWithPath reports whether a problem begins with a path whose first part is one of the roots,
// or "request".
func beginsWithPath(problem string, roots ...string) bool {
	return slices.ContainsFunc(append(roots, "request"), func(root string) bool {
		rest, ok := strings.CutPrefix(problem, root)
		return ok && strings.Contains(rest, ": ") && strings.ContainsAny(rest[:1], ":.[")
	})
}

var hugeExponentPattern = regexp.MustCompile(`[eE][+-]?[0-9]{4,}`)

// parseStrictly parses a JSON value with encoding/json, but rejects what encoding/json tolerates:
// invalid UTF-8, unpaired surrogates and repeated keys.
func parseStrictly(body string) (any, error) {
	if !utf8.ValidString(body) || !json.Valid([]byte(body)) {
		return nil, errors.New("not JSON")
	}
	d := json.NewDecoder(strings.NewReader(body))
	if err := checkRepeatedNames(d); err != nil {
		return nil, err
	}
	if escapes := loneSurrogatePattern.FindAllString(surrogatePairs.ReplaceAllString(backslashes.ReplaceAllString(body, ""), ""), -1); escapes != nil {
		return nil, errors.New("half of a surrogate pair")
	}
	return jsonschema.UnmarshalJSON(strings.NewReader(body))
}

var (
	backslashes          = regexp.MustCompile(`\\\\`)
	surrogatePairs       = regexp.MustCompile(`(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}`)
	loneSurrogatePattern = regexp.MustCompile(`(?i)\\ud[89a-f][0-9a-f]{2}`)
)

// checkRepeatedNames reads one value. It returns an error if an object in that value has a repeated
// key.
func checkRepeatedNames(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, _ := token.(json.Delim)
	names := map[string]bool{}
	for open != 0 && d.More() {
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			if names[name.(string)] {
				return errors.New("repeated " + name.(string))
			}
			names[name.(string)] = true
		}
		if err := checkRepeatedNames(d); err != nil {
			return err
		}
	}
	if open != 0 {
		if _, err = d.Token(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// nonURICharPattern matches characters that are invalid in a URI, but that the schema validator's
// url.Parse accepts.
var nonURICharPattern = regexp.MustCompile(`[^!#-;=?-Z\[\]_a-z~]|%([^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)`)

// plainHostPattern matches a host, optionally with a small port.
var plainHostPattern = regexp.MustCompile(`^([a-z0-9]{1,9}(\.[a-z0-9]{1,9}){0,9}|\[[:0-9a-f]+\])(:[1-9][0-9]{0,3})?$`)

// isExpectedDifference reports whether a problem is one that a JSON Schema cannot express. These
// are:
//   - a URI that is invalid according to RFC 3986 or has nothing after its scheme
//   - an http address that has a user, or a host that is missing or not plain
//   - a time outside the years 1 to 9999 in UTC
//   - a number that is not a float64 or that DynamoDB cannot store
func isExpectedDifference(value any, problem string) bool {
	place, _, _ := strings.Cut(problem, ": ")
	found := valueAt(value, strings.Split(strings.TrimPrefix(place, "body."), "."))
	switch s, _ := found.(string); {
	case place == "body.site":
		u, err := url.Parse(s)
		if err == nil && (u.User != nil || !plainHostPattern.MatchString(u.Host)) {
			return true
		}
		return err == nil && (nonURICharPattern.MatchString(s) || u.Hostname() == "" && (u.Scheme == "http" || u.Scheme == "https") || strings.Trim(s[len(u.Scheme)+1:], "/?#") == "" || strings.HasPrefix(s[len(u.Scheme)+1:], "?") || strings.HasPrefix(s[len(u.Scheme)+1:], "#") || strings.HasPrefix(s[len(u.Scheme)+1:], "//"))
	case place == "body.at", strings.HasSuffix(place, "].ts"):
		return strings.HasPrefix(s, "0000") || strings.HasPrefix(s, "0001-01-01") || strings.HasPrefix(s, "9999-12-31")
	}
	number, isNumber := found.(json.Number)
	if !isNumber {
		return false
	}
	f, err := strconv.ParseFloat(string(number), 64)
	mantissa, _, _ := strings.Cut(strings.ToLower(string(number)), "e")
	return err != nil || math.Abs(f) > 1e125 || math.Abs(f) < 1e-129 && strings.Trim(mantissa, "-0.") != ""
}

// valueAt returns the value at a path that is already split at its dots, such as {"points[1]",
// "value"}.
func valueAt(value any, steps []string) any {
	for _, step := range steps {
		name, index, isList := strings.Cut(step, "[")
		object, _ := value.(map[string]any)
		value = object[name]
		if list, ok := value.([]any); ok && isList {
			n, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
			if err != nil || n >= len(list) {
				return nil
			}
			value = list[n]
		}
	}
	return value
}

// decodeShapes decodes a valid value with encoding/json and adds the defaults from the tags.
func decodeShapes(t *testing.T, value any) (out shapes) {
	t.Helper()
	object := value.(map[string]any)
	for name, v := range object {
		number, ok := v.(json.Number)
		if exact, isRational := new(big.Rat).SetString(string(number)); ok && isRational && exact.IsInt() {
			object[name] = json.Number(exact.Num().String()) // encoding/json does not decode 5.0 into an int64
		}
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&out); err != nil {
		t.Fatalf("encoding/json does not decode %s: %v", text, err)
	}
	if _, sent := object["default"]; !sent {
		out.Default = "usual"
	}
	for i := range out.Points {
		if out.Points[i].Grain == "" {
			out.Points[i].Grain = "red"
		}
	}
	return out
}

// pageInput is the input of a list with a path parameter and two filters.
type pageInput struct {
	BoardID string        `path:"boardId"`
	Status  *string       `query:"status"`
	Grain   string        `query:"grain" default:"day"`
	Limit   int64         `query:"limit" default:"50" min:"1" max:"200"`
	Cursor  schema.Cursor `query:"cursor"`
}

var pageFields = schema.Fields(reflect.TypeFor[pageInput]())

// bindPage binds a list call both as an HTTP request and as a tool call, and checks that the
// results are the same.
func bindPage(t *testing.T, operation, board, status, cursor string) (schema.Cursor, schema.CursorScope, []string) {
	t.Helper()
	values, query := map[string]string{"boardId": board, "status": status}, url.Values{"status": {status}}
	if cursor != "" {
		values["cursor"] = cursor
		query.Set("cursor", cursor)
	}
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	object, problems := schema.ParseObject(text, "arguments")
	in := reflect.TypeFor[pageInput]()
	httpBinder := schema.Bind(in, pageFields, schema.Source{Operation: operation, Path: map[string]string{"boardId": board}, Query: query.Encode()})
	toolBinder := schema.BindFlat(in, pageFields, schema.FlatArguments{Operation: operation, Arguments: object, Problems: problems})
	scope, toolScope := httpBinder.CursorScope, toolBinder.CursorScope
	if !slices.Equal(httpBinder.Problems, toolBinder.Problems) || httpBinder.NotFound != toolBinder.NotFound {
		t.Fatalf("%s: over HTTP problems %q, missing %v; as a tool %q, %v", text, httpBinder.Problems, httpBinder.NotFound, toolBinder.Problems, toolBinder.NotFound)
	}
	if !slices.Equal(scope.Filters, toolScope.Filters) {
		t.Fatalf("%s: over HTTP filters %q, as a tool %q", text, scope.Filters, toolScope.Filters)
	}
	if !reflect.DeepEqual(httpBinder.Input.Interface(), toolBinder.Input.Interface()) {
		t.Fatalf("%s: over HTTP input %+v, as a tool %+v", text, httpBinder.Input, toolBinder.Input)
	}
	return httpBinder.Input.Interface().(pageInput).Cursor, scope, httpBinder.Problems
}

// FuzzCursor checks that a list continues at the position in its cursor, over HTTP and as a tool.
// If the cursor was returned for a different operation, board or filter, or if the string is not a
// cursor, the only problem must be about the cursor.
func FuzzCursor(f *testing.F) {
	f.Add("list_items", "brd_1", "live", "list_posts", "brd_2", "draft", "here", "here")
	f.Add("list_items", "brd_1", "", "list_items", "brd_1", "status=", "a\x00b", "")
	f.Add("list_items", "brd_1", `" "grain=day`, "list_items", "brd_1", `"`, "co_x#plan#brd_1", "AAAA")
	f.Add("list_items", "brd_1", "live", "list_items", "brd_2", "live", "here", "x") // in this seed and the next two, the second list differs from the first in only one value
	f.Add("list_items", "brd_1", "live", "list_items", "brd_1", "draft", "here", "x")
	f.Add("list_items", "brd_1", "live", "list_posts", "brd_1", "live", "here", "x")
	f.Add("list_items", "brd_1", "live", "list_items brd_1", "brd_1", "live", strings.Repeat("😀", 225), strings.Repeat("A", 2000))
	f.Add("list_items", "brd_1", "live", "list_items", "brd_1", "live", strings.Repeat("x", 901), "here=\n")
	f.Fuzz(func(t *testing.T, operation, board, status, otherOperation, otherBoard, otherStatus, position, text string) {
		for _, s := range []string{operation, status, otherOperation, otherStatus, position, text} {
			if !utf8.ValidString(s) {
				return // rejected before binding
			}
		}
		if strings.ContainsRune(status+otherStatus+text, 0) {
			return // a tool reports a different path for this problem; see TestNULIsRefused
		}
		if !id.Valid("", board) || !id.Valid("", otherBoard) {
			return // an invalid board id is reported as not found, whatever the cursor
		}
		_, scope, problems := bindPage(t, operation, board, status, "")
		if len(problems) > 0 {
			t.Fatalf("without a cursor: %v", problems)
		}
		cursor := scope.Encode(position)
		accepted := position != "" && len(position) <= 900
		if got, _, problems := bindPage(t, operation, board, status, cursor); accepted && (len(problems) > 0 || string(got) != position) {
			t.Errorf("the position %q was decoded to %q: %v", position, got, problems)
		} else if !accepted {
			requireRefusedCursor(t, cursor, problems)
		}
		if other := []string{otherOperation, otherBoard, otherStatus}; !slices.Equal(other, []string{operation, board, status}) {
			_, _, problems := bindPage(t, otherOperation, otherBoard, otherStatus, cursor)
			requireRefusedCursor(t, cursor, problems)
		}
		if text == "" {
			return
		}
		if got, _, problems := bindPage(t, operation, board, status, text); len(problems) > 0 {
			requireRefusedCursor(t, text, problems)
		} else if scope.Encode(string(got)) != text {
			t.Errorf("%q was decoded to %q, which has another cursor", text, got)
		}
	})
}

func requireRefusedCursor(t *testing.T, cursor string, problems []string) {
	t.Helper()
	if len(problems) == 0 {
		t.Errorf("%q was accepted", cursor)
	}
	for _, p := range problems {
		if !strings.HasPrefix(p, "query.cursor: ") {
			t.Errorf("cursor %q: problem %q, want one of query.cursor", cursor, p)
		}
	}
}
