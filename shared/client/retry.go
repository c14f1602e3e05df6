package client

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	attemptsDefault = 4
	waitMaxDefault  = 2 * time.Minute // long enough for any quota, because quotas refill within one minute
	backoffFirst    = 250 * time.Millisecond
	backoffMax      = 8 * time.Second
)

// jitteredBackoff returns a backoff that doubles with each attempt. Each wait is a random time
// between half of the backoff and all of it, so that clients that failed together do not retry
// together. random returns a number in [0, 1).
func jitteredBackoff(random func() float64) func(attempt int) time.Duration {
	return func(attempt int) time.Duration {
		d := backoffMax
		if attempt < 6 {
			d = min(d, backoffFirst<<(max(1, attempt)-1))
		}
		return d/2 + time.Duration(random()*float64(d/2))
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func randomKey() string { return rand.Text() }

// callProgress is what a call has done so far.
type callProgress struct {
	attempts int
	faults   int // failed attempts that were not refused by a quota
	waited   time.Duration
	err      error // the error of the last attempt
}

func (p *callProgress) recordFailure(r *Response, err error) {
	p.attempts++
	if p.err = err; err == nil {
		refused := errorOf(r)
		refused.Attempts, refused.Waited = p.attempts, p.waited
		p.err = refused
	}
}

// waitForTurn waits for a new call's turn. A call that would wait too long is sent immediately,
// because only the service can refuse it.
func (c *Client) waitForTurn(ctx context.Context, quota string, p *callProgress) error {
	if wait, ok := c.reserveTurn(quota, time.Now(), p); ok {
		return c.sleepFor(ctx, wait, p)
	}
	return nil
}

// reserveTurn returns how long a call has to wait for its turn. After a 429, calls that use the
// same quota are sent one after another. reserveTurn returns false if the call may not wait that
// long.
func (c *Client) reserveTurn(quota string, now time.Time, p *callProgress) (wait time.Duration, ok bool) {
	wait, jitterRange, ok := c.pacer.reserve(quota, now, c.waitMax-p.waited)
	return wait + c.jitter(jitterRange), ok
}

func (c *Client) jitter(jitterRange time.Duration) time.Duration {
	return time.Duration(c.random() * float64(jitterRange))
}

func (c *Client) sleepFor(ctx context.Context, d time.Duration, p *callProgress) error {
	if d == 0 {
		return nil
	}
	p.waited += d
	err := c.sleep(ctx, d)
	switch {
	case err == nil:
		return nil
	case p.err == nil:
		return fmt.Errorf("client: stopped waiting for the quota: %w", err)
	}
	return fmt.Errorf("%w; stopped waiting for a retry: %w", p.err, err)
}

// retryDelay reports whether a call may be retried, and how long to wait first. A repeatable call
// may be retried after a lost response or a 5xx. Any call may be retried after a 429 or a 409 with
// Retry-After, because it was not executed. A 429 with Retry-After does not count as a failed
// attempt, and makes other calls that use the same quota wait, too.
func (c *Client) retryDelay(r Request, response *Response, sendErr error, p *callProgress) (wait time.Duration, ok bool) {
	after := time.Duration(0)
	if response != nil {
		after = retryAfter(response.Header)
	}
	if after > 0 && response.Status == http.StatusTooManyRequests && c.attempts > 1 {
		now := time.Now()
		c.pacer.recordRefusal(r.Quota, now, after, response.Header)
		return c.reserveTurn(r.Quota, now, p)
	}
	if p.faults++; p.faults >= c.attempts || !mayRepeat(r, response, sendErr, after) {
		return 0, false
	}
	if after > 0 {
		return after + c.jitter(jitterRangeMin), after <= c.waitMax-p.waited
	}
	wait = c.backoff(p.faults)
	return wait, wait <= c.waitMax-p.waited
}

// mayRepeat reports whether a call may be executed again.
func mayRepeat(r Request, response *Response, sendErr error, after time.Duration) bool {
	repeatable := r.Repeatable || r.AcceptsIdempotencyKey
	if sendErr != nil {
		var certErr *tls.CertificateVerificationError
		return repeatable && !errors.As(sendErr, &certErr)
	}
	switch response.Status {
	case http.StatusTooManyRequests:
		return true
	case http.StatusConflict:
		return after > 0
	}
	return repeatable && response.Status >= http.StatusInternalServerError
}

// retryAfter returns the wait that the Retry-After header asks for, in seconds or as a date. A date
// is compared with the Date header of the response instead of this machine's clock, which may be
// wrong.
func retryAfter(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(max(0, seconds)) * time.Second
	}
	retryTime, err1 := http.ParseTime(text)
	now, err2 := http.ParseTime(h.Get("Date"))
	if err1 != nil || err2 != nil {
		return 0
	}
	return max(0, retryTime.Sub(now))
}
