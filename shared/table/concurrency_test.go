package table_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// slowEngine is an engine that takes a while for each call, and counts its concurrent calls.
type slowEngine struct {
	latency time.Duration

	mu                                 sync.Mutex
	callCount, activeCalls, activePeak int
}

func (s *slowEngine) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.callCount, s.activeCalls, s.activePeak = s.callCount+1, s.activeCalls+1, max(s.activePeak, s.activeCalls+1)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.activeCalls--
		s.mu.Unlock()
	}()
	select {
	case <-time.After(s.latency):
		return jsonResponse(http.StatusOK, map[string]any{}), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// Ensure calls beyond MaxConcurrentCalls wait for the others as long as their requests have time
// left, and each is sent only once. Without the limit, an overloaded engine would respond to none
// of them in time.
func TestCallsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &slowEngine{latency: 200 * time.Millisecond}
		errs := insertAll(t, b, 100, 9*time.Second)
		if b.callCount != 100 || b.activePeak != 4 {
			t.Errorf("%d calls, %d at a time", b.callCount, b.activePeak)
		}
		for _, err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
	})
}

// Ensure a call that gets no slot in time is never sent, and the caller gets fault.ErrUnavailable.
// A call that was sent must not be cut off by its request's deadline, because its outcome would be
// unknown.
func TestCallsThatWaitTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &slowEngine{latency: 900 * time.Millisecond}
		done, refused := 0, 0
		for _, err := range insertAll(t, b, 100, 9*time.Second) {
			switch {
			case err == nil:
				done++
			case errors.Is(err, fault.ErrUnavailable):
				refused++
			default:
				t.Errorf("error %v, want none or %v", err, fault.ErrUnavailable)
			}
		}
		if done != 36 || refused != 64 || b.callCount != done { // four calls begin every 0.9 s, nine times in the first eight seconds
			t.Errorf("%d done, %d refused, %d calls", done, refused, b.callCount)
		}
	})
}

// Ensure a call for a request that has ended is not reported as overload.
func TestCallOfAnEndedRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := clientWithSlots(&slowEngine{latency: time.Hour}, 1)
		firstCtx, cancelFirst := context.WithCancel(t.Context())
		go func() { _ = c.Insert(firstCtx, keysOf(note{}), note{}) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Insert(ctx, keysOf(note{}), note{}); !errors.Is(err, context.Canceled) || errors.Is(err, fault.ErrUnavailable) {
			t.Errorf("error %v, want only %v", err, context.Canceled)
		}
		cancelFirst()
	})
}

// Ensure a company with many waiting calls does not delay those of another company, or the
// operator's, however slow the engine is.
func TestCallsOfCompaniesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		engine := &blockedEngine{calls: make(chan chan struct{})}
		c := clientWithSlots(engine, 2)
		finished := make(chan string, 100)
		start := func(company string, calls int) {
			for range calls {
				go func() {
					r := table.NewRequest()
					r.CompanyID = company
					r.SettlePermit(nil)
					if err := c.Insert(table.WithRequest(t.Context(), r), keysOf(note{}), note{}); err != nil {
						t.Error(err)
					}
					finished <- company
				}()
			}
			synctest.Wait()
		}
		start("pusher", 84) // four pushes of 21 transactions
		inEngine := <-engine.calls
		start("polite", 2)
		start("", 1)
		for _, want := range []string{"polite", "polite", ""} {
			close(<-engine.calls)
			if got := <-finished; got != want {
				t.Errorf("a call of %q finished, want %q", got, want)
			}
		}
		close(inEngine)
		for range 84 - 1 {
			close(<-engine.calls)
		}
		synctest.Wait()
		if len(finished) != 84 {
			t.Errorf("%d calls of the pusher finished, want 84", len(finished))
		}
	})
}

// blockedEngine hands each call to the test, and responds to it when the test closes the channel.
type blockedEngine struct{ calls chan chan struct{} }

func (b *blockedEngine) RoundTrip(*http.Request) (*http.Response, error) {
	respond := make(chan struct{})
	b.calls <- respond
	<-respond
	return jsonResponse(http.StatusOK, map[string]any{}), nil
}

// insertAll inserts n records in n concurrent requests, each with this timeout. It makes at most
// four calls at a time, and returns the requests' errors.
func insertAll(t *testing.T, b *slowEngine, n int, timeout time.Duration) []error {
	t.Helper()
	c := clientWithSlots(b, 8) // of which a company gets at most half
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			errs[i] = c.Insert(ctx, keysOf(note{}), note{})
		})
	}
	wait.Wait()
	return errs
}

func clientWithSlots(transport http.RoundTripper, slots int) *table.Client {
	return table.New(table.Options{
		Name: "none", Endpoint: "http://engine.invalid", Region: "eu-central-1", Transport: transport, Now: time.Now, MaxConcurrentCalls: slots,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), NewID: func(prefix string) string { return prefix },
	}).AsOperator()
}
