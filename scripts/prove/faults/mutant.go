package faults

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"growthworkspace/scripts/prove/testbed"
	"growthworkspace/shared/change"
	"growthworkspace/shared/stream"
)

// The transports and handlers in this file inject bugs into a correct service. The tests use them
// to show that each check can fail.

// withoutConditions makes the conditions of all writes true, as if the service had no
// compare-and-set.
func withoutConditions(next http.RoundTripper) http.RoundTripper {
	return editCalls(next, isWrite, func(body map[string]any) {
		dropCondition(body)
		parts, _ := body["TransactItems"].([]any)
		for _, part := range parts {
			for _, write := range part.(map[string]any) {
				dropCondition(write.(map[string]any))
			}
		}
	})
}

// dropCondition makes the condition of a write always true. It keeps the condition's text as part
// of an expression, because DynamoDB rejects unused placeholders.
func dropCondition(write map[string]any) {
	if condition, ok := write["ConditionExpression"].(string); ok {
		write["ConditionExpression"] = "(" + condition + ") OR attribute_exists(pk) OR attribute_not_exists(pk)"
	}
}

// withoutTransactionTokens removes ClientRequestToken from transactions, so that DynamoDB does not
// recognise a retry.
func withoutTransactionTokens(next http.RoundTripper) http.RoundTripper {
	return editCalls(next, isTransaction, func(body map[string]any) { delete(body, "ClientRequestToken") })
}

func isTransaction(call string) bool { return call == "TransactWriteItems" }

// editCalls passes the body of each call for which choose returns true to the function edit, and
// then sends the call.
func editCalls(next http.RoundTripper, choose func(call string) bool, edit func(body map[string]any)) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !choose(callOf(r)) {
			return next.RoundTrip(r)
		}
		body, err := decode(r)
		if err != nil {
			return nil, err
		}
		edit(body)
		return forward(next, r, callOf(r), body)
	})
}

// failUpdateConditions makes the conditions of all updates fail. The service then acts as if,
// before each update of a quota's bucket, another caller had changed the bucket.
func failUpdateConditions(next http.RoundTripper) http.RoundTripper {
	return editCalls(next, func(call string) bool { return call == "UpdateItem" }, func(body map[string]any) {
		if condition, ok := body["ConditionExpression"].(string); ok {
			body["ConditionExpression"] = "(" + condition + ") AND attribute_not_exists(pk)"
		}
	})
}

// writeDelay is how long delayWrites waits before it sends a write that it has already
// acknowledged.
const writeDelay = 20 * time.Millisecond

// delayWrites acknowledges transactions and batches at once and sends them later, in the same
// order. So it acts like a service that buffers writes in memory and loses them if the process
// crashes.
func delayWrites(next http.RoundTripper) http.RoundTripper {
	type write struct {
		due time.Time
		do  func()
	}
	queue := make(chan write, 1<<12)
	go func() {
		for w := range queue {
			<-time.After(time.Until(w.due))
			w.do()
		}
	}()
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		call := callOf(r)
		if !isTransaction(call) && call != "BatchWriteItem" {
			return next.RoundTrip(r)
		}
		body, err := decode(r)
		if err != nil {
			return nil, err
		}
		delayedRequest := r.Clone(context.WithoutCancel(r.Context()))
		queue <- write{time.Now().Add(writeDelay), func() {
			if out, err := forward(next, delayedRequest, call, body); err == nil {
				_ = out.Body.Close() // ignore the response, because the caller already has one
			}
		}}
		return respond(http.StatusOK, map[string]any{})
	})
}

// mutant names a bug that a test injects into a server process when it starts.
type mutant string

const (
	mutantDelayedWrites    mutant = "behind"
	mutantUnconditional    mutant = "unconditional"
	mutantBaseline         mutant = "bare"      // not a bug: each admission is a bare write, for comparison
	mutantContended        mutant = "overtaken" // every admission fails, as if another caller had always been faster
	mutantShortRetryAfter  mutant = "hasty"     // every Retry-After says one second
	mutantNoLimits         mutant = "unbounded" // the server lacks the limits of `workspace serve`
	mutantRejectMost       mutant = "stingy"    // three out of four admitted requests get a 429
	mutantPerProcessShards mutant = "forgetful" // each process names the shards of the stream differently, so it does not recognise what another process recorded
)

// stream returns a reader with the bug.
func (p mutant) stream(from testbed.StreamReader) testbed.StreamReader {
	if p == mutantPerProcessShards {
		return perProcessShards{from}
	}
	return from
}

// perProcessShards is a reader that adds the process's id to the ids of the shards.
type perProcessShards struct{ testbed.StreamReader }

// Poll implements testbed.StreamReader.
func (p perProcessShards) Poll(ctx context.Context, consume stream.Consume) (delivered int, err error) {
	return p.StreamReader.Poll(ctx, func(ctx context.Context, shardID string, records []change.StreamRecord) error {
		return consume(ctx, fmt.Sprintf("%s of process %d", shardID, os.Getpid()), records)
	})
}

func (p mutant) transport(next http.RoundTripper) http.RoundTripper {
	switch p {
	case mutantDelayedWrites:
		return delayWrites(next)
	case mutantUnconditional:
		return withoutConditions(next)
	case mutantContended:
		return failUpdateConditions(next)
	}
	return next
}

func (p mutant) handler(next http.Handler) http.Handler {
	var requests atomic.Int64
	alter := map[mutant]func(h http.Header, status int) int{
		mutantShortRetryAfter: func(h http.Header, status int) int {
			if h.Get("Retry-After") != "" {
				h.Set("Retry-After", "1")
			}
			return status
		},
		mutantRejectMost: func(h http.Header, status int) int {
			if requests.Add(1)%4 == 0 {
				return status
			}
			h.Set("Retry-After", "1")
			return http.StatusTooManyRequests
		},
	}[p]
	if alter == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(alteredResponse{w, alter}, r) })
}

// alteredResponse is a ResponseWriter that changes the status and the headers.
type alteredResponse struct {
	http.ResponseWriter
	changeHeader func(h http.Header, status int) int
}

// WriteHeader implements http.ResponseWriter.
func (a alteredResponse) WriteHeader(status int) {
	a.ResponseWriter.WriteHeader(a.changeHeader(a.Header(), status))
}
