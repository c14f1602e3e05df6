package faults

import (
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
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

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

// throttleCalls rejects the calls for which choose returns true, as DynamoDB does when it throttles
// a call. The local engines never do.
func throttleCalls(next http.RoundTripper, throttled *atomic.Int64, choose func() bool) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if !choose() {
			return next.RoundTrip(r)
		}
		throttled.Add(1)
		return respond(http.StatusBadRequest, `{"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException", "message": "throttled by the check"}`), nil
	})
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
func (r *randomSource) chance(p float64) bool { return r.float() < p }

// float returns a number in [0, 1).
func (r *randomSource) float() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.Float64()
}

// respond returns a response of the table with the given status and body.
func respond(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}
