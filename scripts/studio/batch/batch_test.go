package batch

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/client"
)

// roundTrip is a function that implements http.RoundTripper.
type roundTrip func(r *http.Request) *http.Response

func (t roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r), nil }

// noOperation is the response of a service that lacks the requested operation.
const noOperation = `{"errors":[{"code":"not_found","message":"no such path"}]}`

// newAPI returns a client for a service whose key has the given scopes. If scopes is nil, every
// response is a 404 with the body notFoundBody.
func newAPI(t *testing.T, scopes []string, notFoundBody string) *client.Client {
	t.Helper()
	api, err := client.New("https://api.example", "sk_live_made_up", client.WithCompany("co_1"), client.WithAttempts(1), client.WithHTTPClient(&http.Client{
		Transport: roundTrip(func(*http.Request) *http.Response {
			w := httptest.NewRecorder()
			if scopes == nil {
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, notFoundBody)
				return w.Result()
			}
			fmt.Fprintf(w, `{"id":"key_1","companyId":"co_1","scopes":["%s"]}`, slices.Concat(scopes, []string{"none"})[0])
			return w.Result()
		}),
	}))
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// Ensure a call is not sent if the key lacks its scope. Each part must have at most one gap, with
// the first reason why the part could not be read. A failure takes precedence over any other
// reason.
func TestGaps(t *testing.T) {
	t.Parallel()
	r, err := NewReader(t.Context(), newAPI(t, []string{"plan:read"}, ""))
	if err != nil {
		t.Fatal(err)
	}
	call := func(value int, err error) func(context.Context) (int, error) {
		return func(context.Context) (int, error) { return value, err }
	}
	refused := &client.Error{Status: http.StatusForbidden, Messages: []string{"one", "two"}}
	lacking := Start(r, "reviews", "feedback:read", func(context.Context) (int, error) {
		t.Error("a call without its scope was sent")
		return 0, nil
	})
	read, failed, tried := Start(r, "boards", "plan:read", call(7, nil)), Start(r, "items", "plan:read", call(0, refused)), Try(r, call(0, refused))
	r.Wait()
	r.AddFailure("items", context.DeadlineExceeded)
	r.AddGap(Gap{Part: "posts", Reason: "only the first 200 were read"})
	r.AddFailure("posts", refused)
	r.AddGap(Gap{Part: "posts", Reason: "only the first 200 were read"})
	r.AddFailure("days", fmt.Errorf("read: %w", context.DeadlineExceeded))
	if lacking.Known || lacking.Err != nil || !read.Known || read.Value != 7 || failed.Known || tried.Err == nil || r.Sent() != 3 {
		t.Errorf("%+v %+v %+v %+v, %d calls", lacking, read, failed, tried, r.Sent())
	}
	want := []Gap{
		{Part: "days", Reason: "the service did not respond in time", Failed: true}, {Part: "items", Reason: "one; two", Failed: true},
		{Part: "posts", Reason: "one; two", Failed: true},
		{Part: "reviews", Scope: "feedback:read", Reason: "the key lacks the scope feedback:read"},
	}
	if diff := cmp.Diff(want, r.Gaps()); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

// Ensure a missing scope is recognised from the error if the service does not report the key's
// scopes.
func TestUnknownScopes(t *testing.T) {
	t.Parallel()
	r, err := NewReader(t.Context(), newAPI(t, nil, noOperation))
	if err != nil || !r.May("plan:read") {
		t.Fatal(err)
	}
	Start(r, "boards", "plan:read", func(context.Context) (int, error) {
		return 0, &client.Error{Status: http.StatusUnauthorized, Messages: []string{"the key lacks the scope plan:read"}}
	})
	r.Wait()
	if diff := cmp.Diff([]Gap{{Part: "boards", Scope: "plan:read", Reason: "the key lacks the scope plan:read"}}, r.Gaps()); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

// Ensure NewReader returns an error if a server other than the service responds with a 404.
func TestAnotherServer(t *testing.T) {
	t.Parallel()
	if _, err := NewReader(t.Context(), newAPI(t, nil, "<h1>Not found</h1>")); err == nil {
		t.Error("no error for a server that is not the service")
	}
}
