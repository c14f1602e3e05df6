package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/mcpserver"
)

// Ensure a result has the HTTP body as text and as structured content, byte for byte.
func TestResult(t *testing.T) {
	t.Parallel()
	s := start(t)
	const want = `{"id":"itm_1","text":"<b>&amp; \"quoted\" \\u003c \u2028 é 🙂 \t </b>"}`
	a := s.post(call("get_item", `{"itemId":"itm_1"}`))
	r := a.decode(t).Result
	if string(r.StructuredContent) != want || r.Content[0].Text != want || r.IsError {
		t.Errorf("%s", a.body)
	}
	if len(r.Content) != 2 || r.Content[1].Text != `ETag: "v1"` || r.Meta["etag"] != `"v1"` || a.header.Get("ETag") != "" {
		t.Errorf("the entity tag: %s %v", a.body, a.header)
	}
}

// Ensure a page has its cursor in _meta and as text, and the last page has none.
func TestPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := s.post(call("list_items", `{"limit":1}`)).decode(t).Result
	next, _ := first.Meta["nextCursor"].(string)
	if first.Meta["hasMore"] != true || next == "" || len(first.Content) != 2 || !strings.Contains(first.Content[1].Text, `cursor "`+next+`"`) {
		t.Errorf("%+v", first)
	}
	last := s.post(call("list_items", `{"limit":1,"cursor":"`+next+`"}`)).decode(t).Result
	if _, more := last.Meta["nextCursor"]; last.Meta["hasMore"] != false || more || len(last.Content) != 1 || last.IsError {
		t.Errorf("%+v", last)
	}
}

// Ensure an empty list that its arguments caused says why beside the JSON: in the words of the operation, else by naming the
// filters. A failure to find out is an error of the call.
func TestWhyAListIsEmpty(t *testing.T) {
	t.Parallel()
	s := start(t)
	for arguments, want := range map[string]string{
		`{"kind":"tipp"}`:                "No kind tipp; did you mean tip?",
		`{"kind":"other","limit":1}`:     "No record matches the argument kind.",
		`{"kind":"other","state":"new"}`: "No record matches all of the arguments kind, state.",
	} {
		r := s.post(call("list_items", arguments)).decode(t).Result
		if r.IsError || string(r.StructuredContent) != `{"items":[]}` || len(r.Content) != 2 || r.Content[1].Text != want {
			t.Errorf("%s: %+v, want %q", arguments, r, want)
		}
	}
	if r := s.post(call("list_items", `{"state":"new"}`)).decode(t).Result; len(r.Content) != 2 || !strings.Contains(r.Content[1].Text, "more records") {
		t.Errorf("a list with records: %+v", r)
	}
	first := s.post(call("list_items", `{"state":"gone"}`)).decode(t).Result
	next := fmt.Sprint(first.Meta["nextCursor"])
	if r := s.post(call("list_items", `{"state":"gone","cursor":"`+next+`"}`)).decode(t).Result; len(r.Content) != 2 || r.Content[1].Text != "There are no more records after this cursor." {
		t.Errorf("an empty last page: %+v", r)
	}
	if r := s.post(call("list_items", `{"kind":"fails"}`)).decode(t).Result; !r.IsError || code(r.Content[0].Text) != "internal" {
		t.Errorf("an explanation that fails: %+v", r)
	}
}

// Ensure a tool's result, also an error, has a resultType from revision 2026-07-28 on, and none before.
func TestResultType(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, arguments := range []string{`{"itemId":"itm_1"}`, `{"nope":1}`} {
		text := frame("tools/call", `{"name":"service_get_item","arguments":`+arguments+`,`+newMeta+`}`)
		now := s.post(text, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "service_get_item")
		if !strings.Contains(now.body, `"result":{"resultType":"complete",`) {
			t.Errorf("%s", now.body)
		}
		if old := s.post(call("get_item", arguments)); strings.Contains(old.body, "resultType") {
			t.Errorf("%s", old.body)
		}
	}
}

// Ensure an error has the envelope as text and no structured content, and that a fault of the service says how long to wait.
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
		a := s.post(call("get_item", arguments))
		r := a.decode(t).Result
		texts := 1
		if want == "internal" {
			texts = 2 // and how long to wait
		}
		if a.status != 200 || !r.IsError || len(r.Content) != texts || code(r.Content[0].Text) != want || r.StructuredContent != nil || strings.Contains(a.body, "planted") {
			t.Errorf("%.60s: %d %.300s, want %s", arguments, a.status, a.body, want)
		}
	}
	s := start(t)
	s.keys.scopes = []auth.Scope{auth.PlanRead}
	a := s.post(call("create_item", `{"text":"a"}`))
	if r := a.decode(t).Result; a.status != 200 || !r.IsError || code(r.Content[0].Text) != "unauthorised" || !strings.Contains(r.Content[0].Text, "plan:write") {
		t.Errorf("a missing scope: %d %s", a.status, a.body)
	}
}

// panicOnce is a log handler that panics once.
type panicOnce struct {
	slog.Handler

	once *sync.Once
}

func (panicOnce) Enabled(context.Context, slog.Level) bool { return true }

func (p panicOnce) Handle(context.Context, slog.Record) error {
	p.once.Do(func() { panic("planted") })
	return nil
}

// Ensure a panic on the SDK's goroutine that the pipeline does not recover is a 500 and does not end the process.
func TestPanicInTheSDK(t *testing.T) {
	t.Parallel()
	for _, text := range []string{ping, frame("tools/list", ""), call("get_item", `{"itemId":"itm_1"}`)} {
		s := start(t)
		s.http = mcpserver.New(operations(), api.Config{Keys: s.keys, Now: time.Now, NewID: newID, Log: slog.New(panicOnce{slog.DiscardHandler, new(sync.Once)})})
		if a := s.post(text); a.status != 500 || code(a.body) != "internal" || strings.Contains(a.body, "planted") {
			t.Errorf("%s: %d %s", text, a.status, a.body)
		}
	}
}

// Ensure a call ends when its caller leaves.
func TestCallerGone(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	a := s.do(s.request(call("get_item", `{"itemId":"itm_slow"}`)).WithContext(ctx))
	if took := time.Since(began); took > 5*time.Second || !strings.Contains(a.body, `internal`) {
		t.Errorf("%d %s after %s", a.status, a.body, took)
	}
}

// Ensure a result with a large body contains it only as structured content.
func TestLargeResult(t *testing.T) {
	t.Parallel()
	a := start(t).post(call("get_item", `{"itemId":"itm_large"}`))
	r := a.decode(t).Result
	if len(r.StructuredContent) < 600<<10 || len(r.Content[0].Text) > 200 || !strings.Contains(r.Content[0].Text, "structuredContent") {
		t.Errorf("%d bytes: %.200s", len(a.body), a.body)
	}
}

// Ensure the list has the tools that the key may call, in the order of the operations.
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
		a := s.post(frame("tools/list", ""))
		var names []string
		for _, tool := range a.decode(t).Result.Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != c.want || !strings.Contains(a.body, `"cacheScope":"private"`) {
			t.Errorf("%v: %s", c.scopes, a.body)
		}
	}
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// Ensure the SDK's client works with the server: connect, list tools, call tools, read errors.
func TestClient(t *testing.T) {
	t.Parallel()
	s := start(t)
	server := httptest.NewServer(s.http)
	defer server.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(s.key)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 5 || list.CacheScope != "private" || list.Tools[2].Description != "Create an item. It is new" {
		t.Fatalf("%+v, %v", list, err)
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
				t.Error(diff)
			}
		})
	}
	group.Wait()
	if got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "service_get_item", Arguments: map[string]any{"itemId": "itm_gone"}}); err != nil || !got.IsError {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "service_nope"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("an unknown tool: %v", err)
	}
}

// Ensure the server negotiates every revision, with tools as the only capability and without a session.
func TestRevisions(t *testing.T) {
	t.Parallel()
	versions := mcp.SupportedProtocolVersions()
	if !slices.Contains(versions, "2024-11-05") || versions[0] != "2026-07-28" {
		t.Fatalf("%v", versions)
	}
	for _, version := range versions[1:] {
		s := start(t)
		a := s.post(frame("initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`))
		var out struct {
			Result struct {
				ProtocolVersion string
				Capabilities    map[string]json.RawMessage
				Instructions    string
			}
		}
		if err := json.Unmarshal([]byte(a.body), &out); err != nil || out.Result.ProtocolVersion != version || out.Result.Instructions == "" {
			t.Errorf("%s: %s, %v", version, a.body, err)
		}
		if diff := cmp.Diff(map[string]json.RawMessage{"tools": json.RawMessage(`{}`)}, out.Result.Capabilities); diff != "" || a.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %s %v", version, diff, a.header)
		}
		if a := s.post(call("get_self", `{}`), "Mcp-Protocol-Version", version); a.status != 200 || a.decode(t).Result.IsError {
			t.Errorf("%s: %d %s", version, a.status, a.body)
		}
	}
	for _, unknown := range []string{"1999-01-01", "2099-01-01"} {
		a := start(t).post(frame("initialize", `{"protocolVersion":"`+unknown+`","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`))
		if !strings.Contains(a.body, `"protocolVersion":"2025-11-25"`) {
			t.Errorf("%s: %s", unknown, a.body)
		}
	}
	a := start(t).post(frame("server/discover", `{`+newMeta+`}`), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover")
	if a.status != 200 || !strings.Contains(a.body, `"supportedVersions":["2026-07-28"`) || !strings.Contains(a.body, `"cacheScope":"private"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}
