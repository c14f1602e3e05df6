package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"growthworkspace/scripts/prove/testbed"
)

// client calls a service with a company's key.
type client struct {
	testbed.Company
	base string
	http *http.Client
}

func newClient(base string, c testbed.Company) *client {
	return &client{c, base, &http.Client{Transport: testbed.Transport(""), Timeout: time.Minute}}
}

// companyWithBoard creates a company with an empty board, brd_1, and returns its client.
func (t *trial) companyWithBoard(ctx context.Context, base string) (*client, error) {
	company, err := t.NewCompany(ctx, testbed.Unlimited)
	if err != nil {
		return nil, err
	}
	return newClient(base, company), t.Write(ctx, company.ID, "board", map[string]any{"id": "brd_1", "companyId": company.ID})
}

// response is a response of the service.
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

// failed reports whether the status is 5xx: the outcome of the request is then unknown.
func (r response) failed() bool { return r.status >= http.StatusInternalServerError }

// retryAfter returns the time in Retry-After, zero when there is none.
func (r response) retryAfter() time.Duration {
	seconds, err := strconv.Atoi(r.header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// call sends a request. The path is below the company; header alternates names and values. An error means that there was
// no response.
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

// send is call with the text of a body, which need not be JSON; nil: none.
func (c *client) send(ctx context.Context, method, path string, text []byte, header ...string) (response, error) {
	target := c.base + "/v1/companies/" + c.ID
	if path != "" {
		target += "/" + path
	}
	r, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(text))
	if err != nil {
		return response{}, fmt.Errorf("create a request: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+c.Key)
	if text != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n+1 < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	// A request must reach the service once. Go's client retries a request on a closed idle connection if it can read the
	// body again.
	r.GetBody = nil
	out, err := c.http.Do(r)
	if err != nil {
		return response{}, err
	}
	read, err := io.ReadAll(out.Body)
	if err != nil {
		return response{}, fmt.Errorf("read a response: %w", err)
	}
	return response{out.StatusCode, out.Header, read}, out.Body.Close()
}
