package gateway

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
)

// TestAdapterFaults keeps the list of what Proxy guards. Each check holds of
// Proxy and fails, or panics, with the bare adapter: when a new version of the
// adapter makes this test fail, its guard can go.
func TestAdapterFaults(t *testing.T) {
	silence := func(http.ResponseWriter, *http.Request) {}
	tests := []struct {
		name  string
		event events.APIGatewayProxyRequest
		h     http.HandlerFunc
		check func(r *http.Request, resp events.APIGatewayProxyResponse) error
	}{
		{name: "PercentInPath", event: events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/100%"}, check: wantPath("/100%25")},
		{name: "QuestionMarkInPath", event: events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/a?b=1"}, check: wantPath("/a%3Fb=1")},
		{name: "HashInPath", event: events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/a#b"}, check: wantPath("/a%23b")},
		{name: "ControlInPath", event: events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/a\nb"}, check: wantPath("/a%0Ab")},
		{name: "BadMethod", event: events.APIGatewayProxyRequest{HTTPMethod: "G T", Path: "/"}, check: wantMethod("G T")},
		{name: "MethodUpperCased", event: events.APIGatewayProxyRequest{HTTPMethod: "get", Path: "/"}, check: wantMethod("get")},
		{name: "NoMethodIsGET", event: events.APIGatewayProxyRequest{Path: "/"}, check: wantMethod("")},
		{
			name:  "BadDomain",
			event: events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/", RequestContext: events.APIGatewayProxyRequestContext{DomainName: "a b"}},
			check: wantPath("/"),
		},
		{
			name:  "BadBase64",
			event: events.APIGatewayProxyRequest{HTTPMethod: "POST", Path: "/", Body: "{", IsBase64Encoded: true},
			check: wantMethod("POST"),
		},
		{
			name:  "AbsoluteURL",
			event: events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/", RequestContext: events.APIGatewayProxyRequestContext{DomainName: "d"}},
			check: func(r *http.Request, _ events.APIGatewayProxyResponse) error {
				return expect(r.URL.String(), "/")
			},
		},
		{
			name:  "HostFromHeader",
			event: events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/", MultiValueHeaders: map[string][]string{"Host": {"h"}}},
			check: func(r *http.Request, _ events.APIGatewayProxyResponse) error {
				return expect(r.Host+" "+r.Header.Get("Host"), "h ")
			},
		},
		{
			name:  "EmptyMultiValueHeaders",
			event: events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/", MultiValueHeaders: map[string][]string{}, Headers: map[string]string{"A": "b"}},
			check: func(r *http.Request, _ events.APIGatewayProxyResponse) error { return expect(r.Header.Get("A"), "b") },
		},
		{
			name: "RemoteAddrWithoutPort",
			event: events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/", RequestContext: events.APIGatewayProxyRequestContext{
				Identity: events.APIGatewayRequestIdentity{SourceIP: "192.0.2.1"},
			}},
			check: func(r *http.Request, _ events.APIGatewayProxyResponse) error {
				_, _, err := net.SplitHostPort(r.RemoteAddr)
				return err
			},
		},
		{name: "SilentHandler", event: get, h: silence, check: wantStatus(200)},
		{name: "Panic", event: get, h: func(http.ResponseWriter, *http.Request) { panic("boom") }, check: wantStatus(500)},
		{name: "StatusZero", event: get, h: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(0) }, check: wantStatus(500)},
		{
			name: "LastStatusWins", event: get,
			h:     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); w.WriteHeader(200) },
			check: wantStatus(404),
		},
		{
			name: "InformationalStatus", event: get,
			h:     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103) },
			check: wantStatus(200),
		},
		{
			name: "LateHeader", event: get,
			h: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); w.Header().Set("Late", "1") },
			check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
				return expect(len(resp.MultiValueHeaders["Late"]), 0)
			},
		},
		{
			name: "NullHeader", event: get,
			h: func(w http.ResponseWriter, _ *http.Request) { w.Header()["Null"] = nil; w.WriteHeader(200) },
			check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
				return expect(len(resp.MultiValueHeaders), 0)
			},
		},
		{
			name: "TypeOfFirstWrite", event: get,
			h: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil); _, _ = io.WriteString(w, "<html>") },
			check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
				return expect(resp.MultiValueHeaders["Content-Type"][0], "text/html; charset=utf-8")
			},
		},
		{
			name: "HeadBody", event: events.APIGatewayProxyRequest{HTTPMethod: "HEAD", Path: "/"},
			h:     func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") },
			check: wantNoBody,
		},
		{
			name: "NotModifiedBody", event: get,
			h:     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304); _, _ = io.WriteString(w, "x") },
			check: wantNoBody,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := tt.h
			if h == nil {
				h = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }
			}
			var seen *http.Request
			spy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen = r; h(w, r) })
			run := func(proxy func() (events.APIGatewayProxyResponse, error)) (err error) {
				defer func() {
					if p := recover(); p != nil {
						err = fmt.Errorf("panic: %v", p)
					}
				}()
				seen = nil
				resp, err := proxy()
				if err != nil {
					return err
				}
				if seen == nil {
					return errors.New("handler not called")
				}
				return tt.check(seen, resp)
			}
			if err := run(func() (events.APIGatewayProxyResponse, error) { return Proxy(spy)(t.Context(), tt.event) }); err != nil {
				t.Errorf("Proxy: %v", err)
			}
			if err := run(func() (events.APIGatewayProxyResponse, error) {
				return httpadapter.New(spy).ProxyWithContext(t.Context(), tt.event)
			}); err == nil {
				t.Error("the bare adapter no longer has this fault: remove its guard")
			}
		})
	}
}

// Ensure the adapter's own variable, set to nonsense, still leaves an envelope.
func TestProxyAdapterError(t *testing.T) {
	t.Setenv("GO_API_HOST", "://")
	resp, err := Proxy(http.NotFoundHandler())(t.Context(), get)
	if err != nil || resp.StatusCode != 500 || resp.Body != internalBody {
		t.Errorf("Proxy = %+v, %v; want the 500", resp, err)
	}
}

type check = func(*http.Request, events.APIGatewayProxyResponse) error

func wantPath(want string) check {
	return func(r *http.Request, _ events.APIGatewayProxyResponse) error { return expect(r.RequestURI, want) }
}

func wantMethod(want string) check {
	return func(r *http.Request, _ events.APIGatewayProxyResponse) error { return expect(r.Method, want) }
}

func wantStatus(want int) check {
	return func(_ *http.Request, resp events.APIGatewayProxyResponse) error { return expect(resp.StatusCode, want) }
}

func wantNoBody(_ *http.Request, resp events.APIGatewayProxyResponse) error {
	return expect(resp.Body, "")
}

func expect[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}
