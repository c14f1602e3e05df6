package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Request is one HTTP request to the API. The methods of Client build their requests themselves. To
// call an operation for which this package has no method yet, pass a Request to Do.
type Request struct {
	Method string
	Path   string // escaped, begins with /v1; {companyId} is replaced with the key's company
	Query  url.Values
	Body   []byte // JSON, or nil for no body

	// Repeatable means that the request may be executed twice. Such a request is retried after a
	// lost response.
	Repeatable bool
	// Quota is the name of the key's quota that the request uses, such as "write". After a 429,
	// requests that use the same quota wait together.
	Quota string
	// AcceptsIdempotencyKey means that the operation accepts an Idempotency-Key, which makes the
	// request repeatable.
	AcceptsIdempotencyKey bool
}

// Response is an HTTP response.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// ETag returns the entity tag for IfMatch and IfNoneMatch. It is empty if the response has none.
func (r Response) ETag() string { return r.Header.Get("ETag") }

// HasMore reports whether there is more than the response contains. After a delete of many points,
// it reports whether some points remain; repeating the call deletes them.
func (r Response) HasMore() bool { return r.Header.Get("Service-Has-More") == "true" }

// RateLimit is the state of the quota that a request used.
type RateLimit struct {
	Limit     int           // number of requests in a full quota
	Remaining int           // number of requests that would be admitted now
	Reset     time.Duration // time until the quota is full
}

// RateLimit returns the state of the quota after the request. ok is false if the response does not
// report it, for example because the key is not valid.
func (r Response) RateLimit() (state RateLimit, ok bool) {
	limit, err1 := strconv.Atoi(r.Header.Get("RateLimit-Limit"))
	remaining, err2 := strconv.Atoi(r.Header.Get("RateLimit-Remaining"))
	seconds, err3 := strconv.Atoi(r.Header.Get("RateLimit-Reset"))
	if errors.Join(err1, err2, err3) != nil {
		return RateLimit{}, false
	}
	return RateLimit{limit, remaining, time.Duration(seconds) * time.Second}, true
}

// RequestID returns the id of the request, which the operator can find in the logs.
func (r Response) RequestID() string { return r.Header.Get("Service-Request-Id") }

func (r Response) decode(v any) error {
	if err := json.Unmarshal(r.Body, v); err != nil {
		return fmt.Errorf("client: decode the response to %s: %w", r.RequestID(), err)
	}
	return nil
}

// bodyBytesMax is the maximum size of a response body. The findings of an audit can be up to 4 MB.
const bodyBytesMax = 64 << 20

// Do sends a request and retries it when that is safe. A status above 299 is returned as an *Error,
// except 304, which is returned as ErrNotModified. Any other error comes from the network or the
// context.
func (c *Client) Do(ctx context.Context, r Request, options ...CallOption) (Response, error) {
	o := callOptions{header: http.Header{}}
	for _, option := range options {
		option(&o)
	}
	address, err := c.address(ctx, r)
	if err != nil {
		return Response{}, err
	}
	if r.AcceptsIdempotencyKey && o.header.Get("Idempotency-Key") == "" {
		o.header.Set("Idempotency-Key", c.newIdempotencyKey())
	}
	var p callProgress
	if err := c.waitForTurn(ctx, r.Quota, &p); err != nil {
		return Response{}, err
	}
	for {
		response, err := c.send(ctx, r, address, o.header)
		if err == nil && o.responseInto != nil {
			*o.responseInto = *response
		}
		switch {
		case err == nil && response.Status == http.StatusNotModified:
			return *response, ErrNotModified
		case err == nil && response.Status < 300:
			return *response, nil
		case err != nil && ctx.Err() != nil:
			return Response{}, err
		}
		p.recordFailure(response, err)
		wait, retry := c.retryDelay(r, response, err, &p)
		if !retry {
			return Response{}, p.err
		}
		if err := c.sleepFor(ctx, wait, &p); err != nil {
			return Response{}, err
		}
	}
}

// address returns the URL of a request, including the company and the query.
func (c *Client) address(ctx context.Context, r Request) (string, error) {
	path := r.Path
	if strings.Contains(path, companyParameter) {
		id, err := c.CompanyID(ctx)
		if err != nil {
			return "", err
		}
		path = strings.ReplaceAll(path, companyParameter, url.PathEscape(id))
	}
	if len(r.Query) > 0 {
		path += "?" + r.Query.Encode()
	}
	return c.base + path, nil
}

const companyParameter = "{companyId}"

// send makes one attempt. Its errors contain the address, which never contains the key.
func (c *Client) send(ctx context.Context, r Request, address string, header http.Header) (*Response, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, address, bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	request.Header = header.Clone()
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.userAgent)
	if c.version != "" {
		request.Header.Set("Service-Version", c.version)
	}
	if r.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, bodyBytesMax+1))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("client: read the response of %s: %w", address, err)
	}
	if len(body) > bodyBytesMax {
		return nil, fmt.Errorf("client: the response of %s has more than %d bytes", address, bodyBytesMax)
	}
	return &Response{Status: response.StatusCode, Header: response.Header, Body: body}, nil
}
