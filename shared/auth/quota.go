package auth

import (
	"strconv"
	"time"
)

// A quota is a token bucket for each key and class, stored as one number: the theoretical arrival time (TAT) of the generic cell
// rate algorithm. This file has the arithmetic. Package keys applies it in one conditional write.

// Class names a bucket. Every operation counts in exactly one bucket.
type Class string

// The classes.
const (
	ClassRead    Class = "read"    // GET, and the publish preview
	ClassWrite   Class = "write"   // every other operation that changes a record
	ClassPublish Class = "publish" // publishing a board
	ClassPush    Class = "push"    // pushing metric points
)

// QuotaWindow is the time in which an empty bucket becomes full.
const QuotaWindow = 60 * time.Second

// frozenRetry is the Retry-After of a frozen class (quota 0).
const frozenRetry = QuotaWindow

// Quota is the size of a bucket, which is also how many requests it admits per QuotaWindow. Zero admits none.
type Quota int64

// DefaultQuota returns the quota of a class for keys without a quota of their own.
func DefaultQuota(c Class) Quota {
	switch c {
	case ClassRead:
		return 600
	case ClassWrite:
		return 120
	case ClassPublish:
		return 10
	case ClassPush:
		return 60
	}
	panic("auth: unknown class " + string(c))
}

// Classes returns every class.
func Classes() []Class { return []Class{ClassRead, ClassWrite, ClassPublish, ClassPush} }

// Interval returns the time in which a bucket refills by one request, rounded up so that the quota is never exceeded. It panics
// for a quota of zero.
func (q Quota) Interval() time.Duration {
	return (QuotaWindow + time.Duration(q) - 1) / time.Duration(q)
}

// Latest returns the greatest TAT, in nanoseconds since 1970, at which a bucket still admits a request at the time now.
// ok is false for a quota of zero, which admits none.
func (q Quota) Latest(now time.Time) (tat int64, ok bool) {
	if q <= 0 {
		return 0, false
	}
	return now.UnixNano() + int64(q-1)*int64(q.Interval()), true
}

// QuotaState is the state of a bucket, as the RateLimit headers report it. Its zero value means that it is unknown.
type QuotaState struct {
	Quota      Quota
	Remaining  int64 // requests that would be admitted now
	Reset      int64 // seconds until the bucket is full
	RetryAfter int64 // seconds until a request is admitted; 0 when one is admitted now
}

// At returns the state of a bucket whose TAT is tat.
func (q Quota) At(tat int64, now time.Time) QuotaState {
	s := QuotaState{Quota: q}
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

// Policy returns the quota in the form of the RateLimit-Policy header: `600;w=60`.
func (q Quota) Policy() string {
	return strconv.FormatInt(int64(q), 10) + ";w=" + strconv.FormatInt(int64(QuotaWindow/time.Second), 10)
}

func ceilSeconds(ns int64) int64 {
	if ns <= 0 {
		return 0
	}
	return (ns + int64(time.Second) - 1) / int64(time.Second)
}
