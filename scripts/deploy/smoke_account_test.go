package main

import (
	"net/http"
	"strings"
	"testing"

	"growthworkspace/shared/fault"
)

// Ensure a response passes only if it has the status, the envelope and the header that are required.
func TestSmokeResponses(t *testing.T) {
	t.Parallel()
	envelope := `{"errors":[{"code":"internal","message":"internal error; safe to retry"}]}`
	for _, c := range []struct {
		got  smokeResponse
		want string
	}{
		{smokeResponse{500, http.Header{"Retry-After": {"1"}}, []byte(envelope)}, ""},
		{smokeResponse{502, http.Header{"Retry-After": {"1"}}, []byte(envelope)}, "should be 500"},
		{smokeResponse{500, http.Header{"Retry-After": {"1"}}, []byte(`{"message":"Internal server error"}`)}, "should be 500"},
		{smokeResponse{500, http.Header{"Retry-After": {"1"}}, []byte(strings.Replace(envelope, "internal", "conflict", 1))}, "should be 500"},
		{smokeResponse{500, http.Header{}, []byte(envelope)}, "should have Retry-After"},
		{smokeResponse{500, http.Header{"Retry-After": {"0"}}, []byte(envelope)}, "should have Retry-After"},
	} {
		err := requireEnvelope(c.got, fault.Internal)
		if err == nil {
			err = requireRetryAfter(c.got)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d %v %s: %v, want %q", c.got.status, c.got.header, c.got.body, err, c.want)
		}
	}
}

// Ensure the names of checks are different, because --skip names them.
func TestSmokeCheckNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range accountChecks() {
		if seen[c.name] || c.name == "" || c.proves == "" {
			t.Errorf("the check %q comes twice, or proves nothing", c.name)
		}
		seen[c.name] = true
	}
}
