// Package quota is the gate of exact quotas: many clients of several processes ask far more often than a key may, and
// what is admitted is what the bucket and its refill allow, no more and hardly less; and whoever waits as long as a
// refusal asks for is admitted.
package quota

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/stand"
	"growthworkspace/shared/ratelimit"
)

// Options say how much is asked for and what is wrong with the servers.
type Options struct {
	Quota   ratelimit.Quota // per minute
	Flood   time.Duration
	Under   float64 // the share of what could be admitted that may be refused
	Waiters int     // keys whose Retry-After is tried
	Rounds  int     // of waiting, for each
	Plant   stand.Plant
}

const (
	processes = 4
	clients   = 64
	demand    = 50 // times the quota
)

// Gates returns the gate.
func Gates() []gate.Gate {
	return []gate.Gate{{Name: "quota", Run: func(ctx context.Context, s gate.Setting) (*gate.Report, error) {
		o := Options{Quota: 300, Flood: 20 * time.Second, Under: 0.02, Waiters: 60, Rounds: 2}
		if s.Long {
			o = Options{Quota: 600, Flood: 2 * time.Minute, Under: 0.02, Waiters: 120, Rounds: 10}
		}
		return Run(ctx, s, o)
	}}}
}

// Run floods one key, and then waits with others.
func Run(ctx context.Context, s gate.Setting, o Options) (report *gate.Report, err error) {
	where, err := stand.Open(ctx, s.Dir, s.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	q := &quotas{Options: o, report: &gate.Report{}, stand: where}
	for range processes {
		server, err := where.StartServer(ctx, o.Plant)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, server.Kill()) }()
		q.servers = append(q.servers, server)
	}
	if err := q.flood(ctx); err != nil {
		return nil, err
	}
	return q.report, q.wait(ctx)
}

type quotas struct {
	Options
	report  *gate.Report
	stand   *stand.Stand
	servers []*stand.Server
}

// client returns the n-th client of a company; they are spread over the processes.
func (q *quotas) client(n int, c stand.Company) *stand.Client {
	return stand.NewClient(q.servers[n%processes].Base, c)
}

// ask is a read that costs one of the quota.
func ask(ctx context.Context, c *stand.Client) (stand.Answer, error) {
	return c.Call(ctx, http.MethodGet, "", nil)
}

// admitted tells whether an answer took one of the quota. The company has no record, so that every admitted read is a 404.
func admitted(a stand.Answer) bool {
	return a.Status == http.StatusNotFound || a.Status == http.StatusOK
}

// flood has every client ask at its share of the demand, and counts.
func (q *quotas) flood(ctx context.Context) error {
	company, err := q.stand.NewCompany(ctx, q.Quota)
	if err != nil {
		return err
	}
	pause := ratelimit.Window * clients / time.Duration(demand*int64(q.Quota))
	var asked, got atomic.Int64
	errs := make(chan error, clients)
	var wait sync.WaitGroup
	began := time.Now()
	end := began.Add(q.Flood)
	for n := range clients {
		c := q.client(n, company)
		wait.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for time.Now().Before(end) {
				answer, err := ask(ctx, c)
				switch {
				case err != nil:
					errs <- err
					return
				case admitted(answer):
					got.Add(1)
				case answer.Status != http.StatusTooManyRequests || answer.RetryAfter() < time.Second:
					q.report.Violate("a flooded server answers %d, Retry-After %s: %s: %s", answer.Status, answer.RetryAfter(), answer.Body, q.servers[n%processes].Failure())
				}
				asked.Add(1)
				<-tick.C
			}
		})
	}
	wait.Wait()
	took := time.Since(began)
	close(errs)
	if err := <-errs; err != nil {
		return err
	}
	// A bucket that was full and what it refills until the last answer.
	most := int64(q.Quota) + int64(took/q.Quota.Interval())
	least := int64(q.Quota) + int64(q.Flood/q.Quota.Interval())
	over, under := got.Load()-most, 1-float64(got.Load())/float64(least)
	q.report.Require(over <= 0, "%d admitted of %d at most", got.Load(), most)
	q.report.Require(under < q.Under, "only %d admitted of %d: %.1f %% too few", got.Load(), least, 100*under)
	q.report.Figure("%d clients of %d processes asked %d times in %.0f s, %.0f × a quota of %d a minute",
		clients, processes, asked.Load(), took.Seconds(), float64(asked.Load())/took.Minutes()/float64(q.Quota), q.Quota)
	q.report.Figure("%d admitted of %d: over by %d, under by %.2f %%", got.Load(), most, max(0, over), max(0, 100*under))
	return nil
}

// wait empties the buckets of keys with quotas of many sizes, waits as long as the refusal asks for, and asks again.
func (q *quotas) wait(ctx context.Context) error {
	var waits, admissions atomic.Int64
	var longest atomic.Int64
	errs := make(chan error, q.Waiters)
	var wait sync.WaitGroup
	for n := range q.Waiters {
		quota := []ratelimit.Quota{6, 7, 12, 30, 60, 120}[n%6]
		wait.Go(func() {
			company, err := q.stand.NewCompany(ctx, quota)
			for round := 0; err == nil && round < q.Rounds; round++ {
				var refused stand.Answer
				if refused, err = q.empty(ctx, n, company, quota); err != nil {
					break
				}
				<-time.After(refused.RetryAfter())
				waits.Add(1)
				longest.Store(max(longest.Load(), int64(refused.RetryAfter())))
				var answer stand.Answer
				if answer, err = ask(ctx, q.client(n+round, company)); err == nil && admitted(answer) {
					admissions.Add(1)
				} else if err == nil {
					q.report.Violate("refused again after the Retry-After of %s, of a quota of %d a minute", refused.RetryAfter(), quota)
				}
			}
			errs <- err
		})
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	q.report.Figure("%d of %d calls admitted after the Retry-After of a refusal, of up to %s", admissions.Load(), waits.Load(), time.Duration(longest.Load()))
	return nil
}

// empty asks until the first refusal, of one process after the other.
func (q *quotas) empty(ctx context.Context, n int, c stand.Company, quota ratelimit.Quota) (stand.Answer, error) {
	for try := range 2*int(quota) + 2 {
		answer, err := ask(ctx, q.client(n+try, c))
		if err != nil {
			return answer, err
		}
		if answer.Status == http.StatusTooManyRequests {
			return answer, nil
		}
	}
	return stand.Answer{}, fmt.Errorf("a bucket of %d is never empty", quota)
}
