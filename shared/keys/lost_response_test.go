package keys_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/testkit/apitest"
)

// responseLosingTransport is a transport that forwards every request, but loses the responses to
// the next updates; lossesLeft is how many it still loses.
type responseLosingTransport struct{ lossesLeft, lost atomic.Int64 }

func (l *responseLosingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	out, err := apitest.Transport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") || l.lossesLeft.Add(-1) < 0 {
		return out, err
	}
	l.lost.Add(1)
	_, err = io.Copy(io.Discard, out.Body)
	return nil, errors.Join(errors.New("the response was lost"), err, out.Body.Close())
}

// Ensure a request whose admission was retried after a lost response takes exactly one token from
// the bucket. This must hold for a full bucket and for one in use, with any quota.
func TestLostResponsesCostNothing(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, quota := range []auth.Quota{10, 1_000_000} {
		l := &responseLosingTransport{}
		f := newFixtureWithTransport(t, l)
		f.setQuota(t, auth.ClassWrite, quota)
		before, err := f.Keys.Verify(t.Context(), f.token, nil, auth.ClassWrite)
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(5) {
			l.lossesLeft.Store(2)
			state, err := f.admit(f.Keys, auth.ClassWrite)
			if err != nil || state.Remaining != before.Remaining-1-n {
				t.Errorf("quota %d: request %d leaves %d: %v", quota, n+1, state.Remaining, err)
			}
		}
		if l.lost.Load() != 10 {
			t.Errorf("quota %d: %d responses lost", quota, l.lost.Load())
		}
		f.Clock.Advance(time.Minute)
		l.lossesLeft.Store(1)
		if state, err := f.admit(f.otherProcess(), auth.ClassWrite); err != nil || state.Remaining != before.Remaining-1 {
			t.Errorf("quota %d: a minute later %d are left: %v", quota, state.Remaining, err)
		}
	}
}
