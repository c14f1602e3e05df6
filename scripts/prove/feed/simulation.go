package feed

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// What the simulation assumes of AWS. The first three values are documented; the others are round
// numbers on the slow side of what DynamoDB and Lambda need within a region.
const (
	pollInterval   = 250 * time.Millisecond // Lambda reads each shard four times a second
	recordsPerPoll = 1000
	batchWindow    = time.Second
	batchMax       = 100

	streamDelay    = 200 * time.Millisecond // until a write is in the stream
	invocationTime = 15 * time.Millisecond  // what an invocation takes beside its calls
	readTime       = 5 * time.Millisecond
	writeTime      = 15 * time.Millisecond

	// The pauses after a lost race, as in shared/change/append.go.
	firstPause   = 5 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// Sizes are the sizes of the items of a feed, in bytes, as measured.
type Sizes struct {
	Counter      int // of the counter, with one shard
	CounterShard int // of each further shard in the counter
	Packet       int // of a packet without changes
	Change       int // of each change in a packet
}

// Load describes what is simulated: a loud company, which writes a lot, and a quiet one, which
// writes little.
type Load struct {
	Shards    int
	LoudPerS  int // writes per second
	QuietPerS int
	Length    time.Duration
}

// Outcome is the result of a simulation.
type Outcome struct {
	WriteUnitsPerS, ReadUnitsPerS float64
	BatchesPerS, LostRacesPerS    float64
	Loud, Quiet                   Lag
	Recorded                      float64 // changes
}

func (o Outcome) String() string {
	return fmt.Sprintf("%.0f write and %.0f read units/s, %.1f batches/s, %.1f lost races/s; its own changes %s; another company's %s",
		o.WriteUnitsPerS, o.ReadUnitsPerS, o.BatchesPerS, o.LostRacesPerS, o.Loud, o.Quiet)
}

// Lag is how long changes take from the write until a reader can see them.
type Lag struct{ P50, P99 time.Duration }

func (l Lag) String() string {
	return fmt.Sprintf("p50 %v, p99 %v", l.P50.Round(10*time.Millisecond), l.P99.Round(10*time.Millisecond))
}

func lagOf(lags []time.Duration) (l Lag) {
	if len(lags) == 0 {
		return l
	}
	slices.Sort(lags)
	at := func(share float64) time.Duration { return lags[min(len(lags)-1, int(share*float64(len(lags))))] }
	return Lag{at(0.5), at(0.99)}
}

const (
	loud = iota
	quiet
	companies
)

// write is one write of the table.
type write struct {
	at      time.Duration
	company int
}

// simulation runs events in the order of their times. It has no goroutines and no clock, so the
// same load has the same outcome.
type simulation struct {
	load   Load
	sizes  Sizes
	random *rand.Rand

	now    time.Duration
	serial int // counts the events, so that those of one time keep their order
	events eventHeap
	shards []*shard
	feeds  [companies]feedState
	lags   [companies][]time.Duration

	writeUnits, readUnits, batches, lostRaces int
}

// feedState is the counter of a company's feed.
type feedState struct {
	version int  // counts the packets
	busy    bool // whether a transaction is under way
}

// shard is a shard of the stream, which Lambda reads in batches.
type shard struct {
	waiting []write // in the table, not read by Lambda yet
	read    []write // read by Lambda, not in a batch yet
	since   time.Duration
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

// Simulate simulates a load. Writes of both companies are spread over the shards at random.
func Simulate(load Load, sizes Sizes, seed uint64) Outcome {
	s := &simulation{load: load, sizes: sizes, random: rand.New(rand.NewPCG(seed, seed))}
	for range load.Shards {
		s.shards = append(s.shards, &shard{})
	}
	for company, perS := range [companies]int{loud: load.LoudPerS, quiet: load.QuietPerS} {
		for n := range int(load.Length.Seconds() * float64(perS)) {
			at := time.Duration(float64(n) / float64(perS) * float64(time.Second))
			s.after(at+streamDelay, func() {
				to := s.shards[s.random.IntN(len(s.shards))]
				to.waiting = append(to.waiting, write{at, company})
			})
		}
	}
	for n, h := range s.shards {
		s.after(pollInterval*time.Duration(n)/time.Duration(load.Shards), func() { s.poll(h) })
	}
	for len(s.events) > 0 {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
	perS := func(n int) float64 { return float64(n) / load.Length.Seconds() }
	return Outcome{
		WriteUnitsPerS: perS(s.writeUnits), ReadUnitsPerS: perS(s.readUnits), BatchesPerS: perS(s.batches), LostRacesPerS: perS(s.lostRaces),
		Loud: lagOf(s.lags[loud]), Quiet: lagOf(s.lags[quiet]), Recorded: float64(len(s.lags[loud]) + len(s.lags[quiet])),
	}
}

func (s *simulation) after(d time.Duration, do func()) {
	s.serial++
	heap.Push(&s.events, event{s.now + d, s.serial, do})
}

// vary returns a random duration between half of d and one and a half times d.
func (s *simulation) vary(d time.Duration) time.Duration {
	return d/2 + time.Duration(s.random.Int64N(int64(d)))
}

// poll reads a shard, and invokes the recorder when a batch is full or its window is over.
func (s *simulation) poll(h *shard) {
	n := min(len(h.waiting), recordsPerPoll)
	if len(h.read) == 0 {
		h.since = s.now
	}
	h.read, h.waiting = append(h.read, h.waiting[:n]...), h.waiting[n:]
	s.next(h)
}

func (s *simulation) next(h *shard) {
	switch {
	case len(h.read) >= batchMax, len(h.read) > 0 && s.now-h.since >= batchWindow:
		batch := h.read[:min(len(h.read), batchMax)]
		h.read = h.read[len(batch):]
		h.since = s.now
		s.batches++
		s.after(s.vary(invocationTime), func() { s.record(batch, func() { s.next(h) }) })
	case s.now < s.load.Length+time.Minute || len(h.waiting)+len(h.read) > 0:
		s.after(pollInterval, func() { s.poll(h) })
	}
}

// record appends the changes of a batch to the feeds of its companies, in parallel.
func (s *simulation) record(batch []write, done func()) {
	var byCompany [companies][]write
	for _, w := range batch {
		byCompany[w.company] = append(byCompany[w.company], w)
	}
	left := 0
	for _, changes := range byCompany {
		if len(changes) == 0 {
			continue
		}
		left++
		s.attempt(changes, 0, func() {
			if left--; left == 0 {
				done()
			}
		})
	}
}

// attempt reads the counter and appends a packet on the condition that the counter has not changed.
func (s *simulation) attempt(changes []write, n int, done func()) {
	feed := &s.feeds[changes[0].company]
	s.readUnits++
	s.after(s.vary(readTime), func() {
		version := feed.version
		lost := feed.busy // DynamoDB cancels the later one of two transactions on an item
		feed.busy = true
		s.after(s.vary(writeTime), func() {
			// A transaction costs twice the units, also when it is cancelled.
			s.writeUnits += 2 * (unitsOf(s.sizes.Counter+(s.load.Shards-1)*s.sizes.CounterShard) + unitsOf(s.sizes.Packet+len(changes)*s.sizes.Change))
			if !lost {
				feed.busy = false
			}
			if lost || feed.version != version {
				s.lostRaces++
				s.after(time.Duration(s.random.Int64N(int64(min(firstPause<<min(n, 10), longestPause)))), func() { s.attempt(changes, n+1, done) })
				return
			}
			feed.version++
			for _, w := range changes {
				s.lags[w.company] = append(s.lags[w.company], s.now-w.at)
			}
			done()
		})
	})
}

// unitsOf returns the write units of an item.
func unitsOf(bytes int) int { return (bytes + 1023) / 1024 }
