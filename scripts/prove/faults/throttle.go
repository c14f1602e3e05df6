package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"growthworkspace/shared/table"
)

// The numbers of the throttling gates.
const (
	successMin      = 0.999
	callsPerCall    = 1.5 // the most calls, relative to a run without throttling
	refusedShare    = 0.2 // of the calls are throttled
	walkers         = 16  // concurrent clients
	handlerDeadline = 9 * time.Second
)

// throttle is the gate of a table that throttles a fifth of the calls: nearly every request must succeed, with few extra
// calls.
func throttle(ctx context.Context, t *trial, requests int) error {
	well, err := t.traffic(ctx, t.transport, walkers*walkSteps)
	if err != nil {
		return err
	}
	t.require(well.failed == 0, "%d of %d requests fail without throttling: %s", well.failed, well.requests, well.example)
	var refused atomic.Int64
	ill, err := t.traffic(ctx, t.plant(refusing(t.transport, &refused, share(t.chance, refusedShare))), requests)
	if err != nil {
		return err
	}
	success := 1 - float64(ill.failed)/float64(ill.requests)
	more := ill.perRequest() / well.perRequest()
	t.require(success >= successMin, "%.3f %% of the requests succeed, %d of %d fail, such as %s", 100*success, ill.failed, ill.requests, ill.example)
	t.require(more <= callsPerCall, "%.2f times the calls", more)
	t.figure("%d requests, %.0f %% of the calls throttled (%d calls), %.3f %% succeed, %.2f × the calls (%.2f instead of %.2f a request)",
		ill.requests, 100*refusedShare, refused.Load(), 100*success, more, ill.perRequest(), well.perRequest())
	return nil
}

// tally counts requests and their calls to the table.
type tally struct {
	requests, failed, calls int64
	example                 string // of a failed request
}

func (t tally) perRequest() float64 { return float64(t.calls) / float64(t.requests) }

// traffic sends requests of every kind from several concurrent clients. It does not count the first walk of each client,
// because the first requests of a key need more calls.
func (t *trial) traffic(ctx context.Context, transport http.RoundTripper, requests int) (sum tally, err error) {
	var calls atomic.Int64
	base := t.serve(counting(transport, &calls))
	walks := make([]*walk, walkers)
	var mu sync.Mutex
	walkAll := func(from, to int, count bool) error {
		return table.Parallel(walkers, walkers, func(n int) (err error) {
			if walks[n] == nil {
				if walks[n], err = newWalk(ctx, t, base); err != nil {
					return err
				}
			}
			for step := from; step < to; step++ {
				out, err := walks[n].step(ctx, step)
				if err != nil {
					return err
				}
				if !count {
					continue
				}
				mu.Lock()
				if sum.requests++; out.status != http.StatusOK {
					sum.failed++
					sum.example = fmt.Sprintf("step %d: %d %s", step%walkSteps, out.status, out.body)
				}
				mu.Unlock()
			}
			return nil
		})
	}
	if err := walkAll(0, walkSteps, false); err != nil {
		return sum, err
	}
	before := calls.Load()
	each := (requests + walkers*walkSteps - 1) / (walkers * walkSteps) * walkSteps // whole walks, so that the mix of requests is always the same
	err = walkAll(walkSteps, walkSteps+each, true)
	sum.calls = calls.Load() - before
	return sum, err
}

// walk is one client's sequence of requests, in its own company.
type walk struct{ *client }

func newWalk(ctx context.Context, t *trial, base string) (*walk, error) {
	c, err := t.companyWithBoard(ctx, base)
	if err != nil {
		return nil, err
	}
	return &walk{c}, t.Write(ctx, c.ID, "item", item{ID: "itm_1", RoadmapID: "brd_1", CompanyID: c.ID, Slug: "a", Title: "A", Status: "published"})
}

// walkSteps is the number of different requests of a walk.
const walkSteps = 8

func (w *walk) step(ctx context.Context, n int) (response, error) {
	switch n % walkSteps {
	case 0:
		return w.call(ctx, http.MethodPost, "plan/boards/brd_1/items", map[string]any{"title": fmt.Sprintf("Item %d", n)})
	case 1:
		return w.call(ctx, http.MethodGet, "plan/items/itm_1", nil)
	case 2:
		return w.call(ctx, http.MethodPatch, "plan/items/itm_1", map[string]any{"title": fmt.Sprintf("A %d", n)})
	case 3:
		return w.call(ctx, http.MethodGet, "plan/boards/brd_1/items?limit=20", nil)
	case 4:
		return w.call(ctx, http.MethodPost, "broadcast/posts", map[string]any{"platform": "x", "body": "Text"})
	case 5:
		return w.call(ctx, http.MethodGet, "broadcast/posts?limit=20", nil)
	case 6:
		return w.call(ctx, http.MethodPost, "context/content-types", map[string]any{"name": fmt.Sprintf("Type %d", n), "active": true}, "Idempotency-Key", fmt.Sprint(n))
	}
	return w.call(ctx, http.MethodGet, "plan/boards", nil)
}

// outages are the kinds of calls that throttleAll throttles completely.
var outages = []struct {
	name    string
	refuses func(call string) bool
}{
	{"everything", func(string) bool { return true }},
	{"reads", func(call string) bool { return !writes(call) }},
	{"transactions", isTransaction},
	{"batches", func(call string) bool { return call == "BatchWriteItem" }},
}

// throttleAll is the gate of a table that throttles all calls, or all calls of one kind, with each of the codes. A request
// that needs such a call must get a 503 with the envelope and Retry-After before the deadline; any other request must succeed.
func throttleAll(ctx context.Context, t *trial, deadline time.Duration) error {
	codes := []string{codeThrottling, codeThroughput, codeConflict}
	var mu sync.Mutex
	requests, failures, longest := 0, 0, time.Duration(0)
	visit := func(n int) error {
		outage, code := outages[n/len(codes)], codes[n%len(codes)]
		// Each has its own table client, because clients of one process share a retry budget.
		s := t.service(refusing(t.transport, new(atomic.Int64), func(call string) (string, bool) { return code, outage.refuses(call) }))
		defer s.Close()
		w, err := newWalk(ctx, t, s.URL)
		if err != nil {
			return err
		}
		for step := range walkSteps + 1 {
			begin := time.Now()
			var out response
			if step < walkSteps {
				out, err = w.step(ctx, step)
			} else {
				out, err = w.call(ctx, http.MethodPost, boardPath, nil)
			}
			if err != nil {
				return err
			}
			took, where := time.Since(begin), fmt.Sprintf("%s of %s, step %d", code, outage.name, step)
			ok := out.status == http.StatusOK
			t.require(took < deadline, "%s: a response after %s", where, took)
			t.require(!ok || outage.name != "everything", "%s: succeeds although every call is throttled", where)
			t.require(ok || unavailable(out), "%s: %d %s", where, out.status, out.body)
			mu.Lock()
			if requests++; !ok {
				failures++
			}
			longest = max(longest, took)
			mu.Unlock()
		}
		return nil
	}
	n := len(outages) * len(codes)
	if err := table.Parallel(n, n, visit); err != nil {
		return err
	}
	t.figure("%d requests with all calls, reads, transactions or batches throttled; %d failed, each with a 503 and the envelope", requests, failures)
	t.figure("the slowest response after %.1f s of %.0f", longest.Seconds(), deadline.Seconds())
	return nil
}

// unavailable reports whether a response is a 503 with Retry-After and the envelope, which shows nothing about the table.
func unavailable(r response) bool {
	var e struct {
		Errors []struct{ Code, Message string }
	}
	return r.status == http.StatusServiceUnavailable && r.retryAfter() >= time.Second && json.Unmarshal(r.body, &e) == nil && len(e.Errors) == 1 &&
		e.Errors[0].Code == "unavailable" && !strings.Contains(string(r.body), "refused by")
}
