package gateway_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/gateway"
)

// responseBytesMax is Lambda's limit, minus a reserve of 4 KB.
const responseBytesMax = 6<<20 - 4<<10

// internalResponse is Proxy's response if h fails.
var internalResponse = events.APIGatewayProxyResponse{
	StatusCode: 500,
	MultiValueHeaders: map[string][]string{
		"Content-Type":       {"application/json"},
		"Cache-Control":      {"no-store"},
		"Retry-After":        {"1"},
		"Service-Request-Id": {"TWegAcC4EowCHnA="},
		"Service-Version":    {"2026-08-11"}, // as on every response
	},
	Body: `{"errors":[{"code":"internal","message":"internal error; safe to retry"}]}`,
}

// tooLargeResponse is what Proxy returns if a request was carried out but the handler's response is
// too large to send. It tells the caller not to retry.
var tooLargeResponse = events.APIGatewayProxyResponse{
	StatusCode: 500,
	MultiValueHeaders: map[string][]string{
		"Content-Type":       {"application/json"},
		"Cache-Control":      {"no-store"},
		"Service-Request-Id": {"TWegAcC4EowCHnA="},
		"Service-Version":    {"2026-08-11"},
	},
	Body: `{"errors":[{"code":"internal","message":"the request was carried out, but its response is too large to be sent; do not retry"}]}`,
}

func TestProxyResponse(t *testing.T) {
	t.Parallel()
	type header = map[string][]string
	tests := []struct {
		name   string
		method string
		h      http.HandlerFunc
		want   events.APIGatewayProxyResponse
	}{
		{
			name: "Nothing",
			h:    func(http.ResponseWriter, *http.Request) {},
			want: events.APIGatewayProxyResponse{StatusCode: 200, MultiValueHeaders: header{}},
		},
		{
			name: "MultiValueHeaders",
			h: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Add("Link", `<a>; rel="next"`)
				w.Header().Add("Link", `<b>; rel="prev"`)
				w.Header().Set("Allow", "GET, HEAD")
				w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
				w.WriteHeader(405)
			},
			want: events.APIGatewayProxyResponse{StatusCode: 405, MultiValueHeaders: header{
				"Link":  {`<a>; rel="next"`, `<b>; rel="prev"`},
				"Allow": {"GET, HEAD"}, "Set-Cookie": {"a=1", "b=2"},
			}},
		},
		{
			name: "HeadersFreeze",
			h: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/a")
				w.WriteHeader(http.StatusEarlyHints)
				w.WriteHeader(201)
				w.Header().Set("Content-Type", "text/b")
				w.Header().Set("Late", "1")
				w.WriteHeader(500)
				_, _ = io.WriteString(w, "x")
			},
			want: events.APIGatewayProxyResponse{StatusCode: 201, MultiValueHeaders: header{"Content-Type": {"text/a"}}, Body: "x"},
		},
		{
			name: "UnfitHeaders",
			h: func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Null"] = nil
				w.Header()["Bad Name"] = []string{"x"}
				w.Header()["Trailer:X"] = []string{"x"}
				w.Header().Set("Broken", "a\r\nb\xff ")
			},
			want: events.APIGatewayProxyResponse{StatusCode: 200, MultiValueHeaders: header{"Broken": {"a  b\uFFFD"}}},
		},
		{
			name: "TypeGuessed",
			h: func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "<ht")
				_, _ = io.WriteString(w, "ml>")
			},
			want: events.APIGatewayProxyResponse{StatusCode: 200, MultiValueHeaders: header{"Content-Type": {"text/html; charset=utf-8"}}, Body: "<html>"},
		},
		{
			name: "TypeRefused",
			h: func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				_, _ = io.WriteString(w, "x")
			},
			want: events.APIGatewayProxyResponse{StatusCode: 200, MultiValueHeaders: header{}, Body: "x"},
		},
		{
			name: "Binary",
			h: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write([]byte{0x1f, 0x8b, 0xff})
			},
			want: events.APIGatewayProxyResponse{StatusCode: 200, MultiValueHeaders: header{"Content-Encoding": {"gzip"}}, Body: "H4v/", IsBase64Encoded: true},
		},
		{
			name: "WrongLength",
			h: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				w.Header().Set("Content-Length", "7")
				_, _ = io.WriteString(w, "x")
			},
			want: events.APIGatewayProxyResponse{StatusCode: 200, MultiValueHeaders: header{"Content-Type": {"text/plain"}}, Body: "x"},
		},
		{
			name:   "HeadKeepsLength",
			method: "HEAD",
			h: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				w.Header().Set("Content-Length", "7")
			},
			want: events.APIGatewayProxyResponse{StatusCode: 200, MultiValueHeaders: header{"Content-Type": {"text/plain"}, "Content-Length": {"7"}}},
		},
		{
			name:   "HeadCountsBody",
			method: "HEAD",
			h: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				_, _ = io.WriteString(w, "four")
			},
			want: events.APIGatewayProxyResponse{StatusCode: 200, MultiValueHeaders: header{"Content-Type": {"text/plain"}, "Content-Length": {"4"}}},
		},
		{
			name: "NoContent",
			h: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1")
				w.WriteHeader(204)
				if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
					panic(err)
				}
			},
			want: events.APIGatewayProxyResponse{StatusCode: 204, MultiValueHeaders: header{}},
		},
		{
			name: "NotModified",
			h: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("ETag", `"1"`)
				w.WriteHeader(304)
				_, _ = io.WriteString(w, "x")
			},
			want: events.APIGatewayProxyResponse{StatusCode: 304, MultiValueHeaders: header{"Etag": {`"1"`}}},
		},
		{
			name: "Flush",
			h: func(w http.ResponseWriter, _ *http.Request) {
				if err := http.NewResponseController(w).Flush(); err != nil {
					panic(err)
				}
				w.WriteHeader(500)
			},
			want: events.APIGatewayProxyResponse{StatusCode: 200, MultiValueHeaders: header{}},
		},
		{
			name: "ErrPanic",
			h: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Leaked", "1")
				_, _ = io.WriteString(w, "half a resp")
				panic("boom")
			},
			want: internalResponse,
		},
		{
			name: "ErrAbortHandler",
			h:    func(http.ResponseWriter, *http.Request) { panic(fmt.Errorf("wrapped: %w", http.ErrAbortHandler)) },
			want: internalResponse,
		},
		{
			name: "ErrStatusZero",
			h:    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(0) },
			want: internalResponse,
		},
		{
			name: "ErrStatusOver599",
			h:    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(999) },
			want: internalResponse,
		},
		{
			name: "ErrTooLarge",
			h: func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write(bytes.Repeat([]byte(`"`), responseBytesMax/4*3+1))
			},
			want: tooLargeResponse,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := exampleGetEvent
			if tt.method != "" {
				e.HTTPMethod = tt.method
			}
			got, err := gateway.Proxy(tt.h)(t.Context(), e)
			if err != nil {
				t.Fatalf("Proxy: %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
		})
	}
}

// Ensure that the same size limit applies to every kind of body, and that a smaller body arrives
// intact. Text of up to a megabyte must leave the function as text, and any other body in base64.
func TestProxyLargeResponse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds: run without -short")
	}
	for name, unit := range map[string]string{"Text": "x", "Escaped": `"`, "Controls": "\x00", "Separators": "\u2028", "Emojis": "😀", "Binary": "\xff"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for size, want := range map[int]int{1_000_000: 200, 1_000_001: 200, responseBytesMax / 4 * 3: 200, responseBytesMax/4*3 + 1: 500} {
				body := strings.Repeat(unit, size/len(unit)) + strings.Repeat("x", size%len(unit))
				resp, _ := gateway.Proxy(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Content-Type"] = nil // so that no header adds to the size
					_, _ = io.WriteString(w, body)
				}))(t.Context(), exampleGetEvent)
				if resp.StatusCode != want {
					t.Errorf("%d bytes: %d, want %d", size, resp.StatusCode, want)
				}
				if resp.StatusCode == 200 {
					requireFits(t, resp, body, size > 1_000_000 || name == "Binary")
				}
			}
		})
	}
}

// Ensure the size check assumes the maximum size that headers and text can have in JSON.
func TestProxyLargeHeader(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{40_000: 200, 50_000: 500} {
		resp, _ := gateway.Proxy(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			w.Header().Set("Link", strings.Repeat("x", size))
			_, _ = io.WriteString(w, strings.Repeat("x", 1_000_000))
		}))(t.Context(), exampleGetEvent)
		if resp.StatusCode != want {
			t.Errorf("a header of %d bytes: %d, want %d", size, resp.StatusCode, want)
		}
	}
}

// requireFits checks that a response event contains the body, in base64 if wantBase64 is true, and
// that the event, encoded as JSON by the runtime, is within Lambda's limit.
func requireFits(t *testing.T, resp events.APIGatewayProxyResponse, body string, wantBase64 bool) {
	t.Helper()
	got := []byte(resp.Body)
	if resp.IsBase64Encoded {
		got, _ = base64.StdEncoding.DecodeString(resp.Body)
	}
	if string(got) != body || resp.IsBase64Encoded != wantBase64 {
		t.Errorf("%d bytes, base64 %v, want %d, %v", len(got), resp.IsBase64Encoded, len(body), wantBase64)
	}
	var event bytes.Buffer
	encoder := json.NewEncoder(&event)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(resp); err != nil || event.Len() > 6<<20 {
		t.Errorf("an event of %d bytes, %v", event.Len(), err)
	}
}
