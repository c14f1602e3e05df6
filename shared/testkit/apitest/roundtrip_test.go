package apitest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/shared/testkit/apitest"
)

// engine is a transport that responds immediately, and then closes the channel for the path of the
// call.
type engine map[string]chan struct{}

func newEngine(paths ...string) engine {
	e := engine{}
	for _, path := range paths {
		e["/"+path] = make(chan struct{})
	}
	return e
}

func (e engine) RoundTrip(r *http.Request) (*http.Response, error) {
	if responded := e[r.URL.Path]; responded != nil {
		defer close(responded)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

func call(t *testing.T, c *apitest.RoundTripCounter, path string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+path, strings.NewReader("{}"))
	response, err := c.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK || response.Request != r {
		t.Errorf("response %v, want 200 to the same request: %v", response, err)
	}
}

// Ensure the number of round trips is the length of the longest chain of calls. Parallel calls must
// not increase it.
func TestRoundTripsAreTheLongestChain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		chains       []int // the number of calls that each goroutine makes
		trips, calls int
	}{
		{"none", nil, 0, 0},
		{"one", []int{1}, 1, 1},
		{"three in a row", []int{3}, 3, 3},
		{"three side by side", []int{1, 1, 1}, 1, 3},
		{"chains of two", []int{2, 2, 2}, 2, 6},
		{"a chain beside single calls", []int{1, 4, 1}, 4, 6},
		{"a hundred side by side", slices.Repeat([]int{2}, 100), 2, 200},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := &apitest.RoundTripCounter{Transport: newEngine()}
			for range 2 { // each count starts at zero
				call(t, c, "") // not counted
				trips, calls := c.Count(t, func(t *testing.T) {
					var wait sync.WaitGroup
					for _, n := range test.chains {
						wait.Go(func() {
							for range n {
								call(t, c, "")
							}
						})
					}
					wait.Wait()
				})
				if trips != test.trips || calls != test.calls {
					t.Errorf("%d round trips and %d calls, want %d and %d", trips, calls, test.trips, test.calls)
				}
			}
		})
	}
}

// Ensure a parallel call adds no round trip even if it is made after the engine has responded to
// the other call. On a busy machine, a goroutine can be that late.
func TestRoundTripsOfLateParallelCall(t *testing.T) {
	t.Parallel()
	e := newEngine("first")
	c := &apitest.RoundTripCounter{Transport: e}
	trips, calls := c.Count(t, func(t *testing.T) {
		var wait sync.WaitGroup
		wait.Go(func() { call(t, c, "first") })
		wait.Go(func() {
			<-e["/first"]
			call(t, c, "late")
		})
		wait.Wait()
	})
	if trips != 1 || calls != 2 {
		t.Errorf("%d round trips and %d calls, want 1 and 2", trips, calls)
	}
}

// Ensure a call extends the chain if it is made after a response that another goroutine receives,
// however soon the call follows.
func TestRoundTripsAcrossGoroutines(t *testing.T) {
	t.Parallel()
	c := &apitest.RoundTripCounter{Transport: newEngine()}
	trips, calls := c.Count(t, func(t *testing.T) {
		var wait sync.WaitGroup
		responded := make(chan struct{})
		wait.Go(func() {
			<-responded
			call(t, c, "second")
		})
		wait.Go(func() { call(t, c, "other") })
		wait.Go(func() {
			call(t, c, "first")
			close(responded)
		})
		wait.Wait()
	})
	if trips != 2 || calls != 3 {
		t.Errorf("%d round trips and %d calls, want 2 and 3", trips, calls)
	}
}

// Ensure a call that starts during another call, because it waited for a timer, adds no round trip.
// A call that starts after the response must add one.
func TestRoundTripsOfOverlappingCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		starts []time.Duration
		trips  int
	}{
		"within a call":   {[]time.Duration{0, 300 * time.Microsecond, 999 * time.Microsecond}, 1},
		"at its response": {[]time.Duration{0, time.Millisecond}, 2},
		"two chains":      {[]time.Duration{0, 500 * time.Microsecond, 1200 * time.Microsecond, 1500 * time.Microsecond}, 2},
		"far apart":       {[]time.Duration{0, time.Minute, time.Hour}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &apitest.RoundTripCounter{Transport: newEngine()}
			trips, _ := c.Count(t, func(t *testing.T) {
				var wait sync.WaitGroup
				for _, start := range test.starts {
					wait.Go(func() {
						time.Sleep(start)
						call(t, c, "")
					})
				}
				wait.Wait()
			})
			if trips != test.trips {
				t.Errorf("%d round trips, want %d", trips, test.trips)
			}
		})
	}
}

// Ensure a canceled call returns the context's error. It must be counted only if it was sent.
func TestRoundTripsOfCanceledCalls(t *testing.T) {
	t.Parallel()
	c := &apitest.RoundTripCounter{Transport: newEngine()}
	_, calls := c.Count(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
		defer cancel()
		for range 2 {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			if response, err := c.RoundTrip(r); response != nil || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("response %v and error %v, want only %v", response, err, context.DeadlineExceeded)
			}
		}
	})
	if calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}

// Ensure a call fails if it is made during a count by a goroutine that does not belong to the
// counted function.
func TestRoundTripsOfForeignCalls(t *testing.T) {
	t.Parallel()
	c := &apitest.RoundTripCounter{Transport: newEngine()}
	counting, called := make(chan struct{}), make(chan error)
	go func() {
		<-counting
		_, err := c.RoundTrip(httptest.NewRequest(http.MethodGet, "/", nil))
		called <- err
	}()
	trips, calls := c.Count(t, func(t *testing.T) {
		close(counting)
		if err := <-called; err == nil {
			t.Error("the call of another goroutine succeeds")
		}
		call(t, c, "")
	})
	if trips != 1 || calls != 1 {
		t.Errorf("%d round trips and %d calls, want 1 and 1", trips, calls)
	}
}
