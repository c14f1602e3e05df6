// Package throttle is the gate of a table that refuses: a fifth of all calls, and all of them.
package throttle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/stand"
	"growthworkspace/scripts/prove/faults/wire"
	"growthworkspace/shared/table"
)

// Options say how much is refused, of how many requests, and what must come out of it.
type Options struct {
	Requests int
	Share    float64                                   // of the calls that are refused
	Plant    func(http.RoundTripper) http.RoundTripper // above the refusals of a share; nil: nothing
	Deadline time.Duration                             // of the answer when all is refused
}

// What the gate asks for.
const (
	successMin = 0.999
	callsMax   = 1.5 // times the calls of a table that refuses nothing
	share      = 0.2
	deadline   = 9 * time.Second // of the handler, design.md §5
	clients    = 16
)

// Gates returns the two gates.
func Gates() []gate.Gate {
	return []gate.Gate{
		{Name: "throttle", Run: func(ctx context.Context, s gate.Setting) (*gate.Report, error) {
			return Some(ctx, s, Options{Requests: s.Pick(4000, 20_000), Share: share})
		}},
		{Name: "throttle-all", Run: func(ctx context.Context, s gate.Setting) (*gate.Report, error) {
			return All(ctx, s, Options{Deadline: deadline})
		}},
	}
}

// Some is the gate of a table that refuses a share of the calls: nearly every request must succeed, with few calls more.
func Some(ctx context.Context, s gate.Setting, o Options) (report *gate.Report, err error) {
	where, err := stand.Open(ctx, s.Dir, s.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	report = &gate.Report{}
	well, err := traffic(ctx, where, where.Transport, clients*steps)
	if err != nil {
		return nil, err
	}
	report.Require(well.failed == 0, "%d of %d requests fail with nothing in the way: %s", well.failed, well.requests, well.example)
	refuse := &wire.Refuse{Next: where.Transport, Choose: wire.Share(wire.NewChance(s.Seed), o.Share)}
	var transport http.RoundTripper = refuse
	if o.Plant != nil {
		transport = o.Plant(refuse)
	}
	ill, err := traffic(ctx, where, transport, o.Requests)
	if err != nil {
		return nil, err
	}
	success := 1 - float64(ill.failed)/float64(ill.requests)
	more := ill.calls() / well.calls()
	report.Require(success >= successMin, "%.3f %% of the requests succeed, %d of %d do not, such as %s", 100*success, ill.failed, ill.requests, ill.example)
	report.Require(more <= callsMax, "%.2f times the calls", more)
	report.Figure("%d requests, %.0f %% of the calls refused, %d of them, %.3f %% succeed, %.2f × the calls (%.2f instead of %.2f a request)",
		ill.requests, 100*o.Share, refuse.Refused(), 100*success, more, ill.calls(), well.calls())
	return report, nil
}

// tally is what became of a number of requests.
type tally struct {
	requests, failed, sent int64
	example                string
}

func (t tally) calls() float64 { return float64(t.sent) / float64(t.requests) }

// traffic makes requests of every kind, from several clients at once. It counts from the second walk of each client on,
// because a process asks more often about keys that it does not know yet.
func traffic(ctx context.Context, where *stand.Stand, transport http.RoundTripper, requests int) (tally, error) {
	counter := &wire.Counter{Next: transport}
	base, stop, err := where.Service(counter)
	if err != nil {
		return tally{}, err
	}
	defer stop()
	walks := make([]*walk, clients)
	err = table.Parallel(clients, clients, func(n int) (err error) {
		if walks[n], err = newWalk(ctx, where, base); err != nil {
			return err
		}
		return walks[n].walk(ctx, 0, steps, func(stand.Answer, int) {})
	})
	if err != nil {
		return tally{}, err
	}
	var mu sync.Mutex
	t, before := tally{}, counter.Calls()
	each := (requests + clients*steps - 1) / (clients * steps) * steps // whole walks, so that the mixture is always the same
	err = table.Parallel(clients, clients, func(n int) error {
		return walks[n].walk(ctx, steps, steps+each, func(a stand.Answer, step int) {
			mu.Lock()
			defer mu.Unlock()
			if t.requests++; a.Status != http.StatusOK {
				t.failed++
				t.example = fmt.Sprintf("step %d: %d %s", step%steps, a.Status, a.Body)
			}
		})
	})
	t.sent = counter.Calls() - before
	return t, err
}

// walk is one client's way through the operations, in a company of its own.
type walk struct {
	*stand.Client
	item string
}

func newWalk(ctx context.Context, where *stand.Stand, base string) (*walk, error) {
	company, err := where.NewCompany(ctx, 0)
	if err != nil {
		return nil, err
	}
	if err := where.Write(ctx, company.ID, "board", map[string]any{"id": "brd_1", "companyId": company.ID}); err != nil {
		return nil, err
	}
	return &walk{Client: stand.NewClient(base, company), item: "itm_1"}, where.Write(ctx, company.ID, "item", map[string]any{
		"id": "itm_1", "roadmapId": "brd_1", "companyId": company.ID, "slug": "a", "title": "A", "status": "published",
	})
}

// steps is how many different requests a walk makes.
const steps = 8

// walk makes the steps from one number to before another.
func (w *walk) walk(ctx context.Context, from, to int, see func(a stand.Answer, step int)) error {
	for n := from; n < to; n++ {
		answer, err := w.step(ctx, n)
		if err != nil {
			return err
		}
		see(answer, n)
	}
	return nil
}

func (w *walk) step(ctx context.Context, n int) (stand.Answer, error) {
	switch n % steps {
	case 0:
		return w.Call(ctx, http.MethodPost, "plan/boards/brd_1/items", map[string]any{"title": fmt.Sprintf("Item %d", n)})
	case 1:
		return w.Call(ctx, http.MethodGet, "plan/items/"+w.item, nil)
	case 2:
		return w.Call(ctx, http.MethodPatch, "plan/items/"+w.item, map[string]any{"title": fmt.Sprintf("A %d", n)})
	case 3:
		return w.Call(ctx, http.MethodGet, "plan/boards/brd_1/items?limit=20", nil)
	case 4:
		return w.Call(ctx, http.MethodPost, "broadcast/posts", map[string]any{"platform": "x", "body": "Text"})
	case 5:
		return w.Call(ctx, http.MethodGet, "broadcast/posts?limit=20", nil)
	case 6:
		return w.Call(ctx, http.MethodPost, "context/content-types", map[string]any{"name": fmt.Sprintf("Type %d", n), "active": true}, "Idempotency-Key", fmt.Sprint(n))
	}
	return w.Call(ctx, http.MethodGet, "plan/boards", nil)
}
