package client

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// quotaPacer holds a pace for each of the key's quotas. All calls of a client share it, because
// they share the quotas. After a 429, the calls that use the same quota wait together and are sent
// one after another as the quota refills. Otherwise, they would all be refused again at the same
// moment.
type quotaPacer struct {
	mu    sync.Mutex
	paces map[string]pace
}

// pace determines when the next call that uses a quota may be sent.
type pace struct {
	next     time.Time     // when the next call may be sent; may be in the past
	interval time.Duration // the time in which the quota refills by one request; 0 if unknown
}

// jitterRangeMin is the minimum range of the random time that is added to Retry-After, so that
// programs that were refused together do not retry together.
const jitterRangeMin = 250 * time.Millisecond

// recordRefusal records that the service refused a call and told it when to retry. It reads the
// quota's refill rate from the response's headers.
func (p *quotaPacer) recordRefusal(quota string, now time.Time, after time.Duration, h http.Header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paces == nil {
		p.paces = map[string]pace{}
	}
	old := p.paces[quota]
	if next := now.Add(after); next.After(old.next) {
		old.next = next
	}
	p.paces[quota] = pace{old.next, max(old.interval, refillInterval(h))}
}

// reserve returns how long to wait before the next request of a quota, and the range of the random
// time to add. If a wait is necessary, it reserves that turn; otherwise, the request can be sent at
// once. If the wait would be longer than waitMax, it reserves nothing and returns false.
func (p *quotaPacer) reserve(quota string, now time.Time, waitMax time.Duration) (wait, jitterRange time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	current := p.paces[quota]
	if wait = current.next.Sub(now); wait <= 0 {
		return 0, 0, true
	}
	if wait > waitMax {
		return 0, 0, false
	}
	p.paces[quota] = pace{current.next.Add(current.interval), current.interval}
	return wait, max(current.interval, jitterRangeMin), true
}

// refillInterval returns the time in which the quota in a response's RateLimit-Policy header
// refills by one request, or 0 if the header does not say. The header looks like 120;w=60 or
// "write";q=120;w=60.
func refillInterval(h http.Header) time.Duration {
	parts := strings.Split(h.Get("RateLimit-Policy"), ";")
	size, window := parseDigits(parts[0]), 0
	for _, part := range parts[1:] {
		switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "q":
			size = parseDigits(value)
		case "w":
			window = parseDigits(value)
		}
	}
	if size == 0 {
		return 0
	}
	return time.Duration(window) * time.Second / time.Duration(size)
}

// parseDigits parses a whole number of at most nine digits. It returns 0 for any other string.
func parseDigits(text string) int {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > 999_999_999 {
		return 0
	}
	return int(n)
}
