package gateway_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"growthworkspace/shared/gateway"
)

// This file compares this package with aws-lambda-go-api-proxy, the adapter that it replaces. Both
// must convert ordinary events and responses in the same way. knownDifferences lists the others,
// which are the reason the Lambda functions do not use the adapter.

type (
	event  = events.APIGatewayProxyRequest
	values = map[string][]string

	// proxyFunction is the signature of a Lambda function behind a REST API.
	proxyFunction = func(context.Context, event) (events.APIGatewayProxyResponse, error)
)

func adapterProxy(h http.Handler) proxyFunction { return httpadapter.New(h).ProxyWithContext }

func ownProxy(h http.Handler) proxyFunction { return gateway.Proxy(h) }

// observe sends an event through a proxy, and describes the request that the handler gets and the
// response that the gateway gets.
func observe(t *testing.T, newProxy func(http.Handler) proxyFunction, e event, handle http.HandlerFunc) (seen string) {
	t.Helper()
	proxy := newProxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		seen = fmt.Sprintf("method=%s uri=%s %s host=%s from=%s %q length=%d %q\n", r.Method, r.RequestURI, r.Proto, r.Host, r.RemoteAddr, r.Header, r.ContentLength, body)
		handle(w, r)
	}))
	defer func() {
		if recover() != nil {
			seen += "panic"
		}
	}()
	resp, err := proxy(t.Context(), e)
	if err != nil {
		return seen + "error"
	}
	return seen + fmt.Sprintf("-> %d %q base64=%t %.100q", resp.StatusCode, resp.MultiValueHeaders, resp.IsBase64Encoded, resp.Body)
}

// writes returns a handler that sets headers, the status unless it is 0, and the body.
func writes(header http.Header, status int, body ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		if status != 0 {
			w.WriteHeader(status)
		}
		for _, text := range body {
			_, _ = io.WriteString(w, text) // may fail for a HEAD or a 304
		}
	}
}

// knownDifferences lists what the adapter does, and the part of the description that only this
// package's conversion has: it does what net/http's server would.
var knownDifferences = map[string]struct {
	edit   func(e *event)
	handle http.HandlerFunc // nil for one that sends 200
	want   string
}{
	// The request's URL, its method and the client's IP address.
	"reports an error for a % that begins no escape":       {edit: func(e *event) { e.Path = "/100%" }, want: "uri=/100%25 "},
	"reports an error for a control character in the path": {edit: func(e *event) { e.Path = "/a\nb" }, want: "uri=/a%0Ab "},
	"takes what follows a ? in the path for the query":     {edit: func(e *event) { e.Path = "/a?b=1" }, want: "uri=/a%3Fb=1 "},
	"cuts path and query at a # in the path":               {edit: func(e *event) { e.Path = "/a#b" }, want: "uri=/a%23b "},
	"escapes a path anew, so that %2F is a separator":      {edit: func(e *event) { e.Path = "/a%2Fb c" }, want: "uri=/a%2Fb%20c "},
	"makes the path /* of *":                               {edit: func(e *event) { e.Path = "*" }, want: "uri=* "},
	"writes the names of the query in random order": {edit: func(e *event) {
		e.MultiValueQueryStringParameters = values{}
		for c := 'a'; c <= 'z'; c++ {
			e.MultiValueQueryStringParameters[string(c)] = []string{"1"}
		}
	}, want: "?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1&j=1&k=1&l=1&m=1&n=1&o=1&p=1&q=1&r=1&s=1&t=1&u=1&v=1&w=1&x=1&y=1&z=1 "},
	"adds a ? without a query":                                            {edit: func(e *event) { e.MultiValueQueryStringParameters = values{"a": nil} }, want: "uri=/v1 "},
	"reports an error for a method that is no token":                      {edit: func(e *event) { e.HTTPMethod = "G T" }, want: "method=G T uri"},
	"makes a method upper case":                                           {edit: func(e *event) { e.HTTPMethod = "get" }, want: "method=get uri"},
	"makes a GET of no method":                                            {edit: func(e *event) { e.HTTPMethod = "" }, want: "method= uri"},
	"parses the domain name":                                              {edit: func(e *event) { e.RequestContext.DomainName = "a b" }, want: "uri=/v1 "},
	"takes the host from the domain name, and leaves Host in the headers": {edit: func(e *event) { e.MultiValueHeaders = values{"Host": {"h"}} }, want: "host=h from= map[] "},
	"makes a RemoteAddr without a port":                                   {edit: func(e *event) { e.RequestContext.Identity.SourceIP = "192.0.2.1" }, want: "from=192.0.2.1:0 "},
	"makes every request one of HTTP/1.1":                                 {edit: func(e *event) { e.RequestContext.Protocol = "HTTP/1.0" }, want: " HTTP/1.0 "},

	// The headers and the body of the request.
	"ignores the single values beside an empty map": {edit: func(e *event) { e.MultiValueHeaders, e.Headers = values{}, map[string]string{"A": "b"} }, want: `map["A":["b"]]`},
	"adds both spellings of a name":                 {edit: func(e *event) { e.MultiValueHeaders, e.Headers = nil, map[string]string{"X-A": "1", "x-a": "2"} }, want: `"X-A":["1"]`},
	"drops a header without values":                 {edit: func(e *event) { e.MultiValueHeaders = values{"A": nil} }, want: `map["A":[]]`},
	"keeps a wrong Content-Length": {edit: func(e *event) {
		e.Body, e.MultiValueHeaders = "body", values{"Content-Length": {"7"}}
	}, want: `"Content-Length":["4"]`},
	"keeps Transfer-Encoding":                        {edit: func(e *event) { e.MultiValueHeaders = values{"Transfer-Encoding": {"chunked"}} }, want: "from= map[] "},
	"reports an error for a body that is not base64": {edit: func(e *event) { e.Body, e.IsBase64Encoded = "{", true }, want: `"{"`},

	// The handler's actions.
	"reports an error if a handler does nothing": {handle: writes(nil, 0), want: "-> 200 "},
	"does not recover a panic":                   {handle: func(http.ResponseWriter, *http.Request) { panic("planted") }, want: "-> 500 "},
	"sends any number for a status":              {handle: writes(nil, 999), want: "-> 500 "},
	"sends the status that was set last": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(404)
		w.WriteHeader(200)
	}, want: "-> 404 "},
	"ignores a flush": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		w.WriteHeader(404)
	}, want: "-> 200 "},
	"sends a 1xx status": {handle: writes(nil, 103), want: "-> 200 "},
	"sends a header that is set after the status": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(200)
		w.Header().Set("Late", "1")
	}, want: "-> 200 map[] "},
	"sends null for a header without values": {handle: writes(http.Header{"Null": nil}, 200), want: "-> 200 map[] "},
	"sends a header with an invalid name":    {handle: writes(http.Header{"A b": {"1"}}, 200), want: "-> 200 map[] "},
	"sends a line break in a header":         {handle: writes(http.Header{"A": {"1\n2"}}, 200), want: `map["A":["1 2"]]`},
	"guesses the type from an empty write":   {handle: writes(nil, 0, "", "<html>"), want: "text/html"},
	"guesses the type of a compressed body":  {handle: writes(http.Header{"Content-Encoding": {"gzip"}}, 0, "\x1f\x8b"), want: `map["Content-Encoding":["gzip"]]`},
	"sends a wrong Content-Length":           {handle: writes(http.Header{"Content-Length": {"7"}, "Content-Type": {"a/b"}}, 0, "x"), want: `map["Content-Type":["a/b"]]`},
	"sends the body of a HEAD":               {edit: func(e *event) { e.HTTPMethod = "HEAD" }, handle: writes(nil, 0, "x"), want: `base64=false ""`},
	"sends the body of a 304":                {handle: writes(nil, 304, "x"), want: `-> 304 map[] base64=false ""`},
	"sends the Content-Length of a 204":      {handle: writes(http.Header{"Content-Length": {"0"}}, 204), want: "-> 204 map[] "},
	"sends more than 1 MB as text":           {handle: writes(nil, 0, strings.Repeat("x", 1_000_001)), want: "base64=true"},
	"sends more than Lambda's limit":         {handle: writes(nil, 0, strings.Repeat("\xff", responseBytesMax)), want: "-> 500 "},
}

// Ensure that in each known difference, this package does what net/http's server would do and the
// adapter does something else. If both do the same, the entry is stale.
func TestKnownDifferences(t *testing.T) {
	t.Parallel()
	for theirs, c := range knownDifferences {
		t.Run(theirs, func(t *testing.T) {
			t.Parallel()
			e, handle := exampleGetEvent, c.handle
			e.Path = "/v1"
			if c.edit != nil {
				c.edit(&e)
			}
			if handle == nil {
				handle = writes(nil, 200)
			}
			if got := observe(t, ownProxy, e, handle); !strings.Contains(got, c.want) {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if got := observe(t, adapterProxy, e, handle); strings.Contains(got, c.want) {
				t.Errorf("the adapter does the same: delete the known difference: %s", got)
			}
		})
	}
}

// Ensure this package converts ordinary events and responses as the adapter does.
func TestAdapter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(choices ...string) string { return choices[r.IntN(len(choices))] }
	text := func() (out string) {
		for range r.IntN(8) {
			out += pick("a", "Z", "0", " ", "+", "&", "=", "%", "/", "?", "#", `"`, "<", ";", ",", "é", "日", "😀", "\u2028")
		}
		return out
	}
	for range 1000 {
		e := event{HTTPMethod: pick("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"), Path: "/v1/" + pick("a:b", "(a)", url.PathEscape(text()))}
		e.RequestContext.Protocol, e.RequestContext.DomainName = "HTTP/1.1", pick("", "api.example.com", "localhost:8080")
		e.MultiValueHeaders = values{pick("Accept", "authorization", "If-None-Match", "Cookie"): {pick("a, b", `W/"1"`), text()}}
		if r.IntN(2) == 0 {
			e.MultiValueQueryStringParameters = values{pick("limit", "", text()): {text(), text()}}
		}
		if e.Body = `{"text":"` + text() + `"}`; r.IntN(3) == 0 {
			e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(text()+"\xff")), true
		}
		header := http.Header{pick("Etag", "Link", "Set-Cookie"): {strings.TrimSpace(text()), "1"}, "Content-Type": {pick("application/json", "image/png")}}
		handle := writes(header, 200+r.IntN(2)*204, pick(`{"data":1}`, "<html>"+text(), "\xff\xfe"))
		if adapter, ours := observe(t, adapterProxy, e, handle), observe(t, ownProxy, e, handle); adapter != ours {
			t.Fatalf("the adapter:\n%s\nthis package:\n%s", adapter, ours)
		}
	}
}
