package fault_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/fault"
)

// Ensure an error response has the status, envelope and headers of its error, and keeps headers
// that were set before. The response to a HEAD must have no body.
func TestWrite(t *testing.T) {
	headerWith := func(more ...string) http.Header {
		h := http.Header{"Service-Version": {"2026-08-11"}, "Cache-Control": {"no-store"}, "Service-Request-Id": {"req_1"}, "Content-Type": {"application/json"}}
		for i := 0; i < len(more); i += 2 {
			h.Set(more[i], more[i+1])
		}
		return h
	}
	for _, tt := range []struct {
		name, method string
		before       http.Header
		err          *fault.Error
		status       int
		header       http.Header
		body         string
	}{
		{"not found", "GET", nil, fault.ErrNotFound, 404, headerWith("Content-Length", "60"), `{"errors":[{"code":"not_found","message":"no such record"}]}`},
		{"without a key", "GET", nil, fault.New(fault.Unauthorised, "a"), 401, headerWith("Content-Length", "50", "WWW-Authenticate", "Bearer"), `{"errors":[{"code":"unauthorised","message":"a"}]}`},
		{"too busy", "GET", nil, fault.New(fault.Unavailable, "a"), 503, headerWith("Content-Length", "49", "Retry-After", "1"), `{"errors":[{"code":"unavailable","message":"a"}]}`},
		{"another wait", "GET", http.Header{"Retry-After": {"7"}, "Allow": {"GET"}}, fault.New(fault.Internal, "a"), 500, headerWith("Content-Length", "46", "Retry-After", "7", "Allow", "GET"), `{"errors":[{"code":"internal","message":"a"}]}`},
		{"left out", "GET", http.Header{"Retry-After": nil, "Content-Length": nil}, fault.New(fault.Internal, "a"), 500, headerWith(), `{"errors":[{"code":"internal","message":"a"}]}`},
		{"head", "HEAD", nil, fault.New(fault.Internal, "a"), 500, headerWith("Content-Length", "46", "Retry-After", "1"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			for name, values := range tt.before {
				w.Header()[name] = values
			}
			fault.Write(w, httptest.NewRequestWithContext(t.Context(), tt.method, "/", nil), "req_1", tt.err)
			got := w.Header()
			for name, values := range got {
				if values == nil {
					delete(got, name)
				}
			}
			if w.Code != tt.status || w.Body.String() != tt.body {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if diff := cmp.Diff(tt.header, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
