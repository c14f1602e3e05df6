package parallel_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"growthworkspace/shared/parallel"
)

// Ensure a panic in a parallel call is returned as that call's error and does not crash the
// process.
func TestPanics(t *testing.T) {
	t.Parallel()
	err := parallel.Do(2, 2, func(n int) error {
		if n == 1 {
			panic("planted")
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "planted") || !strings.Contains(err.Error(), "goroutine") {
		t.Errorf("error %v, want the panic and its goroutine", err)
	}
}

// Ensure that after a failure, no calls beyond the first width are started, and that every failure
// is returned.
func TestFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var started atomic.Int64
	err := parallel.Do(100, 3, func(int) error { started.Add(1); return broken })
	if !errors.Is(err, broken) || started.Load() != 3 {
		t.Errorf("%d calls were started: %v", started.Load(), err)
	}
	started.Store(0)
	err = parallel.Both(func() error { started.Add(1); return broken }, func() error { started.Add(1); return nil })
	if !errors.Is(err, broken) || started.Load() != 2 {
		t.Errorf("%d of both calls were started: %v", started.Load(), err)
	}
}
