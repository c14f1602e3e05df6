package client

import (
	"context"
	"net/http"
	"time"
)

// Option is a setting of a client.
type Option func(*Client)

// WithHTTPClient makes the calls with another HTTP client: another time limit, proxy or transport. It decides about
// redirects, too; the usual one follows none.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithCompany says which company the key opens, so that it need not be asked for.
func WithCompany(id string) Option { return func(c *Client) { c.company = id } }

// WithVersion pins another dated version of the interface than the one whose records this package has. Empty: the version
// with which the key was issued.
func WithVersion(date string) Option { return func(c *Client) { c.version = date } }

// WithUserAgent says who calls.
func WithUserAgent(name string) Option { return func(c *Client) { c.userAgent = name } }

// WithAttempts bounds how often one call is sent, 4 times without it; 1 sends nothing again. Least is 1.
func WithAttempts(n int) Option { return func(c *Client) { c.attempts = max(1, n) } }

// WithWaitMax bounds one wait, a minute without it. A refusal that asks for a longer one is returned at once.
func WithWaitMax(d time.Duration) Option { return func(c *Client) { c.waitMax = d } }

// WithBackoff replaces the time to wait before a call is sent again, where the service names none. attempt begins with 1.
func WithBackoff(wait func(attempt int) time.Duration) Option {
	return func(c *Client) { c.backoff = wait }
}

// WithSleep replaces the waiting itself. It returns the context's error when that ends first.
func WithSleep(sleep func(ctx context.Context, d time.Duration) error) Option {
	return func(c *Client) { c.sleep = sleep }
}

// WithIdempotencyKeys replaces what makes a new Idempotency-Key for a call that is given none.
func WithIdempotencyKeys(next func() string) Option { return func(c *Client) { c.newKey = next } }

// CallOption is a setting of one call.
type CallOption func(*callOptions)

type callOptions struct {
	header http.Header
	into   *Response
}

// IdempotencyKey names a call, so that a later one with the same name and input is answered as the first and not done
// again. Without it each call that takes a name has a new one, which its own repetitions share.
func IdempotencyKey(name string) CallOption { return Header("Idempotency-Key", name) }

// IfMatch makes an update, a delete or a publish conditional on the entity tag that was seen: *Error with the code
// precondition_failed when there is another one by now.
func IfMatch(tag string) CallOption { return Header("If-Match", tag) }

// IfNoneMatch makes a read return ErrNotModified when the record still has this entity tag.
func IfNoneMatch(tag string) CallOption { return Header("If-None-Match", tag) }

// Into keeps the answer as it came, for its entity tag and its other headers; of a list, that of the last page read.
func Into(response *Response) CallOption {
	return func(o *callOptions) { o.into = response }
}

// Header sends a header of any name, for what the options above do not know. Those that the client itself sends stay.
func Header(name, value string) CallOption {
	return func(o *callOptions) { o.header.Set(name, value) }
}
