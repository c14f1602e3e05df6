package faults

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"growthworkspace/scripts/prove/testbed"
)

// A push of many series is several transactions, so a process can die between them. It claims its Idempotency-Key first and remembers
// its response last (scripts/docs/explanation/errors-and-retries.md).

const (
	pushMetrics = 2
	pushSeries  = 30 // of each metric; a transaction has at most 24
	pushPath    = "metrics/points"

	// claimAge is more than the age at which the claim of a dead process may be taken over.
	claimAge = 20 * time.Second
)

// pushed is a large push: the points that are stored once it is complete, by series.
type pushed struct {
	body   map[string]any
	values map[string]float64
}

// newPushed returns a push for metrics that have no definition. Its values begin with from.
func newPushed(name string, from float64) pushed {
	p := pushed{values: map[string]float64{}}
	var points []any
	for metric := range pushMetrics {
		for series := range pushSeries {
			key, value := fmt.Sprintf("custom.%s_%d", name, metric), from+float64(len(points))
			points = append(points, map[string]any{
				"metricKey": key, "ts": "2026-08-10", "value": value, "dims": map[string]string{"series": fmt.Sprint(series)},
			})
			p.values[fmt.Sprintf("%s {\"series\":\"%d\"}", key, series)] = value
		}
	}
	p.body = map[string]any{"points": points}
	return p
}

// stored counts the points of a push that are stored, and compares everything that the company has with it.
func (t *trial) stored(ctx context.Context, companyID, where string, pushes ...pushed) (points int, err error) {
	found, err := testbed.Export[struct {
		MetricKey string
		Dims      map[string]string
		Value     float64
	}](ctx, t.Testbed, companyID, "metric-point")
	if err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	for _, f := range found {
		series := fmt.Sprintf("%s {\"series\":%q}", f.MetricKey, f.Dims["series"])
		want, sent := 0.0, false
		for _, p := range pushes {
			if value, has := p.values[series]; has {
				want, sent = value, true
			}
		}
		t.require(sent && f.Value == want, "%s: %s is %v, which was not sent", where, series, f.Value)
		t.require(!seen[series], "%s: %s is stored twice", where, series)
		seen[series] = true
	}
	definitions, err := testbed.Export[struct{ Key string }](ctx, t.Testbed, companyID, "metric-definition")
	if err != nil {
		return 0, err
	}
	keys := map[string]bool{}
	for _, d := range definitions {
		t.require(!keys[d.Key], "%s: %s is defined twice", where, d.Key)
		keys[d.Key] = true
	}
	for _, f := range found {
		t.require(keys[f.MetricKey], "%s: a point of %s has no definition", where, f.MetricKey)
	}
	return len(found), nil
}

// pushes is the gate of large pushes with an Idempotency-Key, through deaths at every call to the table and through lost responses. A
// response is remembered only when every point is stored; a retry completes the push; nothing is stored twice, and the key accepts no
// other push.
func pushes(ctx context.Context, t *trial, rounds, losses int) error {
	deaths, half := 0, 0
	for range rounds {
		calls, err := everyDeath(func(at death) (bool, error) {
			left, died, err := t.pushDying(ctx, at, false)
			if died {
				deaths++
			}
			if left > 0 && left < pushMetrics*pushSeries {
				half++
			}
			return died, err
		})
		if err != nil {
			return err
		}
		t.figure("%d calls", calls)
	}
	t.figure("%d deaths in pushes of %d points, %d left some of them", deaths, pushMetrics*pushSeries, half)
	return t.pushLosing(ctx, losses)
}

// pushDying pushes in a process that dies, reads what is stored, and retries in a process that does not die, when the claim of the
// first has expired. keyless is for a client that forgets the key in its retries.
func (t *trial) pushDying(ctx context.Context, at death, keyless bool) (left int, died bool, err error) {
	in, err := t.NewCompany(ctx, testbed.Unlimited)
	if err != nil {
		return 0, false, err
	}
	where := fmt.Sprintf("death after call %d", at.calls)
	p, other := newPushed("crash", 1), newPushed("crash", 1000)
	key := []string{"Idempotency-Key", "one-" + in.ID}
	first, died, err := t.callDying(ctx, in, at, pushPath, p.body, key...)
	if err != nil {
		return 0, died, err
	}
	if left, err = t.stored(ctx, in.ID, where, p); err != nil {
		return left, died, err
	}
	all := len(p.values)
	t.require(first.failed() || left == all, "%s: the push was acknowledged with %d, and %d of %d points are stored", where, first.status, left, all)

	if keyless {
		key = nil
	}
	s := t.serviceAt(t.plant(t.transport), func() time.Time { return time.Now().Add(claimAge) })
	defer s.Close()
	c := newClient(s.URL, in)
	retry, err := c.call(ctx, http.MethodPost, pushPath, p.body, key...)
	if err != nil {
		return left, died, err
	}
	t.require(retry.status == http.StatusOK, "%s: the retry gets %d %s", where, retry.status, retry.body)
	replayed := retry.header.Get("Idempotent-Replayed") == "true"
	t.require(!replayed || left == all, "%s: the response was remembered, and %d of %d points were stored", where, left, all)
	done, err := t.stored(ctx, in.ID, where, p)
	if err != nil {
		return left, died, err
	}
	t.require(done == all, "%s: the retry was acknowledged, and %d of %d points are stored", where, done, all)

	again, err := c.call(ctx, http.MethodPost, pushPath, p.body, key...)
	if err != nil {
		return left, died, err
	}
	t.require(again.header.Get("Idempotent-Replayed") == "true" && bytes.Equal(again.body, retry.body), "%s: another retry is not replayed: %d %s", where, again.status, again.body)
	refused, err := c.call(ctx, http.MethodPost, pushPath, other.body, key...)
	if err != nil {
		return left, died, err
	}
	t.require(refused.status == http.StatusBadRequest, "%s: another push with the key gets %d", where, refused.status)
	_, err = t.stored(ctx, in.ID, where, p)
	return left, died, err
}

// pushLosing pushes through a transport that loses responses to writes, and retries each push until it succeeds. A failed attempt
// releases its claim unless that fails too, so the clock of the service passes the age of claims with each failure.
func (t *trial) pushLosing(ctx context.Context, requests int) error {
	var lost, failures, ahead atomic.Int64
	transport := losing(t.plant(t.transport), &lost, func(call string, _ int) bool { return writes(call) && t.chance.of(lossShare) })
	s := t.serviceAt(transport, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	defer s.Close()
	in, err := t.NewCompany(ctx, testbed.Unlimited)
	if err != nil {
		return err
	}
	c, sent := newClient(s.URL, in), make([]pushed, requests)
	for n := range requests {
		sent[n] = newPushed(fmt.Sprintf("loss_%d", n), float64(1000*n))
		where := fmt.Sprintf("push %d with lost responses", n)
		status := 0
		for range keyTries {
			out, err := c.call(ctx, http.MethodPost, pushPath, sent[n].body, "Idempotency-Key", fmt.Sprintf("loss-%d", n))
			if err != nil {
				return err
			}
			if status = out.status; !out.failed() {
				break
			}
			failures.Add(1)
			ahead.Add(int64(claimAge))
		}
		t.require(status == http.StatusOK, "%s: the last attempt gets %d", where, status)
	}
	done, err := t.stored(ctx, in.ID, "lost responses", sent...)
	t.require(done == requests*pushMetrics*pushSeries, "%d of %d acknowledged points are stored", done, requests*pushMetrics*pushSeries)
	t.figure("%d pushes with %d lost responses, %d attempts failed", requests, lost.Load(), failures.Load())
	return err
}
