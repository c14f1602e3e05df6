package throttle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"growthworkspace/scripts/prove/faults/gate"
	"growthworkspace/scripts/prove/faults/stand"
	"growthworkspace/scripts/prove/faults/wire"
)

const everything = "everything"

var codes = []string{wire.Throttling, wire.Throughput, wire.Conflict}

// sick are the ways in which a table may refuse everything.
var sick = []struct {
	name    string
	refuses func(call string) bool
}{
	{everything, func(string) bool { return true }},
	{"reads", func(call string) bool { return !wire.Writes(call) }},
	{"transactions", func(call string) bool { return call == "TransactWriteItems" }},
	{"batches", func(call string) bool { return call == "BatchWriteItem" }},
}

// All is the gate of a table that refuses every call, or every one of a kind, with each of its refusals: whoever asked
// for what needs it gets the envelope of an internal error before the deadline, and the caller of anything else an answer.
func All(ctx context.Context, s gate.Setting, o Options) (_ *gate.Report, err error) {
	where, err := stand.Open(ctx, s.Dir, s.Log)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, where.Close()) }()
	v := &ward{Options: o, report: &gate.Report{}}
	var wait sync.WaitGroup
	errs := make(chan error, len(sick)*len(codes))
	for _, way := range sick {
		for _, code := range codes {
			// A client of its own each: one must not use up the other's budget of repetitions.
			refuse := &wire.Refuse{Next: where.Transport, Choose: func(call string) (string, bool) { return code, way.refuses(call) }}
			wait.Go(func() { errs <- v.visit(ctx, where, refuse, code+" of "+way.name, way.name == everything) })
		}
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return nil, err
		}
	}
	v.report.Figure("%d requests to a table that refuses everything, all reads, all transactions or all batches; %d failed, each with the envelope of a 500", v.requests, v.failures)
	v.report.Figure("the slowest answer after %.1f s of %.0f", v.longest.Seconds(), o.Deadline.Seconds())
	return v.report, nil
}

// ward is where the sick tables are.
type ward struct {
	Options
	report *gate.Report

	mu                 sync.Mutex
	requests, failures int
	longest            time.Duration
}

// visit walks through the operations over a sick table, and publishes.
func (v *ward) visit(ctx context.Context, where *stand.Stand, transport http.RoundTripper, name string, never bool) error {
	base, stop, err := where.Service(transport)
	if err != nil {
		return err
	}
	defer stop()
	w, err := newWalk(ctx, where, base)
	if err != nil {
		return err
	}
	for n := range steps + 1 {
		began := time.Now()
		var answer stand.Answer
		if n < steps {
			answer, err = w.step(ctx, n)
		} else {
			answer, err = w.Call(ctx, http.MethodPost, "plan/boards/brd_1/publish", nil)
		}
		if err != nil {
			return err
		}
		v.judge(answer, time.Since(began), fmt.Sprintf("%s, step %d", name, n), never)
	}
	return nil
}

func (v *ward) judge(answer stand.Answer, took time.Duration, place string, never bool) {
	v.report.Require(took < v.Deadline, "%s: an answer after %s", place, took)
	v.report.Require(answer.Status != http.StatusOK || !never, "%s: succeeds where every call is refused", place)
	v.report.Require(answer.Status == http.StatusOK || envelope(answer), "%s: %d %s", place, answer.Status, answer.Body)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.requests++
	v.longest = max(v.longest, took)
	if answer.Status != http.StatusOK {
		v.failures++
	}
}

// envelope tells whether an answer is a 500 as spec.md, Errors, has it, which says nothing of the table.
func envelope(a stand.Answer) bool {
	var e struct {
		Errors []struct{ Code, Message string }
	}
	return a.Status == http.StatusInternalServerError && json.Unmarshal(a.Body, &e) == nil && len(e.Errors) == 1 &&
		e.Errors[0].Code == "internal" && !strings.Contains(string(a.Body), "refused by")
}
