package apitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// RoundTripCounter is a transport that counts round trips. Their number is the length of the
// longest chain of calls in which each call was made after the response to the previous call. The
// zero value can be passed to NewWithTransport. Only calls by functions that Count runs are
// counted.
type RoundTripCounter struct {
	Transport http.RoundTripper // nil means the package's Transport

	mu    sync.Mutex
	count *roundTrips // nil while not counting
}

// Count calls f, waits until all of its goroutines have ended, and returns the numbers of round
// trips and calls that they made. It does not measure real time, so other load on the machine does
// not affect the result.
//
// f runs in a bubble of package synctest, and each call takes callLatency on the bubble's clock.
// The clock stands still until all goroutines of f are waiting for a response, so parallel calls
// start at the same time, however late a goroutine runs. A call that needs the response to another
// call starts later than that call.
//
// f must use the t that it is passed. None of its goroutines may block in sync.Mutex.Lock until a
// call completes, because synctest does not detect such a wait, and the test would hang.
func (c *RoundTripCounter) Count(t *testing.T, f func(t *testing.T)) (trips, calls int) {
	t.Helper()
	n := &roundTrips{outsideCalls: make(chan outsideCall)}
	stop := make(chan struct{})
	go n.runOutsideCalls(stop)
	defer close(stop)
	defer c.set(nil)
	synctest.Test(t, func(t *testing.T) {
		c.set(n)
		f(t)
	})
	return n.trips, n.calls
}

func (c *RoundTripCounter) set(n *roundTrips) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count = n
}

// RoundTrip implements http.RoundTripper.
func (c *RoundTripCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	n := c.count
	c.mu.Unlock()
	transport := c.Transport
	if transport == nil {
		transport = Transport
	}
	if n == nil {
		return transport.RoundTrip(r)
	}
	return n.roundTrip(transport, r)
}

// synctestYear is the year in which the clock of each bubble starts.
const synctestYear = 2000

// callLatency is how long a call takes on the bubble's clock.
const callLatency = time.Millisecond

// roundTrips is the state of one count.
type roundTrips struct {
	outsideCalls chan outsideCall

	mu      sync.Mutex
	calls   int
	trips   int
	arrival time.Time // when the first response of the latest round trip arrives
}

// roundTrip sends a call without advancing the bubble's clock, and then delays the response.
func (t *roundTrips) roundTrip(transport http.RoundTripper, r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if err := t.countCall(time.Now()); err != nil {
		return nil, err
	}
	response, err := t.sendOutside(transport, r)
	select {
	case <-time.After(callLatency):
		return response, err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// countCall counts a call. A call belongs to the next round trip if the first response of the
// latest round trip has already arrived. No other arrival time is needed, because all calls take
// the same time.
func (t *roundTrips) countCall(now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.UTC().Year() != synctestYear {
		return errors.New("a call during Count by a goroutine that its function did not start")
	}
	if t.calls++; t.trips == 0 || !now.Before(t.arrival) {
		t.trips++
		t.arrival = now.Add(callLatency)
	}
	return nil
}

// sendOutside sends a call from outside the bubble, because the transport's connections belong to
// goroutines outside the bubble. The bubble's clock stands still until the response arrives.
func (t *roundTrips) sendOutside(transport http.RoundTripper, r *http.Request) (response *http.Response, err error) {
	request, err := copyRequest(r)
	if err != nil {
		return nil, err
	}
	e := <-t.outsideCalls
	e.work <- func() { response, err = bufferBody(transport.RoundTrip(request)) }
	<-e.done
	if err != nil {
		return nil, err
	}
	response.Request = r
	return response, nil
}

// copyRequest returns a copy of r without its context and its other channels, which belong to the
// bubble.
func copyRequest(r *http.Request) (*http.Request, error) {
	var body io.Reader
	if r.Body != nil {
		content, err := io.ReadAll(r.Body)
		if err = errors.Join(err, r.Body.Close()); err != nil {
			return nil, fmt.Errorf("read a request: %w", err)
		}
		body = bytes.NewReader(content)
	}
	out, err := http.NewRequestWithContext(context.Background(), r.Method, r.URL.String(), body)
	if err != nil {
		return nil, err
	}
	out.Host, out.Header = r.Host, r.Header.Clone()
	return out, nil
}

func bufferBody(response *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("read a response: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// outsideCall passes a function to a goroutine outside the bubble. Its channels are made outside
// the bubble, because such a goroutine must not use a bubble's channels.
type outsideCall struct {
	work chan func()
	done chan struct{}
}

// runOutsideCalls runs outside calls, each on a separate goroutine, until stop is closed.
func (t *roundTrips) runOutsideCalls(stop <-chan struct{}) {
	for {
		e := outsideCall{make(chan func()), make(chan struct{})}
		select {
		case t.outsideCalls <- e:
			go func() {
				defer close(e.done)
				(<-e.work)()
			}()
		case <-stop:
			return
		}
	}
}
