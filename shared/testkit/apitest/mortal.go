package apitest

import (
	"io"
	"net/http"
	"strings"
	"sync"
)

// Mortal is a transport to the engine that simulates a process that crashes after a number of
// calls: all later calls fail. It never crashes until Set is called.
type Mortal struct {
	mu     sync.Mutex
	mortal bool
	calls  int // calls left before the crash
	during bool
	dead   bool
}

// Set starts another simulated process, which crashes after a number of calls. If during is true,
// one more call is executed, but its response is lost.
func (m *Mortal) Set(calls int, during bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mortal, m.calls, m.during, m.dead = true, calls, during, false
}

// Heal starts a simulated process that does not crash.
func (m *Mortal) Heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mortal, m.dead = false, false
}

// Died reports whether a call has failed since Set.
func (m *Mortal) Died() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// RoundTrip implements http.RoundTripper.
func (m *Mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	m.calls--
	fails := m.mortal && m.calls < 0
	sent := !fails || m.calls == -1 && m.during
	m.dead = m.dead || fails
	m.mu.Unlock()
	if sent {
		out, err := Transport.RoundTrip(r)
		if err != nil || !fails {
			return out, err
		}
		_, _ = io.Copy(io.Discard, out.Body) // to the end, so that the call completes
		_ = out.Body.Close()                 // the response is lost anyway
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Request: r, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(`{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"the process has died"}`)),
	}, nil
}
