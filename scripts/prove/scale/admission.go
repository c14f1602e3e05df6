package scale

import (
	"time"

	"growthworkspace/scripts/prove/timeline"
	"growthworkspace/shared/auth"
)

// The limits that apply when a function admits a request. They are the same as in
// shared/keys/admit.go and shared/table/retry.go.
const (
	admissionAttempts = 12
	throttledAttempts = 8
	throttlePauseMax  = 200 * time.Millisecond
)

// KeyLoad describes requests that all use one key. They arrive at random times.
type KeyLoad struct {
	Quota     auth.Quota // per minute
	RPS       float64    // requests per second
	Processes int        // function instances; each remembers the key's bucket as it last saw it
	Length    time.Duration
}

// KeyOutcome is the outcome of the requests.
type KeyOutcome struct {
	AdmittedPerS, RefusedPerS, UnavailablePerS float64 // 200, 429 and 503
	UnitsPerS                                  float64 // write units of the key's item
	Delay                                      timeline.Durations
}

// keySimulation simulates one key. It assumes the best case: the key's item has a partition to
// itself.
type keySimulation struct {
	*timeline.Timeline
	load          KeyLoad
	tat           int64 // the TAT of the stored bucket
	writeCapacity capacity
	known         []int64 // by process: the stored TAT that the process last saw
	delays        []time.Duration
	written       int

	admitted, refused, unavailable int
}

// SimulateKey simulates the admission of requests with one key. It calls [auth.Quota.Charge], as
// the service does. A table call takes roundTrip on average.
func SimulateKey(load KeyLoad, seed uint64) KeyOutcome {
	s := &keySimulation{Timeline: timeline.New(seed), load: load, writeCapacity: newCapacity(), known: make([]int64, load.Processes)}
	for at := 0.0; at < load.Length.Seconds(); at += s.Random.ExpFloat64() / load.RPS {
		begin := time.Duration(at * float64(time.Second))
		s.After(begin, func() { s.attempt(s.Random.IntN(load.Processes), begin, 1) })
	}
	s.Run()
	perS := func(n int) float64 { return float64(n) / load.Length.Seconds() }
	return KeyOutcome{perS(s.admitted), perS(s.refused), perS(s.unavailable), perS(s.written), timeline.Summarise(s.delays)}
}

// epoch is the time at which a simulation begins. It is not zero, because a TAT of zero means that
// a bucket is unused.
var epoch = time.Unix(1_786_440_600, 0)

// attempt tries to admit a request. If the bucket has room according to the TAT that the process
// last saw, attempt charges the bucket. Otherwise, it reads the key to confirm that the bucket is
// empty. n is the number of the attempt.
func (s *keySimulation) attempt(process int, begin time.Duration, n int) {
	charge, room := s.load.Quota.Charge(s.known[process], epoch.Add(s.Now()))
	if room {
		s.send(charge, 1, func(admitted, sent bool, tat int64) { s.settle(process, begin, n, charge, admitted, sent, tat) })
		return
	}
	s.After(s.Jitter(roundTrip), func() {
		s.known[process] = s.tat
		if _, room := s.load.Quota.Charge(s.tat, epoch.Add(s.Now())); room {
			s.attempt(process, begin, n)
		} else {
			s.refused++
		}
	})
}

// send sends the conditional write for a charge. It repeats a throttled write, unchanged, after a
// pause. n is the number of the attempt. send passes the result to done: sent is false if every
// attempt was throttled. Otherwise, tat is the bucket's TAT after the write.
func (s *keySimulation) send(charge auth.Charge, n int, done func(admitted, sent bool, tat int64)) {
	half := s.Jitter(roundTrip / 2)
	s.After(half, func() {
		if s.writeCapacity.take(s.Now(), 1) {
			s.written++ // a write whose condition fails also costs a unit
			ok := s.tat > charge.MinTAT && s.tat <= charge.MaxTAT
			switch {
			case ok && charge.Start != 0:
				s.tat = charge.Start
			case ok:
				s.tat += charge.Step
			}
			tat := s.tat
			s.After(half, func() { done(ok, true, tat) })
			return
		}
		if n == throttledAttempts {
			s.After(half, func() { done(false, false, 0) })
			return
		}
		s.After(half+throttlePauseMax/2+time.Duration(s.Random.Int64N(int64(throttlePauseMax/2))), func() { s.send(charge, n+1, done) })
	})
}

// settle counts the request as admitted, refused or unavailable, or makes another attempt with the
// TAT that the failed write returned.
func (s *keySimulation) settle(process int, begin time.Duration, n int, charge auth.Charge, admitted, sent bool, tat int64) {
	s.known[process] = max(s.known[process], tat)
	switch {
	case admitted:
		s.admitted++
		s.delays = append(s.delays, s.Now()-begin)
	case sent && charge.Empty(tat):
		s.refused++
	case !sent || n == admissionAttempts:
		s.unavailable++
	default:
		s.attempt(process, begin, n+1)
	}
}
