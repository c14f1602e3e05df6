package apitest

import (
	"net/http"
	"sync"
	"time"
)

// quiet is how long no new call may arrive before a wave is let go. It must outlast the work between an answer and the
// call that follows from it.
const quiet = 40 * time.Millisecond

// Waves is a transport that measures how many calls to the table go one after the other, whatever runs side by side:
// what a caller waits for, in round trips. It holds every call until none is on its way and no other has come for a
// short while, and then lets all of them go as one wave. The zero value is ready, for NewOver.
type Waves struct {
	Transport http.RoundTripper // nil: the usual one

	mu       sync.Mutex
	held     []chan struct{}
	inFlight int
	arrivals int // of calls and answers, to know whether a quiet time was quiet
	waves    int
	calls    int
}

// RoundTrip is http.RoundTripper.
func (w *Waves) RoundTrip(r *http.Request) (*http.Response, error) {
	release := make(chan struct{})
	w.mu.Lock()
	w.calls++
	w.held = append(w.held, release)
	w.stir()
	w.mu.Unlock()
	<-release // soon, also for a call that was given up: the transport below says so
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

// stir begins a quiet time; those that began before no longer count.
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

// Count returns how many waves there were: round trips one after the other.
func (w *Waves) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waves
}

// Calls returns how many calls there were.
func (w *Waves) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

// Reset begins to count anew.
func (w *Waves) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waves, w.calls = 0, 0
}
