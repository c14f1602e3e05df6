package client

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	attemptsDefault = 4
	waitMaxDefault  = time.Minute // in which every quota refills
	backoffFirst    = 250 * time.Millisecond
	backoffMax      = 8 * time.Second
)

// jittered returns a backoff that doubles with each attempt. Each wait is a random time between half and all of that, so that
// clients that failed together do not retry together. random returns a number in [0, 1).
func jittered(random func() float64) func(attempt int) time.Duration {
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

// again reports whether a call may be retried, and after which wait. A repeatable call may be retried after a lost response or a
// 5xx. Any call may be retried after a 429 or a 409 with Retry-After, because it was not executed.
func (c *Client) again(r *Response, failed error, repeatable bool, attempt int) (wait time.Duration, ok bool) {
	var certificate *tls.CertificateVerificationError
	switch {
	case attempt >= c.attempts:
		return 0, false
	case failed != nil:
		ok = repeatable && !errors.As(failed, &certificate)
	case r.Status == http.StatusTooManyRequests, r.Status == http.StatusConflict && retryAfter(r.Header) > 0:
		ok = true
	case r.Status >= http.StatusInternalServerError:
		ok = repeatable
	}
	if !ok {
		return 0, false
	}
	wait = c.backoff(attempt)
	if r != nil {
		if after := retryAfter(r.Header); after > 0 {
			wait = after
		}
	}
	return wait, wait <= c.waitMax
}

// retryAfter returns the time in Retry-After, which has seconds or a date. A date is compared with the Date of the response, so
// that the clock of this machine does not matter.
func retryAfter(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(max(0, seconds)) * time.Second
	}
	then, err1 := http.ParseTime(text)
	now, err2 := http.ParseTime(h.Get("Date"))
	if err1 != nil || err2 != nil {
		return 0
	}
	return max(0, then.Sub(now))
}
