package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// size returns the size in bytes of a result's text blocks, and the size of its text blocks and
// structured content together.
func (r response) size() (text, total int) {
	for _, block := range r.texts() {
		text += len(block)
	}
	return text, text + len(r.Result.StructuredContent)
}

// Ensure that a record that does not fit is outlined, and that the text says how to read the rest.
// With the argument "at", the tool must return the value in slices.
func TestOutlinedRecord(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.post(toolCallRequest("get_item", `{"itemId":"itm_large"}`)).decode(t)
	want := []string{
		`{"id":"itm_large","text":{"outline":"string","bytes":614402,"characters":614400}}`,
		`Values that do not fit are outlined: 1. Read them with at, such as "/text/0-35997".`,
	}
	if diff := cmp.Diff(want, r.texts()); diff != "" || r.Result.StructuredContent != nil {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	r = s.post(toolCallRequest("get_item", `{"itemId":"itm_large","at":"/text/0-35997"}`)).decode(t)
	want = []string{`"` + strings.Repeat("x", 35_998) + `"`, `These are characters 0 to 35997 of 614400; the next: at "/text/35998-71995".`}
	if diff := cmp.Diff(want, r.texts()); diff != "" || r.Result.StructuredContent != nil {
		t.Errorf("texts of the slice (-want +got):\n%s", diff)
	}
	created := s.post(toolCallRequest("create_item", `{"text":"`+strings.Repeat("y", 50_000)+`"}`)).decode(t)
	if texts := created.texts(); len(texts) != 2 || !strings.HasSuffix(texts[1], `service_get_item reads them with at, such as "/text/0-35997".`) {
		t.Errorf("the result of a write: %q", texts)
	}
	if text, total := created.size(); text > 40_000 || total > 80_000 || created.Result.StructuredContent == nil {
		t.Errorf("a record of 50 KB: %d bytes of text, %d in all, want it whole as structured content", text, total)
	}
}

// Ensure that a list that does not fit ends after a whole record, and that its cursor continues
// from there, with and without the argument "fields".
func TestCutList(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, extra := range []string{``, `,"limit":6`, `,"fields":["text"]`, `,"fields":"id"`} {
		var ids []string
		calls, cursor := 0, ""
		for {
			arguments := `{"state":"large"` + extra + `}`
			if cursor != "" {
				arguments = `{"state":"large","cursor":"` + cursor + `"` + extra + `}`
			}
			r := s.post(toolCallRequest("list_items", arguments)).decode(t)
			var page struct{ Items []struct{ ID string } }
			if err := json.Unmarshal([]byte(r.texts()[0]), &page); err != nil || len(page.Items) == 0 {
				t.Fatalf("%s: %v: %.300q", extra, err, r.texts())
			}
			for _, item := range page.Items {
				ids = append(ids, item.ID)
			}
			if text, total := r.size(); text > 40_000 || total > 80_000 {
				t.Errorf("%s: %d bytes of text, %d in all", extra, text, total)
			}
			calls++
			if cursor, _ = r.Result.Meta["nextCursor"].(string); (cursor != "") != (r.Result.Meta["hasMore"] == true) {
				t.Errorf("%s: _meta %v", extra, r.Result.Meta)
			}
			if cursor == "" {
				break
			}
			if !slices.Contains(r.texts(), fmt.Sprintf("There are more records: call again with the same arguments and cursor %q.", cursor)) {
				t.Errorf("%s: no text has the cursor %s: %.300q", extra, cursor, r.texts()[1:])
			}
		}
		want := make([]string, 12)
		for n := range want {
			want[n] = fmt.Sprintf("itm_%d", n)
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("%s: the records of all pages (-want +got):\n%s", extra, diff)
		}
		if wantCalls := map[string]int{`,"fields":"id"`: 1, `,"limit":6`: 4}[extra]; calls != max(wantCalls, 1) && calls != 4 {
			t.Errorf("%s: %d calls", extra, calls)
		}
	}
}

// Ensure that an empty page of a list that continues says so, and how to go on.
func TestEmptyPageWithMore(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.post(toolCallRequest("list_items", `{"state":"rare"}`)).decode(t)
	cursor, _ := r.Result.Meta["nextCursor"].(string)
	want := []string{`{"items":[]}`, fmt.Sprintf("None of the records that this call has read match, but there are more: call again with the same arguments and cursor %q.", cursor)}
	if cursor == "" || r.Result.Meta["hasMore"] != true || !slices.Equal(r.texts(), want) {
		t.Errorf("%q, _meta %v", r.texts(), r.Result.Meta)
	}
	next := s.post(toolCallRequest("list_items", `{"state":"rare","cursor":"`+cursor+`"}`)).decode(t)
	if !strings.Contains(next.texts()[0], "itm_2") || next.Result.Meta["hasMore"] != false {
		t.Errorf("the next page: %q, _meta %v", next.texts(), next.Result.Meta)
	}
}

// Ensure that with the argument "fields", the result has no structured content, and its text
// contains only the id and the named properties.
func TestFields(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, fields := range []string{`["text"]`, `"text"`, `"text, id"`, `["id","text","text"]`} {
		r := s.post(toolCallRequest("get_item", `{"itemId":"itm_1","fields":`+fields+`}`)).decode(t)
		if text, _ := json.Marshal(awkwardText); r.Result.IsError || r.Result.StructuredContent != nil || !strings.HasPrefix(r.texts()[0], `{"id":"itm_1","text":"`) || len(text) == 0 {
			t.Errorf("%s: %+v", fields, r.Result)
		}
	}
	for tool, arguments := range map[string]string{"get_item": `{"itemId":"itm_1","fields":[]}`, "get_self": `{"fields":["id"]}`} {
		if r := s.post(toolCallRequest(tool, arguments)).decode(t); r.Result.StructuredContent != nil || !strings.HasPrefix(r.texts()[0], `{"id":"`) || strings.Contains(r.texts()[0], "text") {
			t.Errorf("%s %s: %+v", tool, arguments, r.Result)
		}
	}
	if r := s.post(toolCallRequest("get_item", `{"itemId":"itm_1","fields":null,"at":null}`)).decode(t); r.Result.StructuredContent == nil {
		t.Errorf("null is not as if left out: %+v", r.Result)
	}
}

// Ensure an unknown property or pointer causes an error that lists what the record contains. Tools
// that write must reject the argument "fields".
func TestErrView(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct {
		tool, arguments string
		want            []string
	}{
		{"get_item", `{"itemId":"itm_1","fields":["texd"]}`, []string{`fields: "texd" is not a property of the record; did you mean text?`}},
		{"list_items", `{"fields":["owner",5]}`, []string{`fields: "owner" is not a property of the record; the properties are id, text`, `fields: has the entry 5, which is not a name in quotation marks`}},
		{"list_items", `{"fields":[null,["id"]]}`, []string{`fields: has the entry null, which is not a name in quotation marks`, `fields: has the entry ["id"], which is not a name in quotation marks`}},
		{"list_items", `{"fields":"id,nope"}`, []string{`fields: "nope" is not a property of the record; the properties are id, text`}},
		{"list_items", `{"fields":{"text":true}}`, []string{`fields: must be an array of names of properties`}},
		{"get_item", `{"itemId":"itm_1","fields":["text"],"at":"/text"}`, []string{`at: returns one value; leave out fields`}},
		{"get_item", `{"itemId":"itm_1","at":"text"}`, []string{`at: must be a JSON Pointer, which begins with a slash, such as /id`}},
		{"get_item", `{"itemId":"itm_1","at":7}`, []string{`at: must be a JSON Pointer, which begins with a slash, such as /id`}},
		{"get_item", `{"itemId":"itm_1","at":"/texd"}`, []string{`at: the record is an object without "texd"; did you mean "text"?`}},
		{"get_item", `{"itemId":"itm_1","at":"/text/a"}`, []string{`at: "/text" is a string of 37 characters without "a"; take a slice such as 0-9999`}},
		{"list_items", `{"at":"/items"}`, []string{`at: unknown argument; the arguments are companyId, fields, limit, kind, state, cursor`}},
		{"create_item", `{"text":"a","fields":["text"]}`, []string{`fields: unknown argument; the arguments are companyId, text, ifMatch, count, active, reviewed, parts`}},
	} {
		r := s.post(toolCallRequest(c.tool, c.arguments)).decode(t).Result
		if got := messages(r.Content[0].Text); !r.IsError || r.StructuredContent != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.tool, c.arguments, got, c.want)
		}
	}
}

// Ensure an error lists at most 50 problems, says how many there are, and fits, no matter how long
// the names of the arguments are.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, name := range []string{"x", strings.Repeat("n", 3000), strings.Repeat(`\u0001`, 500)} {
		var arguments []string
		for n := range 60 {
			arguments = append(arguments, fmt.Sprintf(`"%s%d":1`, name, n))
		}
		r := s.post(toolCallRequest("get_item", `{"itemId":"itm_1",`+strings.Join(arguments, ",")+`}`)).decode(t)
		texts := r.texts()
		if got := messages(texts[0]); len(got) > 50 || len(got) < 20 || len(texts) != 2 || texts[1] != fmt.Sprintf("The first %d of 60 problems are shown.", len(got)) {
			t.Errorf("%.20s: %d problems and the texts %q", name, len(got), texts[1:])
		}
		if text, _ := r.size(); text > 40_000 {
			t.Errorf("%.20s: %d bytes", name, text)
		}
	}
}

// Ensure that tools that read have the argument "fields", and that tools that read one record also
// have "at". The server's instructions must describe both arguments.
func TestViewArguments(t *testing.T) {
	t.Parallel()
	want := map[string]string{"list_items": "fields", "get_item": "fields at", "get_self": "fields at", "create_item": "", "delete_item": ""}
	var list struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema struct{ Properties map[string]json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal([]byte(start(t).post(rpcRequest("tools/list", "")).body), &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Result.Tools {
		var got []string
		for _, name := range []string{"fields", "at"} {
			if _, ok := tool.InputSchema.Properties[name]; ok {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want[strings.TrimPrefix(tool.Name, "service_")] {
			t.Errorf("%s has %v", tool.Name, got)
		}
	}
	body := start(t).post(rpcRequest("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`)).body
	for _, text := range []string{"fields: ", "at: a JSON Pointer"} {
		if !strings.Contains(body, text) {
			t.Errorf("the instructions lack %q: %s", text, body)
		}
	}
}
