package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"growthworkspace/shared/gateway"
)

var exampleGetEvent = events.APIGatewayProxyRequest{
	HTTPMethod:     "GET",
	Path:           "/v1",
	RequestContext: events.APIGatewayProxyRequestContext{RequestID: "req-1", ExtendedRequestID: "TWegAcC4EowCHnA="},
}

// Ensure the handler gets the invocation's context, with its deadline and cancellation.
func TestProxyContext(t *testing.T) {
	t.Parallel()
	type key struct{}
	ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "v"))
	cancel(errors.New("deadline"))
	r, _ := requestOf(t, ctx, exampleGetEvent)
	if r.Context().Value(key{}) != "v" || context.Cause(r.Context()) == nil {
		t.Error("r.Context() is not the invocation's")
	}
	if got := gateway.RequestIDsOf(r.Context(), nil).Public(); got != "TWegAcC4EowCHnA=" {
		t.Errorf("request id %q, want the gateway's", got)
	}
}

func TestProxyNilHandler(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("Proxy(nil) did not panic")
		}
	}()
	gateway.Proxy(nil)
}

// Ensure concurrent invocations are independent (run with -race).
func TestProxyConcurrent(t *testing.T) {
	t.Parallel()
	proxy := gateway.Proxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("boom")
		}
		_, _ = io.WriteString(w, r.URL.Path)
	}))
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			want, e := fmt.Sprintf("/%d", i), exampleGetEvent
			if e.Path = want; i%8 == 0 {
				e.Path, want = "/panic", internalResponse.Body
			}
			if resp, _ := proxy(t.Context(), e); resp.Body != want {
				t.Errorf("body = %q, want %q", resp.Body, want)
			}
		})
	}
	wg.Wait()
}

// Ensure that the runtime library accepts Proxy's function as a handler, and that the event and the
// response use the JSON keys of payload 1.0.
func TestProxyInvoke(t *testing.T) {
	t.Parallel()
	handler := lambda.NewHandler(gateway.Proxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, r.Method+" "+gateway.BaseURL(r)+r.RequestURI)
	})))
	got, err := handler.Invoke(t.Context(), []byte(`{
		"resource": "/v1/{proxy+}", "path": "/v1/a%2Fb", "httpMethod": "GET", "headers": null,
		"multiValueHeaders": {"Host": ["id.example.com"], "X-Forwarded-Proto": ["https"]},
		"queryStringParameters": {"a": "<2>"}, "multiValueQueryStringParameters": {"a": ["1", "<2>"]},
		"pathParameters": {"proxy": "a/b"}, "stageVariables": null,
		"requestContext": {"stage": "prod", "path": "/prod/v1/a%2Fb", "protocol": "HTTP/1.1", "identity": {"sourceIp": "192.0.2.1"}},
		"body": null, "isBase64Encoded": false}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"statusCode":200,"headers":null,"multiValueHeaders":{"Content-Type":["text/plain"]},` +
		`"body":"GET https://id.example.com/prod/v1/a%2Fb?a=1&a=%3C2%3E"}`
	if strings.TrimSpace(string(got)) != want {
		t.Errorf("response = %s, want %s", got, want)
	}
}

func BenchmarkProxy(b *testing.B) {
	proxy := gateway.Proxy(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"co_1"}`)
	}))
	e := exampleGetEvent
	e.MultiValueHeaders = map[string][]string{"Host": {"api.example.com"}, "Authorization": {"Bearer k"}, "X-Forwarded-Proto": {"https"}}
	e.MultiValueQueryStringParameters = map[string][]string{"limit": {"10"}}
	b.ReportAllocs()
	for b.Loop() {
		if resp, _ := proxy(b.Context(), e); resp.StatusCode != 200 {
			b.Fatalf("status %d, want 200: %s", resp.StatusCode, resp.Body)
		}
	}
}
