package table

import (
	"context"
	"errors"
	"sync"
)

// Request is what one request to the service carries to the table, in the only context value that the service has: the
// permit to write, and the units that its calls used. Safe for concurrent use.
//
// Reads run at once, beside the check of the caller's key. Writes wait until Decide permits or refuses them. So a read takes
// one round trip and a write two, however much it reads first.
type Request struct {
	// Attempt belongs to package idempotency: the response that the request's change is remembered with. It is nil for a
	// request without an Idempotency-Key, and set before the request is used.
	Attempt any

	once    sync.Once
	decided chan struct{}
	refusal error // once decided

	mu    sync.Mutex
	units Units
}

// Units is what the calls of a request used: how many there were, and DynamoDB's read and write capacity units.
type Units struct {
	Calls int
	Read  float64
	Write float64
}

// NewRequest returns a request whose writes wait for Decide.
func NewRequest() *Request { return &Request{decided: make(chan struct{})} }

// Decide permits the request's writes when refusal is nil, and otherwise fails them with it. Only the first call counts.
func (r *Request) Decide(refusal error) {
	r.once.Do(func() { r.refusal = refusal; close(r.decided) })
}

// Units returns what the request has used so far.
func (r *Request) Units() Units {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.units
}

type requestKey struct{}

// WithRequest returns a context for the calls of a request.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestOf returns the request of a context, nil when there is none.
func RequestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// ErrNoPermit is the error of a write whose context has no request, by a client that is not the operator's. It is always a
// mistake in the program: the write was about to be made for nobody whose key was checked.
var ErrNoPermit = errors.New("no permit to write: the context carries no request")

// permit waits until a write may be made. It returns the refusal, the context's error or ErrNoPermit.
func (c *Client) permit(ctx context.Context) error {
	r := RequestOf(ctx)
	switch {
	case r == nil && c.operator:
		return nil
	case r == nil:
		return ErrNoPermit
	}
	select {
	case <-r.decided:
		return r.refusal
	case <-ctx.Done():
		return ctx.Err()
	}
}

// count adds one call and its units to the context's request, if there is one.
func count(ctx context.Context, read, write float64) {
	r := RequestOf(ctx)
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.units.Calls++
	r.units.Read += read
	r.units.Write += write
}
