package gateway_test

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/gateway"
)

func TestEvent(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/v1/a%2Fb?x=1&x=2&y", strings.NewReader(`{"a":1}`))
	r.Host = "api.example.com:8443"
	r.TLS = &tls.ConnectionState{}
	r.RemoteAddr = "192.0.2.1:999"
	r.Header = http.Header{
		"Accept":            {"a", "b"},
		"User-Agent":        {"test"},
		"X-Forwarded-For":   {"198.51.100.1"},
		"X-Forwarded-Proto": {"gopher"},
	}
	got, err := gateway.NewEvent(r, gateway.RequestIDs{Extended: "TWegAcC4EowCHnA=", Gateway: "req-1"})
	if err != nil {
		t.Fatal(err)
	}
	want := events.APIGatewayProxyRequest{
		Resource:   "/{proxy+}",
		Path:       "/v1/a%2Fb",
		HTTPMethod: "POST",
		Headers: map[string]string{
			"Accept": "b", "Host": "api.example.com:8443", "User-Agent": "test",
			"X-Forwarded-For": "198.51.100.1, 192.0.2.1", "X-Forwarded-Port": "8443", "X-Forwarded-Proto": "https",
		},
		MultiValueHeaders: map[string][]string{
			"Accept": {"a", "b"}, "Host": {"api.example.com:8443"}, "User-Agent": {"test"},
			"X-Forwarded-For": {"198.51.100.1, 192.0.2.1"}, "X-Forwarded-Port": {"8443"}, "X-Forwarded-Proto": {"https"},
		},
		QueryStringParameters:           map[string]string{"x": "2", "y": ""},
		MultiValueQueryStringParameters: map[string][]string{"x": {"1", "2"}, "y": {""}},
		PathParameters:                  map[string]string{"proxy": "v1/a/b"},
		Body:                            `{"a":1}`,
		RequestContext: events.APIGatewayProxyRequestContext{
			APIID: "local", Stage: "local", DomainName: "api.example.com:8443", RequestID: "req-1", ExtendedRequestID: "TWegAcC4EowCHnA=", Protocol: "HTTP/1.1",
			ResourcePath: "/{proxy+}", Path: "/v1/a%2Fb", HTTPMethod: "POST",
			Identity: events.APIGatewayRequestIdentity{SourceIP: "192.0.2.1", UserAgent: "test"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
}

// Ensure that the query parameters in an event are decoded in the same way as by a REST API, and
// that the handler gets every pair.
func TestEventQuery(t *testing.T) {
	t.Parallel()
	type query = map[string][]string
	tests := []struct {
		name, raw string
		want      query
	}{
		{"None", "", nil},
		{"Separators", "&&;", nil},
		{"Repeated", "a=1&b=2&a=3&a=1", query{"a": {"1", "3", "1"}, "b": {"2"}}},
		{"Empty", "a&b=&=c", query{"a": {""}, "b": {""}, "": {"c"}}},
		{"Plus", "a=b+c%2Bd%20e", query{"a": {"b c+d e"}}},
		{"Equals", "a=b=c", query{"a": {"b=c"}}},
		{"Semicolon", "a=1;b=2", query{"a": {"1"}, "b": {"2"}}},
		{"Malformed", "a=%zz&%=1&b=%2", query{"a": {"%zz"}, "%": {"1"}, "b": {"%2"}}},
		{"InvalidUTF8", "a=%ff", query{"a": {"\uFFFD"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, err := gateway.NewEvent(&http.Request{Method: "GET", URL: &url.URL{Path: "/", RawQuery: tt.raw}}, gateway.RequestIDs{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, e.MultiValueQueryStringParameters); diff != "" {
				t.Errorf("query (-want +got):\n%s", diff)
			}
			r, _ := requestOf(t, t.Context(), e)
			got, err := url.ParseQuery(r.URL.RawQuery)
			if err != nil {
				t.Fatalf("RawQuery: %v", err)
			}
			if want := url.Values(tt.want); want != nil && !cmp.Equal(want, got) {
				t.Errorf("handler saw %v, want %v", got, want)
			}
		})
	}
}

func TestEventBody(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		body    io.Reader
		length  int64
		want    string
		base64  bool
		wantErr string
	}{
		{name: "None"},
		{name: "Text", body: strings.NewReader("é"), want: "é"},
		{name: "Binary", body: strings.NewReader("\xff\x00"), want: "/wA=", base64: true},
		{name: "ErrRead", body: iotest.ErrReader(io.ErrUnexpectedEOF), wantErr: "read body: unexpected EOF"},
		{name: "ErrTooLarge", body: endlessReader{}, length: -1, wantErr: "read body: body over API Gateway's 10 MB"},
		// Rejected because of its ContentLength, before any byte is read.
		{name: "ErrDeclaredTooLarge", body: iotest.ErrReader(io.EOF), length: 10<<20 + 1, wantErr: "read body: body over API Gateway's 10 MB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{Method: "POST", URL: &url.URL{Path: "/"}, ContentLength: tt.length}
			if tt.body != nil {
				r.Body = io.NopCloser(tt.body)
			}
			e, err := gateway.NewEvent(r, gateway.RequestIDs{})
			if (err == nil) != (tt.wantErr == "") || err != nil && err.Error() != tt.wantErr {
				t.Errorf("error %v, want %q", err, tt.wantErr)
			}
			if e.Body != tt.want || e.IsBase64Encoded != tt.base64 {
				t.Errorf("body %q, base64 %t; want %q, %t", e.Body, e.IsBase64Encoded, tt.want, tt.base64)
			}
		})
	}
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) { return len(p), nil }

// FuzzEvent checks that the handler gets the request that was sent, even if the event has been
// encoded as JSON and decoded again. A body that the handler echoes must come back unchanged.
func FuzzEvent(f *testing.F) {
	f.Add("GET", "/v1/companies", "limit=10", "value", []byte(nil))
	f.Fuzz(func(t *testing.T, method, path, query, value string, body []byte) {
		sentURL, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(sentURL.Path, "/") {
			sentURL = &url.URL{Path: "/" + path}
		}
		sentURL = &url.URL{Path: sentURL.Path, RawPath: sentURL.RawPath, RawQuery: query}
		r := &http.Request{
			Method: method, URL: sentURL, Host: "api.example.com", Proto: "HTTP/1.1", RemoteAddr: "192.0.2.1:999",
			Header: http.Header{"X-Fuzz": {value, "second"}},
			Body:   io.NopCloser(strings.NewReader(string(body))),
		}
		e, err := gateway.NewEvent(r, gateway.RequestIDs{Extended: "TWegAcC4EowCHnA=", Gateway: "req-1"})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var decodedEvent events.APIGatewayProxyRequest
		if err := json.Unmarshal(text, &decodedEvent); err != nil {
			t.Fatal(err)
		}
		if utf8.ValidString(method) { // a server rejects any other method
			e = decodedEvent
		}
		var got *http.Request
		proxy := gateway.Proxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r
			_, _ = io.Copy(w, r.Body)
		}))
		resp, err := proxy(t.Context(), e)
		if err != nil || got == nil {
			t.Fatalf("Proxy: %v, handler called: %t", err, got != nil)
		}
		type target struct{ Method, Host, Path, Escaped string }
		want := target{method, r.Host, sentURL.Path, sentURL.EscapedPath()}
		if diff := cmp.Diff(want, target{got.Method, got.Host, got.URL.Path, got.URL.EscapedPath()}); diff != "" {
			t.Errorf("target (-sent +got):\n%s", diff)
		}
		if parsed, err := url.ParseRequestURI(got.RequestURI); err != nil || parsed.EscapedPath() != got.URL.EscapedPath() || parsed.RawQuery != got.URL.RawQuery {
			t.Errorf("RequestURI %q is not %v: %v", got.RequestURI, got.URL, err)
		}
		// Compare with net/url, if it parses the query without an error.
		if want, err := url.ParseQuery(strings.ToValidUTF8(query, "")); err == nil && utf8.ValidString(query) {
			for _, values := range want {
				for i := range values {
					values[i] = strings.ToValidUTF8(values[i], "\uFFFD")
				}
			}
			if seen, err := url.ParseQuery(got.URL.RawQuery); err != nil || !cmp.Equal(seen, want) && utf8.ValidString(joinedNames(want)) {
				t.Errorf("query %v, %v; sent %v", seen, err, want)
			}
		}
		if diff := cmp.Diff([]string{strings.ToValidUTF8(value, "\uFFFD"), "second"}, got.Header["X-Fuzz"]); diff != "" {
			t.Errorf("header (-sent +got):\n%s", diff)
		}
		if method == http.MethodHead {
			body = nil
		}
		echoed := []byte(resp.Body)
		if resp.IsBase64Encoded {
			echoed, err = base64.StdEncoding.DecodeString(resp.Body)
		}
		if err != nil || string(echoed) != string(body) || got.ContentLength < int64(len(body)) {
			t.Errorf("body %q was returned as %q: %v", body, echoed, err)
		}
	})
}

// joinedNames concatenates the parameter names, to find queries with a name that is not valid
// UTF-8.
func joinedNames(query url.Values) string {
	var b strings.Builder
	for name := range query {
		b.WriteString(name)
	}
	return b.String()
}
