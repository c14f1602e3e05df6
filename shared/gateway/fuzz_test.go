package gateway_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

type allowAllKeys struct{}

func (allowAllKeys) Admit(context.Context, auth.Token, []auth.Scope, auth.Class) (auth.Admission, error) {
	return auth.Admission{Quota: auth.QuotaState{Quota: 600, Remaining: 599, Reset: 1}}, nil
}

func (allowAllKeys) Verify(context.Context, auth.Token, []auth.Scope, auth.Class) (auth.QuotaState, error) {
	return auth.QuotaState{Quota: 600, Remaining: 599, Reset: 1}, nil
}

type note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

type noteInput struct {
	Text string `json:"text" max:"100000"`
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// newNotesAPI returns a handler for an API with two operations, and a company and a key that it
// accepts.
func newNotesAPI(t testing.TB) (h http.Handler, company, key string) {
	t.Helper()
	clock := func() time.Time { return time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC) }
	newID := id.NewGenerator(clock, zeroReader{})
	company = newID(id.CompanyPrefix)
	key, err := auth.Mint(company, newID(id.KeyPrefix), zeroReader{})
	if err != nil {
		t.Fatal(err)
	}
	const path = "/v1/companies/{companyId}/notes"
	operations := []api.Operation{
		api.Define(api.Spec{ID: "list_notes", Method: "GET", Path: path, Summary: "s"}, func(context.Context, api.Caller, struct {
			Cursor api.Cursor `query:"cursor"`
		}) (api.List[note], error) {
			return api.NewList(table.Page[note]{Records: []note{{ID: "a"}}, Next: "a"}), nil
		}),
		api.Define(api.Spec{ID: "create_note", Noun: api.Noun{Name: "note"}, Method: "POST", Path: path, Effect: api.Create, Summary: "s"}, func(_ context.Context, _ api.Caller, in noteInput) (note, error) {
			if in.Text == "panic" {
				panic("planted")
			}
			return note{"n", in.Text}, nil
		}),
	}
	return api.New(operations, api.Config{Keys: allowAllKeys{}, Now: clock, NewID: newID, Log: slog.New(slog.DiscardHandler), BaseURL: gateway.BaseURL}), company, key
}

// FuzzResponse sends arbitrary events. API Gateway must accept every response. Every response must
// contain the version, a request id and a JSON body, and every error must have the envelope.
func FuzzResponse(f *testing.F) {
	h, company, key := newNotesAPI(f)
	for _, e := range []string{
		`{"httpMethod":"GET","path":"PATH","multiValueHeaders":{"Authorization":["Bearer KEY"]},"requestContext":{"requestId":"r","stage":"prod","path":"/prodPATH"}}`,
		`{"httpMethod":"HEAD","path":"PATH","headers":{"authorization":"Bearer KEY","Host":"a.test"},"queryStringParameters":{"cursor":"AAAA"}}`,
		`{"httpMethod":"POST","path":"PATH","headers":{"Authorization":"Bearer KEY","Content-Type":"application/json"},"body":"{\"text\":\"\u2028<é\"}"}`,
		`{"httpMethod":"POST","path":"PATH","headers":{"Authorization":"Bearer KEY","Content-Type":"application/json"},"body":"{\"text\":\"panic\"}"}`,
		`{"httpMethod":"POST","path":"PATH","headers":{"Authorization":"Bearer KEY","Content-Type":"application/json"},"body":"eyJ0ZXh0IjoiYSJ9","isBase64Encoded":true}`,
		`{"httpMethod":"POST","path":"PATH","headers":{"Authorization":"Bearer KEY","Content-Type":"text/plain"},"body":"{","isBase64Encoded":true}`,
		`{"httpMethod":"","path":"","requestContext":{"domainName":"a b","protocol":"HTTP/9.9"}}`, `{"httpMethod":"G T","path":"a?b#c%"}`, `{}`, `null`,
		`{"httpMethod":"GET","path":"PATH","multiValueHeaders":{"Authorization":["Bearer KEY","Bearer KEY"],"":null,"a\nb":["c\r\nd"]},"multiValueQueryStringParameters":{"":["",""],"a":null}}`,
		`{"httpMethod":"GET","path":"PATH","headers":{"Authorization":"Bearer KEY","Service-Version":"2000-01-01","X-Forwarded-Proto":"http","Host":"a>b"}}`, `{"httpMethod":"OPTIONS","path":"PATH"}`,
	} {
		f.Add([]byte(e))
	}
	replacer := strings.NewReplacer("PATH", "/v1/companies/"+company+"/notes", "KEY", key)
	proxy := gateway.Proxy(h)
	f.Fuzz(func(t *testing.T, text []byte) {
		var e events.APIGatewayProxyRequest
		if json.Unmarshal([]byte(replacer.Replace(string(text))), &e) != nil {
			return // the runtime rejects such an event
		}
		got, err := proxy(t.Context(), e)
		if err != nil {
			t.Fatalf("%s: the proxy returns an error: %v", text, err)
		}
		checkResponse(t, got, e.HTTPMethod == http.MethodHead)
	})
}

// checkResponse checks the rules that apply to every response.
func checkResponse(t *testing.T, got events.APIGatewayProxyResponse, isHead bool) {
	t.Helper()
	if got.StatusCode < 200 || got.StatusCode > 599 || got.IsBase64Encoded {
		t.Fatalf("status %d, base64 %t; want 200 to 599 and text: %+v", got.StatusCode, got.IsBase64Encoded, got)
	}
	h := http.Header(got.MultiValueHeaders)
	for name, values := range h {
		for _, v := range values {
			if strings.ContainsAny(name+v, "\r\n\x00") || !utf8.ValidString(v) {
				t.Fatalf("header %q: %q", name, values)
			}
		}
	}
	for name, want := range map[string]string{"Service-Version": fault.Version, "Cache-Control": "no-store", "Content-Type": "application/json"} {
		if value := h.Get(name); value != want {
			t.Fatalf("%s %q, want %q", name, value, want)
		}
	}
	if h.Get("Service-Request-Id") == "" {
		t.Fatalf("no request id: %v", h)
	}
	if link := h.Get("Link"); link != "" {
		target, rest, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		if u, err := url.Parse(target); err != nil || !u.IsAbs() || rest != `; rel="next"` {
			t.Fatalf("Link is %q: %v", link, err)
		}
	}
	if isHead {
		if got.Body != "" {
			t.Fatalf("HEAD with the body %q", got.Body)
		}
		return
	}
	if !json.Valid([]byte(got.Body)) {
		t.Fatalf("status %d with a body that is no JSON: %q", got.StatusCode, got.Body)
	}
	if got.StatusCode < 400 {
		return
	}
	var v map[string][]map[string]string
	if err := json.Unmarshal([]byte(got.Body), &v); err != nil || len(v) != 1 || len(v["errors"]) == 0 {
		t.Fatalf("%d without an envelope: %s", got.StatusCode, got.Body)
	}
	for _, entry := range v["errors"] {
		if len(entry) != 2 || entry["message"] == "" || fault.Code(entry["code"]).Status() != got.StatusCode {
			t.Fatalf("%d with the entry %v", got.StatusCode, entry)
		}
	}
}

// FuzzHeader checks that the handler gets every header value unchanged, even if it contains commas,
// dates or quotes, and that a valid header value in the response is sent unchanged. A value must
// not be split, and must not be able to inject another header.
func FuzzHeader(f *testing.F) {
	for _, pair := range [][2]string{
		{"application/json, text/event-stream", "a"}, {"Tue, 11 Aug 2026 09:30:00 GMT", ""}, {`"a,b", W/"c"`, `"d"`}, {"", ","}, {"a\r\nService-Version: 1999-01-01", "b"}, {" padded ", "\t"}, {"é, \xff", "\x00"}, {"a;b=c, d;e=f", "Bearer x"},
	} {
		f.Add("X-Test", pair[0], pair[1])
		f.Add("If-None-Match", pair[0], pair[1])
		f.Add("accept", pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, name, a, b string) {
		key := http.CanonicalHeaderKey(name)
		if key == "Host" || key == "Content-Length" || key == "Transfer-Encoding" {
			return // the server sets this header itself
		}
		var seen []string
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = r.Header[key]
			w.Header()["X-Response"] = slices.Clone(seen)
			w.WriteHeader(http.StatusOK)
		})
		got, err := gateway.Proxy(h)(t.Context(), events.APIGatewayProxyRequest{
			HTTPMethod: "GET", Path: "/", MultiValueHeaders: map[string][]string{name: {a, b}}, Headers: map[string]string{name: b},
		})
		if err != nil || !slices.Equal(seen, []string{a, b}) {
			t.Fatalf("%q: sent %q, arrived %q: %v", name, []string{a, b}, seen, err)
		}
		responseValues := got.MultiValueHeaders["X-Response"]
		if len(responseValues) != 2 || len(got.MultiValueHeaders) != 1 {
			t.Fatalf("%q left as %v", seen, got.MultiValueHeaders)
		}
		for i, v := range responseValues {
			if strings.ContainsAny(v, "\r\n\x00") || !utf8.ValidString(v) {
				t.Fatalf("%q left as %q", seen[i], v)
			}
			if plain := strings.TrimSpace(seen[i]); utf8.ValidString(plain) && !strings.ContainsAny(plain, "\r\n\x00") && v != plain {
				t.Fatalf("%q left as %q", seen[i], v)
			}
		}
	})
}
