package faults

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/scripts/prove/testbed"
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
	// No engine is fast enough to use up a very large quota. If shortfallMax is not zero, the burst
	// measures how many requests the engine can handle if each admission is only a bare write of
	// one item. The number of admitted requests may be smaller than that by at most this share.
	shortfallMax float64
}

const (
	serverProcesses = 3
	burstClients    = 64                   // concurrent clients
	tableLatency    = 5 * time.Millisecond // the delay added to each call to the table
	burstRounds     = 6                    // the number of periods with bare writes in a burst, each followed by one with admissions
	burstFactor     = 4                    // a burst sends at least burstFactor times the number of requests that the quota allows
)

// checkQuotas checks quotas. Clients of several server processes send far more requests than the
// quota of their key allows. The service must admit as many requests as the quota's token bucket
// and its refill allow, no more and almost no fewer. It must refuse the other requests with a 429.
// A client that has waited for the Retry-After of a 429 must be admitted.
func checkQuotas(ctx context.Context, t *checkRun, d quotaCheck) (err error) {
	q := &quotaRun{quotaCheck: d, checkRun: t}
	if q.servers, err = q.startServers(ctx, t.serverBug); err != nil {
		return err
	}
	for _, f := range d.bursts {
		if f.shortfallMax > 0 && q.baselineServers == nil {
			if q.baselineServers, err = q.startServers(ctx, mutantBaseline); err != nil {
				return err
			}
		}
		if err := q.sendBurst(ctx, f); err != nil {
			return err
		}
	}
	return q.waitForRetryAfter(ctx)
}

// startServers starts the server processes of a service whose table is slow.
func (t *checkRun) startServers(ctx context.Context, p mutant) (servers []*server, err error) {
	previousBug := t.serverBug
	t.serverBug, t.latency = p, tableLatency
	defer func() { t.serverBug, t.latency = previousBug, 0 }()
	for range serverProcesses {
		s, err := t.startServer(ctx)
		if err != nil {
			return nil, err
		}
		t.cleanups = append(t.cleanups, s.kill)
		servers = append(servers, s)
	}
	return servers, nil
}

type quotaRun struct {
	quotaCheck
	*checkRun
	servers         []*server
	baselineServers []*server // servers that admit requests with bare writes; nil until a burst needs them
}

// client returns the n-th client of a company. It assigns the server processes to the clients in
// turn.
func (q *quotaRun) client(n int, c testbed.Company) *client {
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
	company, err := q.NewCompany(ctx, f.quota)
	if err != nil {
		return err
	}
	baselineCompany, err := q.NewCompany(ctx, 0)
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
	var admitted, sent, baselineAdmitted atomic.Int64
	if f.shortfallMax > 0 {
		for range burstRounds {
			if err = q.sendReads(ctx, q.baselineServers, baselineCompany, f.length/(2*burstRounds), 0, &baselineAdmitted, &sent); err == nil {
				err = q.sendReads(ctx, q.servers, company, f.length/(2*burstRounds), 0, &admitted, &sent)
			}
			if err != nil {
				return err
			}
		}
	} else if err := q.sendReads(ctx, q.servers, company, f.length, burstFactor*admittedMin, &admitted, &sent); err != nil {
		return err
	}
	took := time.Since(begin)
	admittedMax += int64(took / f.quota.Interval()) // add what the bucket refills before the last response
	comparison, shortfallMax := "", q.refusedShareMax
	if f.shortfallMax > 0 {
		admittedMin, shortfallMax = min(admittedMin, baselineAdmitted.Load()), f.shortfallMax
		comparison = fmt.Sprintf(" (bare writes: %d)", baselineAdmitted.Load())
	}
	shortfall := 1 - float64(admitted.Load())/float64(admittedMin)
	q.require(admitted.Load() <= admittedMax, "%d a minute: %d admitted, at most %d allowed", f.quota, admitted.Load(), admittedMax)
	q.require(shortfall < shortfallMax, "%d a minute: only %d of %d admitted: %.1f %% too few", f.quota, admitted.Load(), admittedMin, 100*shortfall)
	q.addFigure("%d a minute: %d of %d admitted of %d in %.0f s%s", f.quota, admitted.Load(), admittedMin, sent.Load(), took.Seconds(), comparison)
	return nil
}

// baselineKeys admits every request with a bare conditional write of the key's item. The write sets
// the same attributes as a real admission. An engine needs more time for a longer condition, so the
// write also has the conditions of a real admission, except for those on the bucket.
type baselineKeys struct{ table *table.Client }

// Admit implements api.Keys.
func (b baselineKeys) Admit(ctx context.Context, token auth.Token, _ []auth.Scope, class auth.Class) (auth.Admission, error) {
	_, err := b.table.UpdateKey(ctx, &dynamodb.UpdateItemInput{
		Key: keyItem(token.CompanyID, token.KeyID), UpdateExpression: aws.String("SET lastUsedAt = :at, admission = :mark, tatRead = :tat"),
		ConditionExpression: aws.String("#hash = :hash AND attribute_not_exists(revokedAt) AND attribute_not_exists(suspendedAt)" +
			" AND (attribute_not_exists(expiresAt) OR expiresAt > :at) AND (attribute_not_exists(admission) OR admission <> :mark)"),
		ExpressionAttributeNames: map[string]string{"#hash": "hash"},
		ExpressionAttributeValues: table.Item{
			":at": table.String(b.table.Now()), ":mark": table.String(b.table.NewID("a")), ":tat": table.Number(1),
			":hash": table.String(hex.EncodeToString(token.Hash[:])),
		},
		ReturnValues: types.ReturnValueUpdatedNew,
	})
	return auth.Admission{Quota: auth.QuotaState{Quota: auth.DefaultQuota(class)}}, err
}

// Verify implements api.Keys. The requests of this check do not need it.
func (baselineKeys) Verify(context.Context, auth.Token, []auth.Scope, auth.Class) (auth.QuotaState, error) {
	return auth.QuotaState{}, auth.ErrUnauthorised
}

func keyItem(companyID, keyID string) table.Item {
	return table.Item{"pk": table.String(table.Partition(companyID, table.KeysArea)), "sk": table.String(table.JoinKey("key", keyID))}
}

// exhaustBucket uses up the read quota of a new key.
func (q *quotaRun) exhaustBucket(ctx context.Context, c testbed.Company, quota auth.Quota, now time.Time) error {
	last, _ := quota.Charge(now.UnixNano()+1, now) // what quota.Charge returns for the last request that a bucket admits
	_, err := q.Table.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		Key: keyItem(c.ID, c.KeyID), UpdateExpression: aws.String("SET tatRead = :tat"), ConditionExpression: aws.String("attribute_exists(pk)"),
		ExpressionAttributeValues: table.Item{":tat": table.Number(last.MaxTAT + last.Step)},
	})
	return err
}

// sendReads makes all clients send reads without a pause. It adds the number of requests to `sent`,
// and the number of admitted requests to `admissions`. It stops when the duration is over and
// `sent` has reached admissionsMax. On a busy machine, reaching admissionsMax takes longer than the
// duration.
func (q *quotaRun) sendReads(ctx context.Context, servers []*server, company testbed.Company, duration time.Duration, admissionsMax int64, admissions, sent *atomic.Int64) error {
	begin := time.Now()
	return parallel.Do(burstClients, burstClients, func(n int) error {
		s := servers[n%serverProcesses]
		c := newClient(s.base, company)
		for time.Since(begin) < duration || sent.Load() < admissionsMax {
			out, admitted, err := sendRead(ctx, c)
			if err != nil {
				return err
			}
			if admitted {
				admissions.Add(1)
			} else {
				q.require(out.status == http.StatusTooManyRequests && out.retryAfter() >= time.Second,
					"a request over the quota gets %d, Retry-After %s: %s: %s", out.status, out.retryAfter(), out.body, s.log)
			}
			sent.Add(1)
		}
		return nil
	})
}

// waitForRetryAfter uses up quotas of several sizes. After each 429, it waits for the time in
// Retry-After and requires that the next request is admitted.
func (q *quotaRun) waitForRetryAfter(ctx context.Context) error {
	var waits, admissions, longest atomic.Int64
	err := parallel.Do(q.waitingKeys, max(1, q.waitingKeys), func(n int) error {
		quota := []auth.Quota{6, 7, 12, 30, 60, 120}[n%6]
		company, err := q.NewCompany(ctx, quota)
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
func (q *quotaRun) exhaustQuota(ctx context.Context, n int, c testbed.Company, quota auth.Quota) (time.Duration, error) {
	for try := range 2*int(quota) + 2 {
		out, _, err := sendRead(ctx, q.client(n+try, c))
		if err != nil || out.status == http.StatusTooManyRequests {
			return out.retryAfter(), err
		}
	}
	return 0, fmt.Errorf("a quota of %d was never used up", quota)
}
