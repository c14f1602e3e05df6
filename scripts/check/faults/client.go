package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apiclient "growthworkspace/shared/client"
)

// client calls a service with a company's key.
type client struct {
	company
	base string
	http *http.Client
}

func newClient(base string, c company) *client {
	return &client{c, base, &http.Client{Transport: noRetryTransport{engineTransport("")}, Timeout: time.Minute}}
}

// companyWithBoard creates a company with an empty board, brd_1. It returns a client with a key of
// the company.
func (cr *checkRun) companyWithBoard(ctx context.Context, base string) (*client, error) {
	company, err := cr.newCompany(ctx, unlimitedQuota)
	if err != nil {
		return nil, err
	}
	return newClient(base, company), cr.importRecords(ctx, company.id, "board", map[string]any{"id": "brd_1", "companyId": company.id})
}

type response struct {
	status int
	header http.Header
	body   []byte
}

func (r response) decode(into any) error {
	if err := json.Unmarshal(r.body, into); err != nil {
		return fmt.Errorf("read the response %d %q: %w", r.status, r.body, err)
	}
	return nil
}

// failed reports whether the status is 5xx. A request that failed may or may not have taken effect.
func (r response) failed() bool { return r.status >= http.StatusInternalServerError }

// retryAfter returns the duration in the header Retry-After, or zero if the header is absent.
func (r response) retryAfter() time.Duration {
	seconds, err := strconv.Atoi(r.header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// call sends a request. path is relative to the company's path. header alternates between names and
// values. An error means that no response arrived.
func (c *client) call(ctx context.Context, method, path string, body any, header ...string) (response, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return response{}, fmt.Errorf("encode a request: %w", err)
		}
	}
	return c.send(ctx, method, path, text, header...)
}

// send is like call, but accepts an encoded body, which need not be JSON. If text is nil, the
// request has no body. send never retries.
func (c *client) send(ctx context.Context, method, path string, text []byte, header ...string) (response, error) {
	target := "/v1/companies/" + c.id
	if path != "" {
		target += "/" + path
	}
	api, err := apiclient.New(c.base, c.key, apiclient.WithHTTPClient(c.http), apiclient.WithAttempts(1), apiclient.WithVersion(""))
	if err != nil {
		return response{}, err
	}
	var got apiclient.Response
	options := []apiclient.CallOption{apiclient.Into(&got)}
	for n := 0; n+1 < len(header); n += 2 {
		options = append(options, apiclient.Header(header[n], header[n+1]))
	}
	_, err = api.Do(ctx, apiclient.Request{Method: method, Path: target, Body: text}, options...)
	if got.Status == 0 {
		return response{}, err
	}
	return response{got.Status, got.Header, got.Body}, nil // a response with an error status is not a Go error
}

// noRetryTransport is a transport that sends a request only once. http.Transport may send a request
// a second time, if an idle connection turns out to be closed and the body can be read again.
type noRetryTransport struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t noRetryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.WithContext(r.Context()) // copy the request, because a transport must not change it
	r.GetBody = nil
	return t.Transport.RoundTrip(r)
}
