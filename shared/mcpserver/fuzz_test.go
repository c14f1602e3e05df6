package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// FuzzFrame sends whatever there is. The answer is JSON or an empty 202, in time, and never a 500.
func FuzzFrame(f *testing.F) {
	for _, text := range []string{
		ping, "[" + ping + "," + ping + "]", frame("tools/list", `{"cursor":"a"}`), frame("initialize", `{"protocolVersion":"2025-06-18","capabilities":{}}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":"a","result":{}}`,
		call("get_item", `{"itemId":"itm_1"}`), call("create_item", `{"text":"\ud800"}`), call("list_items", `{"limit":1e2,"cursor":null}`),
		frame("server/discover", `{`+newMeta+`}`), frame("tools/call", `{"name":"service_get_self","arguments":null,"_meta":{"progressToken":[]}}`),
		frame("subscriptions/listen", `{}`), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_get_self","inputResponses":{"a":{}},"requestState":"x"}}`,
		strings.Repeat("[", 2000), "null", `""`, "\xff", "{}",
	} {
		f.Add([]byte(text), "")
		f.Add([]byte(text), "2025-03-26")
		f.Add([]byte(text), "2026-07-28")
	}
	one := start(f)
	f.Fuzz(func(t *testing.T, text []byte, version string) {
		s := &service{t, one.keys, one.http, one.key}
		r := s.request(string(text))
		if version != "" {
			r.Header.Set("Mcp-Protocol-Version", version)
		}
		var method struct{ Method string }
		if json.Unmarshal(text, &method) == nil { // so that requests of the new revision come further
			r.Header.Set("Mcp-Method", method.Method)
		}
		s.keys.questions() // so that the notes do not grow
		began := time.Now()
		a := s.do(r)
		if a.status >= 500 || a.status == 401 || time.Since(began) > 5*time.Second {
			t.Fatalf("%d %s after %s", a.status, a.body, time.Since(began))
		}
		if a.status == 202 && a.body == "" {
			return
		}
		if !json.Valid([]byte(a.body)) {
			t.Fatalf("%d %q", a.status, a.body)
		}
	})
}
