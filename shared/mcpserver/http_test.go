package mcpserver_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/mcpserver"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// Ensure that an HTTP error has the envelope and is sent before the message is parsed. The key must
// be verified only if necessary.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		code   string
		calls  string
		change func(r *http.Request)
	}{
		"GET":               {405, "method_not_allowed", "", func(r *http.Request) { r.Method = "GET" }},
		"DELETE":            {405, "method_not_allowed", "", func(r *http.Request) { r.Method = "DELETE" }},
		"PUT":               {405, "method_not_allowed", "", func(r *http.Request) { r.Method = "PUT" }},
		"OPTIONS":           {405, "method_not_allowed", "", func(r *http.Request) { r.Method = "OPTIONS" }},
		"GET without a key": {405, "method_not_allowed", "", func(r *http.Request) { r.Method = "GET"; r.Header.Del("Authorization") }},
		"another path":      {404, "not_found", "", func(r *http.Request) { r.URL.Path = "/mcp/" }},
		"an escaped path":   {404, "not_found", "", func(r *http.Request) { r.URL.RawPath = "/%6dcp" }},
		"a foreign origin":  {403, "forbidden", "", func(r *http.Request) { r.Header.Set("Origin", "https://evil.test") }},
		"another port":      {403, "forbidden", "", func(r *http.Request) { r.Header.Set("Origin", "http://api.test:81") }},
		"an opaque origin":  {403, "forbidden", "", func(r *http.Request) { r.Header.Set("Origin", "null") }},
		"two origins": {403, "forbidden", "", func(r *http.Request) {
			r.Header["Origin"] = []string{"http://api.test", "https://evil.test"}
		}},
		"a foreign name for a loopback address": {403, "forbidden", "", func(r *http.Request) {
			*r = *r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}))
		}},
		"no key":        {401, "unauthorised", "", func(r *http.Request) { r.Header.Del("Authorization") }},
		"a typo":        {401, "unauthorised", "", func(r *http.Request) { r.Header.Set("Authorization", r.Header.Get("Authorization")+"x") }},
		"a publishable": {401, "unauthorised", "", func(r *http.Request) { r.Header.Set("Authorization", "Bearer pk_live_x") }},
		"no key, bad version": {401, "unauthorised", "", func(r *http.Request) {
			r.Header.Del("Authorization")
			r.Header.Set("Service-Version", "2020-01-01")
		}},
		"an old version":  {400, "bad_request", "verify", func(r *http.Request) { r.Header.Set("Service-Version", "2020-01-01") }},
		"a content type":  {400, "bad_request", "admit read ", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }},
		"no content type": {400, "bad_request", "admit read ", func(r *http.Request) { r.Header.Del("Content-Type") }},
		"too large": {413, "payload_too_large", "admit read ", func(r *http.Request) {
			r.Body = http.NoBody
			r.Body = readCloser{strings.NewReader(strings.Repeat(" ", 1<<20+1))}
		}},
		"cut off": {400, "bad_request", "admit read ", func(r *http.Request) { r.Body = failingBody{} }},
	} {
		s := start(t)
		r := s.request(ping)
		c.change(r)
		a := s.do(r)
		if a.status != c.status || code(a.body) != c.code || s.keys.takeCalls() != c.calls {
			t.Errorf("%s: %d %s, want %d %s", name, a.status, a.body, c.status, c.code)
		}
		a.checkResponseHeader(t, name)
		for header, status := range map[string]int{"WWW-Authenticate": 401, "Allow": 405} {
			if (a.header.Get(header) != "") != (a.status == status) {
				t.Errorf("%s: %s is %q", name, header, a.header.Get(header))
			}
		}
		if a.status == 405 && a.header.Get("Allow") != "POST" {
			t.Errorf("%s: Allow %q", name, a.header.Get("Allow"))
		}
	}
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

type failingBody struct{}

func (failingBody) Read([]byte) (int, error) { return 0, errors.New("cut off") }
func (failingBody) Close() error             { return nil }

func (h httpResponse) checkResponseHeader(t *testing.T, name string) {
	t.Helper()
	if h.header.Get("Service-Version") != fault.Version || h.header.Get("Service-Request-Id") == "" || h.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: headers %v, want the version, a request id and no-store", name, h.header)
	}
	if h.body != "" && h.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: Content-Type %q", name, h.header.Get("Content-Type"))
	}
}

// Ensure the response to a HEAD has no body.
func TestHead(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.request("")
	r.Method = "HEAD"
	if a := s.do(r); a.status != 405 || a.body != "" {
		t.Errorf("status %d, want 405 without a body: %q", a.status, a.body)
	}
}

// Ensure a request is accepted if it comes from a page on the same host or has no Origin, whatever
// its Accept header is.
func TestAccepted(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r *http.Request){
		"plain":         func(*http.Request) {},
		"same host":     func(r *http.Request) { r.Header.Set("Origin", "https://API.test") },
		"loopback":      func(r *http.Request) { r.Host = "localhost:8080"; r.Header.Set("Origin", "http://localhost:8080") },
		"no Accept":     func(r *http.Request) { r.Header.Del("Accept") },
		"one Accept":    func(r *http.Request) { r.Header.Set("Accept", "application/json") },
		"split Accept":  func(r *http.Request) { r.Header["Accept"] = []string{"application/json", "text/event-stream"} },
		"charset":       func(r *http.Request) { r.Header.Set("Content-Type", "Application/JSON; charset=utf-8") },
		"session":       func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "abc") },
		"last event":    func(r *http.Request) { r.Header.Set("Last-Event-ID", "abc_1") },
		"pinned":        func(r *http.Request) { r.Header.Set("Service-Version", fault.Version) },
		"a query":       func(r *http.Request) { r.URL = &url.URL{Path: "/mcp", RawQuery: "a=b"} },
		"white space":   func(r *http.Request) { r.Body = readCloser{strings.NewReader(" \n" + ping + " ")} },
		"other headers": func(r *http.Request) { r.Header.Set("Mcp-Method", "tools/list") },
		"largest": func(r *http.Request) {
			r.Body = readCloser{strings.NewReader(ping + strings.Repeat(" ", 1<<20-len(ping)))}
		},
		"a server that is not on the loopback interface": func(r *http.Request) {
			*r = *r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}))
		},
	} {
		s := start(t)
		r := s.request(ping)
		change(r)
		a := s.do(r)
		if a.status != 200 || a.body != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("%s: status %d, want 200 and an empty result: %s", name, a.status, a.body)
		}
		a.checkResponseHeader(t, name)
		if a.header.Get("RateLimit-Remaining") != "599" || a.header.Get("RateLimit-Policy") != `"read";q=600;w=60` {
			t.Errorf("%s: headers %v, want 599 remaining of 600 reads", name, a.header)
		}
	}
}

// Ensure that any message gets a 401 if the key is invalid and a 403 if it is suspended, and that
// the key is verified only once.
func TestBadKey(t *testing.T) {
	t.Parallel()
	for text, calls := range map[string]string{
		ping: "admit read ", rpcRequest("tools/list", ""): "admit read ", rpcRequest("initialize", `{}`): "admit read ", rpcRequest("nope", ""): "admit read ",
		"{": "admit read ", "": "admit read ", "[]": "admit read ", "[" + ping + "," + ping + "]": "admit read ",
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                 "admit read ",
		toolCallRequest("nope", `{}`):                                            "admit read ",
		rpcRequest("tools/call", ""):                                             "admit read ",
		rpcRequest("tools/call", `[]`):                                           "admit read ",
		toolCallRequest("get_item", `{}`):                                        "admit read plan:read",
		toolCallRequest("create_item", `{"text":""}`):                            "admit write plan:write",
		toolCallRequest("get_item", `{"companyId":"co_other","itemId":"itm_1"}`): "verify",
		"[" + toolCallRequest("create_item", `{"text":""}`) + "," + ping + "]":   "admit write plan:write",
	} {
		for _, c := range []struct {
			err    error
			status int
			code   string
		}{{auth.ErrUnauthorised, 401, "unauthorised"}, {auth.ErrSuspended, 403, "forbidden"}} {
			s := start(t)
			s.keys.err = c.err
			a := s.post(text)
			if a.status != c.status || code(a.body) != c.code || (a.header.Get("WWW-Authenticate") != "") != (c.status == 401) {
				t.Errorf("%s: status %d, want %d %s: %s %v", text, a.status, c.status, c.code, a.body, a.header)
			}
			if got := s.keys.takeCalls(); got != calls {
				t.Errorf("%s: calls %q, want %q", text, got, calls)
			}
		}
	}
}

// Ensure an exhausted quota causes a tool error for a tools/call and a 429 for any other message,
// both with the time to wait.
func TestQuotaExceeded(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.keys.err, s.keys.quota = auth.NewQuotaExceededError(auth.ClassRead), auth.QuotaState{Quota: 600, Reset: 60, RetryAfter: 7}
	for _, text := range []string{ping, rpcRequest("tools/list", ""), toolCallRequest("nope", "{}"), "{"} {
		a := s.post(text)
		if a.status != 429 || code(a.body) != "rate_limited" || a.header.Get("Retry-After") != "7" {
			t.Errorf("%s: status %d, want 429 rate_limited with a wait of 7: %s %v", text, a.status, a.body, a.header)
		}
	}
	a := s.post(toolCallRequest("get_item", `{"itemId":"itm_1"}`))
	if texts := a.requireToolError(t, "a call", "rate_limited"); len(texts) != 2 || !strings.Contains(texts[1], "7 seconds") {
		t.Errorf("texts %q, want the wait of 7 seconds", texts)
	}
	if got := a.header.Get("Retry-After"); got != "7" {
		t.Errorf("Retry-After %q, want 7", got)
	}
}

// Ensure a table error causes a tool error for a tools/call and a 500 for any other message.
func TestInternal(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.keys.err = errors.New("the table is on fire")
	if a := s.post(ping); a.status != 500 || code(a.body) != "internal" || strings.Contains(a.body, "fire") {
		t.Errorf("status %d, want 500 internal without the reason: %s", a.status, a.body)
	}
	a := s.post(toolCallRequest("get_item", `{"itemId":"itm_1"}`))
	a.requireToolError(t, "a call", "internal")
	if strings.Contains(a.body, "fire") {
		t.Errorf("the reason is in the response: %s", a.body)
	}
}

// Ensure the log line of a message that calls no operation contains the message's method.
func TestLogNamesTheMethod(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ping: "mcp ping", rpcRequest("tools/list", ""): "mcp tools/list", "{": "mcp"} {
		var lines bytes.Buffer
		s := start(t)
		s.http = mcpserver.New(operations(), api.Config{
			Keys: s.keys, Now: time.Now, NewID: id.NewGenerator(time.Now, rand.Reader), Log: slog.New(slog.NewJSONHandler(&lines, nil)),
		})
		s.do(s.request(text))
		var line struct{ Operation string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Operation != want {
			t.Errorf("%s: operation %q, want %q: %s, %v", text, line.Operation, want, &lines, err)
		}
	}
}
