package gateway_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"growthworkspace/shared/gateway"
)

// decode returns the decoded body of a response with the given Content-Encoding.
func decode(t *testing.T, coding string, body []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(body)
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "deflate":
		r, err = zlib.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Ensure a local server compresses the same responses as the gateway. Every client must get the
// same body, and the same headers apart from those about the coding.
func TestLocalCompression(t *testing.T) {
	t.Parallel()
	large, small := strings.Repeat(`{"a":"b"},`, 103)[:1024], strings.Repeat("x", 1023)
	for _, tt := range []struct{ name, accept, body, want string }{
		{"None", "", large, ""},
		{"Gzip", "gzip", large, "gzip"},
		{"Deflate", "deflate", large, "deflate"},
		{"Browser", "gzip, deflate, br, zstd", large, "gzip"},
		{"LetterCase", "GZIP", large, "gzip"},
		{"Preferred", "gzip;q=0.5, deflate;q=0.8", large, "deflate"},
		{"PreferredIsUnsupported", "gzip;q=0.5, br;q=0.8", large, ""},
		{"PreferredIsIdentity", "identity, gzip;q=0.5", large, ""},
		{"Any", "*", large, ""},
		{"Refused", "gzip;q=0", large, ""},
		{"Malformed", "gzip;q=x,;q=1,", large, ""},
		{"Small", "gzip", small, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := local(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("ETag", `"1"`)
				w.Header().Set("Content-Length", strconv.Itoa(len(tt.body)))
				_, _ = io.WriteString(w, tt.body)
			}))
			r, w := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), httptest.NewRecorder()
			if tt.accept != "" {
				r.Header.Set("Accept-Encoding", tt.accept)
			}
			h.ServeHTTP(w, r)
			got := w.Header()
			if got.Get("Content-Encoding") != tt.want || got.Get("ETag") != `"1"` || got.Get("Content-Type") != "application/json" || got.Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
				t.Errorf("headers %v of %d bytes, want Content-Encoding %q", got, w.Body.Len(), tt.want)
			}
			if body := decode(t, tt.want, w.Body.Bytes()); body != tt.body {
				t.Errorf("body %.100q, want %.100q", body, tt.body)
			}
		})
	}
}

// Ensure a response that is already compressed is not compressed again.
func TestLocalCompressionOnce(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", 2000)
	h := local(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, body)
	}))
	r, w := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), httptest.NewRecorder()
	r.Header.Set("Accept-Encoding", "gzip")
	h.ServeHTTP(w, r)
	if w.Header().Get("Content-Encoding") != "br" || w.Body.String() != body {
		t.Errorf("%v, %d bytes; want the handler's response", w.Header(), w.Body.Len())
	}
}

// Ensure Proxy compresses a response that is one byte too large if the client accepts gzip. It must
// not compress a response that fits. A response that is too large even when compressed must become
// an error.
func TestProxyCompression(t *testing.T) {
	t.Parallel()
	const bodyMax = responseBytesMax / 4 * 3 // the size of the largest body that fits in base64
	random := make([]byte, bodyMax+1)
	if _, err := rand.NewChaCha8([32]byte{1}).Read(random); err != nil {
		t.Fatal(err)
	}
	text, noise := strings.Repeat("x", bodyMax+1), string(random)
	for _, tt := range []struct {
		name, accept, body, wantCoding string
		wantStatus                     int
	}{
		{"Fits", "gzip", text[1:], "", 200},
		{"OneByteTooLarge", "gzip", text, "gzip", 200},
		{"NotPreferred", "br, gzip;q=0.1", text, "gzip", 200},
		{"ErrNotAccepted", "deflate, gzip;q=0", text, "", 500},
		{"ErrNoHeader", "", text, "", 500},
		{"ErrIncompressible", "gzip", noise, "", 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := exampleGetEvent
			if tt.accept != "" {
				e.MultiValueHeaders = map[string][]string{"Accept-Encoding": {tt.accept}}
			}
			final := gateway.FinalResponse{}
			resp, err := gateway.Proxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = nil // so that no header adds to the size
				if len(tt.body) > bodyMax {
					w.Header().Set("Content-Length", strconv.Itoa(len(tt.body)))
				}
				_, _ = io.WriteString(w, tt.body)
				final, _ = gateway.Finish(r.Context())
			}))(t.Context(), e)
			if err != nil || resp.StatusCode != tt.wantStatus || final.Status != tt.wantStatus {
				t.Fatalf("status %d, told %d, %v; want %d", resp.StatusCode, final.Status, err, tt.wantStatus)
			}
			if tt.wantStatus != 200 {
				return
			}
			body := bodyOf(t, resp)
			if got := resp.MultiValueHeaders["Content-Encoding"]; strings.Join(got, "") != tt.wantCoding || final.Bytes != len(body) {
				t.Errorf("Content-Encoding %q, told %d bytes of %d; want %q", got, final.Bytes, len(body), tt.wantCoding)
			}
			if got := resp.MultiValueHeaders["Content-Length"]; tt.wantCoding != "" && got != nil {
				t.Errorf("Content-Length %q is of another body", got)
			}
			if decode(t, tt.wantCoding, body) != tt.body {
				t.Error("the client gets another body")
			}
		})
	}
}

// bodyOf returns the decoded body of a response event.
func bodyOf(t *testing.T, resp events.APIGatewayProxyResponse) []byte {
	t.Helper()
	if !resp.IsBase64Encoded {
		return []byte(resp.Body)
	}
	body, err := base64.StdEncoding.DecodeString(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
