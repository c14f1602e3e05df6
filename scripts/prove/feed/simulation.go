package feed

import (
	"fmt"
	"time"

	"growthworkspace/scripts/prove/timeline"
)

// What the simulation assumes about AWS. The first three values are documented. The others are
// round numbers at the slow end of what DynamoDB and Lambda need within a region.
const (
	pollInterval   = 250 * time.Millisecond // Lambda reads each shard four times a second
	recordsPerPoll = 1000
	batchWindow    = time.Second
	batchMax       = 100

	streamDelay    = 200 * time.Millisecond // the time from a write until it is in the stream
	invocationTime = 15 * time.Millisecond  // the duration of an invocation without its calls
	readTime       = 5 * time.Millisecond
	writeTime      = 15 * time.Millisecond

	// The pauses after a lost race, as in shared/change/append.go.
	firstPause   = 5 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// Sizes are the sizes of the items of a feed, as measured, in bytes.
type Sizes struct {
	Counter      int // the counter, with one shard
	CounterShard int // each further shard in the counter
	Packet       int // a packet without changes
	Change       int // each change in a packet
}

// Load describes the simulated load: a loud company, which writes a lot, and a quiet one, which
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
	Loud, Quiet                   timeline.Durations // from a write until a reader sees its change
	Recorded                      float64            // the number of recorded changes
}

func (o Outcome) String() string {
	return fmt.Sprintf("%.0f write and %.0f read units/s, %.1f batches/s, %.1f lost races/s; its own changes %s; another company's %s",
		o.WriteUnitsPerS, o.ReadUnitsPerS, o.BatchesPerS, o.LostRacesPerS, o.Loud, o.Quiet)
}

const (
	loud = iota
	quiet
	companyCount
)

// write is one write to the table.
type write struct {
	at      time.Duration
	company int
}

type simulation struct {
	*timeline.Timeline
	load  Load
	sizes Sizes

	shards []*shard
	feeds  [companyCount]feedState
	lags   [companyCount][]time.Duration

	writeUnits, readUnits, batches, lostRaces int
}

// feedState is the counter of a company's feed.
type feedState struct {
	version int  // counts the packets
	busy    bool // whether a transaction is under way
}

// shard is a shard of the stream, which Lambda reads in batches.
type shard struct {
	waiting    []write // in the table, not read by Lambda yet
	read       []write // read by Lambda, not in a batch yet
	batchStart time.Duration
}

// Simulate simulates a load. Writes of both companies are spread over the shards at random.
func Simulate(load Load, sizes Sizes, seed uint64) Outcome {
	s := &simulation{Timeline: timeline.New(seed), load: load, sizes: sizes}
	for range load.Shards {
		s.shards = append(s.shards, &shard{})
	}
	for company, perS := range [companyCount]int{loud: load.LoudPerS, quiet: load.QuietPerS} {
		for n := range int(load.Length.Seconds() * float64(perS)) {
			at := time.Duration(float64(n) / float64(perS) * float64(time.Second))
			s.After(at+streamDelay, func() {
				target := s.shards[s.Random.IntN(len(s.shards))]
				target.waiting = append(target.waiting, write{at, company})
			})
		}
	}
	for n, h := range s.shards {
		s.After(pollInterval*time.Duration(n)/time.Duration(load.Shards), func() { s.poll(h) })
	}
	s.Run()
	perS := func(n int) float64 { return float64(n) / load.Length.Seconds() }
	return Outcome{
		WriteUnitsPerS: perS(s.writeUnits), ReadUnitsPerS: perS(s.readUnits), BatchesPerS: perS(s.batches), LostRacesPerS: perS(s.lostRaces),
		Loud: timeline.Summarise(s.lags[loud]), Quiet: timeline.Summarise(s.lags[quiet]), Recorded: float64(len(s.lags[loud]) + len(s.lags[quiet])),
	}
}

// poll reads a shard, and invokes the recorder when a batch is full or its window is over.
func (s *simulation) poll(h *shard) {
	n := min(len(h.waiting), recordsPerPoll)
	if len(h.read) == 0 {
		h.batchStart = s.Now()
	}
	h.read, h.waiting = append(h.read, h.waiting[:n]...), h.waiting[n:]
	s.dispatch(h)
}

func (s *simulation) dispatch(h *shard) {
	switch {
	case len(h.read) >= batchMax, len(h.read) > 0 && s.Now()-h.batchStart >= batchWindow:
		batch := h.read[:min(len(h.read), batchMax)]
		h.read = h.read[len(batch):]
		h.batchStart = s.Now()
		s.batches++
		s.After(s.Jitter(invocationTime), func() { s.record(batch, func() { s.dispatch(h) }) })
	case s.Now() < s.load.Length+time.Minute || len(h.waiting)+len(h.read) > 0:
		s.After(pollInterval, func() { s.poll(h) })
	}
}

// record appends the changes of a batch to the feeds of its companies, in parallel.
func (s *simulation) record(batch []write, done func()) {
	var byCompany [companyCount][]write
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

// attempt reads the counter, and appends a packet if the counter has not changed since.
func (s *simulation) attempt(changes []write, n int, done func()) {
	feed := &s.feeds[changes[0].company]
	s.readUnits++
	s.After(s.Jitter(readTime), func() {
		version := feed.version
		lost := feed.busy // DynamoDB cancels the later of two concurrent transactions on an item
		feed.busy = true
		s.After(s.Jitter(writeTime), func() {
			// A transaction costs twice the units, even if it is cancelled.
			s.writeUnits += 2 * (unitsOf(s.sizes.Counter+(s.load.Shards-1)*s.sizes.CounterShard) + unitsOf(s.sizes.Packet+len(changes)*s.sizes.Change))
			if !lost {
				feed.busy = false
			}
			if lost || feed.version != version {
				s.lostRaces++
				s.After(time.Duration(s.Random.Int64N(int64(min(firstPause<<min(n, 10), longestPause)))), func() { s.attempt(changes, n+1, done) })
				return
			}
			feed.version++
			for _, w := range changes {
				s.lags[w.company] = append(s.lags[w.company], s.Now()-w.at)
			}
			done()
		})
	})
}

// unitsOf returns the write units that an item of this size costs.
func unitsOf(bytes int) int { return (bytes + 1023) / 1024 }
