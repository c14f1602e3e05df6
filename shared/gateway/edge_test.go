package gateway_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"growthworkspace/shared/gateway"
)

// Ensure unusual events and handlers are treated as net/http's server would treat
// them. The adapter aws-lambda-go-api-proxy fails each of these checks, or panics.
func TestProxyEdges(t *testing.T) {
	t.Parallel()
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
		{
			name: "PanicAtHEAD", event: events.APIGatewayProxyRequest{HTTPMethod: "HEAD", Path: "/"},
			h: func(http.ResponseWriter, *http.Request) { panic("boom") },
			check: func(_ *http.Request, resp events.APIGatewayProxyResponse) error {
				return expect(fmt.Sprint(resp.StatusCode, resp.Body), "500")
			},
		},
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
			t.Parallel()
			h := tt.h
			if h == nil {
				h = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) }
			}
			var seen *http.Request
			spy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen = r; h(w, r) })
			resp, err := gateway.Proxy(spy)(t.Context(), tt.event)
			if err != nil || seen == nil {
				t.Fatalf("Proxy = %+v, %v, handler called: %t", resp, err, seen != nil)
			}
			if err := tt.check(seen, resp); err != nil {
				t.Error(err)
			}
		})
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
