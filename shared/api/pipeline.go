package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/meter"
	"growthworkspace/shared/ratelimit"
	"growthworkspace/shared/schema"
)

// handlerTimeout bounds one call: below the function's 10 s and the gateway's 29 s, so that the caller always gets our
// envelope and never theirs (design.md §5).
const handlerTimeout = 9 * time.Second

// Keys verifies keys and counts quotas. Package keys is the one that serves; the interface keeps the table out of here.
type Keys interface {
	// Admit verifies the key, requires the scope (none when empty) and takes one request from the bucket of the class,
	// all in one conditional write. The error is auth.ErrUnauthorised, *auth.MissingScopeError, auth.ErrSuspended or
	// *ratelimit.ExceededError, or a fault of the table. The state is that of the bucket; with an error it is zero, except
	// that of a key that lacks the scope.
	Admit(ctx context.Context, token auth.Token, scope auth.Scope, class ratelimit.Class) (ratelimit.State, error)
	// Verify does the same without requiring a scope or counting the request.
	Verify(ctx context.Context, token auth.Token, class ratelimit.Class) (ratelimit.State, error)
}

// Arguments are what a call brings, in the form of its transport: an HTTP request or the arguments of a tool.
type Arguments interface {
	// bind reads the arguments of an operation.
	bind(op *Operation) bound
}

// bound is an input, checked in full. When err is set or it is missing, the input must not be used.
type bound struct {
	input   reflect.Value
	err     *fault.Error       // bad_request with every problem, or payload_too_large
	missing bool               // an id in the path that no record can have: not_found, once the rest is in order
	list    schema.CursorScope // what a cursor of this call is bound to
}

// bind ends the binding of every transport.
func bind(op *Operation, b *schema.Binder) bound {
	out := bound{input: b.Input, missing: b.Missing, list: b.BindCursor(op.Input, op.ID)}
	if c, ok := b.Input.Interface().(Checker); ok {
		b.Problems = append(b.Problems, c.Check()...)
	}
	if len(b.Problems) > 0 {
		out.err = &fault.Error{Code: fault.BadRequest, Messages: b.Problems}
	}
	return out
}

// Call is one call of an operation, from any transport. HTTP and MCP end here, so that neither can do what the other
// cannot.
type Call struct {
	Operation     *Operation
	RequestID     string
	Authorization []string // values of the header
	Version       []string // values of Service-Version
	CompanyID     string   // as named by the caller; empty when not named, which only a tool may do
	Arguments     Arguments
}

// Answer is what a call ends in: a body when Err is nil.
type Answer struct {
	Status int
	Body   []byte // JSON
	Err    *fault.Error
	Header http.Header // quota, ETag and whatever else is not in the body
	List   bool
	Next   string // cursor of the next page of a list, empty at the end
}

// Call runs the pipeline: key → version → company → scope → quota → arguments → function → envelope (decisions.md §11).
//
// The function starts at once, beside the key's verification, on the arguments and the company that the key names; its
// writes wait until the key is verified (auth.Gate), and its result is dropped when the key is refused.
func (a *API) Call(ctx context.Context, c Call) (answer Answer) {
	started := a.now()
	ctx, m := meter.Start(ctx)
	ctx, cancel := context.WithTimeout(ctx, handlerTimeout)
	defer cancel()

	record := &logRecord{call: &c}
	defer func() {
		if p := recover(); p != nil {
			answer = a.refuse(panicked(p), record)
		}
		a.write(record, answer, m.Total(), a.now().Sub(started))
	}()
	return a.call(ctx, c, record)
}

func (a *API) call(ctx context.Context, c Call, record *logRecord) Answer {
	token, err := auth.ParseHeader(c.Authorization)
	if err != nil {
		return a.refuse(err, record)
	}
	record.token = token
	if early := a.early(c, token); early != nil {
		state, err := a.keys.Verify(ctx, token, c.Operation.Class)
		if err != nil {
			return a.refuse(err, record)
		}
		record.state = &state
		return a.refuse(early, record)
	}

	in := c.Arguments.bind(c.Operation)
	gate := auth.NewGate()
	work, stop := context.WithCancel(auth.WithGate(ctx, gate))
	defer stop()
	var done chan outcome
	if in.err == nil && !in.missing {
		done = make(chan outcome, 1)
		go func() { done <- a.run(work, c.Operation, Caller{token.CompanyID, token.KeyID}, in) }()
	}

	state, err := a.keys.Admit(ctx, token, c.Operation.Scope, c.Operation.Class)
	gate.Settle(err)
	if state != (ratelimit.State{}) { // also of a key that is known and lacks the scope
		record.state = &state
	}
	if err != nil {
		stop()
		if done != nil {
			<-done // nothing of a refused call outlives it
		}
		return a.refuse(err, record)
	}
	switch {
	case in.err != nil:
		return a.refuse(in.err, record)
	case in.missing:
		return a.refuse(fault.ErrNotFound, record)
	}
	result := <-done
	if result.err != nil {
		return a.refuse(result.err, record)
	}
	return a.accept(result.value, in, record)
}

// early is what is known to be wrong before the quota counts: the version, then the company.
func (a *API) early(c Call, token auth.Token) error {
	if err := CheckVersion(c.Version); err != nil {
		return err
	}
	if c.CompanyID != "" && c.CompanyID != token.CompanyID {
		return fault.ErrNotFound
	}
	return nil
}

type outcome struct {
	value any
	err   error
}

// run calls the function. A panic of the function is its error, with the stack for the log.
func (a *API) run(ctx context.Context, op *Operation, caller Caller, in bound) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = outcome{err: panicked(p)}
		}
	}()
	value, err := op.run(ctx, caller, in.input)
	return outcome{value, err}
}

// panicked is a panic as an error. Its text is for the log only.
func panicked(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }

func (a *API) accept(value any, in bound, record *logRecord) Answer {
	answer := Answer{Status: http.StatusOK, Header: quotaHeader(*record.state)}
	if list, ok := value.(lister); ok {
		body, next := list.page()
		value, answer.List = body, true
		if next != "" {
			answer.Next = in.list.Encode(next)
		}
	}
	body, err := encodeJSON(value)
	if err != nil {
		return a.refuse(fmt.Errorf("encode the answer: %w", err), record)
	}
	answer.Body = body
	if tagged, ok := value.(Tagged); ok && tagged.ETag() != "" {
		answer.Header.Set("ETag", `"`+tagged.ETag()+`"`)
	}
	return answer
}

// refuse turns an error into what the caller reads and what the log keeps: the only place where the two halves meet.
func (a *API) refuse(err error, record *logRecord) Answer {
	public, header := publicError(err), http.Header{}
	if record.state != nil {
		header = quotaHeader(*record.state)
	}
	var exceeded *ratelimit.ExceededError
	if errors.As(err, &exceeded) {
		header = quotaHeader(exceeded.State)
		header.Set("Retry-After", strconv.FormatInt(max(1, exceeded.State.RetryAfter), 10))
	}
	if public.Code == fault.Unauthorised {
		header.Set("WWW-Authenticate", "Bearer")
	}
	record.err = err
	return Answer{Status: public.Code.Status(), Err: public, Header: header, Body: Envelope(public)}
}

func publicError(err error) *fault.Error {
	var public *fault.Error
	var scope *auth.MissingScopeError
	var exceeded *ratelimit.ExceededError
	switch {
	case errors.As(err, &public) && public.Code.Status() < http.StatusInternalServerError && len(public.Messages) > 0:
		return public
	case errors.As(err, &scope):
		return fault.New(fault.Unauthorised, "the key lacks the scope %s", scope.Scope)
	case errors.Is(err, auth.ErrPublishable):
		return fault.New(fault.Unauthorised, "a publishable key opens nothing here; send a secret key, which begins with %s", auth.SecretPrefix)
	case errors.Is(err, auth.ErrUnauthorised):
		return fault.New(fault.Unauthorised, "missing, unknown or revoked key; send Authorization: Bearer <secret key>")
	case errors.Is(err, auth.ErrSuspended):
		return fault.New(fault.Forbidden, "the company or the key is suspended by the operator")
	case errors.As(err, &exceeded):
		return fault.New(fault.RateLimited, "too many requests of the class %s; try again after the seconds of Retry-After", exceeded.Class)
	}
	return fault.New(fault.Internal, "internal error; safe to retry")
}

func quotaHeader(s ratelimit.State) http.Header {
	return http.Header{
		"Ratelimit-Limit":     {strconv.FormatInt(int64(s.Quota), 10)},
		"Ratelimit-Remaining": {strconv.FormatInt(s.Remaining, 10)},
		"Ratelimit-Reset":     {strconv.FormatInt(s.Reset, 10)},
		"Ratelimit-Policy":    {s.Quota.Policy()},
	}
}

// CurrentVersion is the dated version of the interface that is served (spec.md, Versioning).
const CurrentVersion = "2026-08-11"

var versions = []string{CurrentVersion}

// CheckVersion accepts an absent header, which means the version of the key, and the supported dates.
func CheckVersion(values []string) error {
	if len(values) == 0 || len(values) == 1 && slices.Contains(versions, strings.TrimSpace(values[0])) {
		return nil
	}
	return fault.Invalid("header.Service-Version", "must be a supported version: %s", strings.Join(versions, ", "))
}

// logRecord collects what the log line of a call says beyond its answer. Never a key, never a body.
type logRecord struct {
	call  *Call
	token auth.Token
	state *ratelimit.State // once the key is verified
	err   error
}

// logBytes bounds what a log line quotes of a caller's mistakes.
const logBytes = 2000

func (a *API) write(r *logRecord, answer Answer, spent meter.Total, took time.Duration) {
	attributes := []slog.Attr{
		slog.String("requestId", r.call.RequestID), slog.String("op", r.call.Operation.ID), slog.Int("status", answer.Status),
		slog.String("companyId", r.token.CompanyID), slog.String("keyId", r.token.KeyID), slog.Float64("ms", float64(took.Microseconds())/1000),
		slog.Int("tableCalls", spent.Calls), slog.Float64("readUnits", spent.ReadUnits), slog.Float64("writeUnits", spent.WriteUnits),
	}
	level := slog.LevelInfo
	if r.err != nil {
		text := r.err.Error()
		if answer.Status < http.StatusInternalServerError && len(text) > logBytes {
			text = text[:logBytes]
		}
		attributes = append(attributes, slog.String("error", text))
	}
	if answer.Status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	a.log.LogAttrs(context.Background(), level, "request", attributes...)
}
