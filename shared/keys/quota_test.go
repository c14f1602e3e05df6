package keys_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/keys"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure each class admits exactly its quota at once, and then one request per interval. A call
// after Retry-After must be admitted, and after 60 s the whole quota must be available again.
func TestQuotaIsExact(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		class auth.Class
		quota auth.Quota // zero: the default
		want  int
	}{
		{auth.ClassWrite, 0, 120}, {auth.ClassPublish, 0, 10}, {auth.ClassPush, 0, 60}, {auth.ClassRead, 0, 600},
		{auth.ClassRead, 1, 1}, {auth.ClassPublish, 7, 7}, {auth.ClassWrite, 120, 120}, {auth.ClassPush, 61, 61},
	} {
		if testing.Short() && test.want > 200 {
			continue
		}
		t.Run(fmt.Sprintf("%s %d", test.class, test.want), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if test.quota != 0 {
				f.setQuota(t, test.class, test.quota)
			}
			drain := func(want int) {
				t.Helper()
				for n := range want {
					state, err := f.admit(f.Keys, test.class)
					if err != nil || state.Remaining != int64(want-n-1) || int(state.Quota) != test.want {
						t.Fatalf("request %d: %+v, %v", n+1, state, err)
					}
				}
			}
			drain(test.want)
			_, err := f.admit(f.Keys, test.class)
			state := requireQuotaExceeded(t, err)
			if state.Remaining != 0 || state.RetryAfter < 1 || state.RetryAfter > 60 {
				t.Errorf("%d remaining, retry after %d; want 0 and 1 to 60", state.Remaining, state.RetryAfter)
			}
			if state.Reset < 59 || state.Reset > 61 {
				t.Errorf("reset %d, want 59 to 61", state.Reset)
			}
			other, err := f.admit(f.otherProcess(), test.class)
			if requireQuotaExceeded(t, err) != state { // a process that remembers nothing reports the same
				t.Errorf("%+v and %v, want %+v", other, err, state)
			}

			interval := auth.Quota(test.want).Interval()
			f.Clock.Advance(interval - time.Nanosecond)
			if _, err := f.admit(f.Keys, test.class); err == nil {
				t.Error("admitted before the interval was over")
			}
			f.Clock.Advance(time.Nanosecond)
			drain(1)
			_, err = f.admit(f.Keys, test.class)
			f.Clock.Advance(time.Duration(requireQuotaExceeded(t, err).RetryAfter) * time.Second)
			if _, err := f.admit(f.Keys, test.class); err != nil {
				t.Errorf("after Retry-After: %v", err)
			}
			f.Clock.Advance(time.Minute + time.Second)
			drain(test.want)
			if _, err := f.admit(f.Keys, test.class); err == nil {
				t.Error("one more than the quota")
			}
			for _, class := range auth.Classes() { // each class has its own bucket
				if _, err := f.admit(f.Keys, class); (err == nil) == (class == test.class) {
					t.Errorf("class %s: error %v, want one for %s only", class, err, test.class)
				}
			}
		})
	}
}

// Ensure a refused request costs one read and no write, and that the refusal is the same whether or
// not the process remembers the bucket.
func TestRememberedRefusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setQuota(t, auth.ClassRead, 3)
	for range 3 {
		if _, err := f.admit(f.Keys, auth.ClassRead); err != nil {
			t.Fatal(err)
		}
	}
	reads := f.counter.callsOf("GetItem")
	calls := f.counter.callsDuring(func() {
		for range 50 {
			f.Clock.Advance(100 * time.Millisecond)
			_, err := f.admit(f.Keys, auth.ClassRead)
			requireQuotaExceeded(t, err)
		}
	})
	if calls != 50 || f.counter.callsOf("GetItem")-reads != 50 {
		t.Errorf("%d calls", calls)
	}
	_, err := f.admit(f.Keys, auth.ClassRead)
	_, err2 := f.admit(f.otherProcess(), auth.ClassRead)
	if got, want := requireQuotaExceeded(t, err), requireQuotaExceeded(t, err2); got != want {
		t.Errorf("remembered %+v, stored %+v", got, want)
	}
}

// Ensure the number of requests admitted from concurrent callers in several processes is exactly
// what the bucket and its refill allow.
func TestQuotaUnderConcurrency(t *testing.T) {
	t.Parallel()
	for _, quota := range []auth.Quota{1, 7, 60} {
		t.Run(fmt.Sprint(quota), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.setQuota(t, auth.ClassRead, quota)
			processes := []*keys.Store{f.Keys, f.otherProcess(), f.otherProcess(), f.otherProcess()}
			flood := func() int64 {
				var admitted atomic.Int64
				var wait sync.WaitGroup
				for n := range 64 {
					wait.Go(func() {
						for range 2 {
							_, err := f.admit(processes[n%len(processes)], auth.ClassRead)
							switch {
							case err == nil:
								admitted.Add(1)
							case !errors.As(err, new(quotaExceeded)):
								t.Errorf("error %v, want none or that the quota is used up", err)
							}
						}
					})
				}
				wait.Wait()
				return admitted.Load()
			}
			if got := flood(); got != int64(quota) {
				t.Errorf("%d admitted of a full bucket of %d", got, quota)
			}
			f.Clock.Advance(3 * quota.Interval())
			if got := flood(); got != min(3, int64(quota)) {
				t.Errorf("%d admitted after a refill of 3, of %d", got, quota)
			}
		})
	}
}

// modelBucket is a simple model of a token bucket.
type modelBucket struct {
	quota auth.Quota
	tat   time.Time
}

func (b *modelBucket) admit(now time.Time) bool {
	if b.quota <= 0 {
		return false
	}
	tat := b.tat
	if tat.Before(now) {
		tat = now
	}
	if tat.Sub(now) > time.Duration(b.quota-1)*b.quota.Interval() {
		return false
	}
	b.tat = tat.Add(b.quota.Interval())
	return true
}

// Ensure successive callers are admitted exactly as the model says, in any process and after any
// pause. The quota that Verify reports before each request must be correct, too.
func TestQuotaAgainstModel(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	f := newFixture(t)
	rapid.Check(t, func(r *rapid.T) {
		model := modelBucket{quota: auth.Quota(rapid.IntRange(1, 8).Draw(r, "quota"))}
		key, secret := f.issue(t, keys.Grant{Scopes: []auth.Scope{auth.PlanRead}})
		token := parse(t, secret)
		if _, err := f.Keys.SetQuota(t.Context(), f.CompanyID, key.ID, auth.ClassRead, model.quota); err != nil {
			r.Fatal(err)
		}
		processes := []*keys.Store{f.Keys, f.otherProcess(), f.otherProcess()}
		for range rapid.IntRange(1, 15).Draw(r, "steps") {
			f.Clock.Advance(rapid.OneOf(rapid.Just(time.Duration(0)), rapid.Map(rapid.Int64Range(0, 20e9), func(n int64) time.Duration { return time.Duration(n) })).Draw(r, "pause"))
			s := rapid.SampledFrom(processes).Draw(r, "process")
			before, err := s.Verify(t.Context(), token, nil, auth.ClassRead)
			if err != nil {
				r.Fatal(err)
			}
			_, err = s.Admit(t.Context(), token, []auth.Scope{auth.PlanRead}, auth.ClassRead)
			if want := model.admit(f.Clock.Now()); (err == nil) != want || (before.Remaining > 0) != want || (before.RetryAfter == 0) != want {
				r.Fatalf("%v, want %v; Verify before: %+v", err, want, before)
			}
		}
	})
}

// Ensure a quota of 0 freezes a class in every process at once, any other quota unfreezes it at
// once, and the other classes keep working. Once a process knows that a class is frozen, a request
// of that class must cost one call.
func TestFrozen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.otherProcess()
	for range 2 {
		for _, s := range []*keys.Store{f.Keys, other} {
			if _, err := f.admit(s, auth.ClassWrite); err != nil {
				t.Fatal(err)
			}
		}
		f.setQuota(t, auth.ClassWrite, 0)
		for _, s := range []*keys.Store{f.Keys, other, f.Keys} {
			state, err := f.admit(s, auth.ClassWrite)
			if err == nil || err.Error() != auth.NewFrozenError(auth.ClassWrite).Error() || state != (auth.QuotaState{Frozen: true}) {
				t.Errorf("state %+v and error %v, want a frozen class", state, err)
			}
			if _, err := f.admit(s, auth.ClassRead); err != nil {
				t.Errorf("another class: %v", err)
			}
		}
		if calls := f.counter.callsDuring(func() { _, _ = f.admit(other, auth.ClassWrite) }); calls != 1 {
			t.Errorf("%d calls for a frozen request", calls)
		}
		f.setQuota(t, auth.ClassWrite, 120)
	}
	if _, err := f.admit(other, auth.ClassWrite); err != nil {
		t.Errorf("after the quota was raised: %v", err)
	}
}

// Ensure a changed quota, whether lower or higher, takes effect immediately, even in a process that
// remembers the old one.
func TestQuotaChangesWhileRemembered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := f.admit(f.Keys, auth.ClassPublish); err != nil {
		t.Fatal(err)
	}
	f.setQuota(t, auth.ClassPublish, 2) // at the old quota of 10, the first request used 6 s of the window; at 2, each request uses 30 s
	for n, want := range []bool{true, false} {
		if _, err := f.admit(f.Keys, auth.ClassPublish); (err == nil) != want {
			t.Errorf("lowered, request %d: %v", n+1, err)
		}
	}
	_, err := f.admit(f.Keys, auth.ClassPublish)
	if state := requireQuotaExceeded(t, err); state.Quota != 2 || state.RetryAfter != 6 {
		t.Errorf("lowered: %+v", state)
	}

	f.setQuota(t, auth.ClassPublish, 1_000_000)
	if _, err := f.admit(f.otherProcess(), auth.ClassPublish); err != nil {
		t.Errorf("raised, in a process that remembers nothing: %v", err)
	}
	for range 20 {
		if _, err := f.admit(f.Keys, auth.ClassPublish); err != nil {
			t.Fatalf("raised: %v", err)
		}
	}
}

// Ensure an invalid quota is an error.
func TestSetQuotaRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for class, quota := range map[auth.Class]auth.Quota{"reads": 5, "": 5, auth.ClassRead: -1} {
		if _, err := f.Keys.SetQuota(t.Context(), f.CompanyID, f.key.ID, class, quota); err == nil {
			t.Errorf("%q: %d was accepted", class, quota)
		}
	}
}
