// Package meter counts what one request asks of the table: calls and capacity units. The pipeline starts a meter for
// each request and logs it; the table client feeds it; tests read it, so that a price is visible before it is paid.
package meter

import (
	"context"
	"sync"
)

// Meter sums the table calls of one request. The zero value is ready; a nil *Meter takes counts and drops them, so
// that work outside a request needs no meter. Safe for concurrent use.
type Meter struct {
	mu    sync.Mutex
	total Total
}

// Total is what was counted so far. Units are DynamoDB's read and write capacity units.
type Total struct {
	Calls      int
	ReadUnits  float64
	WriteUnits float64
}

type contextKey struct{}

// Start returns a context whose table calls are counted by the returned meter.
func Start(ctx context.Context) (context.Context, *Meter) {
	m := new(Meter)
	return context.WithValue(ctx, contextKey{}, m), m
}

// From returns the context's meter, nil when there is none.
func From(ctx context.Context) *Meter {
	m, _ := ctx.Value(contextKey{}).(*Meter)
	return m
}

// Add counts one call and the units it consumed.
func (m *Meter) Add(readUnits, writeUnits float64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total.Calls++
	m.total.ReadUnits += readUnits
	m.total.WriteUnits += writeUnits
}

// Total returns what was counted so far.
func (m *Meter) Total() Total {
	if m == nil {
		return Total{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.total
}
