package auth_test

import (
	"testing"
	"time"

	"growthworkspace/shared/auth"
)

var start = time.Unix(1_786_440_600, 0)

// admit charges a bucket like the conditional write does, and reports whether the request is
// admitted. tat is the bucket's theoretical arrival time.
func admit(q auth.Quota, tat *int64, now time.Time) bool {
	c, ok := q.Charge(*tat, now)
	return ok && apply(c, tat)
}

// apply simulates the conditional write of a charge.
func apply(c auth.Charge, tat *int64) bool {
	switch {
	case *tat <= c.MinTAT || *tat > c.MaxTAT:
		return false
	case c.Start != 0:
		*tat = c.Start
	default:
		*tat += c.Step
	}
	return true
}

// Ensure the number of requests that a bucket admits is exactly its size in a burst, and exactly
// its size plus a minute's refill in the first minute.
func TestAdmitsExactlyBucketAndRefill(t *testing.T) {
	for _, q := range []auth.Quota{1, 7, 10, 60, 120, 600} {
		var tat, admitted int64
		for range 2 * q {
			if admit(q, &tat, start) {
				admitted++
			}
		}
		if admitted != int64(q) {
			t.Errorf("quota %d admitted %d at once", q, admitted)
		}
		for ms := range 60_000 {
			if admit(q, &tat, start.Add(time.Duration(ms)*time.Millisecond)) {
				admitted++
			}
		}
		if admitted > 2*int64(q) || admitted < 2*int64(q)-2 {
			t.Errorf("quota %d admitted %d in a minute after a burst of its size", q, admitted)
		}
	}
}

// Ensure that a request is admitted after RetryAfter and not a second earlier, and that Remaining
// is the number of requests that are admitted now.
func TestRetryAfterAndRemainingAreTrue(t *testing.T) {
	for _, q := range []auth.Quota{1, 7, 600, 601, 6000} {
		var tat int64
		size := q.StateAt(0, start).Remaining
		if size > int64(q) || float64(size) < 0.99*float64(q) {
			t.Errorf("quota %d: a full bucket has %d", q, size)
		}
		for range size {
			state := q.StateAt(tat, start)
			if state.RetryAfter != 0 || !admit(q, &tat, start) {
				t.Fatalf("quota %d: rejected early: %+v", q, state)
			}
			if got := q.StateAt(tat, start).Remaining; got != state.Remaining-1 {
				t.Fatalf("quota %d: remaining went from %d to %d", q, state.Remaining, got)
			}
		}
		state := q.StateAt(tat, start)
		if state.Remaining != 0 || state.RetryAfter < 1 {
			t.Errorf("quota %d: %+v", q, state)
		}
		early := tat
		if admit(q, &early, start.Add(time.Duration(state.RetryAfter-1)*time.Second)) {
			t.Errorf("quota %d: a second less than %d s would do", q, state.RetryAfter)
		}
		if !admit(q, &tat, start.Add(time.Duration(state.RetryAfter)*time.Second)) {
			t.Errorf("quota %d: rejected after waiting %d s", q, state.RetryAfter)
		}
		checkReset(t, q, tat, size)
		var used int64
		admit(q, &used, start)
		admit(q, &used, start)
		checkReset(t, q, used, size)
	}
}

// checkReset checks that a bucket is full after Reset and not a second earlier.
func checkReset(t *testing.T, q auth.Quota, tat, size int64) {
	t.Helper()
	reset := q.StateAt(tat, start).Reset
	if full := q.StateAt(tat, start.Add(time.Duration(reset)*time.Second)); reset < 1 || full.Remaining != size || full.Reset != 0 {
		t.Errorf("quota %d: not full after %d s: %+v", q, reset, full)
	}
	if early := q.StateAt(tat, start.Add(time.Duration(reset-1)*time.Second)); early.Reset != 1 {
		t.Errorf("quota %d: %+v a second before Reset", q, early)
	}
}

// Ensure that a quota of 0 admits nothing, and that its state says only that it is frozen.
func TestFrozen(t *testing.T) {
	for _, tat := range []int64{0, start.UnixNano(), start.Add(time.Hour).UnixNano()} {
		if admit(0, &tat, start) {
			t.Error("admitted")
		}
		if s := auth.Quota(0).StateAt(tat, start); s != (auth.QuotaState{Frozen: true}) {
			t.Errorf("state %+v, want only that it is frozen", s)
		}
	}
}

func TestQuotaHeaders(t *testing.T) {
	for _, c := range auth.Classes() {
		if auth.DefaultQuota(c) <= 0 {
			t.Errorf("no default for %s", c)
		}
	}
	if got, want := auth.DefaultQuota(auth.ClassRead).PolicyHeader(auth.ClassRead), `"read";q=600;w=60`; got != want {
		t.Errorf("policy %s, want %s", got, want)
	}
	state := auth.QuotaState{Quota: 10, Remaining: 7, Reset: 18}
	if got, want := state.Header(auth.ClassPublish), `"publish";r=7;t=18`; got != want {
		t.Errorf("state %s, want %s", got, want)
	}
}

// Ensure a quota of up to 600 admits a burst of its full size. A larger quota admits slightly less,
// because of its lag.
func TestOnlyFastQuotasLag(t *testing.T) {
	for q, want := range map[auth.Quota]int64{599: 599, 600: 600, 601: 598} {
		if got := q.StateAt(0, start).Remaining; got != want {
			t.Errorf("quota %d admits %d at once, want %d", q, got, want)
		}
	}
}

// Ensure each refusal has the documented code and names the scope or the class.
func TestRefusals(t *testing.T) {
	for got, want := range map[error]string{
		auth.NewMissingScopeError(auth.PlanWrite):   "unauthorised: the key lacks the scope plan:write",
		auth.NewFrozenError(auth.ClassWrite):        "forbidden: the operator has frozen the write requests of this key; requests of other classes are still served",
		auth.NewQuotaExceededError(auth.ClassWrite): "rate_limited: too many write requests; retry after the seconds in Retry-After",
	} {
		if got.Error() != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
