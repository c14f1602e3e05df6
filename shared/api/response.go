package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
)

// Response is the response to a call: a record or a list if Err is nil, otherwise the error
// envelope.
type Response struct {
	Status int
	Body   []byte // JSON
	Err    *fault.Error
	Header http.Header // the rate limit and the entity tag; the transport adds its own headers
	More   *bool       // whether there is more to list or to do; nil if the result is neither a list nor a PartialResult
	Next   string      // cursor of the next page of a list; empty at the end
	After  string      // the cursor from which to continue a feed, set even on its last page; empty for any other response

	// Backward is true for a list whose next page contains earlier records.
	Backward bool

	// Note is a sentence or two for the caller in addition to the result. It explains why the
	// arguments of a list match no record, or is the result of the function that was passed to
	// AddNote. It is set only if Call.Explain is true.
	Note string

	// ToolBody is the shorter JSON of a ToolShortener, which the text of a tool's result shows in
	// place of the body. It is nil for any other record, and if Call.Explain is false.
	ToolBody []byte

	// Authenticated says whether the key is valid, even if it lacks the scope or has used up its
	// quota. Scopes are the scopes of the key, set only if the call was admitted. Package mcpserver
	// needs both.
	Authenticated bool
	Scopes        []auth.Scope

	tag        string // entity tag; empty if there is none
	positionAt func(n int) string
	cursors    schema.CursorScope
}

// CursorAt is for a caller that uses only some of the records on this page: those up to the n-th
// or, if Backward is true, those from the n-th on. It returns the cursor at which the list then
// continues, or "" for a list that always has one page. The caller of a feed must use the result
// instead of After.
func (r Response) CursorAt(n int) string {
	switch {
	case r.positionAt == nil:
		return ""
	case r.After != "":
		return r.positionAt(n)
	}
	return r.cursors.Encode(r.positionAt(n))
}

// Write writes the response to a request over HTTP, with the headers that are common to all
// responses, and then the log lines of the calls for this request. Behind the gateway, the lines
// describe the response as it leaves the function.
func (a *API) Write(w http.ResponseWriter, request *http.Request, c Call, r Response) {
	r.write(w, request, c.RequestIDs.Public())
	final, isFinal := gateway.Finish(request.Context())
	for _, line := range *c.Lines {
		if isFinal {
			line.setFinal(final)
		}
		line.Write(a.log, a.metrics)
	}
}

func (r Response) write(w http.ResponseWriter, request *http.Request, requestID string) {
	maps.Copy(w.Header(), r.Header)
	if r.Err != nil {
		fault.Write(w, request, requestID, r.Err)
		return
	}
	fault.SetHeader(w.Header(), requestID, len(r.Body))
	w.WriteHeader(r.Status)
	if request.Method != http.MethodHead {
		_, _ = w.Write(r.Body) // an error means that the caller disconnected
	}
}

// statusClientGone is the status in the log, as of nginx, for a request whose client disconnected
// before the response. Nobody gets a response, and the service has not failed.
const statusClientGone = 499

// respond finishes a call: it builds the response and the log line, which Write writes. No other
// code in this package builds responses or log lines.
func (a *API) respond(ctx context.Context, c Call, t *callState, r result, err error) Response {
	out := Response{Status: http.StatusOK, Body: r.body, Header: quotaHeader(t.class, t.admission.Quota), More: r.more, Note: r.note, ToolBody: r.toolBody, tag: r.tag}
	out.Authenticated, out.Scopes = t.admission.Quota != (auth.QuotaState{}), t.admission.Scopes
	if r.tag != "" {
		out.Header.Set("ETag", `"`+r.tag+`"`)
	}
	if r.more != nil && t.input.binder != nil {
		out.positionAt, out.cursors, out.Backward = r.positionAt, t.input.binder.CursorScope, r.backward
	}
	switch {
	case r.isFeed:
		out.After = r.next
	case r.next != "":
		out.Next = t.input.binder.CursorScope.Encode(r.next)
	}
	if err != nil {
		out.Err, out.More, out.Next, out.After, out.Note, out.tag = fault.PublicError(err), nil, "", "", "", ""
		out.Status, out.Body = out.Err.Code.Status(), fault.Envelope(out.Err)
		out.Header.Del("ETag")
		if out.Err.SetHeader(out.Header); out.Err.Code == fault.RateLimited {
			out.Header.Set("Retry-After", strconv.FormatInt(max(1, t.admission.Quota.RetryAfter), 10))
		}
	}
	t.version.SetHeader(out.Header)
	if t.replayed {
		out.Header.Set("Idempotent-Replayed", "true")
	}
	line := LogLine{
		RequestIDs: c.RequestIDs, Operation: t.operation, CompanyID: t.token.CompanyID, KeyID: t.token.KeyID,
		Trace: c.Trace, Status: out.Status, Bytes: len(out.Body), Time: t.started, Duration: a.now().Sub(t.started), Err: err,
	}
	if errors.Is(ctx.Err(), context.Canceled) && errors.Is(err, context.Canceled) {
		line.Status = statusClientGone
	}
	if t.request != nil {
		line.Usage, line.Failures = t.request.Usage(), t.request.Failures()
	}
	*c.Lines = append(*c.Lines, line)
	return out
}

// ErrorResponse returns the response to a request that calls no operation, such as one with an
// unknown path, and its log line. Only RequestIDs, Trace and Lines of the call are used. operation is the
// operation's name for the log; it may be empty.
func (a *API) ErrorResponse(ctx context.Context, c Call, operation string, err error) Response {
	return a.respond(ctx, c, &callState{operation: operation, started: a.now()}, result{}, err)
}

func quotaHeader(c auth.Class, q auth.QuotaState) http.Header {
	if q == (auth.QuotaState{}) {
		return http.Header{}
	}
	return http.Header{
		"Ratelimit":           {q.Header(c)},
		"Ratelimit-Limit":     {strconv.FormatInt(int64(q.Quota), 10)},
		"Ratelimit-Remaining": {strconv.FormatInt(q.Remaining, 10)},
		"Ratelimit-Reset":     {strconv.FormatInt(q.Reset, 10)},
		"Ratelimit-Policy":    {q.Quota.PolicyHeader(c)},
	}
}

// callState collects what is needed for the response and the log line.
type callState struct {
	operation     string
	class         auth.Class
	started       time.Time
	request       *table.Request
	token         auth.Token
	version       fault.SupportedVersion // the version of the response; zero until it is known
	admission     auth.Admission         // zero until the key is verified
	draftOnly     error                  // the error for a decision; nil if the key may decide
	admissionDone chan struct{}          // closed when the key has been admitted or refused
	input         input
	replayed      bool // whether an earlier request with the same Idempotency-Key stored the response
}

// replayResponse converts the stored response to an earlier request with the same Idempotency-Key
// into the result of this request.
func (c *callState) replayResponse(earlier *idempotency.Response) (result, error) {
	c.replayed = true
	if earlier.Status == http.StatusOK {
		return result{encodedPage: encodedPage{body: earlier.Body}, tag: earlier.Tag}, nil
	}
	storedErr, err := fault.Parse(earlier.Body)
	if err != nil {
		return result{}, fmt.Errorf("stored response: %w", err)
	}
	return result{}, storedErr
}
