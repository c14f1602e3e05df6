package apitest

import (
	"net/http"
	"sync"
	"time"
)

// quiet is the time without a new call after which a wave is released. It must be longer than the program's work between a
// response and the next call.
const quiet = 40 * time.Millisecond

// Waves is a transport that counts sequential round trips to the table. It delays calls until no call is in flight and no new
// call has arrived for a short time, and then sends all of them as one wave. Parallel calls are in one wave, so the number of
// waves is the number of round trips that a caller waits for. The zero value is ready for NewOver.
type Waves struct {
	Transport http.RoundTripper // nil: the package's Transport

	mu       sync.Mutex
	held     []chan struct{}
	inFlight int
	arrivals int // number of calls and responses so far
	waves    int
	calls    int
}

// RoundTrip implements http.RoundTripper.
func (w *Waves) RoundTrip(r *http.Request) (*http.Response, error) {
	release := make(chan struct{})
	w.mu.Lock()
	w.calls++
	w.held = append(w.held, release)
	w.stir()
	w.mu.Unlock()
	<-release // also for a cancelled call: the transport returns its error
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.inFlight--
		w.stir()
	}()
	if w.Transport == nil {
		return Transport.RoundTrip(r)
	}
	return w.Transport.RoundTrip(r)
}

// stir starts a new quiet time and cancels the one before.
func (w *Waves) stir() {
	w.arrivals++
	seen := w.arrivals
	time.AfterFunc(quiet, func() { w.release(seen) })
}

func (w *Waves) release(seen int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if seen != w.arrivals || w.inFlight > 0 || len(w.held) == 0 {
		return
	}
	w.waves++
	w.inFlight = len(w.held)
	for _, release := range w.held {
		close(release)
	}
	w.held = nil
}

// Count returns the number of waves.
func (w *Waves) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waves
}

// Calls returns the number of calls.
func (w *Waves) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

// Reset sets both counts to zero.
func (w *Waves) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waves, w.calls = 0, 0
}
