package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"growthworkspace/shared/change"
	"growthworkspace/shared/stream"
)

// The bugs that the tests inject into a correct service, to show that each check can fail. They are
// in the package's variable, because server processes, which run this test binary, need them too.
func init() {
	bugs = map[string]bug{
		"no conditions":          {transport: withoutConditions},
		"no transaction tokens":  {transport: withoutTransactionTokens},
		"writes in memory":       {transport: delayWrites},
		"lost responses to puts": {transport: losePutResponses},
		"admissions fail":        {transport: failUpdateConditions},
		"Retry-After of 1 s":     {handler: alterResponses(shortenRetryAfter)},
		"refusals":               {handler: alterResponses(refuseMost())},
		"no limits":              {noLimits: true},
		"shards per process":     {stream: func(from streamReader) streamReader { return perProcessShards{from} }},
	}
}

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
		return respond(http.StatusOK, "{}"), nil
	})
}

func decode(r *http.Request) (body map[string]any, err error) {
	d := json.NewDecoder(r.Body)
	d.UseNumber()
	if err := d.Decode(&body); err != nil {
		return nil, fmt.Errorf("read a call: %w", err)
	}
	return body, r.Body.Close()
}

// forward sends a request to next with a different call and body.
func forward(next http.RoundTripper, r *http.Request, call string, body map[string]any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode a call: %w", err)
	}
	changed := r.Clone(r.Context())
	changed.Body, changed.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	target, _, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	changed.Header.Set("X-Amz-Target", target+"."+call)
	changed.Header.Del("Content-Length")
	return next.RoundTrip(changed)
}

// losePutResponses returns a transport that loses every response to PutItem.
func losePutResponses(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		out, err := next.RoundTrip(r)
		if err == nil && callOf(r) == "PutItem" {
			return nil, errors.Join(errLost, out.Body.Close())
		}
		return out, err
	})
}

// perProcessShards is a reader that adds the process's id to the ids of the shards, so that a
// process does not recognise what another one recorded.
type perProcessShards struct{ streamReader }

// Poll implements streamReader.
func (p perProcessShards) Poll(ctx context.Context, consume stream.Consume) (delivered int, err error) {
	return p.streamReader.Poll(ctx, func(ctx context.Context, shardID string, records []change.StreamRecord) error {
		return consume(ctx, fmt.Sprintf("%s of process %d", shardID, os.Getpid()), records)
	})
}

// shortenRetryAfter makes every Retry-After say one second.
func shortenRetryAfter(h http.Header, status int) int {
	if h.Get("Retry-After") != "" {
		h.Set("Retry-After", "1")
	}
	return status
}

// refuseMost returns a function that turns three out of four responses into a 429.
func refuseMost() func(h http.Header, status int) int {
	var requests atomic.Int64
	return func(h http.Header, status int) int {
		if requests.Add(1)%4 == 0 {
			return status
		}
		h.Set("Retry-After", "1")
		return http.StatusTooManyRequests
	}
}

// alterResponses returns a bug that changes the status and the headers of every response.
func alterResponses(alter func(h http.Header, status int) int) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(alteredResponse{w, alter}, r) })
	}
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
