package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/gateway"
)

func TestMain(m *testing.M) {
	// Without this, the errors that these tests log would hide the output of a failing test.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	m.Run()
}

// requestOf returns the request that a handler gets for e, and its body.
func requestOf(t *testing.T, ctx context.Context, e events.APIGatewayProxyRequest) (*http.Request, string) {
	t.Helper()
	var got *http.Request
	var body []byte
	resp, err := gateway.Proxy(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}))(ctx, e)
	if err != nil || resp.StatusCode != http.StatusOK || got == nil {
		t.Fatalf("Proxy = %+v, %v, handler called: %t; want 200", resp, err, got != nil)
	}
	return got, string(body)
}

// Ensure the handler gets the path as it was sent. If it were decoded, a segment could match
// another route or table key.
func TestProxyPath(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, path, want, wantDecoded string }{
		{"Plain", "/v1/companies/co_1", "/v1/companies/co_1", "/v1/companies/co_1"},
		{"EncodedSlash", "/v1/a%2Fb", "/v1/a%2Fb", "/v1/a/b"},
		{"EncodedSlashLower", "/v1/a%2fb", "/v1/a%2fb", "/v1/a/b"},
		{"EncodedHash", "/v1/%23board", "/v1/%23board", "/v1/#board"},
		{"EncodedPercent", "/v1/100%25", "/v1/100%25", "/v1/100%"},
		{"EncodedTwice", "/v1/a%252Fb", "/v1/a%252Fb", "/v1/a%2Fb"},
		{"EncodedNul", "/v1/%00", "/v1/%00", "/v1/\x00"},
		{"EncodedQuestionMark", "/v1/a%3Fb=1", "/v1/a%3Fb=1", "/v1/a?b=1"},
		{"EncodedSpace", "/v1/a%20b", "/v1/a%20b", "/v1/a b"},
		{"EncodedNonASCII", "/v1/%C3%A9", "/v1/%C3%A9", "/v1/é"},
		{"EncodedInvalidUTF8", "/v1/%ff", "/v1/%ff", "/v1/\xff"},
		{"EncodedNeedlessly", "/v1/%61", "/v1/%61", "/v1/a"},
		{"Plus", "/v1/a+b", "/v1/a+b", "/v1/a+b"},
		{"SubDelimiters", "/v1/a;b=c,d!$&'()*:@[]", "/v1/a;b=c,d!$&'()*:@[]", "/v1/a;b=c,d!$&'()*:@[]"},
		{"DoubleSlash", "/v1//companies", "/v1//companies", "/v1//companies"},
		{"LeadingDoubleSlash", "//host/v1", "//host/v1", "//host/v1"},
		{"DotDot", "/v1/../admin/./x", "/v1/../admin/./x", "/v1/../admin/./x"},
		{"TrailingSlash", "/v1/companies/", "/v1/companies/", "/v1/companies/"},
		{"Root", "/", "/", "/"},
		{"Empty", "", "/", "/"},
		{"NoLeadingSlash", "v1", "/v1", "/v1"},
		{"Asterisk", "*", "*", "*"},
		{"AbsoluteURL", "http://host/v1", "/http://host/v1", "/http://host/v1"},
		// A REST API does not send these paths. They are escaped, not rejected or truncated.
		{"BarePercent", "/v1/100%", "/v1/100%25", "/v1/100%"},
		{"MalformedEscape", "/v1/%zz", "/v1/%25zz", "/v1/%zz"},
		{"BareQuestionMark", "/v1/a?b=1", "/v1/a%3Fb=1", "/v1/a?b=1"},
		{"BareHash", "/v1/#board", "/v1/%23board", "/v1/#board"},
		{"BareSpace", "/v1/a b", "/v1/a%20b", "/v1/a b"},
		{"BareNonASCII", "/v1/é", "/v1/%C3%A9", "/v1/é"},
		{"LineBreak", "/v1/a\r\nX: y", "/v1/a%0D%0AX:%20y", "/v1/a\r\nX: y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _ := requestOf(t, t.Context(), events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: tt.path})
			if got := r.URL.EscapedPath(); got != tt.want {
				t.Errorf("EscapedPath = %q, want %q", got, tt.want)
			}
			if r.URL.Path != tt.wantDecoded {
				t.Errorf("Path = %q, want %q", r.URL.Path, tt.wantDecoded)
			}
			if r.RequestURI != tt.want {
				t.Errorf("RequestURI = %q, want %q", r.RequestURI, tt.want)
			}
			if diff := cmp.Diff(&url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath}, r.URL); diff != "" {
				t.Errorf("URL, want a path alone (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProxyQuery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		multi  map[string][]string
		single map[string]string
		want   string
	}{
		{name: "None"},
		{name: "Repeated", multi: map[string][]string{"b": {"2", "1"}, "a": {"x"}}, want: "a=x&b=2&b=1"},
		{name: "Empty", multi: map[string][]string{"a": {""}, "": {"x"}}, want: "=x&a="},
		{name: "Special", multi: map[string][]string{"a&b": {"c=d+e f%zz#é;"}}, want: "a%26b=c%3Dd%2Be+f%25zz%23%C3%A9%3B"},
		{name: "SingleOnly", single: map[string]string{"b": "1 2", "a": ""}, want: "a=&b=1+2"},
		{name: "MultiWins", multi: map[string][]string{"a": {"1", "2"}}, single: map[string]string{"a": "2"}, want: "a=1&a=2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, _ := requestOf(t, t.Context(), events.APIGatewayProxyRequest{
				HTTPMethod: "GET", Path: "/v1",
				MultiValueQueryStringParameters: tt.multi, QueryStringParameters: tt.single,
			})
			if r.URL.RawQuery != tt.want {
				t.Errorf("RawQuery = %q, want %q", r.URL.RawQuery, tt.want)
			}
			if _, err := url.ParseRequestURI(r.RequestURI); err != nil {
				t.Errorf("RequestURI: %v", err)
			}
		})
	}
}

// Ensure an invalid method is passed on unchanged, so that the handler rejects it with the
// envelope.
func TestProxyMethod(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "PATCH", "PROPFIND", "get", "G T", "", "GET\r\n"} {
		r, _ := requestOf(t, t.Context(), events.APIGatewayProxyRequest{HTTPMethod: method, Path: "/"})
		if r.Method != method {
			t.Errorf("Method = %q, want %q", r.Method, method)
		}
	}
}

func TestProxyHeaders(t *testing.T) {
	t.Parallel()
	r, _ := requestOf(t, t.Context(), events.APIGatewayProxyRequest{
		HTTPMethod: "POST", Path: "/", Body: "{}",
		MultiValueHeaders: map[string][]string{
			"accept":            {"application/json, text/event-stream"},
			"Host":              {"api.example.com"},
			"X-Two":             {"a", "b, c"},
			"x-two":             {"d"},
			"Content-Length":    {"999"},
			"Transfer-Encoding": {"chunked"},
		},
		Headers:        map[string]string{"X-Two": "d", "authorization": "Bearer k"},
		RequestContext: events.APIGatewayProxyRequestContext{Protocol: "HTTP/2.0", DomainName: "other"},
	})
	want := http.Header{
		"Accept":         {"application/json, text/event-stream"},
		"X-Two":          {"a", "b, c", "d"},
		"Authorization":  {"Bearer k"},
		"Content-Length": {"2"},
	}
	if diff := cmp.Diff(want, r.Header); diff != "" {
		t.Errorf("Header (-want +got):\n%s", diff)
	}
	type target struct {
		Host, Proto   string
		ProtoMajor    int
		ContentLength int64
	}
	if diff := cmp.Diff(target{"api.example.com", "HTTP/2.0", 2, 2}, target{r.Host, r.Proto, r.ProtoMajor, r.ContentLength}); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

// Ensure a request has the event's protocol, or HTTP/1.1 if the event's protocol is invalid.
func TestProxyProtocol(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{"HTTP/1.1": "HTTP/1.1 1 1", "HTTP/1.0": "HTTP/1.0 1 0", "HTTP/2.0": "HTTP/2.0 2 0", "": "HTTP/1.1 1 1", "h2": "HTTP/1.1 1 1"} {
		e := events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/"}
		e.RequestContext.Protocol = sent
		r, _ := requestOf(t, t.Context(), e)
		if got := fmt.Sprint(r.Proto, " ", r.ProtoMajor, " ", r.ProtoMinor); got != want {
			t.Errorf("%q: %s, want %s", sent, got, want)
		}
	}
}

func TestProxyAddresses(t *testing.T) {
	t.Parallel()
	for _, ip := range []string{"192.0.2.1", "2001:db8::1"} {
		e := events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/"}
		e.RequestContext.Identity.SourceIP = ip
		e.RequestContext.DomainName = "id.execute-api.example.com"
		r, _ := requestOf(t, t.Context(), e)
		if host, _, err := net.SplitHostPort(r.RemoteAddr); err != nil || host != ip {
			t.Errorf("RemoteAddr = %q, want the host %q", r.RemoteAddr, ip)
		}
		if r.Host != e.RequestContext.DomainName {
			t.Errorf("Host = %q, want the domain when no header names it", r.Host)
		}
	}
	if r, _ := requestOf(t, t.Context(), events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/"}); r.RemoteAddr != "" {
		t.Errorf("RemoteAddr = %q, but the event has no address", r.RemoteAddr)
	}
}

func TestProxyBody(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		base64     bool
		want       string
	}{
		{name: "None"},
		{name: "Text", body: `{"a":"é"}`, want: `{"a":"é"}`},
		{name: "Base64", body: "eyJhIjoxfQ==", base64: true, want: `{"a":1}`},
		{name: "Binary", body: "/wA=", base64: true, want: "\xff\x00"},
		{name: "ErrBase64", body: "{!}", base64: true, want: "{!}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, got := requestOf(t, t.Context(), events.APIGatewayProxyRequest{
				HTTPMethod: "POST", Path: "/", Body: tt.body, IsBase64Encoded: tt.base64,
			})
			if got != tt.want || r.ContentLength != int64(len(tt.want)) {
				t.Errorf("body, length = %q, %d; want %q", got, r.ContentLength, tt.want)
			}
		})
	}
}
