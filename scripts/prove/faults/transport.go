package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The transports in this file inject faults between the service and the table. In DynamoDB's
// protocol, a call is a POST with the call's name in a header and a JSON object as its body. The
// local engines do not check signatures, so a transport may change a body.

// roundTripper adapts a function to http.RoundTripper.
type roundTripper func(r *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// callOf returns the name of a call, such as PutItem.
func callOf(r *http.Request) string {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return name
}

// attemptOf returns the number of the SDK's attempt at a call. The first attempt has the number 1.
func attemptOf(r *http.Request) (n int) {
	if _, err := fmt.Sscanf(r.Header.Get("Amz-Sdk-Request"), "attempt=%d", &n); err != nil {
		return 1
	}
	return n
}

// isWrite reports whether a call changes records.
func isWrite(call string) bool {
	return slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"}, call)
}

func delayCalls(next http.RoundTripper, d time.Duration) http.RoundTripper {
	if d == 0 {
		return next
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		<-time.After(d)
		return next.RoundTrip(r)
	})
}

var errLost = errors.New("the response was lost")

// loseResponses sends every call, and loses the response if choose returns true for the call.
func loseResponses(next http.RoundTripper, lost *atomic.Int64, choose func(call string, attempt int) bool) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		call, attempt := callOf(r), attemptOf(r)
		out, err := next.RoundTrip(r)
		if err != nil || !choose(call, attempt) {
			return out, err
		}
		_, err = io.Copy(io.Discard, out.Body) // once the whole response has arrived, the call has certainly taken effect
		lost.Add(1)
		return nil, errors.Join(errLost, err, out.Body.Close())
	})
}

// DynamoDB's error codes for throttled calls and for conflicts. The local engines never return the
// two codes for throttling.
const (
	codeThrottling = "ThrottlingException"
	codeThroughput = "ProvisionedThroughputExceededException"
	codeConflict   = "TransactionConflictException"
)

// rejectCalls does not send the calls for which choose returns true. Instead, it returns an error
// with the code that choose returns. As in DynamoDB, the error for a transaction lists a reason for
// each of its writes.
func rejectCalls(next http.RoundTripper, refused *atomic.Int64, choose func(call string) (code string, refuse bool)) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		call := callOf(r)
		code, refuse := choose(call)
		if !refuse {
			return next.RoundTrip(r)
		}
		refused.Add(1)
		body, err := decode(r)
		if err != nil {
			return nil, err
		}
		const namespace = "com.amazonaws.dynamodb.v20120810#"
		if call != "TransactWriteItems" || code == codeThrottling {
			return respond(http.StatusBadRequest, map[string]any{"__type": namespace + code, "message": "refused by the proof"})
		}
		writes, _ := body["TransactItems"].([]any)
		reasons := make([]map[string]any, len(writes))
		for n := range reasons {
			reasons[n] = map[string]any{"Code": "None"}
		}
		if len(reasons) > 0 {
			reason := map[string]string{codeConflict: "TransactionConflict", codeThroughput: "ThrottlingError"}[code]
			reasons[0] = map[string]any{"Code": reason, "Message": "refused by the proof"}
		}
		return respond(http.StatusBadRequest, map[string]any{
			"__type": namespace + "TransactionCanceledException", "message": "refused by the proof", "CancellationReasons": reasons,
		})
	})
}

// chooseRandomly selects a random share of the calls, and an error code for each. For half of the
// selected writes, the code means a transaction conflict. For all other selected calls, it is one
// of the two codes for throttling.
func chooseRandomly(c *randomSource, share float64) func(call string) (string, bool) {
	return func(call string) (string, bool) {
		if !c.chance(share) {
			return "", false
		}
		switch kind := c.float(); {
		case kind < 0.5 && isWrite(call) && call != "BatchWriteItem":
			return codeConflict, true
		case kind < 0.75:
			return codeThroughput, true
		}
		return codeThrottling, true
	}
}

// randomSource makes random decisions. The same seed gives the same decisions in the same order. It
// is safe for concurrent use.
type randomSource struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newRandomSource(seed uint64) *randomSource {
	return &randomSource{random: rand.New(rand.NewPCG(seed, 0))}
}

// chance returns true with probability p.
func (c *randomSource) chance(p float64) bool { return c.float() < p }

// float returns a number in [0, 1).
func (c *randomSource) float() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.random.Float64()
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

func respond(status int, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode a response: %w", err)
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}, nil
}
