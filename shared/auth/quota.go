package auth

import (
	"fmt"
	"math"
	"time"
)

// A quota is a token bucket for each key and class, stored as one number: the theoretical arrival
// time (TAT) of the generic cell rate algorithm, in nanoseconds since 1970. This file contains only
// the arithmetic. Package keys stores the result with one conditional write. See
// scripts/docs/explanation/one-round-trip.md.

// Class is a class of operations, such as read. A key has one bucket for each class, and every
// operation is charged to the bucket of its class.
type Class string

// The classes.
const (
	ClassRead    Class = "read"    // GET, and the publish preview
	ClassWrite   Class = "write"   // every other operation that changes a record
	ClassPublish Class = "publish" // publishing a board
	ClassPush    Class = "push"    // pushes, and writes of audits
)

// QuotaWindow is the time in which an empty bucket becomes full.
const QuotaWindow = 60 * time.Second

// futureTATMax is how far in the future the theoretical arrival time (TAT) of a bucket may be. A
// charge never sets a TAT more than QuotaWindow ahead of the function's clock, and no function's
// clock is wrong by as much as a minute. A later TAT is corrupt, and must not block the key until
// that time.
const futureTATMax = 2 * QuotaWindow

// A bucket that admits more than fastQuota requests a minute has a lag: it is full only once its
// theoretical arrival time (TAT) is at least fastQuotaLag in the past.
const (
	fastQuota    = 600
	fastQuotaLag = 250 * time.Millisecond
)

// Quota is the size of a bucket, which is also the number of requests it admits per QuotaWindow.
// Zero freezes the class.
type Quota int64

// DefaultQuota returns the quota of a class for keys that do not have their own.
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

// Interval returns the time in which a bucket refills by one request. It is rounded up, so the
// quota is never exceeded. It panics for a quota of zero.
func (q Quota) Interval() time.Duration {
	return (QuotaWindow + time.Duration(q) - 1) / time.Duration(q)
}

// lag returns how far in the past the theoretical arrival time (TAT) of a full bucket is. If a
// bucket is used about as fast as it refills, its TAT is always close to the present. Without the
// lag, a call would often guess wrongly whether the bucket is full, because the TAT crosses the
// present while the call is in flight. The lag shortens a burst by up to lag/Interval requests,
// which is 0.4 % of the quota.
func (q Quota) lag() time.Duration {
	if q > fastQuota {
		return fastQuotaLag
	}
	return 0
}

// Charge is an attempt to take one request from a bucket. It writes the bucket's theoretical
// arrival time (TAT) on the condition that MinTAT < TAT <= MaxTAT. The write sets the TAT to Start,
// or adds Step to it if Start is zero. The TAT of an unused bucket is zero.
//
// In any period t, at most quota + t/Interval charges of a bucket succeed. This limit holds because
// the first charge finds a TAT later than now - lag, each charge moves the TAT by at least
// Interval, and the last charge leaves it at most quota * Interval - lag in the future.
type Charge struct {
	MinTAT, MaxTAT int64
	Start, Step    int64

	newestTAT, impossibleTAT int64 // the bucket is empty if newestTAT < stored TAT <= impossibleTAT
}

// Charge returns the charge for a bucket. tat is the theoretical arrival time that the bucket had
// when it was last seen. The write fails without effect if the bucket has changed so much since
// then that the charge's condition no longer holds. ok is false if the bucket is empty.
func (q Quota) Charge(tat int64, now time.Time) (c Charge, ok bool) {
	if q <= 0 {
		return Charge{}, false
	}
	interval, full := int64(q.Interval()), now.UnixNano()-int64(q.lag())
	c.newestTAT, c.impossibleTAT = full+int64(q-1)*interval, now.UnixNano()+int64(futureTATMax)
	switch {
	case tat <= full:
		c.MinTAT, c.MaxTAT, c.Start = math.MinInt64, full, now.UnixNano()+interval
	case tat > c.impossibleTAT:
		c.MinTAT, c.MaxTAT, c.Start = c.impossibleTAT, math.MaxInt64, c.newestTAT+interval // corrupt: charge as if this request were the last one in the bucket
	default:
		c.MinTAT, c.MaxTAT, c.Step = full, c.newestTAT, interval
	}
	return c, !c.Empty(tat)
}

// Empty reports whether a bucket with the theoretical arrival time tat has no request left for this
// charge. If a charge fails and finds such a time, the request is refused, because the bucket was
// empty at the time of the write.
func (c Charge) Empty(tat int64) bool { return c.newestTAT < tat && tat <= c.impossibleTAT }

// QuotaState is the state of a bucket, as the RateLimit headers report it. The zero value means
// that the state is unknown.
type QuotaState struct {
	Quota      Quota
	Frozen     bool  // the quota is zero
	Remaining  int64 // number of requests that would be admitted now
	Reset      int64 // seconds until the bucket is full
	RetryAfter int64 // seconds until a request is admitted; 0 if one would be admitted now, or if the class is frozen
}

// StateAt returns the state of a bucket whose theoretical arrival time is tat.
func (q Quota) StateAt(tat int64, now time.Time) QuotaState {
	c, room := q.Charge(tat, now)
	switch full := now.UnixNano() - int64(q.lag()); {
	case q <= 0:
		return QuotaState{Frozen: true}
	case !room:
		return QuotaState{Quota: q, Reset: ceilSeconds(tat - full), RetryAfter: ceilSeconds(tat - c.newestTAT)}
	case tat <= full:
		return QuotaState{Quota: q, Remaining: (c.newestTAT-now.UnixNano())/int64(q.Interval()) + 1}
	default:
		tat = min(tat, c.newestTAT) // treat a corrupt arrival time as one that still allows one request
		return QuotaState{Quota: q, Remaining: min(int64(q), (c.newestTAT-tat)/int64(q.Interval())+1), Reset: ceilSeconds(tat - full)}
	}
}

// PolicyHeader returns the quota as the value of a RateLimit-Policy header: `"read";q=600;w=60`,
// which is 600 requests in 60 seconds. See draft-ietf-httpapi-ratelimit-headers-10.
func (q Quota) PolicyHeader(c Class) string {
	return fmt.Sprintf("%q;q=%d;w=%d", c, q, QuotaWindow/time.Second)
}

// Header returns the state as the value of a RateLimit header. For example, `"read";r=599;t=1`
// means that 599 requests are left, and the quota is full again in one second.
func (s QuotaState) Header(c Class) string {
	return fmt.Sprintf("%q;r=%d;t=%d", c, s.Remaining, s.Reset)
}

func ceilSeconds(ns int64) int64 {
	if ns <= 0 {
		return 0
	}
	return (ns + int64(time.Second) - 1) / int64(time.Second)
}
