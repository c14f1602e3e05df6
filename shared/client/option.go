package client

import (
	"cmp"
	"context"
	"net/http"
	"time"
)

// Option is a setting for a client.
type Option func(*Client)

// WithHTTPClient sets the HTTP client, for example to change the timeout, proxy or transport. Like
// the default client, it should not follow redirects, because requests contain the key.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithCompany sets the id of the key's company. The default is the id that the key contains.
func WithCompany(id string) Option {
	return func(c *Client) { c.company = cmp.Or(id, companyOf(c.key)) }
}

// WithVersion sets the version of the API, which is a date. The default is the version of this
// package's records. If date is empty, the service uses the version for which the key was issued.
func WithVersion(date string) Option { return func(c *Client) { c.version = date } }

// WithUserAgent sets the User-Agent header.
func WithUserAgent(name string) Option { return func(c *Client) { c.userAgent = name } }

// WithAttempts sets the maximum number of attempts for one call, not counting attempts that were
// refused by a quota (429). The default is 4; 1 turns all retries off.
func WithAttempts(n int) Option { return func(c *Client) { c.attempts = max(1, n) } }

// WithWaitMax sets how long one call may wait in total, before and between its attempts. The
// default is two minutes. A call that would wait longer returns its error immediately.
func WithWaitMax(d time.Duration) Option { return func(c *Client) { c.waitMax = d } }

// WithBackoff sets the function that returns how long to wait before a retry if the response has no
// Retry-After. attempt starts at 1.
func WithBackoff(wait func(attempt int) time.Duration) Option {
	return func(c *Client) { c.backoff = wait }
}

// WithSleep sets the function that waits. If the context ends first, it must return the context's
// error.
func WithSleep(sleep func(ctx context.Context, d time.Duration) error) Option {
	return func(c *Client) { c.sleep = sleep }
}

// WithIdempotencyKeys sets the function that returns an Idempotency-Key for each call without the
// option IdempotencyKey.
func WithIdempotencyKeys(next func() string) Option {
	return func(c *Client) { c.newIdempotencyKey = next }
}

// CallOption is a setting for one call.
type CallOption func(*callOptions)

type callOptions struct {
	header       http.Header
	responseInto *Response
}

// IdempotencyKey sets the Idempotency-Key for a call. A later call with the same key and input gets
// the same response and is not executed again. Without this option, each call that accepts such a
// key gets a new one, which its retries share.
func IdempotencyKey(name string) CallOption { return Header("Idempotency-Key", name) }

// IfMatch makes an update, a delete or a publish conditional on an entity tag. If the record no
// longer has that tag, the call returns an *Error with the code precondition_failed.
func IfMatch(tag string) CallOption { return Header("If-Match", tag) }

// IfNoneMatch makes a read return ErrNotModified if the record still has this entity tag.
func IfNoneMatch(tag string) CallOption { return Header("If-None-Match", tag) }

// Into stores the response in *response, to make its entity tag and other headers available. With
// an iterator, it stores the response with the latest page.
func Into(response *Response) CallOption {
	return func(o *callOptions) { o.responseInto = response }
}

// Header sets any other header. It cannot replace the headers that the client itself sets.
func Header(name, value string) CallOption {
	return func(o *callOptions) { o.header.Set(name, value) }
}
