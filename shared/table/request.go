package table

import (
	"context"
	"errors"
	"sync"
)

// Request is the state of one request to the service: its permit to write and the capacity units
// that it has used. The request's context carries it. A Request is safe for concurrent use.
//
// Reads run immediately, in parallel with the check of the caller's key. Writes wait until
// SettlePermit permits or refuses them. So a read takes one round trip and a write takes two
// (scripts/docs/explanation/one-round-trip.md).
type Request struct {
	// KeyID is the id of the key that makes the request, set before the request is used. It is
	// stored as the writer of the request's writes; see WriterAttr. If it is empty, the writer is
	// the operator.
	KeyID string

	// CompanyID is the company for which calls to a local engine wait; see
	// Options.MaxConcurrentCalls. It is set together with KeyID, so the key may still be refused.
	CompanyID string

	// Attempt belongs to package idempotency, which stores the response with the request's change.
	// It is nil for a request without an Idempotency-Key, and set before the request is used.
	Attempt any

	once    sync.Once
	settled chan struct{}
	refusal error // set before settled is closed

	mu       sync.Mutex
	usage    Usage
	failures []error
}

// Usage is the number of calls that a request made, and the DynamoDB read and write capacity units
// that they used.
type Usage struct {
	Calls int
	Read  float64
	Write float64
}

// NewRequest returns a request whose writes wait for SettlePermit.
func NewRequest() *Request { return &Request{settled: make(chan struct{})} }

// SettlePermit permits the request's writes if refusal is nil; otherwise the writes fail with
// refusal. Only the first call of SettlePermit has an effect.
func (r *Request) SettlePermit(refusal error) {
	r.once.Do(func() { r.refusal = refusal; close(r.settled) })
}

// Usage returns what the request has used so far.
func (r *Request) Usage() Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usage
}

// AddFailure records a failure, for the log, that does not change the result of the request, such
// as a failed clean-up. It does nothing on a nil Request, because the operator's commands have
// none.
func (r *Request) AddFailure(failure error) {
	if r == nil || failure == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, failure)
}

// Failures returns the recorded failures, joined, or nil if there are none.
func (r *Request) Failures() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.failures...)
}

type requestKey struct{}

// WithRequest returns a context that carries a request.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestOf returns the request that a context carries, or nil.
func RequestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// ErrNoPermit is the error for a write without a Request in its context, unless the client is the
// operator's. It is always a bug, because no key was checked for the write.
var ErrNoPermit = errors.New("no permit to write: the context carries no request")

// waitForPermit waits until it is known whether the request may write. If it may not, waitForPermit
// returns the refusal passed to SettlePermit, the context's error or ErrNoPermit.
func waitForPermit(ctx context.Context, operator bool) error {
	r := RequestOf(ctx)
	switch {
	case r == nil && operator:
		return nil
	case r == nil:
		return ErrNoPermit
	}
	select {
	case <-r.settled:
		return r.refusal
	case <-ctx.Done():
		return ctx.Err()
	}
}

// addUnits adds one call and its units to the context's request, if there is one.
func addUnits(ctx context.Context, read, write float64) {
	r := RequestOf(ctx)
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.usage.Calls++
	r.usage.Read += read
	r.usage.Write += write
}
