package gateway_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"growthworkspace/shared/gateway"
)

// This file compares this package with aws-lambda-go-api-proxy, the adapter that it replaces. Both
// must convert events and responses in the same way, except for the differences that
// known_differences_test.go lists. Those differences are the reason the Lambda functions do not use
// the adapter.

// exchange is an event, together with what the handler does when it gets the request.
type exchange struct {
	event  events.APIGatewayProxyRequest
	script handlerScript
}

// handlerScript lists what a handler does, in order.
type handlerScript []scriptStep

// scriptStep is one thing that a handler does: a method call on its http.ResponseWriter, or a
// panic.
type scriptStep struct {
	kind   string // "header", "status", "write", "flush" or "panic"
	name   string
	values []string
	status int
	text   string
}

func (s handlerScript) run(w http.ResponseWriter) {
	for _, step := range s {
		switch step.kind {
		case "header":
			w.Header()[step.name] = slices.Clone(step.values)
		case "status":
			w.WriteHeader(step.status)
		case "write":
			_, _ = io.WriteString(w, step.text) // may fail for a HEAD or a 304
		case "flush":
			w.(http.Flusher).Flush()
		case "panic":
			panic("planted")
		}
	}
}

// firstIndex returns the index of the first step whose kind is one of kinds, or -1 if there is
// none.
func (s handlerScript) firstIndex(kinds ...string) int {
	return slices.IndexFunc(s, func(step scriptStep) bool { return slices.Contains(kinds, step.kind) })
}

// headerEnd returns the index of the step at which a server sends the status and the headers, or -1
// if there is none. Later changes to the headers have no effect.
func (s handlerScript) headerEnd() int {
	return slices.IndexFunc(s, func(step scriptStep) bool {
		return step.kind == "write" || step.kind == "flush" || step.kind == "status" && step.status >= 200
	})
}

func (s handlerScript) body() string {
	var b strings.Builder
	for _, step := range s {
		if step.kind == "write" {
			b.WriteString(step.text)
		}
	}
	return b.String()
}

func (s handlerScript) header() http.Header {
	header := http.Header{}
	for _, step := range s {
		if step.kind == "header" {
			header[step.name] = step.values
		}
	}
	return header
}

// setHeader sets a header of the event: in Headers if the event uses only that map, otherwise in
// MultiValueHeaders.
func (x *exchange) setHeader(name, value string) {
	if x.event.MultiValueHeaders == nil && x.event.Headers != nil {
		x.event.Headers[name] = value
		return
	}
	if x.event.MultiValueHeaders == nil {
		x.event.MultiValueHeaders = map[string][]string{}
	}
	x.event.MultiValueHeaders[name] = []string{value}
}

func multiHeader(e events.APIGatewayProxyRequest) http.Header {
	header := http.Header{}
	for name, values := range e.MultiValueHeaders {
		key := http.CanonicalHeaderKey(name)
		header[key] = append(header[key], values...)
	}
	return header
}

func singleHeader(e events.APIGatewayProxyRequest) http.Header {
	header := http.Header{}
	for name, value := range e.Headers {
		header.Add(name, value)
	}
	return header
}

// eventHeader merges both header maps of an event. MultiValueHeaders takes precedence.
func eventHeader(e events.APIGatewayProxyRequest) http.Header {
	header := singleHeader(e)
	maps.Copy(header, multiHeader(e))
	return header
}

// eventQuery returns the query parameters of an event, without those that have no values.
func eventQuery(e events.APIGatewayProxyRequest) url.Values {
	values := url.Values{}
	for name, v := range e.QueryStringParameters {
		values.Set(name, v)
	}
	if len(e.MultiValueQueryStringParameters) > 0 {
		values = maps.Clone(url.Values(e.MultiValueQueryStringParameters))
	}
	maps.DeleteFunc(values, func(_ string, v []string) bool { return len(v) == 0 })
	return values
}

func requestBody(e events.APIGatewayProxyRequest) []byte {
	if e.IsBase64Encoded {
		if body, err := base64.StdEncoding.DecodeString(e.Body); err == nil {
			return body
		}
	}
	return []byte(e.Body)
}

// aspect is a part of the request that the handler sees, or of the response that the gateway sees.
type aspect string

const (
	aspectOutcome aspect = "outcome" // a response, an error or a panic

	aspectMethod        aspect = "method"
	aspectOrigin        aspect = "scheme and host of the URL"
	aspectPath          aspect = "path"
	aspectQuery         aspect = "query"
	aspectQueryOrder    aspect = "order of the query"
	aspectProtocol      aspect = "protocol"
	aspectHost          aspect = "host"
	aspectHeader        aspect = "headers of the request"
	aspectRemoteAddr    aspect = "remote address"
	aspectBody          aspect = "body of the request"
	aspectContentLength aspect = "ContentLength"

	aspectStatus         aspect = "status"
	aspectResponseHeader aspect = "headers of the response"
	aspectResponseBody   aspect = "body of the response"
	aspectEncoding       aspect = "isBase64Encoded"
)

type exchangeView map[aspect]string

// proxyFunction is the signature of a Lambda function behind a REST API.
type proxyFunction = func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error)

// observeProxy sends x through the function that newProxy returns, and records what the handler and
// the gateway see.
func observeProxy(t *testing.T, newProxy func(http.Handler) proxyFunction, x exchange) exchangeView {
	t.Helper()
	v := exchangeView{aspectOutcome: "response"}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.addRequest(t, r)
		x.script.run(w)
	})
	var resp events.APIGatewayProxyResponse
	func() {
		defer func() {
			if recover() != nil {
				v[aspectOutcome] = "panic"
			}
		}()
		var err error
		if resp, err = newProxy(h)(t.Context(), x.event); err != nil {
			v[aspectOutcome] = "error"
		}
	}()
	if v[aspectOutcome] == "response" {
		v.addResponse(t, resp)
	}
	return v
}

func (v exchangeView) addRequest(t *testing.T, r *http.Request) {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	v[aspectMethod], v[aspectPath], v[aspectQueryOrder], v[aspectQuery] = r.Method, path, query, r.URL.Query().Encode()
	if strings.Contains(r.RequestURI, "?") != (query != "") {
		v[aspectQueryOrder] = "?"
	}
	if r.URL.RequestURI() != r.RequestURI {
		t.Errorf("RequestURI is %q, of the URL %q", r.RequestURI, r.URL.RequestURI())
	}
	v[aspectOrigin], v[aspectHost] = r.URL.Scheme+"://"+r.URL.Host, r.Host
	v[aspectProtocol] = fmt.Sprint(r.Proto, " ", r.ProtoMajor, r.ProtoMinor)
	v[aspectHeader] = fmt.Sprintf("%q", r.Header) // sorted by name
	v[aspectRemoteAddr] = r.RemoteAddr
	v[aspectBody], v[aspectContentLength] = string(text), fmt.Sprint(r.ContentLength, r.Body == http.NoBody)
}

func (v exchangeView) addResponse(t *testing.T, resp events.APIGatewayProxyResponse) {
	t.Helper()
	text := resp.Body
	if resp.IsBase64Encoded {
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Error(err)
		}
		text = string(decoded)
	}
	v[aspectStatus] = fmt.Sprint(resp.StatusCode)
	v[aspectResponseHeader] = fmt.Sprintf("%q %q", resp.Headers, resp.MultiValueHeaders)
	v[aspectResponseBody], v[aspectEncoding] = text, fmt.Sprint(resp.IsBase64Encoded)
}

// differingAspects returns the aspects in which the adapter and this package differ. If their
// outcomes differ, it returns only aspectOutcome.
func differingAspects(t *testing.T, x exchange) []aspect {
	t.Helper()
	adapter := observeProxy(t, func(h http.Handler) proxyFunction { return httpadapter.New(h).ProxyWithContext }, x)
	ours := observeProxy(t, func(h http.Handler) proxyFunction { return gateway.Proxy(h) }, x)
	if adapter[aspectOutcome] != ours[aspectOutcome] {
		return []aspect{aspectOutcome}
	}
	var found []aspect
	for a := range ours {
		if adapter[a] != ours[a] {
			found = append(found, a)
		}
	}
	slices.Sort(found)
	return found
}

// runOwnProxy sends x through this package. It returns the request that the handler gets, and the
// response that the gateway gets.
func (x exchange) runOwnProxy(t *testing.T) (seen *http.Request, resp events.APIGatewayProxyResponse) {
	t.Helper()
	resp, err := gateway.Proxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		x.script.run(w)
	}))(t.Context(), x.event)
	if err != nil || seen == nil {
		t.Fatalf("Proxy = %+v, %v, handler called: %t", resp, err, seen != nil)
	}
	return seen, resp
}

// requireSameBehavior checks that the adapter and this package treat x in the same way, except for
// the known differences that match x. It returns the number of those differences.
func requireSameBehavior(t *testing.T, x exchange) int {
	t.Helper()
	var allowed []aspect
	n := 0
	for _, e := range knownDifferences {
		if e.matches(x) {
			n++
			allowed = append(allowed, e.aspects...)
		}
	}
	if slices.Contains(allowed, aspectOutcome) {
		return n // there may be no response to compare
	}
	for _, a := range differingAspects(t, x) {
		if !slices.Contains(allowed, a) {
			t.Errorf("the adapter differs in the %s, which is not a known difference: %+v", a, x)
		}
	}
	return n
}

// Ensure this package treats ordinary events and responses like the adapter. A third of the
// exchanges are changed to contain a known difference, to check that the difference affects only
// the aspects listed for it.
func TestAdapter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	ordinaryCount := 0
	for range 1000 {
		x := drawExchange(r)
		if r.IntN(3) == 0 {
			knownDifferences[r.IntN(len(knownDifferences))].trigger(&x)
		}
		if len(x.script.body()) > 1<<16 {
			continue // TestKnownDifferences covers large bodies
		}
		if n := requireSameBehavior(t, x); n <= 1 {
			ordinaryCount++
		}
	}
	// The known difference AbsoluteURL matches every exchange, so an ordinary exchange matches
	// exactly one known difference.
	if ordinaryCount < 200 {
		t.Errorf("%d ordinary exchanges are too few to prove anything", ordinaryCount)
	}
}

// FuzzAdapter compares the adapter and this package for arbitrary events and responses.
func FuzzAdapter(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		x := drawExchange(r)
		event, err := json.Marshal(x.event)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(event, 200+r.IntN(300), "Content-Type", "text/plain", []byte(x.script.body()))
	}
	f.Add([]byte(`{"path":"/a%2Fb c","httpMethod":"get","headers":{"a":"1","A":"2"}}`), 304, "a b", "\n", []byte("x"))
	f.Fuzz(func(t *testing.T, event []byte, status int, name, value string, text []byte) {
		x := exchange{script: handlerScript{{kind: "header", name: name, values: []string{value}}, {kind: "status", status: status}}}
		if json.Unmarshal(event, &x.event) != nil {
			return // the runtime rejects such an event
		}
		if len(text) > 0 {
			x.script = append(x.script, scriptStep{kind: "write", text: string(text)})
		}
		requireSameBehavior(t, x)
	})
}

// drawExchange returns a random exchange: an event such as API Gateway sends, and a response such
// as this service returns.
func drawExchange(r *rand.Rand) exchange {
	x := exchange{script: drawScript(r)}
	e := &x.event
	*e = events.APIGatewayProxyRequest{
		Resource:       "/v1/{proxy+}",
		Path:           drawPath(r),
		HTTPMethod:     pick(r, "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"),
		PathParameters: map[string]string{"proxy": drawText(r)},
		StageVariables: map[string]string{"a": drawText(r)},
		RequestContext: events.APIGatewayProxyRequestContext{
			AccountID: "1", Stage: pick(r, "prod", "v1"), DomainName: pick(r, "", "api.example.com", "localhost:8080"),
			RequestID: fmt.Sprint(r.Uint64()), Protocol: pick(r, "", "HTTP/1.1"), Path: drawPath(r), APIID: "a",
			Authorizer: map[string]any{"principalId": drawText(r)},
		},
	}
	drawQuery(r, e)
	drawHeader(r, e)
	if r.IntN(8) == 0 {
		x.setHeader("Host", "api.example.com")
	}
	switch r.IntN(3) {
	case 0:
		e.Body = `{"text":"` + drawText(r) + `"}`
	case 1:
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(drawBytes(r))), true
	}
	if r.IntN(4) == 0 {
		e.RequestContext.Identity.SourceIP = pick(r, "192.0.2.1", "2001:db8::1")
	}
	return x
}

func drawScript(r *rand.Rand) handlerScript {
	var s handlerScript
	for range r.IntN(4) {
		values := []string{strings.TrimSpace(drawText(r))}
		for r.IntN(3) == 0 {
			values = append(values, fmt.Sprint(r.IntN(100)))
		}
		s = append(s, scriptStep{kind: "header", name: pick(r, "Etag", "Link", "Set-Cookie", "X-A"), values: values})
	}
	if r.IntN(2) == 0 {
		s = append(s, scriptStep{kind: "header", name: "Content-Type", values: []string{pick(r, "application/json", "image/png")}})
	}
	code := pick(r, 200, 201, 202, 204, 301, 304, 400, 401, 404, 409, 422, 429, 500, 503, 599)
	text := pick(r, "", `{"data":`+drawText(r)+`}`, "<html>"+drawText(r), "plain", drawBytes(r))
	if code == 200 && text != "" && r.IntN(2) == 0 {
		return append(s, scriptStep{kind: "write", text: text}) // the write sets the status
	}
	s = append(s, scriptStep{kind: "status", status: code})
	if text != "" && code != http.StatusNoContent && code != http.StatusNotModified {
		s = append(s, scriptStep{kind: "write", text: text})
	}
	return s
}

// drawPath returns an escaped path, as a REST API sends it.
func drawPath(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(5) {
		b.WriteString("/")
		b.WriteString(pick(r, "v1", "companies", "", ".", "a:b", "(a)", url.PathEscape(drawText(r)), strings.ToLower(url.QueryEscape(drawText(r)))))
	}
	if r.IntN(4) == 0 {
		return strings.TrimPrefix(b.String(), "/")
	}
	return b.String()
}

func drawQuery(r *rand.Rand, e *events.APIGatewayProxyRequest) {
	multi := map[string][]string{}
	for range r.IntN(3) {
		name := pick(r, "limit", "cursor", "", drawText(r))
		for range 1 + r.IntN(2) {
			multi[name] = append(multi[name], drawText(r))
		}
	}
	single := map[string]string{}
	for name, values := range multi {
		single[name] = values[len(values)-1]
	}
	if r.IntN(3) > 0 { // a REST API sends both maps, or null for both
		e.MultiValueQueryStringParameters = multi
	}
	if r.IntN(4) > 0 {
		e.QueryStringParameters = single
	}
}

func drawHeader(r *rand.Rand, e *events.APIGatewayProxyRequest) {
	multi, single := map[string][]string{}, map[string]string{}
	for range r.IntN(5) {
		name := pick(r, "Accept", "authorization", "If-None-Match", "X-Forwarded-For", "content-type", "Idempotency-Key", "Cookie")
		multi[name] = nil
		for range 1 + r.IntN(2) {
			multi[name] = append(multi[name], pick(r, "a, b", `W/"1"`, "Tue, 11 Aug 2026 09:30:00 GMT", drawText(r)))
		}
		single[name] = multi[name][len(multi[name])-1]
	}
	switch r.IntN(4) {
	case 0:
		e.Headers = single // an event written by hand may have only this map
	case 1:
		e.MultiValueHeaders = multi
	default:
		e.Headers, e.MultiValueHeaders = single, multi
	}
}

func pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

func drawText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteRune(pick(r, 'a', 'Z', '0', ' ', '+', '&', '=', '%', '/', '?', '#', '"', '<', ';', ',', 'é', '日', '😀', '\u2028'))
	}
	return b.String()
}

func drawBytes(r *rand.Rand) string {
	b := make([]byte, 1+r.IntN(40))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}
