package functions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/testkit/apitest"
)

// lockedBuffer is a buffer that several requests can write to.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// Ensure the log never contains an API key that a caller sends by mistake as part of any name or
// value. For every request with a valid key, the log must contain the company's id.
func TestLogHasNoKeys(t *testing.T) {
	t.Parallel()
	log := &lockedBuffer{}
	s := apitest.New(t, functions.Operations)
	s.Handler = functions.Handler(s.ServingTable, s.Config(slog.New(slog.NewJSONHandler(log, nil))))
	key, leaked := s.IssueKey(t), s.IssueKey(t)
	root := "/v1/companies/" + s.CompanyID
	insertKey := func(format string) string { return strings.ReplaceAll(format, "KEY", leaked) }
	toolCall := func(name, arguments string) string {
		return insertKey(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`)
	}
	for _, c := range []struct{ method, path, body, header string }{
		{"GET", root + "/plan/boards?KEY=1", "", ""},
		{"GET", root + "/plan/boards?KEY", "", ""},
		{"GET", root + "/plan/boards?x=KEY", "", ""},
		{"GET", root + "/plan/boards?KEY;=1", "", ""},
		{"GET", root + "/plan/boards?KEY%zz=1", "", ""},
		{"GET", root + "/plan/boards?%zz=KEY", "", ""},
		{"GET", root + "/plan/boards?" + url.QueryEscape("_KEY-") + "=1", "", ""},
		{"GET", root + "/plan/boards?" + strings.ReplaceAll(leaked, "_", "%5F") + "%zz", "", ""},
		{"GET", root + "/plan/boards?" + strings.ToLower(leaked) + "=1", "", ""},
		{"GET", root + "/plan/boards?limit=KEY", "", ""},
		{"GET", root + "/plan/boards?cursor=KEY", "", ""},
		{"GET", root + "/plan/boards?limit=1&KEY=1&KEY=2", "", ""},
		{"GET", root + "/plan/boards/KEY", "", ""},
		{"GET", root + "/plan/KEY", "", ""},
		{"GET", root + "/KEY", "", ""},
		{"GET", "/KEY", "", ""},
		{"GET", "/v1/companies/KEY/plan/boards", "", ""},
		{"PATCH", root, `{"KEY":1}`, ""},
		{"PATCH", root, `{"KEY":1,"KEY":2}`, ""},
		{"PATCH", root, `{"stage":"KEY"}`, ""},
		{"PATCH", root, `{"name":KEY}`, ""},
		{"PATCH", root, `KEY`, ""},
		{"PATCH", root, `{"\u0073k_live_` + leaked[8:] + `":1}`, ""},
		{"POST", root + "/metrics/points", `{"points":[{"metricKey":"a","ts":"2026-08-01","value":1,"KEY":1}]}`, ""},
		{"POST", root + "/metrics/points", `{"points":[{"metricKey":"KEY","ts":"KEY","value":1,"dims":{"KEY":1}}]}`, ""},
		{"POST", root + "/keys", `{"name":"a","scopes":["KEY"]}`, ""},
		{"GET", root, "", "Service-Version: KEY"},
		{"GET", root, "", "If-None-Match: KEY"},
		{"GET", root, "", "KEY: KEY"},
		{"GET", root, "", "Traceparent: 00-KEY-KEY-01"},
		{"PATCH", root, `{}`, "If-Match: KEY"},
		{"PATCH", root, `{}`, "Content-Type: KEY"},
		{"POST", root + "/keys", `{}`, "Idempotency-Key: KEY"},
		{"GET", root, "", "Authorization: KEY KEY"},
		{"GET", root, "", "Authorization: Bearer KEYx"},
		{"POST", "/mcp", toolCall("service_get_company", `{"KEY":1}`), ""},
		{"POST", "/mcp", toolCall("service_get_company", `{"companyId":"KEY"}`), ""},
		{"POST", "/mcp", toolCall("service_get_plan_item", `{"itemId":"KEY"}`), ""},
		{"POST", "/mcp", toolCall("service_get_plan_item", `"KEY"`), ""},
		{"POST", "/mcp", toolCall("KEY", `{}`), ""},
		{"POST", "/mcp", insertKey(`{"jsonrpc":"2.0","id":1,"method":"KEY"}`), ""},
		{"POST", "/mcp", insertKey(`{"jsonrpc":"2.0","id":"KEY","method":"ping"}`), ""},
		{"POST", "/mcp", insertKey(`{"jsonrpc":"2.0","id":1,"KEY":"ping"}`), ""},
		{"POST", "/mcp", insertKey(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"KEY","KEY":1}}`), ""},
		{"POST", "/mcp", insertKey(`KEY`), ""},
		{"POST", "/mcp?KEY=1", insertKey(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), ""},
		{"POST", "/mcp", insertKey(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), "Mcp-Protocol-Version: KEY"},
		{"POST", "/mcp", insertKey(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), "Origin: https://KEY"},
	} {
		log.Reset()
		r := httptest.NewRequest(c.method, "/", strings.NewReader(insertKey(c.body)))
		r.URL, r.RequestURI = mustParse(t, insertKey(c.path)), insertKey(c.path)
		r.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}}
		if name, value, ok := strings.Cut(insertKey(c.header), ": "); ok {
			r.Header.Set(name, value)
		}
		s.Do(r)
		where := fmt.Sprintf("%s %.60s %.80s %.30s", c.method, c.path, c.body, c.header)
		text := strings.ToLower(log.String())
		if secret := strings.ToLower(leaked[len(leaked)-33:]); strings.Contains(text, secret) || strings.Contains(text, strings.ToLower(key[8:])) {
			t.Errorf("%s: the key is in the log: %s", where, log)
		}
		var line map[string]any
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Errorf("%s: not one line: %v: %s", where, err, log)
		} else if authorised := r.Header.Get("Authorization") == "Bearer "+key && line["status"] != 405.0; authorised && line["companyId"] != s.CompanyID && line["Operation"] != "none" && line["status"] != 403.0 {
			t.Errorf("%s: the line has the companyId %v, want %s: %v", where, line["companyId"], s.CompanyID, line)
		}
	}
	if got := auth.Redact("a " + leaked + ", b"); !strings.HasPrefix(got, "a "+leaked[:20]+"…") || !strings.HasSuffix(got, ", b") {
		t.Errorf("the redacted text is %q, want the key cut after %q", got, leaked[:20])
	}
}

// Ensure a log line contains the trace from the request's traceparent header or from a tool call's
// _meta, if the trace is valid. This must hold even for requests that call no operation.
func TestLogHasTheTrace(t *testing.T) {
	t.Parallel()
	log := &lockedBuffer{}
	s := apitest.New(t, functions.Operations)
	s.Handler = functions.Handler(s.ServingTable, s.Config(slog.New(slog.NewJSONHandler(log, nil))))
	key, trace, parent, other := s.IssueKey(t), strings.Repeat("0a", 16), strings.Repeat("0b", 8), strings.Repeat("0c", 16)
	valid := "00-" + trace + "-" + parent + "-01"
	call := func(meta string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_get_company","arguments":{},"_meta":{` + meta + `}}}`
	}
	for _, c := range []struct {
		name, method, path, body, header string
		wantTrace                        any
	}{
		{"an operation", "GET", "/v1/companies/" + s.CompanyID, "", valid, trace},
		{"an unknown path", "GET", "/x", "", valid, trace},
		{"no traceparent", "GET", "/v1/companies/" + s.CompanyID, "", "", nil},
		{"an invalid traceparent", "GET", "/v1/companies/" + s.CompanyID, "", valid + "x", nil},
		{"a tool", "POST", "/mcp", call(`"traceparent":"` + strings.Replace(valid, trace, other, 1) + `"`), valid, other},
		{"a tool without one of its own", "POST", "/mcp", call(""), valid, trace},
		{"a tool with an invalid one", "POST", "/mcp", call(`"traceparent":"x"`), valid, nil},
		{"a ping", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, valid, trace},
		{"a method of MCP that is not accepted", "GET", "/mcp", "", valid, trace},
	} {
		log.Reset()
		s.Send(t, key, c.method, "http://api.test"+c.path, c.body, "Traceparent", c.header)
		var line map[string]any
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatalf("%s: not one line: %v: %s", c.name, err, log)
		}
		var wantParent any
		if c.wantTrace != nil {
			wantParent = parent
		}
		if line["traceId"] != c.wantTrace || line["parentId"] != wantParent {
			t.Errorf("%s: traceId %v, parentId %v, want %v and %v", c.name, line["traceId"], line["parentId"], c.wantTrace, wantParent)
		}
	}
}

func mustParse(t *testing.T, path string) *url.URL {
	t.Helper()
	u, err := url.ParseRequestURI(path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
