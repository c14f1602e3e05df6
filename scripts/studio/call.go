package studio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"growthworkspace/shared/client"
)

// callsMax is the maximum number of API calls for one page. It keeps the page quick even if the
// service is far away, and within the key's quota.
const callsMax = 17

// pageRequest is one request from a browser, with the API calls that are made for it.
type pageRequest struct {
	*Studio

	w   http.ResponseWriter
	r   *http.Request
	ctx context.Context

	running sync.WaitGroup
	mu      sync.Mutex
	calls   []*apiCall
	causes  map[string]*cause // keyed by the reason why calls failed
}

// apiCall is one API call. The page shows it to users who want to make the same call from a script.
type apiCall struct {
	Label  string // what the call is for, in words
	Method string
	URL    string
	Body   string
	Match  string // the If-Match header
}

type callKey struct{}

// recordingTransport records each request in the apiCall of the request's context. It does not
// record the header that contains the key.
type recordingTransport struct{ next http.RoundTripper }

func (t recordingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	// A retry is recorded as part of the same call. So is the lookup of the company, which may
	// precede the call.
	if c, ok := r.Context().Value(callKey{}).(*apiCall); ok {
		if r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			c.Body = string(body)
			r = r.Clone(r.Context())
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		c.Method, c.URL, c.Match = r.Method, r.URL.String(), r.Header.Get("If-Match")
	}
	if rec, ok := r.Context().Value(recorderKey{}).(*recorder); ok {
		rec.add(r)
	}
	return t.next.RoundTrip(r)
}

// result is the result of a call.
type result[T any] struct {
	Value   T
	ETag    string
	Failure *failure // nil if the call succeeded
}

// call is a call of a method of the client.
type call[T any] func(ctx context.Context, options ...client.CallOption) (T, error)

// bound returns the call of a method with an input.
func bound[In, T any](method func(context.Context, In, ...client.CallOption) (T, error), in In) call[T] {
	return func(ctx context.Context, options ...client.CallOption) (T, error) { return method(ctx, in, options...) }
}

// startCall starts an API call, unless the key is known to lack the scope that the call needs. The
// result is complete once wait has returned.
func startCall[T any](v *pageRequest, scope, label string, call call[T], options ...client.CallOption) *result[T] {
	out := &result[T]{}
	if !v.may(scope) {
		out.Failure = missingScope(scope)
		return out
	}
	c := &apiCall{Label: label}
	v.mu.Lock()
	v.calls = append(v.calls, c)
	v.mu.Unlock()
	v.running.Go(func() {
		var response client.Response
		value, err := call(context.WithValue(v.ctx, callKey{}, c), append(options, client.Into(&response))...)
		out.Value, out.ETag, out.Failure = value, response.ETag(), failureOf(err, scope)
		if out.Failure != nil && out.Failure.Lacks == "" {
			out.Failure.cause = v.causeOf(out.Failure)
		}
		if c.Method != http.MethodGet {
			v.badge.drop()
		}
	})
	return out
}

// version returns the version of a record in a list. A form sends the version back to detect a
// later change. The version is the time of the last change, because lists contain no entity tags.
func version(updatedAt client.Optional[time.Time]) string {
	return updatedAt.Or(time.Time{}).UTC().Format(time.RFC3339Nano)
}

// optional returns text as an optional argument of a call, or an absent argument if text is empty.
func optional[T ~string](text T) client.Optional[T] {
	if text == "" {
		return client.Optional[T]{}
	}
	return client.Value(text)
}

// wait waits for all calls that startCall has started.
func (pr *pageRequest) wait() { pr.running.Wait() }

// callsLeft returns how many more API calls the page may make.
func (pr *pageRequest) callsLeft() int {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	return max(0, callsMax-len(pr.calls))
}

// failure describes why an API call failed, in words for users and with details for an operator.
type failure struct {
	Status     int // 0: no response
	Code       string
	Messages   []string
	RequestID  string
	RetryAfter time.Duration // how long to wait before a retry; 0 if the service does not say
	Final      bool          // a retry would fail, too
	Lacks      string        // the scope that the key lacks for this call
	Reading    *reading      // what the user has to see or to answer before anything is stored
	cause      *cause        // shared by all failures with the same reason; if nil, the page always explains this failure
}

// cause is the reason why one or more calls of a page failed. The page explains each cause only
// once.
type cause struct{ shown bool }

// causeOf returns the cause of a failure. Failures that have the same reason get the same cause.
func (pr *pageRequest) causeOf(f *failure) *cause {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.causes == nil {
		pr.causes = map[string]*cause{}
	}
	reason := fmt.Sprint(f.Status, f.Code, f.Messages)
	if f.Status == 0 || f.Refused() {
		reason = fmt.Sprint(f.Status) // use only the status, because the messages may differ from call to call
	}
	if pr.causes[reason] == nil {
		pr.causes[reason] = &cause{}
	}
	return pr.causes[reason]
}

// First reports whether this is the first failure with its cause that the page shows, so that the
// page explains each cause once. Only templates may call it, because it records that the cause has
// been explained.
func (f *failure) First() bool {
	if f.cause == nil {
		return true
	}
	first := !f.cause.shown
	f.cause.shown = true
	return first
}

// Refused reports whether the service rejects the key itself, not just its scopes.
func (f *failure) Refused() bool { return f.Status == http.StatusUnauthorized && f.Lacks == "" }

func missingScope(scope string) *failure { return &failure{Lacks: scope} }

// failureOf returns the failure that an error describes, or nil if err is nil. scope is the scope
// that the call needs.
func failureOf(err error, scope string) *failure {
	var apiErr *client.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &apiErr):
		f := &failure{Status: apiErr.Status, Code: apiErr.Code, Messages: apiErr.Messages, RequestID: apiErr.RequestID, RetryAfter: apiErr.RetryAfter}
		if apiErr.Status == http.StatusUnauthorized && scope != "" && strings.Contains(strings.Join(apiErr.Messages, " "), scope) {
			f.Lacks = scope
		}
		return f
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{Messages: []string{"it did not respond in time"}}
	}
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	return &failure{Messages: []string{err.Error()}}
}

// Conflict reports whether the call failed because somebody else changed the record, or because the
// record's state does not allow the change.
func (f *failure) Conflict() bool {
	return f != nil && (f.Status == http.StatusPreconditionFailed || f.Status == http.StatusConflict)
}

// isTotalRefusal reports whether the service refused to return the total of a metric because its
// parts, such as the users of each country, do not add up to a total. The status 400 has other
// reasons as well, so isTotalRefusal recognises this refusal by its message, which mentions
// seriesId.
func (f *failure) isTotalRefusal() bool {
	return f != nil && f.Status == http.StatusBadRequest && strings.Contains(strings.Join(f.Messages, " "), "seriesId")
}

// status returns the status code of a page that shows the failure in place of its content.
func (f *failure) status() int {
	switch {
	case f.Reading != nil:
		return http.StatusOK
	case f.Lacks != "":
		return http.StatusForbidden
	case f.Status == http.StatusNotFound, f.Conflict(), f.Status == http.StatusBadRequest:
		return f.Status
	}
	return http.StatusBadGateway
}

// Curl formats the call as a curl command. It quotes every value, because a request body contains
// what users typed.
func (c *apiCall) Curl() string {
	var out strings.Builder
	out.WriteString(`curl -H "Authorization: Bearer $WORKSPACE_KEY"`)
	if c.Method != http.MethodGet {
		out.WriteString(" -X " + c.Method)
	}
	if c.Match != "" {
		out.WriteString(" -H " + shellQuote("If-Match: "+c.Match))
	}
	if c.Body != "" {
		out.WriteString(" \\\n  -H 'Content-Type: application/json' -d " + shellQuote(c.Body))
	}
	out.WriteString(" \\\n  " + shellQuote(c.URL))
	return out.String()
}

// shellQuote quotes a string for a POSIX shell.
func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
