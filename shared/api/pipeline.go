package api

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/meter"
	"growthworkspace/shared/ratelimit"
	"growthworkspace/shared/requestlog"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/version"
)

// handlerTimeout bounds one call: below the function's 10 s and the gateway's 29 s, so that the caller always gets our
// envelope and never theirs (design.md §5).
const handlerTimeout = 9 * time.Second

// Keys verifies keys and counts quotas. Package keys is the one that serves; the interface keeps the table out of here.
type Keys interface {
	// Admit verifies the key, requires the scope (none when empty) and takes one request from the bucket of the class,
	// all in one conditional write. The error is auth.ErrUnauthorised, *auth.MissingScopeError, auth.ErrSuspended or
	// *ratelimit.ExceededError, or a fault of the table. With an error the admission is zero, except for the state of a
	// key that lacks the scope.
	Admit(ctx context.Context, token auth.Token, scope auth.Scope, class ratelimit.Class) (auth.Admission, error)
	// Verify does the same without requiring a scope or counting the request.
	Verify(ctx context.Context, token auth.Token, class ratelimit.Class) (ratelimit.State, error)
}

// Arguments are what a call brings, in the form of its transport: an HTTP request or the arguments of a tool.
type Arguments interface {
	// bind reads the arguments of an operation. What was sent as JSON is translated forwards first, where that is not nil.
	bind(op *Operation, forwards translation) bound
}

// translation is the way of a JSON text from one version of the interface to another.
type translation func(text []byte) ([]byte, error)

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
		if record.version != "" && record.version != a.versions.Current() {
			answer.Header.Set("Service-Version-Served", record.version)
		}
		requestlog.Write(a.log, requestlog.Record{
			RequestID: c.RequestID, Operation: c.Operation.ID, CompanyID: record.token.CompanyID, KeyID: record.token.KeyID,
			Status: answer.Status, Time: started, Took: a.now().Sub(started), Spent: m.Total(), Err: record.err,
		}, a.metrics)
	}()
	return a.call(ctx, c, record)
}

func (a *API) call(ctx context.Context, c Call, record *logRecord) Answer {
	token, err := auth.ParseHeader(c.Authorization)
	if err != nil {
		return a.refuse(err, record)
	}
	record.token = token
	requested, early := a.early(c, token)
	if early != nil {
		state, err := a.keys.Verify(ctx, token, c.Operation.Class)
		if err != nil {
			return a.refuse(err, record)
		}
		record.state = &state
		return a.refuse(early, record)
	}
	admit := sync.OnceValue(func() error {
		admission, err := a.keys.Admit(ctx, token, c.Operation.Scope, c.Operation.Class)
		if admission.State != (ratelimit.State{}) { // also of a key that is known and lacks the scope
			record.state = &admission.State
		}
		if err == nil && len(c.Version) == 0 {
			record.version, err = a.versions.Of(admission.APIVersion)
		}
		return err
	})
	if record.version = requested; requested == "" && len(a.versions) > 1 {
		if err := admit(); err != nil { // the key says in which version the arguments are
			return a.refuse(err, record)
		}
	}
	return a.work(ctx, c, token, admit, record)
}

// work runs the function beside the admission, and concludes.
func (a *API) work(ctx context.Context, c Call, token auth.Token, admit func() error, record *logRecord) Answer {
	var forwards translation
	if record.version != "" && record.version != a.versions.Current() {
		forwards = func(text []byte) ([]byte, error) {
			return a.versions.Forwards(record.version, c.Operation.ID, text)
		}
	}
	in := c.Arguments.bind(c.Operation, forwards)
	at, err := attempt(c, token, in)
	if err != nil {
		return a.refuse(err, record)
	}
	gate := auth.NewGate()
	work, stop := context.WithCancel(auth.WithGate(ctx, gate))
	defer stop()
	recalled := func() (*Remembered, error) { return nil, nil }
	if at != nil {
		work = a.memory.Attach(work, *at)
		recalled = beside(func() (*Remembered, error) { return a.memory.Recall(ctx, *at) })
	}
	settled := beside(func() (*Remembered, error) {
		kept, err := caught(func() (*Remembered, error) { return settle(admit, recalled) })
		if kept != nil {
			gate.Settle(errReplayed)
		}
		if gate.Settle(err); err != nil || kept != nil {
			stop() // nothing of a refused call outlives it
		}
		return kept, err
	})
	var value any
	var failed error
	if in.err == nil && !in.missing {
		runtime.Gosched() // the admission is on its way before the function computes: there is one processor
		value, failed = caught(func() (any, error) { return c.Operation.run(work, Caller{token.CompanyID, token.KeyID}, in.input) })
	}
	kept, err := settled()
	switch {
	case err != nil:
		return a.refuse(err, record)
	case in.err != nil:
		return a.refuse(in.err, record)
	case in.missing:
		return a.refuse(fault.ErrNotFound, record)
	case kept != nil:
		return a.replay(at, *kept, record)
	}
	answer := a.conclude(value, failed, in, record)
	if at != nil {
		return a.remember(work, at, answer, failed, record)
	}
	return answer
}

// settle waits for the admission and for what is remembered of the call. Why the key is refused comes first.
func settle(admit func() error, recalled func() (*Remembered, error)) (*Remembered, error) {
	err := admit()
	kept, failed := recalled()
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	return kept, nil
}

// early returns the version that the call asks for, and what is known to be wrong before the quota counts: the version,
// then the company.
func (a *API) early(c Call, token auth.Token) (requested string, err error) {
	if requested, err = a.versions.Requested(c.Version); err == nil && c.CompanyID != "" && c.CompanyID != token.CompanyID {
		err = fault.ErrNotFound
	}
	return requested, err
}

// beside starts a call and returns what waits for its result.
func beside[T any](call func() (T, error)) func() (T, error) {
	var value T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		deepen(0)
		value, err = caught(call)
	}()
	return func() (T, error) { <-done; return value, err }
}

// caught makes a call; a panic is its error, with the stack for the log.
func caught[T any](call func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return call()
}

// deepen makes room for the stack that a call of the table needs, in one step: it would be doubled and copied three times
// on the way, which was a twelfth of a request's CPU time.
//
//go:noinline
func deepen(at int) byte {
	var room [12 << 10]byte // with what a stack begins with, and its guard, the largest that the runtime keeps at hand
	room[at] = 1            // or the compiler would leave it out
	return room[len(room)-1-at]
}

// panicked is a panic as an error. Its text is for the log only.
func panicked(p any) error { return fmt.Errorf("panic: %v\n%s", p, debug.Stack()) }

// CurrentVersion is the dated version of the interface that is served (spec.md, Versioning).
const CurrentVersion = "2026-08-11"

// Versions are those that are served: so far there is one.
var Versions = version.History{{Date: CurrentVersion}}

// CheckVersion accepts an absent header, which means the version of the key, and the supported dates.
func (a *API) CheckVersion(values []string) error {
	_, err := a.versions.Requested(values)
	return err
}

// logRecord collects what the log line of a call says beyond its answer.
type logRecord struct {
	call    *Call
	token   auth.Token
	state   *ratelimit.State // once the key is verified
	version string           // that the caller is served; empty until it is known
	err     error
}
