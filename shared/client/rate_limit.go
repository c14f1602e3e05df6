package client

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// paceByQuota has the pace of each quota of the key. All calls of a client share it, because they
// share the quotas: after a 429 they wait together, and are sent one after another as the quota
// refills. Otherwise they would all be refused together again.
type paceByQuota struct {
	mu      sync.Mutex
	byQuota map[string]pace
}

// pace says when the next call of a quota may be sent.
type pace struct {
	next     time.Time     // in the past: at once
	interval time.Duration // in which the quota refills by one request; 0: unknown
}

// minSpread is the least range of random times that are added to Retry-After, so that programs
// that were refused together do not retry together.
const minSpread = 250 * time.Millisecond

// recordRefusal records that the service told a call to retry after that time, and the response's
// headers.
func (p *paceByQuota) recordRefusal(quota string, now time.Time, after time.Duration, h http.Header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byQuota == nil {
		p.byQuota = map[string]pace{}
	}
	old := p.byQuota[quota]
	if next := now.Add(after); next.After(old.next) {
		old.next = next
	}
	p.byQuota[quota] = pace{old.next, max(old.interval, refillInterval(h))}
}

// reserve reserves the next turn of a quota. It returns how long to wait for it, and the range of a
// random time to add. It reserves nothing and returns false when the turn is later than most.
func (p *paceByQuota) reserve(quota string, now time.Time, most time.Duration) (wait, spread time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.byQuota[quota]
	if wait = next.next.Sub(now); wait <= 0 {
		return 0, 0, true
	}
	if wait > most {
		return 0, 0, false
	}
	p.byQuota[quota] = pace{next.next.Add(next.interval), next.interval}
	return wait, max(next.interval, minSpread), true
}

// refillInterval returns the time in which the quota of a response refills by one request, 0 when
// its RateLimit-Policy does not say. The header is 120;w=60 or "write";q=120;w=60.
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

// parseDigits returns a whole number of at most nine digits, 0 for any other text.
func parseDigits(text string) int {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > 999_999_999 {
		return 0
	}
	return int(n)
}
