package auth

import (
	"context"
	"sync"
)

// Gate holds the writes of one request back until its caller's key is verified. Reads need not wait: they run beside
// the verification and their result is thrown away when the key is refused, so that a read costs one round trip in time
// and a write two, however much it must read first (design.md §3).
type Gate struct {
	once    sync.Once
	settled chan struct{}
	err     error
}

// NewGate returns a gate that is not settled yet.
func NewGate() *Gate { return &Gate{settled: make(chan struct{})} }

// Settle opens the gate when err is nil and otherwise refuses everyone who waits or will wait. Only the first call counts.
func (g *Gate) Settle(err error) {
	g.once.Do(func() { g.err = err; close(g.settled) })
}

type gateKey struct{}

// WithGate returns a context whose writes wait for the gate.
func WithGate(ctx context.Context, g *Gate) context.Context {
	return context.WithValue(ctx, gateKey{}, g)
}

// Await blocks until the caller's key is verified; every write of the table client begins with it. It returns the
// refusal, or the context's error. Without a gate, on the operator's command line, it returns nil at once.
func Await(ctx context.Context) error {
	g, ok := ctx.Value(gateKey{}).(*Gate)
	if !ok {
		return nil
	}
	select {
	case <-g.settled:
		return g.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
