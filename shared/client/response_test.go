package client_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/client"
)

// Ensure Fields maps each part of the request to the problems with it.
func TestFieldsOfErrors(t *testing.T) {
	t.Parallel()
	err := &client.Error{Messages: []string{
		"body.title: is required", "body.tags[1]: is too long", "body.tags[1]: must be lower case", "query.limit: must be 1 to 200",
		"header.If-Match: is required, because: two", "body: must be an object",
		"too many read requests; retry after the seconds in Retry-After", "note: not a place", "the body: not a place",
	}}
	want := map[string]string{
		"body.title": "is required", "body.tags[1]": "is too long; must be lower case", "query.limit": "must be 1 to 200",
		"header.If-Match": "is required, because: two", "body": "must be an object",
	}
	if diff := cmp.Diff(want, err.Fields()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Ensure RateLimit reads the state of the quota from the response's headers, and only if all of
// these headers are present.
func TestRateLimitOfResponses(t *testing.T) {
	t.Parallel()
	r := client.Response{Header: http.Header{"Ratelimit-Limit": {"600"}, "Ratelimit-Remaining": {"599"}, "Ratelimit-Reset": {"1"}}}
	if got, ok := r.RateLimit(); !ok || got != (client.RateLimit{Limit: 600, Remaining: 599, Reset: time.Second}) {
		t.Errorf("%+v, %t", got, ok)
	}
	r.Header.Del("RateLimit-Remaining")
	if got, ok := r.RateLimit(); ok || got != (client.RateLimit{}) {
		t.Errorf("without one of the headers: %+v, %t, want none", got, ok)
	}
}
