package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzFrame sends arbitrary bodies with a valid key. The response must be an empty 202 if no
// message needs a response, and otherwise an error envelope or JSON-RPC. JSON-RPC must contain one
// response for each request, with the request's id and either a result or an error. The response
// must never be a 401 or a 5xx, and must never contain the name of a Go type.
func FuzzFrame(f *testing.F) {
	for _, text := range []string{
		ping, "[" + ping + "," + ping + "]", rpcRequest("tools/list", `{"cursor":"a"}`), rpcRequest("initialize", `{"protocolVersion":"2025-06-18","capabilities":{}}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":"a","result":{}}`,
		toolCallRequest("get_item", `{"itemId":"itm_1"}`), toolCallRequest("create_item", `{"text":"\ud800"}`), toolCallRequest("list_items", `{"limit":1e2,"cursor":null}`),
		rpcRequest("server/discover", `{`+statelessMeta+`}`), rpcRequest("tools/call", `{"name":"service_get_self","arguments":null,"_meta":{"progressToken":[]}}`),
		rpcRequest("subscriptions/listen", `{}`), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_get_self","inputResponses":{"a":{}},"requestState":"x"}}`,
		strings.Repeat("[", 2000), "null", `""`, "\xff", "{}", `{"jsonrpc":"2.0","id":"<\u2028>","method":"ping"}`, `{"jsonrpc":"2.0","id":"\ud800","method":"nope"}`,
		`[` + ping + `,{"jsonrpc":"2.0","method":"notifications/initialized"},{"id":1},5]`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"nope"}`, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"1.0","id":-1,"method":"ping"}`,
	} {
		f.Add([]byte(text), "")
		f.Add([]byte(text), "2025-03-26")
		f.Add([]byte(text), "2026-07-28")
	}
	base := start(f)
	f.Fuzz(func(t *testing.T, text []byte, version string) {
		s := &service{t, base.keys, base.http, base.key}
		r := s.request(string(text))
		if version != "" {
			r.Header.Set("Mcp-Protocol-Version", version)
		}
		var method struct{ Method string }
		if json.Unmarshal(text, &method) == nil { // the new revision requires the header Mcp-Method
			r.Header.Set("Mcp-Method", method.Method)
		}
		s.keys.takeCalls() // so that the list of recorded calls does not grow
		a := s.do(r)
		switch {
		case a.status >= http.StatusInternalServerError || a.status == http.StatusUnauthorized:
			t.Fatalf("%q: status %d, want no 401 and nothing from 500 on: %s", text, a.status, a.body)
		case a.status == http.StatusAccepted:
			if a.body != "" {
				t.Fatalf("%q: 202 with %q", text, a.body)
			}
		case code(a.body) != "":
			if a.status < http.StatusBadRequest {
				t.Fatalf("%q: %d with the envelope %s", text, a.status, a.body)
			}
		case strings.Contains(a.body, "mcp."):
			t.Fatalf("%q: a Go type: %s", text, a.body)
		case strings.HasPrefix(a.body, "["):
			checkBatch(t, text, []byte(a.body))
		default:
			checkFrame(t, text, []byte(a.body))
		}
	})
}

// checkBatch checks each response to a batch. It also checks that there are no more responses than
// messages.
func checkBatch(t *testing.T, sent, got []byte) {
	t.Helper()
	var requests, responses []json.RawMessage
	if err := json.Unmarshal(got, &responses); err != nil {
		t.Fatalf("%q: the response is no list: %s: %v", sent, got, err)
	}
	if err := json.Unmarshal(sent, &requests); err != nil {
		t.Fatalf("%q has a list as its response: %s: %v", sent, got, err)
	}
	if len(responses) == 0 || len(responses) > len(requests) {
		t.Fatalf("%q: %d responses to %d messages: %s", sent, len(responses), len(requests), got)
	}
	ids := map[string]int{}
	for _, request := range requests {
		ids[idOf(request)]++
	}
	for _, message := range responses {
		checkResponse(t, message)
		id := idOf(message)
		if ids[id]--; id != "" && ids[id] < 0 {
			t.Fatalf("%q: no request for %s", sent, message)
		}
	}
}

func checkFrame(t *testing.T, sent, got []byte) {
	t.Helper()
	checkResponse(t, got)
	if id := idOf(got); id != "" && id != idOf(sent) {
		t.Fatalf("%q got a response with the id %s", sent, id)
	}
	if bytes.Contains(got, []byte(`"result":`)) && idOf(got) == "" {
		t.Fatalf("%q has a result without an id: %s", sent, got)
	}
}

// idOf returns the JSON of a message's id, with strings in a canonical form. It is empty for a
// message without an id.
func idOf(text []byte) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil || string(m["id"]) == "null" {
		return ""
	}
	var id string
	if json.Unmarshal(m["id"], &id) != nil {
		return string(m["id"])
	}
	return strconv.Quote(id)
}

// checkResponse checks one response by the rules of JSON-RPC 2.0.
func checkResponse(t *testing.T, text []byte) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(text, &m); err != nil || !utf8.Valid(text) {
		t.Fatalf("no JSON object in UTF-8: %q: %v", text, err)
	}
	if string(m["jsonrpc"]) != `"2.0"` || (m["result"] == nil) == (m["error"] == nil) {
		t.Fatalf("no response of JSON-RPC 2.0 with a result or an error: %q", text)
	}
	for name := range m {
		if !strings.Contains(" jsonrpc id result error ", " "+name+" ") {
			t.Fatalf("a response with %q: %s", name, text)
		}
	}
	if m["result"] != nil {
		if m["result"][0] != '{' || m["id"] == nil {
			t.Fatalf("the result is not an object, or has no id: %s", text)
		}
		return
	}
	var e struct {
		Code    *int64
		Message *string
	}
	if err := json.Unmarshal(m["error"], &e); err != nil {
		t.Fatalf("not an error object: %s: %v", text, err)
	}
	if e.Code == nil || *e.Code == 0 {
		t.Fatalf("an error without a code: %s", text)
	}
	if e.Message == nil || *e.Message == "" {
		t.Fatalf("an error without a message: %s", text)
	}
}
