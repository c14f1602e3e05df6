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
	"strings"
)

// Request is one call as it is sent. The methods of a Client make it; by hand it reaches what they do not know yet.
type Request struct {
	Method string
	Path   string // escaped, from /v1 on; {companyId} stands for the key's company
	Query  url.Values
	Body   []byte // JSON; nil: none

	// Repeatable says that it does no harm to be done twice, so that it is sent again when its answer does not arrive.
	Repeatable bool
	// TakesKey says that it takes an Idempotency-Key, with which it is repeatable.
	TakesKey bool
}

// Response is an answer as it came.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// ETag returns the entity tag for IfMatch and IfNoneMatch, empty when the answer has none.
func (r Response) ETag() string { return r.Header.Get("ETag") }

// RequestID returns the id of the request, for questions to the operator.
func (r Response) RequestID() string { return r.Header.Get("Service-Request-Id") }

func (r Response) decode(v any) error {
	if err := json.Unmarshal(r.Body, v); err != nil {
		return fmt.Errorf("client: the answer to %s does not read: %w", r.RequestID(), err)
	}
	return nil
}

// bodyBytesMax bounds an answer: findings of an audit have up to 5 MB.
const bodyBytesMax = 64 << 20

// Do sends a request, and sends it again as package and options say. An answer above 299 is an *Error, except 304, which is
// ErrNotModified. Any other error is of the way there or of the context.
func (c *Client) Do(ctx context.Context, r Request, options ...CallOption) (Response, error) {
	o := callOptions{header: http.Header{}}
	for _, option := range options {
		option(&o)
	}
	address, err := c.address(ctx, r)
	if err != nil {
		return Response{}, err
	}
	if r.TakesKey && o.header.Get("Idempotency-Key") == "" {
		o.header.Set("Idempotency-Key", c.newKey())
	}
	for attempt := 1; ; attempt++ {
		response, err := c.send(ctx, r, address, o.header)
		if err == nil && o.into != nil {
			*o.into = *response
		}
		switch {
		case err == nil && response.Status == http.StatusNotModified:
			return *response, ErrNotModified
		case err == nil && response.Status < 300:
			return *response, nil
		case err != nil && ctx.Err() != nil:
			return Response{}, err
		}
		wait, again := c.again(response, err, r.Repeatable || r.TakesKey, attempt)
		if err == nil {
			refused := errorOf(response)
			refused.Attempts = attempt
			err = refused
		}
		if !again {
			return Response{}, err
		}
		if ended := c.sleep(ctx, wait); ended != nil {
			return Response{}, fmt.Errorf("%w; gave up waiting: %w", err, ended)
		}
	}
}

// address fills in the company and the query.
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

// send makes one attempt. Errors name the address, in which there is no key.
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
		return nil, fmt.Errorf("client: read the answer of %s: %w", address, err)
	}
	if len(body) > bodyBytesMax {
		return nil, fmt.Errorf("client: the answer of %s has more than %d bytes", address, bodyBytesMax)
	}
	return &Response{Status: response.StatusCode, Header: response.Header, Body: body}, nil
}
