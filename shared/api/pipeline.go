package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// handlerTimeout bounds one call. It is below the function's 10 s and the gateway's 29 s, so that the caller always gets the
// error envelope of this service.
const handlerTimeout = 9 * time.Second

// Call is one call of an operation, from any transport. HTTP and MCP share it, so both have the same abilities.
type Call struct {
	Operation     *Operation
	RequestID     string
	Authorization []string // values of the header
	Version       []string // values of Service-Version
	CompanyID     string   // as sent by the caller; empty when the arguments of a tool leave it out
	Arguments     Arguments
	Explain       bool // say why a list is empty (Response.WhyEmpty); it may cost reads
}

// Call serves a call: key, version, company, scope, quota, arguments, function, response.
func (a *API) Call(ctx context.Context, c Call) Response {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	t := &trace{requestID: c.RequestID, operation: c.Operation.ID, started: a.now(), request: table.NewRequest()}
	r, err := a.serve(table.WithRequest(ctx, t.request), c, t)
	return a.respond(t, r, err)
}

// serve runs the steps of a call. The error of an earlier step takes precedence.
func (a *API) serve(ctx context.Context, c Call, t *trace) (r result, err error) {
	defer parallel.Recover(&err)
	if t.token, err = auth.ParseHeader(c.Authorization); err != nil {
		return r, err
	}
	pinned, err := len(c.Version) > 0, fault.CheckVersion(c.Version)
	if err == nil && c.CompanyID != "" && c.CompanyID != t.token.CompanyID {
		err = fault.ErrNotFound
	}
	if err != nil { // not counted in the quota, but reported only to a valid key
		return r, a.verify(ctx, c, t, "", err)
	}
	if c.Arguments.large(c.Operation) {
		if err := a.verify(ctx, c, t, c.Operation.Scope, nil); err != nil {
			return r, err
		}
	}
	t.input = c.Arguments.bind(c.Operation)
	attempt, err := a.begin(c, t)
	if err != nil {
		return r, err
	}
	r, failure, earlier, err := a.run(ctx, c, t, attempt, pinned)
	switch {
	case err != nil:
		return result{}, err
	case earlier != nil: // the function's error does not count
		return t.replay(earlier)
	case attempt == nil:
		return r, failure
	}
	earlier, err = attempt.End(ctx, kept(r, failure))
	switch {
	case err != nil && failure != nil: // failure goes to the log
		return result{}, fmt.Errorf("%w; the request itself: %v", err, failure)
	case err != nil:
		return result{}, err
	case earlier != nil:
		return t.replay(earlier)
	}
	return r, failure
}

// verify returns refusal when the key is valid and has the scope (none if empty), else the error of the key.
func (a *API) verify(ctx context.Context, c Call, t *trace, scope auth.Scope, refusal error) (err error) {
	t.admission.Quota, err = a.keys.Verify(ctx, t.token, scope, c.Operation.Class)
	return cmp.Or(err, refusal)
}

// errUndecided fails the writes of a request whose admission panicked.
var errUndecided = errors.New("the key was not verified")

// run calls the operation's function while the key is being admitted, so that the function's reads add no latency; its writes
// wait for the decision. err is set when the key is rejected or the arguments are invalid. earlier is a stored response to
// return instead of the result. failure is the function's own error.
func (a *API) run(ctx context.Context, c Call, t *trace, attempt *idempotency.Attempt, pinned bool) (r result, failure error, earlier *idempotency.Response, err error) {
	work, stop := context.WithCancel(ctx)
	defer stop()
	var refusal error
	panicked := parallel.Both(func() error {
		permitted := false
		defer func() {
			t.request.Decide(errUndecided) // no effect unless admit panicked
			if !permitted {
				stop() // end the function of a rejected call
			}
		}()
		earlier, refusal = a.admit(ctx, c, t, attempt, pinned)
		if permitted = refusal == nil && earlier == nil; permitted {
			t.request.Decide(nil)
		} else {
			t.request.Decide(cmp.Or(refusal, idempotency.ErrAnswered))
		}
		return nil
	}, func() error {
		if t.input.err == nil {
			caller := Caller{t.token.CompanyID, t.token.KeyID}
			r, failure = c.Operation.run(work, caller, t.input.value)
			if failure == nil && r.empty && c.Explain {
				r.whyEmpty, failure = c.Operation.explain(work, caller, t.input)
			}
		}
		return nil
	})
	if earlier == nil {
		refusal = cmp.Or(refusal, t.input.err, panicked)
	}
	return r, failure, earlier, refusal
}

// admit admits the key and, in parallel, looks up the response of an earlier request with the same Idempotency-Key. An error of
// the key takes precedence.
func (a *API) admit(ctx context.Context, c Call, t *trace, attempt *idempotency.Attempt, pinned bool) (earlier *idempotency.Response, err error) {
	var refusal, failure error
	err = parallel.Both(func() error {
		t.admission, refusal = a.keys.Admit(ctx, t.token, c.Operation.Scope, c.Operation.Class)
		if refusal == nil && !pinned {
			refusal = checkKeyVersion(t.admission.APIVersion)
		}
		return nil
	}, func() error {
		earlier, failure = attempt.Recall(ctx)
		return nil
	})
	return earlier, cmp.Or(refusal, err, failure)
}

// begin returns the attempt of a call with an Idempotency-Key, nil for a call without one.
func (a *API) begin(c Call, t *trace) (*idempotency.Attempt, error) {
	f := c.Operation.idempotencyKey
	if f == nil || t.input.err != nil {
		return nil, nil
	}
	key, _ := f.Of(t.input.value).Interface().(*string)
	if key == nil {
		return nil, nil
	}
	request, err := t.input.sent.Digest(f.Name)
	if err != nil {
		return nil, err
	}
	seal, err := auth.Derive(c.Authorization, "answer of "+c.Operation.ID+" "+*key)
	if err != nil {
		return nil, err
	}
	attempt := a.memory.Begin(idempotency.Identity{
		CompanyID: t.token.CompanyID, KeyID: t.token.KeyID, Area: c.Operation.Area(), Operation: c.Operation.ID, Key: *key,
		Request: request, Seal: seal,
	}, func(response any) ([]byte, string, error) {
		r, err := encode(response, c.Operation.tagged)
		return r.body, r.tag, err
	})
	t.request.Attempt = attempt
	return attempt, nil
}

// kept returns the response to store under the Idempotency-Key. It is nil for an internal error and for a lost race: a retry
// executes the request again.
func kept(r result, failure error) *idempotency.Response {
	if failure == nil {
		return &idempotency.Response{Status: http.StatusOK, Body: r.body, Tag: r.tag}
	}
	public := fault.Public(failure)
	if public.Code.Status() >= http.StatusInternalServerError || public.Transient {
		return nil
	}
	return &idempotency.Response{Status: public.Code.Status(), Body: fault.Envelope(public)}
}
