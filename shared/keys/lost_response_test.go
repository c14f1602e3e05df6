package keys_test

import (
	"testing"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a request whose admission was retried after a lost response takes exactly one token from
// the bucket. This must hold for a full bucket and for one in use, with any quota.
func TestLostResponsesCostNothing(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, quota := range []auth.Quota{10, 1_000_000} {
		l := &apitest.UpdateLosingTransport{}
		f := newFixtureWithTransport(t, l)
		f.setQuota(t, auth.ClassWrite, quota)
		before, err := f.Keys.Verify(t.Context(), f.token, nil, auth.ClassWrite)
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(5) {
			l.LossesLeft.Store(2)
			state, err := f.admit(f.Keys, auth.ClassWrite)
			if err != nil || state.Remaining != before.Remaining-1-n {
				t.Errorf("quota %d: request %d leaves %d: %v", quota, n+1, state.Remaining, err)
			}
		}
		if l.Lost.Load() != 10 {
			t.Errorf("quota %d: %d responses lost", quota, l.Lost.Load())
		}
		f.Clock.Advance(time.Minute)
		l.LossesLeft.Store(1)
		if state, err := f.admit(f.otherProcess(), auth.ClassWrite); err != nil || state.Remaining != before.Remaining-1 {
			t.Errorf("quota %d: a minute later %d are left: %v", quota, state.Remaining, err)
		}
	}
}
