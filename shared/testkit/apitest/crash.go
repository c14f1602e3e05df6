package apitest

import (
	"io"
	"net/http"
	"strings"
	"sync"
)

// CrashingTransport is a transport to the engine that simulates a process that crashes after a
// number of calls: all later calls fail. Before CrashAfter is called, no calls fail.
type CrashingTransport struct {
	mu                sync.Mutex
	armed             bool
	callsLeft         int // calls left before the crash
	crashesDuringCall bool
	crashed           bool
}

// CrashAfter starts a new simulated process, which crashes after a number of calls. If during is
// true, it crashes during the next call: that call is executed, but its response is lost.
func (c *CrashingTransport) CrashAfter(calls int, during bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.callsLeft, c.crashesDuringCall, c.crashed = true, calls, during, false
}

// StopCrashing starts a new simulated process that does not crash.
func (c *CrashingTransport) StopCrashing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.crashed = false, false
}

// Crashed reports whether a call has failed since the last call of CrashAfter.
func (c *CrashingTransport) Crashed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crashed
}

// RoundTrip implements http.RoundTripper.
func (c *CrashingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.callsLeft--
	failed := c.armed && c.callsLeft < 0
	sent := !failed || c.callsLeft == -1 && c.crashesDuringCall
	c.crashed = c.crashed || failed
	c.mu.Unlock()
	if sent {
		out, err := Transport.RoundTrip(r)
		if err != nil || !failed {
			return out, err
		}
		_, _ = io.Copy(io.Discard, out.Body) // read to the end, so that the call completes
		_ = out.Body.Close()                 // the response is lost anyway
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Request: r, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"the process has died"}`)),
	}, nil
}
