// Package timeline simulates time. Events run one after the other in order of their times. It uses
// no goroutines and no real clock, so simulations with the same seed have the same outcome.
package timeline

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Timeline holds the events that are still to come.
type Timeline struct {
	Random *rand.Rand

	now    time.Duration
	serial int // counts the events, so that events at the same time keep their order
	events eventHeap
}

// New returns a timeline without events that begins at zero.
func New(seed uint64) *Timeline {
	return &Timeline{Random: rand.New(rand.NewPCG(seed, seed))}
}

// Now returns the time of the current event.
func (t *Timeline) Now() time.Duration { return t.now }

// After schedules a call to the function "do" once d has elapsed.
func (t *Timeline) After(d time.Duration, do func()) {
	t.serial++
	heap.Push(&t.events, event{t.now + d, t.serial, do})
}

// Run runs all events, including those that events add, until none are left.
func (t *Timeline) Run() {
	for len(t.events) > 0 {
		e := heap.Pop(&t.events).(event)
		t.now = e.at
		e.do()
	}
}

// Jitter returns a random duration between half of d and one and a half times d.
func (t *Timeline) Jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(t.Random.Int64N(int64(d)))
}

type event struct {
	at     time.Duration
	serial int
	do     func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].serial < h[j].serial
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(e any)   { *h = append(*h, e.(event)) }
func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	*h = (*h)[:last]
	return e
}

// Durations contains the median and the 99th percentile of a set of durations.
type Durations struct{ P50, P99 time.Duration }

// String formats both percentiles, rounded to 10 ms.
func (d Durations) String() string {
	return fmt.Sprintf("p50 %v, p99 %v", d.P50.Round(10*time.Millisecond), d.P99.Round(10*time.Millisecond))
}

// Summarise returns the median and the 99th percentile of the given durations, or zeros if there
// are none. It sorts the slice in place.
func Summarise(all []time.Duration) (d Durations) {
	if len(all) == 0 {
		return d
	}
	slices.Sort(all)
	at := func(share float64) time.Duration { return all[min(len(all)-1, int(share*float64(len(all))))] }
	return Durations{at(0.5), at(0.99)}
}
