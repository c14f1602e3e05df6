// Package ratelimit is the arithmetic of the quotas: a token bucket per key and class, kept as one number, the
// "theoretical arrival time" of the generic cell rate algorithm. It has no clock and no store; package keys applies it
// in one conditional write. decisions.md §9.
package ratelimit

import (
	"fmt"
	"strconv"
	"time"
)

// Class names a bucket. Every operation counts in exactly one.
type Class string

// The classes of decisions.md §9.
const (
	Read    Class = "read"    // GET, and the publish preview
	Write   Class = "write"   // everything else that changes a record
	Publish Class = "publish" // publishing a board
	Push    Class = "push"    // pushing metric points
)

// Window is the time in which an empty bucket fills.
const Window = 60 * time.Second

// frozenRetry is what a frozen key (quota 0) is told to wait: there is no right answer, and a minute is polite.
const frozenRetry = Window

// Quota is the size of a bucket, which is also how many requests it admits per Window. Zero admits none.
type Quota int64

// Default returns the quota of a class for keys to which the operator has given no other.
func Default(c Class) Quota {
	switch c {
	case Read:
		return 600
	case Write:
		return 120
	case Publish:
		return 10
	case Push:
		return 60
	}
	panic("ratelimit: no class " + string(c))
}

// Classes returns every class.
func Classes() []Class { return []Class{Read, Write, Publish, Push} }

// Interval is the time one request costs, rounded up so that the quota is never exceeded. Panics for a frozen quota.
func (q Quota) Interval() time.Duration {
	return (Window + time.Duration(q) - 1) / time.Duration(q)
}

// Latest returns the greatest arrival time, in nanoseconds since 1970, that a bucket may stand at when a request is
// admitted at now. A frozen quota has none: ok is false.
func (q Quota) Latest(now time.Time) (tat int64, ok bool) {
	if q <= 0 {
		return 0, false
	}
	return now.UnixNano() + int64(q-1)*int64(q.Interval()), true
}

// State is what the caller reads about a bucket in the RateLimit headers.
type State struct {
	Quota      Quota
	Remaining  int64 // requests that would be admitted now
	Reset      int64 // seconds until the bucket is full
	RetryAfter int64 // seconds until a request is admitted; 0 when one is admitted now
}

// At describes a bucket that stands at the arrival time tat.
func (q Quota) At(tat int64, now time.Time) State {
	s := State{Quota: q}
	latest, ok := q.Latest(now)
	if !ok {
		s.Reset = int64(frozenRetry / time.Second)
		s.RetryAfter = s.Reset
		return s
	}
	s.Reset = ceilSeconds(tat - now.UnixNano())
	if tat > latest {
		s.RetryAfter = max(1, ceilSeconds(tat-latest))
		return s
	}
	s.Remaining = min(int64(q), (latest-max(tat, now.UnixNano()))/int64(q.Interval())+1)
	return s
}

// Policy spells the quota as the RateLimit-Policy header does: `600;w=60`.
func (q Quota) Policy() string {
	return strconv.FormatInt(int64(q), 10) + ";w=" + strconv.FormatInt(int64(Window/time.Second), 10)
}

// ExceededError says that a bucket is empty. The State tells for how long.
type ExceededError struct {
	Class Class
	State State
}

func (e *ExceededError) Error() string {
	return fmt.Sprintf("%s quota of %d per %s is used up", e.Class, e.State.Quota, Window)
}

func ceilSeconds(ns int64) int64 {
	if ns <= 0 {
		return 0
	}
	return (ns + int64(time.Second) - 1) / int64(time.Second)
}
