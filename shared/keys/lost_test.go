package keys_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"growthworkspace/shared/apitest"
	"growthworkspace/shared/auth"
)

// losing does every update and loses as many of the answers as are left to lose.
type losing struct{ left, lost atomic.Int64 }

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	out, err := apitest.Transport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") || l.left.Add(-1) < 0 {
		return out, err
	}
	l.lost.Add(1)
	_, err = io.Copy(io.Discard, out.Body)
	return nil, errors.Join(errors.New("the answer was lost"), err, out.Body.Close())
}

// Ensure a request whose admission was answered into the void takes one token and no more, of a bucket that is full and
// of one that is in use, with any quota: exact means also that nobody pays for the network (decisions.md §9).
func TestLostAnswersCostNothing(t *testing.T) {
	t.Parallel()
	apitest.Slow(t)
	for _, quota := range []auth.Quota{10, 1_000_000} {
		l := &losing{}
		f := startOver(t, l)
		f.setQuota(t, auth.ClassWrite, quota)
		for n := range int64(5) {
			l.left.Store(2)
			state, err := f.admit(f.Keys, auth.ClassWrite)
			if err != nil || state.Remaining != int64(quota)-1-n {
				t.Errorf("quota %d: request %d leaves %d: %v", quota, n+1, state.Remaining, err)
			}
		}
		if l.lost.Load() != 10 {
			t.Errorf("quota %d: %d answers lost", quota, l.lost.Load())
		}
		f.Clock.Advance(time.Minute)
		l.left.Store(1)
		if state, err := f.admit(f.another(), auth.ClassWrite); err != nil || state.Remaining != int64(quota)-1 {
			t.Errorf("quota %d: a minute later %d are left: %v", quota, state.Remaining, err)
		}
	}
}
