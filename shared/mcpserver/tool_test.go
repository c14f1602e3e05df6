package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/mcpserver"
)

// Ensure a result contains exactly the HTTP body, both as text and as structured content.
func TestResult(t *testing.T) {
	t.Parallel()
	s := start(t)
	const want = `{"id":"itm_1","text":"<b>&amp; \"quoted\" \\u003c \u2028 é 🙂 \t </b>"}`
	a := s.post(toolCallRequest("get_item", `{"itemId":"itm_1"}`))
	r := a.decode(t)
	if r.Result.IsError || string(r.Result.StructuredContent) != want {
		t.Errorf("error %t, structured content %s, want %s", r.Result.IsError, r.Result.StructuredContent, want)
	}
	if diff := cmp.Diff([]string{want, `ETag: "v1"`}, r.texts()); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	if tag, header := r.Result.Meta["etag"], a.header.Get("ETag"); tag != `"v1"` || header != "" {
		t.Errorf("entity tag %v in _meta and %q in the header, want \"v1\" in _meta only", tag, header)
	}
}

// Ensure that a page contains the cursor of the next page in _meta and as text, and that the last
// page contains no cursor.
func TestPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := s.post(toolCallRequest("list_items", `{"limit":1}`)).decode(t)
	next, _ := first.Result.Meta["nextCursor"].(string)
	if first.Result.Meta["hasMore"] != true || next == "" {
		t.Errorf("_meta of the first page %v, want hasMore and a cursor", first.Result.Meta)
	}
	if texts := first.texts(); len(texts) != 2 || !strings.Contains(texts[1], `cursor "`+next+`"`) {
		t.Errorf("texts of the first page %q, want the page and the cursor %q", texts, next)
	}
	last := s.post(toolCallRequest("list_items", `{"limit":1,"cursor":"`+next+`"}`)).decode(t)
	if _, more := last.Result.Meta["nextCursor"]; last.Result.Meta["hasMore"] != false || more {
		t.Errorf("_meta of the last page %v, want hasMore false and no cursor", last.Result.Meta)
	}
	if texts := last.texts(); last.Result.IsError || len(texts) != 1 {
		t.Errorf("last page: error %t, texts %q, want one", last.Result.IsError, texts)
	}
}

// partialDelete is the response to a delete that may be incomplete.
type partialDelete struct {
	Count float64 `json:"count"`
}

func (p partialDelete) HasMore() bool { return p.Count > 0 }

// Ensure that _meta says whether a result is partial, and that the text says so if it is. Over
// HTTP, the Service-Has-More header must have the same value.
func TestPartial(t *testing.T) {
	t.Parallel()
	s := start(t)
	var remaining float64
	operations := []api.Operation{api.Define(api.Spec{ID: "delete_items", Method: "DELETE", Path: "/v1/items", Effect: api.Destructive, Summary: "Delete"},
		func(context.Context, api.Caller, struct{}) (partialDelete, error) {
			return partialDelete{remaining}, nil
		})}
	config := api.Config{Keys: s.keys, Now: time.Now, NewID: func(string) string { return "req_1" }, Log: slog.New(slog.DiscardHandler)}
	s.http = mcpserver.New(operations, config)
	for _, remaining = range []float64{0, 1} {
		got := s.post(toolCallRequest("delete_items", `{}`)).decode(t)
		lines := []string{"It is not all done yet: call again with the same arguments."}[:int(remaining)]
		if got.Result.IsError || got.Result.Meta["hasMore"] != (remaining > 0) {
			t.Errorf("%v left: error %t, hasMore %v", remaining, got.Result.IsError, got.Result.Meta["hasMore"])
		}
		if texts := got.texts(); len(texts) == 0 || !slices.Equal(texts[1:], lines) {
			t.Errorf("%v left: texts %q, want the result and %q", remaining, texts, lines)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest("DELETE", "/v1/items", nil)
		r.Header.Set("Authorization", "Bearer "+s.key)
		api.New(operations, config).ServeHTTP(w, r)
		if got := w.Header().Get("Service-Has-More"); got != strconv.FormatBool(remaining > 0) || !operations[0].IsPartial() || operations[0].IsList() {
			t.Errorf("%v: Service-Has-More is %q", remaining, got)
		}
	}
}

// Ensure that if a list is empty because of its arguments, the result explains why, after the JSON.
// The explanation must come from the operation if it has one, and otherwise name the filters. If
// getting the explanation fails, the call must fail.
func TestExplainsEmptyList(t *testing.T) {
	t.Parallel()
	s := start(t)
	for arguments, want := range map[string]string{
		`{"kind":"tipp"}`:                "No kind tipp; did you mean tip?",
		`{"kind":"other","limit":1}`:     "No record matches the argument kind.",
		`{"kind":"other","state":"new"}`: "No record matches all of the arguments kind, state.",
	} {
		r := s.post(toolCallRequest("list_items", arguments)).decode(t)
		if r.Result.IsError || string(r.Result.StructuredContent) != `{"items":[]}` {
			t.Errorf("%s: error %t, structured content %s, want an empty list", arguments, r.Result.IsError, r.Result.StructuredContent)
		}
		if texts := r.texts(); len(texts) != 2 || texts[1] != want {
			t.Errorf("%s: texts %q, want the list and %q", arguments, texts, want)
		}
	}
	if r := s.post(toolCallRequest("list_items", `{"state":"new"}`)).decode(t).Result; len(r.Content) != 2 || !strings.Contains(r.Content[1].Text, "more records") {
		t.Errorf("a list with records: %+v", r)
	}
	first := s.post(toolCallRequest("list_items", `{"state":"gone"}`)).decode(t).Result
	next := fmt.Sprint(first.Meta["nextCursor"])
	if r := s.post(toolCallRequest("list_items", `{"state":"gone","cursor":"`+next+`"}`)).decode(t).Result; len(r.Content) != 2 || r.Content[1].Text != "There are no more records after this cursor." {
		t.Errorf("an empty last page: %+v", r)
	}
	if r := s.post(toolCallRequest("list_items", `{"kind":"fails"}`)).decode(t).Result; !r.IsError || code(r.Content[0].Text) != "internal" {
		t.Errorf("an explanation that fails: %+v", r)
	}
}

// Ensure a tool's result, even an error, has a resultType in revision 2026-07-28 and none in
// earlier revisions.
func TestResultType(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, arguments := range []string{`{"itemId":"itm_1"}`, `{"nope":1}`} {
		text := rpcRequest("tools/call", `{"name":"service_get_item","arguments":`+arguments+`,`+statelessMeta+`}`)
		current := s.post(text, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "service_get_item")
		if !strings.Contains(current.body, `"result":{"resultType":"complete",`) {
			t.Errorf("%s: the result lacks its type: %s", arguments, current.body)
		}
		if old := s.post(toolCallRequest("get_item", arguments)); strings.Contains(old.body, "resultType") {
			t.Errorf("%s: a result of an older revision has a type: %s", arguments, old.body)
		}
	}
}

// Ensure that an error contains the envelope as text and no structured content, and that an
// internal error also says how long to wait.
func TestErrors(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"itemId":"itm_gone"}`: "not_found", `{"itemId":"no id"}`: "not_found", `{}`: "bad_request", `null`: "bad_request", `[]`: "bad_request", `"x"`: "bad_request",
		`{"itemId":"itm_1","companyId":"co_other"}`: "not_found", `{"itemId":"itm_1","companyId":7}`: "not_found",
		`{"itemId":"itm_1","nope":1}`: "bad_request", `{"itemId":"itm_1","itemId":"itm_2"}`: "bad_request", `{"itemId":null}`: "bad_request",
		`{"itemId":"itm_panic"}`:                            "internal",
		`{"itemId":"` + strings.Repeat("x", 256<<10) + `"}`: "payload_too_large",
	} {
		s := start(t)
		a := s.post(toolCallRequest("get_item", arguments))
		wantTexts := 1
		if want == "internal" {
			wantTexts = 2 // the second text says how long to wait
		}
		if got := a.requireToolError(t, arguments, want); len(got) != wantTexts {
			t.Errorf("%.60s: %d texts, want %d: %q", arguments, len(got), wantTexts, got)
		}
		if content := a.decode(t).Result.StructuredContent; content != nil || strings.Contains(a.body, "planted") {
			t.Errorf("%.60s: structured content %s, want none, and no reason: %.300s", arguments, content, a.body)
		}
	}
	s := start(t)
	s.keys.scopes = []auth.Scope{auth.PlanRead}
	a := s.post(toolCallRequest("create_item", `{"text":"a"}`))
	if texts := a.requireToolError(t, "a missing scope", "unauthorised"); !strings.Contains(texts[0], "plan:write") {
		t.Errorf("a missing scope: texts %q, want plan:write", texts)
	}
}

// Ensure an error names arguments instead of fields of an HTTP request. It must also suggest which
// argument was meant, and say which tool lists the ids.
func TestErrorsNameArguments(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct {
		tool, arguments string
		want            []string
	}{
		{"get_item", `{}`, []string{"itemId: is required"}},
		{"get_item", `{"itemId":5}`, []string{"itemId: must be a string"}},
		{"list_items", `{"limit":0}`, []string{"limit: must be between 1 and 200"}},
		{"list_items", `{"limit":"many"}`, []string{"limit: must be a whole number, between 1 and 200"}},
		{"list_items", `{"limti":1}`, []string{"limti: unknown argument; did you mean limit?"}},
		{"list_items", `{"page_number":1}`, []string{"page_number: unknown argument; the arguments are companyId, fields, limit, kind, state, cursor"}},
		{"list_items", `{"limit":1,"limit":2}`, []string{"limit: is repeated"}},
		{"list_items", `{"cursor":"x"}`, []string{"cursor: is not a cursor of this list with these filters; send the request without cursor to start again"}},
		{"create_item", `{"text":null,"ifMatch":5,"companyID":"x"}`, []string{"text: must not be null", "ifMatch: must be a string", "companyID: unknown argument; did you mean companyId?"}},
		{"create_item", `{"text":"a","ifMatch":"stale"}`, []string{"ifMatch: is stale"}},
		{"create_item", `[]`, []string{"arguments: must be a JSON object"}},
		{"get_item", `{"itemId":"itm_gone"}`, []string{"no such record; service_list_items lists the ids"}},
		{"get_item", `{"itemId":"no id"}`, []string{"no such record; service_list_items lists the ids"}},
		{"delete_item", `{"itemId":"itm_1","companyId":"co_other"}`, []string{"no such record; service_list_items lists the ids; leave companyId out, the key has one company"}},
		{"get_self", `{"companyId":"co_other"}`, []string{"no such record; leave companyId out, the key has one company"}},
	} {
		r := s.post(toolCallRequest(c.tool, c.arguments)).decode(t).Result
		if got := messages(r.Content[0].Text); !r.IsError || !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.tool, c.arguments, got, c.want)
		}
	}
}

// Ensure that a number or boolean that is sent as a string is accepted, even in a nested value, and
// that a boolean is accepted for an enum that contains it as a string.
func TestNumbersAndBooleansAsStrings(t *testing.T) {
	t.Parallel()
	s := start(t)
	for arguments, want := range map[string]string{
		`{"text":"a","count":"5","active":"true","reviewed":true,"parts":[{"size":"1.5"}]}`: `5 true true 1.5\n`,
		`{"text":"a","count":-5,"active":false,"reviewed":"false","parts":[{"size":2}]}`:    `-5 false false 2\n`,
	} {
		r := s.post(toolCallRequest("create_item", arguments)).decode(t).Result
		if !strings.Contains(string(r.StructuredContent), `"text":"`+want+`"`) || r.IsError {
			t.Errorf("%s: %+v, want %s", arguments, r, want)
		}
	}
	r := s.post(toolCallRequest("create_item", `{"text":5,"count":"+5","active":"yes","reviewed":1,"parts":[{"size":"1e999"}]}`)).decode(t).Result
	want := []string{"text: must be a string", "count: must be a whole number, between -9007199254740991 and 9007199254740991", "active: must be a boolean", "reviewed: must be a string", "parts[0].size: must be 0 or between 1e-129 and 1e125, positive or negative"}
	if got := messages(r.Content[0].Text); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Ensure a panic on the SDK's goroutine causes a 500 and does not crash the process, even if the
// pipeline does not recover it.
func TestPanicInTheSDK(t *testing.T) {
	t.Parallel()
	for _, text := range []string{ping, rpcRequest("tools/list", ""), toolCallRequest("get_item", `{"itemId":"itm_1"}`)} {
		s := start(t)
		var once sync.Once
		panicOnce := func() time.Time {
			once.Do(func() { panic("planted") })
			return time.Now()
		}
		s.http = mcpserver.New(operations(), api.Config{Keys: s.keys, Now: panicOnce, NewID: newID, Log: slog.New(slog.DiscardHandler)})
		if a := s.post(text); a.status != 500 || code(a.body) != "internal" || strings.Contains(a.body, "planted") {
			t.Errorf("%s: status %d, want 500 internal without the reason: %s", text, a.status, a.body)
		}
	}
}

// Ensure a call ends when its caller disconnects.
func TestCallerDisconnects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		a := s.do(s.request(toolCallRequest("get_item", `{"itemId":"itm_slow"}`)).WithContext(ctx))
		if took := time.Since(began); took != time.Second || !strings.Contains(a.body, fault.ErrTimeout.Messages[0]) {
			t.Errorf("%d %s after %s", a.status, a.body, took)
		}
	})
}

// Ensure tools/list returns the tools that the key may call, in the order of the operations.
func TestToolsOfAKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scopes []auth.Scope
		want   string
	}{
		{auth.Scopes(), "service_list_items service_get_item service_create_item service_delete_item service_get_self"},
		{[]auth.Scope{auth.PlanRead}, "service_list_items service_get_item service_get_self"},
		{[]auth.Scope{auth.PlanWrite}, "service_create_item service_delete_item service_get_self"},
		{nil, "service_get_self"},
	} {
		s := start(t)
		s.keys.scopes = c.scopes
		a := s.post(rpcRequest("tools/list", ""))
		var names []string
		for _, tool := range a.decode(t).Result.Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != c.want || !strings.Contains(a.body, `"cacheScope":"private"`) {
			t.Errorf("%v: tools %q, want %q in a private cache: %s", c.scopes, got, c.want, a.body)
		}
	}
}

type bearerTransport string

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// Ensure the SDK's client can connect to the server, list and call tools, and read errors.
func TestClient(t *testing.T) {
	t.Parallel()
	s := start(t)
	server := httptest.NewServer(s.http)
	defer server.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp", HTTPClient: &http.Client{Transport: bearerTransport(s.key)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 5 || list.CacheScope != "private" {
		t.Fatalf("%d tools in the cache %q, want 5 in a private one", len(list.Tools), list.CacheScope)
	}
	if got := list.Tools[2].Description; got != "Create an item. It is new" {
		t.Errorf("description %q, want Create an item. It is new", got)
	}
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			id := fmt.Sprintf("itm_%d", i)
			got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "service_delete_item", Arguments: map[string]any{"itemId": id}})
			if err != nil {
				t.Error(err)
				return
			}
			if diff := cmp.Diff(map[string]any{"id": id, "deleted": true}, got.StructuredContent); diff != "" || got.IsError {
				t.Errorf("%s: error %t, content (-want +got):\n%s", id, got.IsError, diff)
			}
		})
	}
	group.Wait()
	if got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "service_get_item", Arguments: map[string]any{"itemId": "itm_gone"}}); err != nil || !got.IsError {
		t.Errorf("a missing item: %+v and %v, want an error of the tool", got, err)
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "service_nope"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("an unknown tool: %v", err)
	}
}

// Ensure the server supports every revision, with tools as the only capability and without a
// session.
func TestRevisions(t *testing.T) {
	t.Parallel()
	versions := mcp.SupportedProtocolVersions()
	if !slices.Contains(versions, "2024-11-05") || versions[0] != "2026-07-28" {
		t.Fatalf("the SDK supports the revisions %v", versions)
	}
	for _, version := range versions[1:] {
		s := start(t)
		a := s.post(rpcRequest("initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`))
		var out struct {
			Result struct {
				ProtocolVersion string
				Capabilities    map[string]json.RawMessage
				Instructions    string
			}
		}
		if err := json.Unmarshal([]byte(a.body), &out); err != nil || out.Result.ProtocolVersion != version || out.Result.Instructions == "" {
			t.Errorf("%s: revision %q, want the same and instructions: %s, %v", version, out.Result.ProtocolVersion, a.body, err)
		}
		if diff := cmp.Diff(map[string]json.RawMessage{"tools": json.RawMessage(`{}`)}, out.Result.Capabilities); diff != "" || a.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: session %q, want none; capabilities (-want +got):\n%s", version, a.header.Get("Mcp-Session-Id"), diff)
		}
		if a := s.post(toolCallRequest("get_self", `{}`), "Mcp-Protocol-Version", version); a.status != 200 || a.decode(t).Result.IsError {
			t.Errorf("%s: status %d of a call, want 200 and a result: %s", version, a.status, a.body)
		}
	}
	for _, unknown := range []string{"1999-01-01", "2099-01-01"} {
		a := start(t).post(rpcRequest("initialize", `{"protocolVersion":"`+unknown+`","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`))
		if !strings.Contains(a.body, `"protocolVersion":"2025-11-25"`) {
			t.Errorf("%s: want the revision 2025-11-25: %s", unknown, a.body)
		}
	}
	a := start(t).post(rpcRequest("server/discover", `{`+statelessMeta+`}`), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover")
	if a.status != 200 || !strings.Contains(a.body, `"supportedVersions":["2026-07-28"`) || !strings.Contains(a.body, `"cacheScope":"private"`) {
		t.Errorf("status %d, want 200, the supported revisions and a private cache: %s", a.status, a.body)
	}
}
