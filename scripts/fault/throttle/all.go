package throttle

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"growthworkspace/scripts/fault/gate"
	"growthworkspace/scripts/fault/stand"
	"growthworkspace/scripts/fault/wire"
)

// sick are the ways in which a table may refuse everything.
var sick = []struct {
	name    string
	refuses func(call string) bool
}{
	{"everything", func(string) bool { return true }},
	{"reads", func(call string) bool { return !wire.Writes(call) }},
	{"transactions", func(call string) bool { return call == "TransactWriteItems" }},
	{"batches", func(call string) bool { return call == "BatchWriteItem" }},
}

// All is the gate of a table that refuses every call, or every one of a kind, with each of its refusals: whoever asked
// for what needs it gets the envelope of an internal error before the deadline, and the caller of anything else an answer.
func All(ctx context.Context, s gate.Setting, o Options) (report *gate.Report, err error) {
	where, err := stand.Open(ctx, s.Dir, s.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	report = &gate.Report{}
	requests, failures, longest := 0, 0, time.Duration(0)
	for _, way := range sick {
		for _, code := range []string{wire.Throttling, wire.Throughput, wire.Conflict} {
			// A client of its own each time: the budget of repetitions must not be used up when the next begins.
			refuse := &wire.Refuse{Next: where.Transport, Choose: func(call string) (string, bool) { return code, way.refuses(call) }}
			var transport http.RoundTripper = refuse
			if o.Plant != nil {
				transport = o.Plant(refuse)
			}
			base, stop, err := where.Service(transport)
			if err != nil {
				return nil, err
			}
			w, err := newWalk(ctx, where, base)
			for n := 0; err == nil && n <= steps; n++ {
				var answer stand.Answer
				began := time.Now()
				if n < steps {
					answer, err = w.step(ctx, n)
				} else {
					answer, err = w.Call(ctx, http.MethodPost, "plan/boards/brd_1/publish", nil)
				}
				took := time.Since(began)
				if err != nil {
					break
				}
				requests++
				longest = max(longest, took)
				report.Require(took < o.Deadline, "%s of %s, step %d: an answer after %s", code, way.name, n, took)
				if answer.Status != http.StatusOK {
					failures++
					report.Require(envelope(answer), "%s of %s, step %d: %d %s", code, way.name, n, answer.Status, answer.Body)
				}
				report.Require(answer.Status != http.StatusOK || way.name != "everything", "step %d succeeds where every call is refused", n)
			}
			stop()
			if err != nil {
				return nil, err
			}
		}
	}
	report.Figure("%d requests to a table that refuses everything, all reads, all transactions or all batches; %d failed, each with the envelope of a 500", requests, failures)
	report.Figure("the slowest answer after %.1f s of %.0f", longest.Seconds(), o.Deadline.Seconds())
	return report, nil
}

// envelope tells whether an answer is a 500 as spec.md, Errors, has it, which says nothing of the table.
func envelope(a stand.Answer) bool {
	var e struct {
		Errors []struct{ Code, Message string }
	}
	return a.Status == http.StatusInternalServerError && json.Unmarshal(a.Body, &e) == nil && len(e.Errors) == 1 &&
		e.Errors[0].Code == "internal" && !strings.Contains(string(a.Body), "refused by")
}
