// Package linear is the gate of linearizability: whatever clients do at once to one record, and whatever becomes of the
// answers of the table, the outcomes are those of the same requests one after the other.
package linear

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/stand"
	"growthworkspace/scripts/prove/faults/wire"
	"growthworkspace/shared/table"
)

// Options say how much happens and what is wrong with the service.
type Options struct {
	Records  int // one after the other
	Requests int // of each client, for each record
	Plant    func(http.RoundTripper) http.RoundTripper
}

const (
	clients   = 16
	functions = 4    // processes, as far as the table sees them: clients of it that know nothing of each other
	lossy     = 0.1  // of the writes' answers
	refusing  = 0.05 // of the calls
)

// checkMax bounds the search for an order; nothing is known of a record for which it did not end.
const checkMax = time.Minute

// Gates returns the gate.
func Gates() []gate.Gate {
	return []gate.Gate{{Name: "linear", Run: func(ctx context.Context, s gate.Setting) (*gate.Report, error) {
		return Run(ctx, s, Options{Records: s.Pick(5, 40), Requests: 12})
	}}}
}

// Run lets clients change replies to reviews, one record after the other, and looks for an order.
func Run(ctx context.Context, s gate.Setting, o Options) (report *gate.Report, err error) {
	where, err := stand.Open(ctx, s.Dir, s.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	chance := wire.NewChance(s.Seed)
	r := &run{Options: o, report: &gate.Report{}, stand: where, chance: chance}
	lose := &wire.Lose{Next: where.Transport, Choose: func(call string, _ int) bool { return wire.Writes(call) && chance.Of(lossy) }}
	refuse := &wire.Refuse{Next: lose, Choose: wire.Share(chance, refusing)}
	var transport http.RoundTripper = refuse
	if o.Plant != nil {
		transport = o.Plant(refuse)
	}
	for range functions {
		base, stop, err := where.Service(transport)
		if err != nil {
			return nil, err
		}
		defer stop()
		r.bases = append(r.bases, base)
	}
	for n := range o.Records {
		if err := r.record(ctx, n); err != nil {
			return nil, err
		}
	}
	r.report.Figure("%d records, %d clients, %d requests, %d answers of the table lost, %d calls refused, %d outcomes unknown",
		o.Records, clients, r.requests, lose.Lost(), refuse.Refused(), r.unknown)
	r.report.Figure("%d of %d linearizable", r.right, o.Records)
	return r.report, nil
}

type run struct {
	Options
	report *gate.Report
	stand  *stand.Stand
	bases  []string
	chance *wire.Chance

	requests, unknown, right int
}

// record makes a review, lets every client work on its reply, and judges what they saw.
func (r *run) record(ctx context.Context, n int) error {
	company, err := r.stand.NewCompany(ctx, 0)
	if err != nil {
		return err
	}
	if err := r.stand.Write(ctx, company.ID, "feedback", map[string]any{
		"id": "fbk_1", "companyId": company.ID, "externalId": "1", "source": "app_store", "kind": "review", "replyBody": "", "replyStatus": "draft",
	}); err != nil {
		return err
	}
	var mu sync.Mutex
	var history []porcupine.Operation
	began := time.Now()
	err = table.Parallel(clients, clients, func(c int) error {
		own, err := r.stand.NewKey(ctx, company, 0)
		if err != nil {
			return err
		}
		client := stand.NewClient(r.bases[c%functions], own)
		for m := range r.Requests {
			in := r.draw(c, m)
			call := time.Since(began)
			out, err := in.send(ctx, client)
			if err != nil {
				return err
			}
			end := int64(time.Since(began))
			if !out.known {
				end = math.MaxInt64 // it may still be on its way, forever
			}
			mu.Lock()
			history = append(history, porcupine.Operation{ClientId: c, Input: in, Call: int64(call), Output: out, Return: end})
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.requests += len(history)
	for _, o := range history {
		if !o.Output.(output).known {
			r.unknown++
		}
	}
	switch result := porcupine.CheckOperationsTimeout(model, history, checkMax); result {
	case porcupine.Ok:
		r.right++
	case porcupine.Illegal:
		r.report.Violate("record %d: no order of its %d requests explains their outcomes", n, len(history))
	default:
		r.report.Violate("record %d: no order was found in %s; ask for fewer requests", n, checkMax)
	}
	return nil
}

// draw decides what the m-th request of a client is. Every text is another, so that each outcome tells whose it is.
func (r *run) draw(client, m int) input {
	switch p := r.chance.Float(); {
	case p < 0.4:
		return input{text: fmt.Sprintf("Text %d of client %d", m, client)}
	case p < 0.7:
		return input{status: "approved"}
	case p < 0.8:
		return input{status: "needs_review"}
	}
	return input{}
}
