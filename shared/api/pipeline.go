package api

import (
	"cmp"
	"context"
	"reflect"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/version"
)

// handlerTimeout bounds one call. It is below the function's 10 s and the gateway's 29 s, so that the caller always gets our
// error envelope and never theirs.
const handlerTimeout = 9 * time.Second

// Keys verifies keys and counts quotas. Package keys has the one that serves.
type Keys interface {
	// Admit verifies the key, requires the scope (none when empty) and takes one request from the bucket of the class, all in
	// one conditional write. The error is one of package auth's, or a failure of the table. See auth.Admission for what is
	// known beside an error.
	Admit(ctx context.Context, token auth.Token, scope auth.Scope, class auth.Class) (auth.Admission, error)
	// Verify does the same without requiring a scope or counting the request.
	Verify(ctx context.Context, token auth.Token, class auth.Class) (auth.QuotaState, error)
}

// Arguments are what a call brings, in the form of its transport: an HTTP request or the arguments of a tool.
type Arguments interface {
	// bind reads the arguments of an operation.
	bind(op *Operation) input
}

// input is the argument of an operation's function, checked in full.
type input struct {
	value  reflect.Value
	err    error              // bad_request with every problem, payload_too_large, or not_found; then value must not be used
	page   schema.CursorScope // what a cursor of this call is bound to
	absent bool               // the path has an id that no record can have; not_found once everything else is right
}

// bound ends the binding of every transport.
func bound(op *Operation, b *schema.Binder) input {
	in := input{value: b.Input, page: b.BindCursor(op.Input, op.ID)}
	if c, ok := b.Input.Interface().(Checker); ok {
		b.Problems = append(b.Problems, c.Check()...)
	}
	switch {
	case len(b.Problems) > 0:
		in.err = &fault.Error{Code: fault.BadRequest, Messages: b.Problems}
	case b.Missing:
		in.err = fault.ErrNotFound
	}
	return in
}

// Call is one call of an operation, from any transport. HTTP and MCP both end here, so that neither can do what the other
// cannot.
type Call struct {
	Operation     *Operation
	RequestID     string
	Authorization []string // values of the header
	Version       []string // values of Service-Version
	CompanyID     string   // as named by the caller; empty when not named, which only a tool may do
	Arguments     Arguments
}

// Call serves a call: key, version, company, scope, quota, arguments, function, response.
func (a *API) Call(ctx context.Context, c Call) Response {
	ctx, cancel := context.WithTimeout(ctx, handlerTimeout)
	defer cancel()
	t := &trace{requestID: c.RequestID, operation: c.Operation.ID, started: a.now(), request: table.NewRequest()}
	var r result
	err := table.Recovered(func() (err error) {
		r, err = a.serve(table.WithRequest(ctx, t.request), c, t)
		return err
	})
	return a.respond(t, r, err)
}

// serve runs the steps of a call in the order in which their errors count.
func (a *API) serve(ctx context.Context, c Call, t *trace) (result, error) {
	token, err := auth.ParseHeader(c.Authorization)
	if err != nil {
		return result{}, err
	}
	t.token = token
	pinned, err := version.Requested(c.Version)
	if err == nil && c.CompanyID != "" && c.CompanyID != token.CompanyID {
		err = fault.ErrNotFound
	}
	if err != nil { // known before the quota counts, but nobody learns it without a valid key
		quota, refusal := a.keys.Verify(ctx, token, c.Operation.Class)
		if refusal == nil {
			t.admission.Quota = quota
		}
		return result{}, cmp.Or(refusal, err)
	}
	t.input = c.Arguments.bind(c.Operation)
	attempt, err := a.attempt(c, t)
	if err != nil {
		return result{}, err
	}
	r, failure, err := a.run(ctx, c, t, attempt, pinned)
	if err == nil {
		err = remember(ctx, attempt, r, failure)
	}
	return replay(attempt, t, r, err)
}

// run calls the operation's function beside the admission of the key. The function's reads cost no time that way, and its
// writes wait for the decision. failure is the function's own error. err says why its result does not count: the key is refused,
// the arguments are wrong, or there is an earlier response (*replayError).
func (a *API) run(ctx context.Context, c Call, t *trace, attempt *idempotency.Attempt, pinned bool) (r result, failure, err error) {
	work, stop := context.WithCancel(ctx)
	defer stop()
	failure = table.Both(func() error {
		err = table.Recovered(func() error { return a.admit(ctx, c, t, attempt, pinned) })
		t.request.Decide(err)
		if err != nil {
			stop() // nothing of a refused call outlives it
		}
		return nil
	}, func() (err error) {
		if t.input.err == nil {
			r, err = c.Operation.run(work, Caller{t.token.CompanyID, t.token.KeyID}, t.input.value)
		}
		return err
	})
	return r, failure, cmp.Or(err, t.input.err)
}

// admit waits for the key's admission and, beside it, for the response of an earlier request with the same Idempotency-Key.
// Why the key is refused counts first.
func (a *API) admit(ctx context.Context, c Call, t *trace, attempt *idempotency.Attempt, pinned bool) error {
	admit := func() (err error) {
		t.admission, err = a.keys.Admit(ctx, t.token, c.Operation.Scope, c.Operation.Class)
		if err == nil && !pinned {
			err = version.OfKey(t.admission.APIVersion)
		}
		return err
	}
	if attempt == nil {
		return admit()
	}
	var earlier *idempotency.Response
	err := table.Both(admit, func() (err error) { earlier, err = attempt.Recall(ctx); return err })
	if err == nil && earlier != nil {
		err = &replayError{*earlier}
	}
	return err
}
