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

// demand configures the gate.
type demand struct {
	quota   auth.Quota    // per minute
	flood   time.Duration // how long the clients send
	under   float64       // the share of the allowed requests that may be refused
	waiters int           // how many keys wait for their Retry-After
	rounds  int           // how often each of them waits
}

const (
	processes = 4
	flooders  = 64 // concurrent clients
	excess    = 50 // times the quota
)

// quotas is the gate of exact quotas. Clients of several processes send far more requests than their key's quota. The
// service must admit what the bucket and its refill allow, no more and almost no less, and must admit a client that waits
// for the Retry-After of a 429.
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

// client returns the n-th client of a company. The clients use the processes in turn.
func (q *quotaTrial) client(n int, c testbed.Company) *client {
	return newClient(q.servers[n%processes].base, c)
}

// read sends a read and reports whether it was admitted. The company has no record, so an admitted read is a 404.
func read(ctx context.Context, c *client) (out response, admitted bool, err error) {
	out, err = c.call(ctx, http.MethodGet, "", nil)
	return out, out.status == http.StatusNotFound || out.status == http.StatusOK, err
}

// floodOne sends too many requests with one key from all clients, and checks how many are admitted.
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
					"a request over the quota gets %d, Retry-After %s: %s: %s", out.status, out.retryAfter(), out.body, q.servers[n%processes].log)
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
	// A full bucket and its refill until the last response.
	most := int64(q.quota) + int64(took/q.quota.Interval())
	least := int64(q.quota) + int64(q.flood/q.quota.Interval())
	got := admissions.Load()
	under := 1 - float64(got)/float64(least)
	q.require(got <= most, "%d admitted, at most %d allowed", got, most)
	q.require(under < q.under, "only %d of %d admitted: %.1f %% too few", got, least, 100*under)
	q.figure("%d clients of %d processes sent %d requests in %.0f s, %.0f × a quota of %d a minute",
		flooders, processes, sent.Load(), took.Seconds(), float64(sent.Load())/took.Minutes()/float64(q.quota), q.quota)
	q.figure("%d of %d admitted: over by %d, under by %.2f %%", got, most, max(0, got-most), max(0, 100*under))
	return nil
}

// waitAll uses up quotas of several sizes, waits for the Retry-After of the 429, and requires that the next request is
// admitted.
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
				q.violate("refused again after a Retry-After of %s, with a quota of %d a minute", wait, quota)
			}
		}
		return err
	})
	q.figure("%d of %d requests admitted after a Retry-After of up to %s", admissions.Load(), waits.Load(), time.Duration(longest.Load()))
	return err
}

// useUp sends requests to the processes in turn until one is refused, and returns its Retry-After.
func (q *quotaTrial) useUp(ctx context.Context, n int, c testbed.Company, quota auth.Quota) (time.Duration, error) {
	for try := range 2*int(quota) + 2 {
		out, _, err := read(ctx, q.client(n+try, c))
		if err != nil || out.status == http.StatusTooManyRequests {
			return out.retryAfter(), err
		}
	}
	return 0, fmt.Errorf("a quota of %d was never used up", quota)
}
