package faults

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/parallel"
)

const (
	editorCount       = 16   // concurrent clients
	serviceInstances  = 4    // instances of the service, each with its own table client
	lostResponseShare = 0.1  // the share of the table's responses to writes that are lost
	throttledShare    = 0.05 // the share of calls to the table that are throttled
)

// checkTimeout is how long the checker may search for an order of the requests to one record. On a
// busy machine, the outcomes of many requests may be unknown, and the search then takes exponential
// time. In that case, checkLinearizability starts again with half as many requests.
const checkTimeout = time.Minute

// checkLinearizability checks that the service is linearizable. It uses one review after another.
// Concurrent clients change the reply to that review, while responses from the table are lost and
// calls to it are throttled. There must be an order in which the requests, run one after another,
// could have had the same outcomes.
func checkLinearizability(ctx context.Context, t *checkRun, records, requests int) error {
	var lost, throttled atomic.Int64
	transport := loseResponses(t.transport, &lost, func(call string, _ int) bool { return isWrite(call) && t.random.chance(lostResponseShare) })
	transport = throttleCalls(transport, &throttled, func() bool { return t.random.chance(throttledShare) })
	var bases []string
	for range serviceInstances {
		bases = append(bases, t.serve(transport))
	}
	sent, unknown, linearizable, shortened := 0, 0, 0, 0
	for n := range records {
		var history []porcupine.Operation
		verdict := porcupine.Unknown
		for perClient := requests; verdict == porcupine.Unknown && perClient > 0; perClient /= 2 {
			if perClient < requests {
				shortened++
			}
			var err error
			if history, err = t.recordHistory(ctx, bases, perClient); err != nil {
				return err
			}
			verdict = porcupine.CheckOperationsTimeout(replyModel, history, checkTimeout)
		}
		sent += len(history)
		for _, o := range history {
			if !o.Output.(editOutcome).known {
				unknown++
			}
		}
		switch verdict {
		case porcupine.Ok:
			linearizable++
		case porcupine.Illegal:
			t.violate("record %d: no order of its %d requests explains their outcomes", n, len(history))
		default:
			t.violate("record %d: no order of its %d requests was found in %s", n, len(history), checkTimeout)
		}
	}
	t.addFigure("%d records, %d clients, %d requests, %d responses of the table lost, %d calls throttled, %d outcomes unknown",
		records, editorCount, sent, lost.Load(), throttled.Load(), unknown)
	t.addFigure("%d of %d linearizable, %d histories too long to decide", linearizable, records, shortened)
	return nil
}

// recordHistory creates a review, lets every client change and read its reply, and returns the
// requests with their outcomes.
func (cr *checkRun) recordHistory(ctx context.Context, bases []string, requests int) (history []porcupine.Operation, err error) {
	company, err := cr.newCompany(ctx, unlimitedQuota)
	if err != nil {
		return nil, err
	}
	if err := cr.importRecords(ctx, company.id, "feedback", map[string]any{
		"id": "fbk_1", "companyId": company.id, "externalId": "1", "source": "app_store", "kind": "review", "replyBody": "", "replyStatus": "draft",
	}); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	begin := time.Now()
	err = parallel.Do(editorCount, editorCount, func(n int) error {
		editorKey, err := cr.newKey(ctx, company.id, unlimitedQuota)
		if err != nil {
			return err
		}
		c := newClient(bases[n%serviceInstances], editorKey)
		for m := range requests {
			in := cr.drawEdit(n, m)
			call := time.Since(begin)
			out, err := in.send(ctx, c)
			if err != nil {
				return err
			}
			end := int64(time.Since(begin))
			if out.hadNoEffect || !out.known && in == (replyEdit{}) {
				continue // the request changed nothing, and its outcome does not show the record's state
			}
			if !out.known {
				end = math.MaxInt64 // the change may still take effect at any later time
			}
			mu.Lock()
			history = append(history, porcupine.Operation{ClientId: n, Input: in, Call: int64(call), Output: out, Return: end})
			mu.Unlock()
		}
		return nil
	})
	return history, err
}

// replyEdit is a request that sets the reply's text or its status. A request that sets neither is a
// read.
type replyEdit struct{ text, status string }

// drawEdit returns the m-th request of a client. Every request that sets the text sets a different
// one, so each outcome identifies its request.
func (cr *checkRun) drawEdit(clientIndex, m int) replyEdit {
	switch p := cr.random.float(); {
	case p < 0.4:
		return replyEdit{text: fmt.Sprintf("Text %d of client %d", m, clientIndex)}
	case p < 0.7:
		return replyEdit{status: "approved"}
	case p < 0.8:
		return replyEdit{status: "needs_review"}
	}
	return replyEdit{}
}

type replyState struct{ text, status string }

// editOutcome is the outcome of a request. hadNoEffect means that the request failed and changed
// nothing. known is false if the request failed and may have changed something.
type editOutcome struct {
	known       bool
	hadNoEffect bool
	state       replyState
}

// replyModel describes how a reply behaves without concurrency. Changing the text moves an approved
// reply back to draft. This rule involves both fields, so two concurrent changes that overwrite
// each other break it.
var replyModel = porcupine.Model{
	Init: func() any { return replyState{"", "draft"} },
	Step: func(before, in, out any) (bool, any) {
		after, e, o := before.(replyState), in.(replyEdit), out.(editOutcome)
		if e.text != "" && e.text != after.text {
			if after.status == "approved" {
				after.status = "draft"
			}
			after.text = e.text
		}
		if e.status != "" {
			after.status = e.status
		}
		return !o.known || o.state == after, after
	},
}

func (e replyEdit) send(ctx context.Context, c *client) (editOutcome, error) {
	var out response
	var err error
	switch {
	case e.text != "":
		out, err = c.call(ctx, http.MethodPatch, "feedback/fbk_1/reply", map[string]any{"replyBody": e.text})
	case e.status != "":
		out, err = c.call(ctx, http.MethodPatch, "feedback/fbk_1/reply", map[string]any{"replyStatus": e.status})
	default:
		out, err = c.call(ctx, http.MethodGet, "feedback/fbk_1", nil)
	}
	if err != nil || out.status != http.StatusOK {
		return editOutcome{hadNoEffect: err == nil && bytes.Equal(out.body, fault.Envelope(fault.ErrUnavailable))}, err
	}
	var record struct{ ReplyBody, ReplyStatus string }
	err = out.decode(&record)
	return editOutcome{known: true, state: replyState{record.ReplyBody, record.ReplyStatus}}, err
}
