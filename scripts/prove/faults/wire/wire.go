// Package wire holds the faults of the way to the table, each a transport under the table client: answers that get
// lost, refusals, the death of the process, and the planted faults by which the gates prove that they can fail.
//
// They see DynamoDB's protocol as it is on the wire: one POST per call, whose header names the call and whose body is
// one JSON object. The engines of the harness check no signature, so a body may be changed on its way.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// Call is the name of the call that a request makes, such as PutItem.
func Call(r *http.Request) string {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return name
}

// Attempt tells how often the SDK has sent this very call, 1 for the first time.
func Attempt(r *http.Request) (n int) {
	if _, err := fmt.Sscanf(r.Header.Get("Amz-Sdk-Request"), "attempt=%d", &n); err != nil {
		return 1
	}
	return n
}

// Writes tells whether a call changes records.
func Writes(call string) bool {
	return slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"}, call)
}

// Pooled is a transport with enough kept connections for the clients of a gate.
func Pooled() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 128
	return t
}

// Counter counts the calls that pass it, the repetitions of the client among them.
type Counter struct {
	Next  http.RoundTripper
	calls atomic.Int64
}

// RoundTrip is http.RoundTripper.
func (c *Counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	return c.Next.RoundTrip(r)
}

// Calls returns how many there were.
func (c *Counter) Calls() int64 { return c.calls.Load() }

// Func is a transport made of a function.
type Func func(r *http.Request) (*http.Response, error)

// RoundTrip is http.RoundTripper.
func (f Func) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// edit passes a call on with a changed body.
func edit(next http.RoundTripper, r *http.Request, change func(body map[string]any)) (*http.Response, error) {
	body, err := decode(r)
	if err != nil {
		return nil, err
	}
	change(body)
	return pass(next, r, Call(r), body)
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
		return nil, fmt.Errorf("write a call: %w", err)
	}
	again := r.Clone(r.Context())
	again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	target, _, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	again.Header.Set("X-Amz-Target", target+"."+call)
	again.Header.Del("Content-Length")
	return next.RoundTrip(again)
}

func answer(status int, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write an answer: %w", err)
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}, nil
}
