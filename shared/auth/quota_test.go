package auth_test

import (
	"testing"
	"time"

	"growthworkspace/shared/auth"
)

var start = time.Unix(1_786_440_600, 0)

// admit applies the algorithm as package keys does, and reports whether the request is admitted.
func admit(q auth.Quota, tat *int64, now time.Time) bool {
	latest, ok := q.Latest(now)
	if !ok || *tat > latest {
		return false
	}
	*tat = max(*tat, now.UnixNano()) + int64(q.Interval())
	return true
}

// Ensure a bucket admits exactly its size at once, and its size plus the refill in the following minute.
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

// Ensure a request is admitted after RetryAfter, and Remaining is the number of requests that are admitted now.
func TestRetryAfterAndRemainingAreTrue(t *testing.T) {
	for _, q := range []auth.Quota{1, 7, 600} {
		var tat int64
		for range q {
			state := q.At(tat, start)
			if state.RetryAfter != 0 || !admit(q, &tat, start) {
				t.Fatalf("quota %d: rejected early: %+v", q, state)
			}
			if got := q.At(tat, start).Remaining; got != state.Remaining-1 {
				t.Fatalf("quota %d: remaining went from %d to %d", q, state.Remaining, got)
			}
		}
		state := q.At(tat, start)
		if state.Remaining != 0 || state.RetryAfter < 1 {
			t.Errorf("quota %d: %+v", q, state)
		}
		if !admit(q, &tat, start.Add(time.Duration(state.RetryAfter)*time.Second)) {
			t.Errorf("quota %d: rejected after waiting %d s", q, state.RetryAfter)
		}
		if full := q.At(tat, start.Add(time.Duration(q.At(tat, start).Reset)*time.Second)); full.Remaining != int64(q) {
			t.Errorf("quota %d: not full after Reset: %+v", q, full)
		}
	}
}

// Ensure a quota of 0 admits nothing and has a RetryAfter.
func TestFrozen(t *testing.T) {
	var tat int64
	if admit(0, &tat, start) {
		t.Error("admitted")
	}
	if s := auth.Quota(0).At(0, start); s.RetryAfter < 1 || s.Remaining != 0 {
		t.Errorf("%+v", s)
	}
}

func TestPolicy(t *testing.T) {
	for _, c := range auth.Classes() {
		if auth.DefaultQuota(c) <= 0 {
			t.Errorf("no default for %s", c)
		}
	}
	if got := auth.DefaultQuota(auth.ClassRead).Policy(); got != "600;w=60" {
		t.Error(got)
	}
}
