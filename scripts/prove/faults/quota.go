package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/table"
)

// demand says how much is requested of a quota.
type demand struct {
	quota   auth.Quota // per minute
	flood   time.Duration
	under   float64 // the share of what could be admitted that may be refused
	waiters int     // keys whose Retry-After is tried
	rounds  int     // of waiting, for each
}

const (
	processes = 4
	flooders  = 64
	excess    = 50 // times the quota
)

// quotas is the gate of exact quotas. Clients of several processes send far more requests than a key may: what is
// admitted is what the bucket and its refill allow, no more and hardly less, and a client that waits for the Retry-After
// of a refusal is admitted.
func quotas(ctx context.Context, t *trial, d demand) (err error) {
	q := &quotaTrial{demand: d, trial: t}
	for range processes {
		s, err := t.startServer(ctx)
		if err != nil {
			return err
		}
		t.ends = append(t.ends, s.kill)
		q.servers = append(q.servers, s)
	}
	return errors.Join(q.floodOne(ctx), q.waitAll(ctx))
}

type quotaTrial struct {
	demand
	*trial
	servers []*server
}

// client returns the n-th client of a company; they are spread over the processes.
func (q *quotaTrial) client(n int, c testbed.Company) *client {
	return newClient(q.servers[n%processes].base, c)
}

// read sends a request that costs one of the quota. The company has no record, so an admitted request is a 404.
func read(ctx context.Context, c *client) (out response, admitted bool, err error) {
	out, err = c.call(ctx, http.MethodGet, "", nil)
	return out, out.status == http.StatusNotFound || out.status == http.StatusOK, err
}

// floodOne sends from every client its share of the excess, with one key, and counts.
func (q *quotaTrial) floodOne(ctx context.Context) error {
	company, err := q.NewCompany(ctx, q.quota)
	if err != nil {
		return err
	}
	pause := auth.QuotaWindow * flooders / time.Duration(excess*int64(q.quota))
	var sent, admissions atomic.Int64
	begin := time.Now()
	err = table.Parallel(flooders, flooders, func(n int) error {
		c := q.client(n, company)
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for time.Since(begin) < q.flood {
			out, admitted, err := read(ctx, c)
			if err != nil {
				return err
			}
			if admitted {
				admissions.Add(1)
			} else {
				q.require(out.status == http.StatusTooManyRequests && out.retryAfter() >= time.Second,
					"a flooded server sends %d, Retry-After %s: %s: %s", out.status, out.retryAfter(), out.body, q.servers[n%processes].log)
			}
			sent.Add(1)
			<-tick.C
		}
		return nil
	})
	if err != nil {
		return err
	}
	took := time.Since(begin)
	// A bucket that was full, and what it refills until the last response.
	most := int64(q.quota) + int64(took/q.quota.Interval())
	least := int64(q.quota) + int64(q.flood/q.quota.Interval())
	got := admissions.Load()
	under := 1 - float64(got)/float64(least)
	q.require(got <= most, "%d admitted of %d at most", got, most)
	q.require(under < q.under, "only %d admitted of %d: %.1f %% too few", got, least, 100*under)
	q.figure("%d clients of %d processes sent %d requests in %.0f s, %.0f × a quota of %d a minute",
		flooders, processes, sent.Load(), took.Seconds(), float64(sent.Load())/took.Minutes()/float64(q.quota), q.quota)
	q.figure("%d admitted of %d: over by %d, under by %.2f %%", got, most, max(0, got-most), max(0, 100*under))
	return nil
}

// waitAll uses up quotas of many sizes, waits for the Retry-After of the refusal, and sends one more request.
func (q *quotaTrial) waitAll(ctx context.Context) error {
	var waits, admissions, longest atomic.Int64
	err := table.Parallel(q.waiters, max(1, q.waiters), func(n int) error {
		quota := []auth.Quota{6, 7, 12, 30, 60, 120}[n%6]
		company, err := q.NewCompany(ctx, quota)
		for round := 0; err == nil && round < q.rounds; round++ {
			var wait time.Duration
			if wait, err = q.useUp(ctx, n, company, quota); err != nil {
				return err
			}
			<-time.After(wait)
			waits.Add(1)
			longest.Store(max(longest.Load(), int64(wait)))
			var admitted bool
			if _, admitted, err = read(ctx, q.client(n+round, company)); err == nil && admitted {
				admissions.Add(1)
			} else if err == nil {
				q.violate("refused again after the Retry-After of %s, of a quota of %d a minute", wait, quota)
			}
		}
		return err
	})
	q.figure("%d of %d requests admitted after the Retry-After of a refusal, of up to %s", admissions.Load(), waits.Load(), time.Duration(longest.Load()))
	return err
}

// useUp sends requests, to one process after the other, until the first is refused, and returns its Retry-After.
func (q *quotaTrial) useUp(ctx context.Context, n int, c testbed.Company, quota auth.Quota) (time.Duration, error) {
	for try := range 2*int(quota) + 2 {
		out, _, err := read(ctx, q.client(n+try, c))
		if err != nil || out.status == http.StatusTooManyRequests {
			return out.retryAfter(), err
		}
	}
	return 0, fmt.Errorf("a quota of %d is never used up", quota)
}
