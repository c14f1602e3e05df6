package functions_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/client"
)

// quotaSimulator simulates the service's rate limit for one class of requests, sent with a key that
// has the default quota. It must run in a synctest bubble, because it uses the bubble's clock.
type quotaSimulator struct {
	class auth.Class

	mu       sync.Mutex
	random   *rand.Rand
	tat      int64 // the theoretical arrival time that the bucket has; see auth.Quota.Charge
	admitted int
	refused  int
}

// RoundTrip implements http.RoundTripper. A request takes 5 to 50 ms, and is charged to the quota
// halfway through.
func (q *quotaSimulator) RoundTrip(r *http.Request) (*http.Response, error) {
	q.mu.Lock()
	half := time.Duration(5+q.random.IntN(45)) * time.Millisecond / 2
	q.mu.Unlock()
	time.Sleep(half)
	status, body, header := q.respond()
	time.Sleep(half)
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, r.Body.Close()
}

func (q *quotaSimulator) respond() (status int, body string, header http.Header) {
	q.mu.Lock()
	defer q.mu.Unlock()
	quota, now := auth.DefaultQuota(q.class), time.Now()
	header = http.Header{"Ratelimit-Policy": {quota.PolicyHeader(q.class)}}
	c, ok := quota.Charge(q.tat, now)
	if !ok {
		q.refused++
		header.Set("Retry-After", strconv.FormatInt(quota.StateAt(q.tat, now).RetryAfter, 10))
		return http.StatusTooManyRequests, fmt.Sprintf(`{"errors":[{"code":%q,"message":"too many %s requests"}]}`, client.CodeRateLimited, q.class), header
	}
	q.admitted++
	if q.tat += c.Step; c.Start != 0 {
		q.tat = c.Start
	}
	return http.StatusOK, `{"id":"itm_1"}`, header
}

// create runs the given number of clients, each of which creates the given number of items from the
// given number of goroutines. It returns the errors and the elapsed time.
func (q *quotaSimulator) create(t *testing.T, clients, goroutines, items int, options ...client.Option) (errs []error, took time.Duration) {
	t.Helper()
	begin := time.Now()
	var mu sync.Mutex
	var group sync.WaitGroup
	for range clients {
		c, err := client.New("http://service", "sk_live_x", append([]client.Option{
			client.WithCompany("co_1"), client.WithHTTPClient(&http.Client{Transport: q}),
		}, options...)...)
		if err != nil {
			t.Fatal(err)
		}
		work := make(chan int, items)
		for n := range items {
			work <- n
		}
		close(work)
		for range goroutines {
			group.Go(func() {
				for n := range work {
					_, err := c.CreatePlanItem(t.Context(), client.CreatePlanItemInput{BoardID: "brd_1", Title: fmt.Sprint(n)})
					if err != nil {
						mu.Lock()
						errs = append(errs, err)
						mu.Unlock()
					}
				}
			})
		}
	}
	group.Wait()
	return errs, time.Since(begin)
}

// Ensure no call fails with the default options, whether one program creates items from many
// goroutines or several programs share a key. The calls must be almost as fast as the quota allows,
// and few requests may be refused.
func TestClientKeepsPaceWithTheQuota(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ clients, goroutines, items int }{{1, 20, 160}, {1, 100, 400}, {2, 20, 160}, {4, 10, 80}} {
		t.Run(fmt.Sprintf("%d clients with %d goroutines", c.clients, c.goroutines), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &quotaSimulator{class: auth.ClassWrite, random: rand.New(rand.NewPCG(20260811, 1))}
				errs, took := m.create(t, c.clients, c.goroutines, c.items)
				total := c.clients * c.items
				least := time.Duration(total-int(auth.DefaultQuota(m.class))) * auth.DefaultQuota(m.class).Interval()
				if len(errs) > 0 || m.admitted != total {
					t.Errorf("%d of %d failed, the first with %v", len(errs), total, errs)
				}
				if took > 2*least || m.refused > 2*total {
					t.Errorf("%d items took %v, the quota allows %v; %d requests were refused", total, took, least, m.refused)
				}
			})
		})
	}
}

// Ensure a call that would exceed its maximum wait fails with the service's error, which says how
// long the call has waited.
func TestClientGivesUpWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &quotaSimulator{class: auth.ClassWrite, random: rand.New(rand.NewPCG(20260811, 2))}
		errs, _ := m.create(t, 1, 40, 240, client.WithWaitMax(5*time.Second))
		if len(errs) == 0 || m.admitted+len(errs) != 240 {
			t.Errorf("%d admitted, %d failed", m.admitted, len(errs))
		}
		for _, err := range errs {
			var refused *client.Error
			if !errors.As(err, &refused) {
				t.Fatalf("the error is %v, want a *client.Error", err)
			}
			if refused.Code != client.CodeRateLimited || refused.Waited > 6*time.Second {
				t.Fatalf("the error has the code %s after a wait of %v, want %s after 6s at most: %v", refused.Code, refused.Waited, client.CodeRateLimited, err)
			}
			if refused.Waited > 0 && !strings.Contains(err.Error(), "gave up after") {
				t.Fatalf("after a wait of %v the error must say gave up after: %v", refused.Waited, err)
			}
		}
	})
}
