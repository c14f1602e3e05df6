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
)

// The faults of the way to the table are transports under the table client. They see DynamoDB's protocol: one POST per
// call, whose header names the call and whose body is a JSON object. The local engines check no signature, so a body may
// be changed on its way.

// roundTripper is a transport made of a function.
type roundTripper func(r *http.Request) (*http.Response, error)

// RoundTrip is http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// pooled returns a transport that keeps enough connections for the clients of a gate.
func pooled() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 128
	return t
}

// callOf returns the name of a call, such as PutItem.
func callOf(r *http.Request) string {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return name
}

// attemptOf returns how often the SDK has sent a call, 1 for the first time.
func attemptOf(r *http.Request) (n int) {
	if _, err := fmt.Sscanf(r.Header.Get("Amz-Sdk-Request"), "attempt=%d", &n); err != nil {
		return 1
	}
	return n
}

// writes reports whether a call changes records.
func writes(call string) bool {
	return slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"}, call)
}

// counting counts the calls, retries included.
func counting(next http.RoundTripper, calls *atomic.Int64) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		calls.Add(1)
		return next.RoundTrip(r)
	})
}

var errLost = errors.New("the response was lost")

// losing performs every call, and loses the responses that choose names.
func losing(next http.RoundTripper, lost *atomic.Int64, choose func(call string, attempt int) bool) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		call, attempt := callOf(r), attemptOf(r)
		out, err := next.RoundTrip(r)
		if err != nil || !choose(call, attempt) {
			return out, err
		}
		_, err = io.Copy(io.Discard, out.Body) // to its end, so that the call is done when its response is lost
		lost.Add(1)
		return nil, errors.Join(errLost, err, out.Body.Close())
	})
}

// death is that of a process after so many calls to the table. Unheard sends one more call, whose response comes too late.
type death struct {
	calls   int64
	unheard bool
}

var errDead = errors.New("the process has died")

// dying lets calls through until the death, and none after it.
func dying(next http.RoundTripper, calls *atomic.Int64, at death) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		n := calls.Add(1)
		if n > at.calls+1 || n > at.calls && !at.unheard {
			return nil, errDead
		}
		out, err := next.RoundTrip(r)
		if n > at.calls && err == nil {
			return nil, errors.Join(errDead, out.Body.Close())
		}
		return out, err
	})
}

// Refusals of DynamoDB. The local engines never give the first two.
const (
	codeThrottling = "ThrottlingException"
	codeThroughput = "ProvisionedThroughputExceededException"
	codeConflict   = "TransactionConflictException"
)

// refusing answers the calls that choose names with a refusal, and does not perform them. It refuses a transaction as
// DynamoDB does: canceled, with a reason for each of its writes.
func refusing(next http.RoundTripper, refused *atomic.Int64, choose func(call string) (code string, refuse bool)) http.RoundTripper {
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

// share chooses a share of the calls for refusing: half with both kinds of throttling, and half with a conflict of
// transactions, which only writes can meet.
func share(c *chance, of float64) func(call string) (string, bool) {
	return func(call string) (string, bool) {
		if !c.of(of) {
			return "", false
		}
		switch kind := c.float(); {
		case kind < 0.5 && writes(call) && call != "BatchWriteItem":
			return codeConflict, true
		case kind < 0.75:
			return codeThroughput, true
		}
		return codeThrottling, true
	}
}

// chance makes random decisions that can be repeated with the same seed, as far as they are made in the same order. It is
// safe for concurrent use.
type chance struct {
	mu     sync.Mutex
	random *rand.Rand
}

func newChance(seed uint64) *chance { return &chance{random: rand.New(rand.NewPCG(seed, 0))} }

// of is true with this probability.
func (c *chance) of(p float64) bool { return c.float() < p }

// float returns a number from 0 to 1.
func (c *chance) float() float64 {
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

// pass sends a call of this name and body in place of the request's own.
func pass(next http.RoundTripper, r *http.Request, call string, body map[string]any) (*http.Response, error) {
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
