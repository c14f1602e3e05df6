// Package loss is the gate of lost answers: the table does what it was asked and its answer never arrives. Nothing is
// done twice, and nothing that was done is answered as a failure while the table can be reached.
package loss

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
)

// Options say how many requests there are and what is wrong.
type Options struct {
	Requests int
	Keyless  bool                                      // a client that repeats its request without the Idempotency-Key
	Plant    func(http.RoundTripper) http.RoundTripper // nil: nothing
}

// Gates returns the two gates.
func Gates() []gate.Gate {
	return []gate.Gate{
		{Name: "loss-key", Run: func(ctx context.Context, s gate.Setting) (*gate.Report, error) {
			return Keyed(ctx, s, Options{Requests: s.Pick(1000, 5000)})
		}},
		{Name: "loss", Run: func(ctx context.Context, s gate.Setting) (*gate.Report, error) {
			return Plain(ctx, s, Options{Requests: s.Pick(300, 3000)})
		}},
	}
}

// clients is how many callers there are at once.
const clients = 8

// lossy is the share of writes whose answers get lost, repetitions included: far more than the client's own
// repetitions can make up for.
const lossy = 0.4

// triesMax bounds how often a client repeats a request.
const triesMax = 100

// Keyed is the gate of creates with an Idempotency-Key, whose client repeats whatever was answered with a failure.
func Keyed(ctx context.Context, s gate.Setting, o Options) (report *gate.Report, err error) {
	where, err := stand.Open(ctx, s.Dir, s.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	chance := wire.NewChance(s.Seed)
	lose := &wire.Lose{Next: where.Transport, Choose: func(call string, _ int) bool { return wire.Writes(call) && chance.Of(lossy) }}
	k, err := newKeyed(ctx, where, lose, o)
	if err != nil {
		return nil, err
	}
	defer k.stop()
	if err := each(o.Requests, func(n int) error { return k.create(ctx, n) }); err != nil {
		return nil, err
	}
	if err := k.count(ctx, where, o.Requests); err != nil {
		return nil, err
	}
	k.report.Figure("%d creates with an Idempotency-Key, %d answers of the table lost, %d requests repeated after a failure, %d replayed", o.Requests, lose.Lost(), k.repeated, k.replayed)
	k.report.Figure("%d duplicates, %d missing", k.doubles, k.missing)
	return k.report, nil
}

type keyed struct {
	Options
	report  *gate.Report
	clients []*stand.Client // each with a company of its own
	stop    func()

	mu                                   sync.Mutex
	repeated, replayed, doubles, missing int
}

func newKeyed(ctx context.Context, where *stand.Stand, transport http.RoundTripper, o Options) (*keyed, error) {
	base, stop, err := where.Service(transport)
	if err != nil {
		return nil, err
	}
	k := &keyed{Options: o, report: &gate.Report{}, stop: stop}
	for range clients {
		company, err := where.NewCompany(ctx, 0)
		if err == nil {
			err = where.Write(ctx, company.ID, "board", map[string]any{"id": "brd_1", "companyId": company.ID})
		}
		if err != nil {
			stop()
			return nil, err
		}
		k.clients = append(k.clients, stand.NewClient(base, company))
	}
	return k, nil
}

// titles returns those of all records of a type.
func (k *keyed) titles(ctx context.Context, where *stand.Stand, kind string) (all []string, err error) {
	for _, c := range k.clients {
		titles, err := where.Titles(ctx, c.Company.ID, kind)
		if err != nil {
			return nil, err
		}
		all = append(all, titles...)
	}
	return all, nil
}

// create makes the n-th record, by the same request until it is answered with anything but a failure.
func (k *keyed) create(ctx context.Context, n int) error {
	title := fmt.Sprintf("Create %d", n)
	path, body := "plan/boards/brd_1/items", map[string]any{"title": title}
	if n%2 == 1 {
		path, body = "broadcast/posts", map[string]any{"platform": "x", "title": title, "body": "Text"}
	}
	header := []string{"Idempotency-Key", title}
	for try := range triesMax {
		answer, err := k.clients[n%clients].Call(ctx, http.MethodPost, path, body, header...)
		if err != nil {
			return fmt.Errorf("create: %w", err)
		}
		k.mu.Lock()
		if try > 0 {
			k.repeated++
		}
		if answer.Header.Get("Idempotent-Replayed") == "true" {
			k.replayed++
		}
		k.mu.Unlock()
		switch {
		case answer.Status == http.StatusOK:
			return nil
		case answer.Status == http.StatusConflict && answer.RetryAfter() > 0: // the request before is still running
			<-time.After(answer.RetryAfter())
		case !answer.Failed():
			k.report.Violate("create %d, time %d: %d %s", n, try+1, answer.Status, answer.Body)
			return nil
		}
		if k.Keyless {
			header = nil
		}
	}
	k.report.Violate("create %d failed %d times", n, triesMax)
	return nil
}

// count looks for each record once.
func (k *keyed) count(ctx context.Context, where *stand.Stand, requests int) error {
	seen := map[string]int{}
	for _, kind := range []string{"item", "post"} {
		titles, err := k.titles(ctx, where, kind)
		if err != nil {
			return err
		}
		for _, title := range titles {
			seen[title]++
		}
	}
	for n := range requests {
		switch title := fmt.Sprintf("Create %d", n); seen[title] {
		case 0:
			k.missing++
			k.report.Violate("%s was answered as done and is not there", title)
		case 1:
		default:
			k.doubles += seen[title] - 1
			k.report.Violate("%s is there %d times", title, seen[title])
		}
	}
	return nil
}

// each calls do for 0 to n-1 from several clients at once, and returns what failed first.
func each(n int, do func(n int) error) error {
	var wait sync.WaitGroup
	errs := make(chan error, clients)
	for c := range clients {
		wait.Go(func() {
			for i := c; i < n; i += clients {
				if err := do(i); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wait.Wait()
	close(errs)
	return <-errs
}
