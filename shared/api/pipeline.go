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
	"growthworkspace/shared/gateway"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// handlerTimeout is the maximum duration of a call. It is less than the Lambda function's timeout
// of 10 s and the gateway's of 29 s, so that the caller always gets this service's error envelope.
const handlerTimeout = 9 * time.Second

// Call is one call of an operation, from any transport. HTTP and MCP share it, so an operation
// behaves the same over both.
type Call struct {
	Operation     *Operation
	RequestIDs    gateway.RequestIDs
	Authorization []string // the values of the Authorization header
	Version       []string // the values of the Service-Version header
	CompanyID     string   // as sent by the caller; empty if the arguments of a tool do not contain it
	Arguments     Arguments
	Trace         Trace
	Lines         *[]LogLine // the lines of the calls for one request, to which the call adds its own; Write writes them
	Explain       bool       // whether to set Response.Note, which may cost additional reads
}

// Call serves a call. If several steps fail, the response has the error of the first one in this
// order: key, version, company, scope, quota, arguments, function. The steps run in a different
// order: the arguments are bound before the key is admitted, and the function runs in parallel with
// the admission (see run).
func (a *API) Call(ctx context.Context, c Call) Response {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	t := &callState{
		operation: c.Operation.ID, class: c.Operation.Class, started: a.now(), request: table.NewRequest(),
		admissionDone: make(chan struct{}),
	}
	r, err := a.serve(table.WithRequest(ctx, t.request), c, t)
	return a.respond(ctx, c, t, r, err)
}

// serve runs the steps of a call. If several steps fail, it returns the error of the first one in
// the order that Call documents.
func (a *API) serve(ctx context.Context, c Call, t *callState) (r result, err error) {
	defer parallel.Recover(&err)
	if t.token, err = auth.ParseHeader(c.Authorization); err != nil {
		return r, err
	}
	t.request.KeyID, t.request.CompanyID = t.token.KeyID, t.token.CompanyID // set before the request is used; no write is permitted until the key is verified
	if len(c.Version) > 0 {
		t.version, err = a.versions.OfHeader(c.Version)
	}
	if err == nil && c.CompanyID != "" && c.CompanyID != t.token.CompanyID {
		err = fault.ErrNotFound
	}
	if err != nil { // a wrong version or company is not charged to the quota, and is reported only if the key is valid
		return r, a.verify(ctx, c, t, nil, err)
	}
	if c.Arguments.needsAuthFirst(c.Operation) {
		if err := a.verify(ctx, c, t, c.Operation.admittingScopes, nil); err != nil {
			return r, err
		}
	}
	t.input = c.Arguments.bind(c.Operation)
	attempt, err := a.idempotencyAttempt(c, t)
	if err != nil {
		return r, err
	}
	out, err := a.run(ctx, c, t, attempt)
	switch {
	case err != nil:
		return result{}, err
	case out.storedResponse != nil: // the stored response replaces the function's result or error
		return c.replay(ctx, t, out.storedResponse)
	case attempt == nil:
		return out.result, out.err
	}
	earlier, err := c.finish(ctx, attempt, out)
	switch {
	case err != nil && out.err != nil: // both errors go to the log
		return result{}, fmt.Errorf("%w; the request itself: %v", err, out.err)
	case err != nil:
		return result{}, err
	case earlier != nil:
		return c.replay(ctx, t, earlier)
	}
	return out.result, out.err
}

// finish stores the response to a call under its Idempotency-Key, or returns the response to an
// earlier request, which must be sent instead.
//
// The error of an operation with a check function (CheckReplay) is not stored. If it is a conflict,
// another request with the same key may have made the conflicting change.
func (c Call) finish(ctx context.Context, attempt *idempotency.Attempt, out *callOutcome) (earlier *idempotency.Response, err error) {
	if c.Operation.checkReplay == nil || out.err == nil {
		return attempt.Finish(ctx, storableResponse(out.result, out.err))
	}
	earlier, err = attempt.Finish(ctx, nil)
	if err == nil && earlier == nil && fault.PublicError(out.err).Code == fault.Conflict {
		return attempt.Lookup(ctx)
	}
	return earlier, err
}

// replay returns the stored response to an earlier request, unless the operation refuses to replay
// it.
func (c Call) replay(ctx context.Context, t *callState, stored *idempotency.Response) (result, error) {
	if check := c.Operation.checkReplay; check != nil {
		if err := check(ctx, Caller{t.token.CompanyID, t.token.KeyID, t}, t.input.value.Addr().Interface(), stored.Body); err != nil {
			return result{}, err
		}
	}
	return t.replayResponse(stored)
}

// verify verifies the key and requires one of the scopes (or none if scopes is empty). If the key
// is refused, it returns the reason; otherwise it returns the parameter refusal, which may be nil.
func (a *API) verify(ctx context.Context, c Call, t *callState, scopes []auth.Scope, refusal error) (err error) {
	t.admission.Quota, err = a.keys.Verify(ctx, t.token, scopes, c.Operation.Class)
	return cmp.Or(err, refusal)
}

// callOutcome is the result of an admitted call.
type callOutcome struct {
	result         result
	err            error                 // the error from the operation's function, or from binding its input
	storedResponse *idempotency.Response // stored by an earlier request with the same Idempotency-Key; if set, result and err are not used
}

// run starts the operation's function and, if attempt is not nil, the lookup of an earlier
// response. While they run, it admits the key. The function's reads therefore add no latency; its
// writes wait until the key is admitted or refused. If the admission fails, run returns its error.
// Otherwise, if the lookup fails, run returns that error. If only the function panics, run returns
// the panic as an error. It returns only after the function has returned.
func (a *API) run(ctx context.Context, c Call, t *callState, attempt *idempotency.Attempt) (*callOutcome, error) {
	workCtx, stop := context.WithCancel(ctx)
	defer stop()
	function := startAsync(func() (*callOutcome, error) { return c.runFunction(workCtx, t), nil })
	var lookup *asyncCall[*idempotency.Response]
	if attempt != nil {
		lookup = startAsync(func() (*idempotency.Response, error) { return attempt.Lookup(ctx) })
	}
	refusal := a.admit(ctx, c, t)
	close(t.admissionDone)
	var earlier *idempotency.Response
	if lookup != nil {
		found, err := lookup.wait()
		earlier, refusal = found, cmp.Or(refusal, err)
	}
	if refusal == nil && earlier != nil {
		refusal = idempotency.ErrAlreadyServed
	}
	t.request.SettlePermit(refusal)
	if refusal != nil {
		stop()
	}
	out, panicErr := function.wait()
	if errors.Is(refusal, idempotency.ErrAlreadyServed) {
		return &callOutcome{storedResponse: earlier}, nil
	}
	return out, cmp.Or(refusal, panicErr)
}

// runFunction calls the operation's function, if its input is valid.
func (c Call) runFunction(ctx context.Context, t *callState) *callOutcome {
	if t.input.err != nil {
		return &callOutcome{err: t.input.err}
	}
	out, caller := &callOutcome{}, Caller{t.token.CompanyID, t.token.KeyID, t}
	out.result, out.err = c.Operation.call(ctx, caller, t.input.value, c.Explain)
	if out.err == nil && out.result.empty && c.Explain {
		out.result.note, out.err = c.Operation.explainNoMatches(ctx, caller, t.input)
	}
	return out
}

// admit admits the key. If the request has no Service-Version header, it also checks the version
// for which the key was issued. It refuses a draft-only key if the input contains a decision. While
// the API is read-only, it refuses every operation that is not a read.
func (a *API) admit(ctx context.Context, c Call, t *callState) (err error) {
	defer parallel.Recover(&err)
	t.admission, err = a.keys.Admit(ctx, t.token, c.Operation.admittingScopes, c.Operation.Class)
	if err == nil && len(c.Version) == 0 {
		t.version, err = a.versions.OfKey(t.admission.APIVersion)
	}
	if op := c.Operation; op.DraftScope != "" && !op.Scope.IsGrantedBy(t.admission.Scopes) {
		t.draftOnly = auth.NewMissingScopeError(op.Scope)
	}
	if err == nil && t.draftOnly != nil && t.input.err == nil && !c.Operation.isDraft(t.input.value) {
		err = t.draftOnly
	}
	if err == nil && a.readOnly && c.Operation.Effect != Read {
		err = fault.ErrReadOnly
	}
	return err
}

// asyncCall is a part of a call that runs on a separate goroutine.
type asyncCall[T any] struct {
	done   chan struct{}
	result T
	err    error
}

func startAsync[T any](do func() (T, error)) *asyncCall[T] {
	s := &asyncCall[T]{done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer parallel.Recover(&s.err)
		s.result, s.err = do()
	}()
	return s
}

// wait waits for the call to finish and returns its result. It returns a panic as an error.
func (a *asyncCall[T]) wait() (T, error) {
	<-a.done
	return a.result, a.err
}

// idempotencyAttempt returns the attempt for a call with an Idempotency-Key. It returns nil if the
// call has no Idempotency-Key or its input is invalid.
func (a *API) idempotencyAttempt(c Call, t *callState) (*idempotency.Attempt, error) {
	f := c.Operation.IdempotencyKey
	if f == nil || t.input.err != nil {
		return nil, nil
	}
	key, _ := f.ValueIn(t.input.value).Interface().(*string)
	if key == nil {
		return nil, nil
	}
	digest, err := t.input.binder.Digest(f.Name)
	if err != nil {
		return nil, err
	}
	encryptionKey, err := auth.DeriveSecret(c.Authorization, "answer of "+c.Operation.ID+" "+*key)
	if err != nil {
		return nil, err
	}
	attempt := a.idempotency.Begin(idempotency.Identity{
		CompanyID: t.token.CompanyID, KeyID: t.token.KeyID, Area: c.Operation.idempotencyArea(), Operation: c.Operation.ID, Key: *key,
		RequestDigest: digest, EncryptionKey: encryptionKey,
	}, func(response any) ([]byte, string, error) {
		r, err := encode(response, c.Operation.hasETag)
		return r.body, r.tag, err
	})
	t.request.Attempt = attempt
	return attempt, nil
}

// storableResponse returns the response to store under the Idempotency-Key. It returns nil for an
// internal error and for a lost race, so that a retry executes the request again.
func storableResponse(r result, failure error) *idempotency.Response {
	if failure == nil {
		return &idempotency.Response{Status: http.StatusOK, Body: r.body, Tag: r.tag}
	}
	publicErr := fault.PublicError(failure)
	if publicErr.Code.Status() >= http.StatusInternalServerError || publicErr.Transient {
		return nil
	}
	return &idempotency.Response{Status: publicErr.Code.Status(), Body: fault.Envelope(publicErr)}
}
