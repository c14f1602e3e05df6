package faults

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// quotaCheck configures the check of quotas.
type quotaCheck struct {
	bursts          []burst
	refusedShareMax float64 // the maximum share of the requests within the quota that the service may wrongly refuse
	waitingKeys     int     // the number of keys whose client waits for a Retry-After
	rounds          int     // how many times the client of each key waits
}

// burst is a series of requests that all clients send with the same key, without a pause.
type burst struct {
	quota       auth.Quota    // per minute
	length      time.Duration // how long the clients send requests
	startsEmpty bool          // whether the key's bucket starts empty instead of full
}

const (
	serverProcesses = 3
	burstClients    = 64                   // concurrent clients
	tableLatency    = 5 * time.Millisecond // the delay added to each call to the table
	burstFactor     = 4                    // a burst sends at least burstFactor times the number of requests that the quota allows
)

// checkQuotas checks quotas. Clients of several server processes send far more requests than the
// quota of their key allows. The service must admit as many requests as the quota's token bucket
// and its refill allow, no more and almost no fewer. It must refuse the other requests with a 429.
// A client that has waited for the Retry-After of a 429 must be admitted.
func checkQuotas(ctx context.Context, t *checkRun, d quotaCheck) error {
	q := &quotaRun{quotaCheck: d, checkRun: t}
	t.latency = tableLatency
	for range serverProcesses {
		s, err := t.startServer(ctx)
		if err != nil {
			return err
		}
		q.servers = append(q.servers, s)
	}
	for _, f := range d.bursts {
		if err := q.sendBurst(ctx, f); err != nil {
			return err
		}
	}
	return q.waitForRetryAfter(ctx)
}

type quotaRun struct {
	quotaCheck
	*checkRun
	servers []*server
}

// client returns the n-th client of a company. It assigns the server processes to the clients in
// turn.
func (q *quotaRun) client(n int, c company) *client {
	return newClient(q.servers[n%serverProcesses].base, c)
}

// sendRead sends a read of the company and reports whether it was admitted. Only the company's key
// is stored, so the response to an admitted request is a 404.
func sendRead(ctx context.Context, c *client) (out response, admitted bool, err error) {
	out, err = c.call(ctx, http.MethodGet, "", nil)
	return out, out.status == http.StatusNotFound || out.status == http.StatusOK, err
}

// sendBurst sends too many requests with one key from all clients, and checks how many are
// admitted.
func (q *quotaRun) sendBurst(ctx context.Context, f burst) error {
	company, err := q.newCompany(ctx, f.quota)
	if err != nil {
		return err
	}
	admittedMax, admittedMin := int64(f.quota), int64(f.quota)
	begin := time.Now()
	if f.startsEmpty {
		if err := q.exhaustBucket(ctx, company, f.quota, begin); err != nil {
			return err
		}
		admittedMax, admittedMin = 1, 0 // an empty bucket may admit one request more than it refills
	}
	admittedMin += int64(f.length / f.quota.Interval())
	admitted, sent, err := q.sendReads(ctx, company, f.length, burstFactor*admittedMin)
	if err != nil {
		return err
	}
	took := time.Since(begin)
	admittedMax += int64(took / f.quota.Interval()) // add what the bucket refills before the last response
	refusedShare := 1 - float64(admitted)/float64(admittedMin)
	q.require(admitted <= admittedMax, "%d a minute: %d admitted, at most %d allowed", f.quota, admitted, admittedMax)
	q.require(refusedShare < q.refusedShareMax, "%d a minute: only %d of %d admitted: %.1f %% too few", f.quota, admitted, admittedMin, 100*refusedShare)
	q.addFigure("%d a minute: %d of %d admitted of %d in %.0f s", f.quota, admitted, admittedMin, sent, took.Seconds())
	return nil
}

func keyItem(companyID, keyID string) table.Item {
	return table.Item{"pk": table.String(table.Partition(companyID, table.KeysArea)), "sk": table.String(table.JoinKey("key", keyID))}
}

// exhaustBucket uses up the read quota of a new key.
func (q *quotaRun) exhaustBucket(ctx context.Context, c company, quota auth.Quota, now time.Time) error {
	last, _ := quota.Charge(now.UnixNano()+1, now) // what quota.Charge returns for the last request that a bucket admits
	_, err := q.table.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		Key: keyItem(c.id, c.keyID), UpdateExpression: aws.String("SET tatRead = :tat"), ConditionExpression: aws.String("attribute_exists(pk)"),
		ExpressionAttributeValues: table.Item{":tat": table.Number(last.MaxTAT + last.Step)},
	})
	return err
}

// sendReads makes all clients send reads without a pause, and counts the requests and those that
// were admitted. It stops when the duration is over and at least sentMin requests were sent. On a
// busy machine, the second takes longer.
func (q *quotaRun) sendReads(ctx context.Context, company company, duration time.Duration, sentMin int64) (admitted, sent int64, err error) {
	var admittedCount, sentCount atomic.Int64
	begin := time.Now()
	err = parallel.Do(burstClients, burstClients, func(n int) error {
		c := q.client(n, company)
		for time.Since(begin) < duration || sentCount.Load() < sentMin {
			out, admitted, err := sendRead(ctx, c)
			if err != nil {
				return err
			}
			if admitted {
				admittedCount.Add(1)
			} else {
				q.require(out.status == http.StatusTooManyRequests && out.retryAfter() >= time.Second,
					"a request over the quota gets %d, Retry-After %s: %s: %s", out.status, out.retryAfter(), out.body, q.servers[n%serverProcesses].log)
			}
			sentCount.Add(1)
		}
		return nil
	})
	return admittedCount.Load(), sentCount.Load(), err
}

// waitForRetryAfter uses up quotas of several sizes. After each 429, it waits for the time in
// Retry-After and requires that the next request is admitted.
func (q *quotaRun) waitForRetryAfter(ctx context.Context) error {
	var waits, admissions, longest atomic.Int64
	err := parallel.Do(q.waitingKeys, max(1, q.waitingKeys), func(n int) error {
		quota := []auth.Quota{6, 7, 12, 30, 60, 120}[n%6]
		company, err := q.newCompany(ctx, quota)
		for round := 0; err == nil && round < q.rounds; round++ {
			var wait time.Duration
			if wait, err = q.exhaustQuota(ctx, n, company, quota); err != nil {
				return err
			}
			<-time.After(wait)
			waits.Add(1)
			longest.Store(max(longest.Load(), int64(wait)))
			var admitted bool
			if _, admitted, err = sendRead(ctx, q.client(n+round, company)); err == nil && admitted {
				admissions.Add(1)
			} else if err == nil {
				q.violate("refused again after a Retry-After of %s, with a quota of %d a minute", wait, quota)
			}
		}
		return err
	})
	q.addFigure("%d of %d requests admitted after a Retry-After of up to %s", admissions.Load(), waits.Load(), time.Duration(longest.Load()))
	return err
}

// exhaustQuota sends requests to the processes in turn until one is refused, and returns the
// Retry-After of that refusal.
func (q *quotaRun) exhaustQuota(ctx context.Context, n int, c company, quota auth.Quota) (time.Duration, error) {
	for try := range 2*int(quota) + 2 {
		out, _, err := sendRead(ctx, q.client(n+try, c))
		if err != nil || out.status == http.StatusTooManyRequests {
			return out.retryAfter(), err
		}
	}
	return 0, fmt.Errorf("a quota of %d was never used up", quota)
}
