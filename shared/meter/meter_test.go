package meter_test

import (
	"context"
	"sync"
	"testing"

	"growthworkspace/shared/meter"
)

// Ensure calls of one request that run side by side are all counted, and those of another request are not.
func TestMeter(t *testing.T) {
	t.Parallel()
	ctx, m := meter.Start(t.Context())
	_, other := meter.Start(ctx)
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() { meter.From(ctx).Add(0.5, 2) })
	}
	wait.Wait()
	if got := m.Total(); got != (meter.Total{Calls: 50, ReadUnits: 25, WriteUnits: 100}) {
		t.Errorf("got %+v", got)
	}
	if other.Total() != (meter.Total{}) {
		t.Errorf("another request: %+v", other.Total())
	}
}

// Ensure work outside a request needs no meter.
func TestWithoutMeter(t *testing.T) {
	t.Parallel()
	m := meter.From(context.Background())
	m.Add(1, 1)
	if m != nil || m.Total() != (meter.Total{}) {
		t.Error("a meter from nowhere")
	}
}
