package apitest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// Intercept is a transport to the engine that is a function: it decides what happens to each call.
type Intercept func(Call) (*http.Response, error)

// Call is a call to the engine.
type Call struct {
	*http.Request

	Action string // the DynamoDB operation, such as UpdateItem
	Body   string
}

// RoundTrip implements http.RoundTripper.
func (i Intercept) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return i(Call{r, action, string(body)})
}

// Send sends the call and returns its response.
func (c Call) Send() (*http.Response, error) { return Transport.RoundTrip(c.Request) }

// Lose sends the call and loses its response. The client will retry.
func (c Call) Lose() (*http.Response, error) {
	out, err := c.Send()
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, out.Body) // to the end, so that the call has completed
	return nil, errors.Join(errors.New("the response was lost"), err, out.Body.Close())
}

// Refuse does not send the call. It returns an error that is not retried.
func (c Call) Refuse() (*http.Response, error) {
	const body = `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"refused"}`
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: c.Request,
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// BeforeCall is a transport to the engine that runs a function just before one of the calls.
type BeforeCall struct {
	calls, callNumber atomic.Int64
	run               func()
}

// NewBeforeCall returns a transport that calls run just before it sends the call with the given
// number, counted from 1.
func NewBeforeCall(callNumber int64, run func()) *BeforeCall {
	b := &BeforeCall{run: run}
	b.callNumber.Store(callNumber)
	return b
}

// Reached reports whether there have been as many calls.
func (b *BeforeCall) Reached() bool { return b.calls.Load() >= b.callNumber.Load() }

// RoundTrip implements http.RoundTripper.
func (b *BeforeCall) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.calls.Add(1) == b.callNumber.Load() {
		b.run()
	}
	return Transport.RoundTrip(r)
}

// BeforeMatch is a transport to the engine that runs a function once, just before the first call
// that matches. Setting Run again arms it again; Run is nil after it ran.
type BeforeMatch struct {
	Matches func(Call) bool
	Run     func()

	running atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (b *BeforeMatch) RoundTrip(r *http.Request) (*http.Response, error) {
	return Intercept(func(c Call) (*http.Response, error) {
		if b.Matches(c) && b.running.CompareAndSwap(false, true) {
			if run := b.Run; run != nil {
				b.Run = nil
				run()
			}
			b.running.Store(false)
		}
		return c.Send()
	}).RoundTrip(r)
}

// IsTransaction reports whether a call writes in a transaction. It is a condition of BeforeMatch.
func IsTransaction(c Call) bool { return c.Action == "TransactWriteItems" }

// UpdateLosingTransport is a transport to the engine that sends all calls, but loses the responses
// to the next LossesLeft updates of records. Lost counts them.
type UpdateLosingTransport struct{ LossesLeft, Lost atomic.Int64 }

// RoundTrip implements http.RoundTripper.
func (l *UpdateLosingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return Intercept(func(c Call) (*http.Response, error) {
		if c.Action != "UpdateItem" || l.LossesLeft.Add(-1) < 0 {
			return c.Send()
		}
		l.Lost.Add(1)
		return c.Lose()
	}).RoundTrip(r)
}
