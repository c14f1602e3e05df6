// Package fairqueue divides a limited number of slots among companies, so that no company can make
// the others wait for all of its work.
package fairqueue

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Pool is a semaphore whose slots the companies share.
//
// A company gets another slot only while it has fewer slots than are free. So one company alone has
// at most half of them (rounded up), and the next company always finds a free one. Companies that
// wait take turns; the calls of one company are served in the order of their arrival.
type Pool struct {
	mu      sync.Mutex
	free    int
	held    map[string]int // slots by company; only companies that have slots
	waiting []*line        // in the order of the turns

	last     string    // the last company that got a slot
	sharedAt time.Time // when a slot last went to a company other than the one before
}

// line contains the waiting calls of one company. It is never empty.
type line struct {
	company string
	calls   []chan struct{} // each is closed when its call gets a slot
}

// New returns a pool with this number of slots.
func New(slots int) *Pool { return &Pool{free: slots, held: map[string]int{}} }

// Acquire waits for a slot. If ctx is done first, it returns the context's error, and the caller has
// no slot. Work that belongs to no company has the company "".
func (p *Pool) Acquire(ctx context.Context, company string) error {
	p.mu.Lock()
	n := p.lineOf(company)
	if n < 0 && p.held[company] < p.free {
		p.take(company)
		p.mu.Unlock()
		return nil
	}
	if n < 0 {
		n, p.waiting = len(p.waiting), append(p.waiting, &line{company: company})
	}
	turn := make(chan struct{})
	p.waiting[n].calls = append(p.waiting[n].calls, turn)
	p.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.lineOf(company); n >= 0 {
		if call := slices.Index(p.waiting[n].calls, turn); call >= 0 {
			p.remove(n, call)
			return ctx.Err()
		}
	}
	p.release(company) // the slot came at the same moment
	return ctx.Err()
}

// Release returns a slot of a company.
func (p *Pool) Release(company string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release(company)
}

func (p *Pool) release(company string) {
	p.free++
	if p.held[company]--; p.held[company] == 0 {
		delete(p.held, company)
	}
	for {
		n := slices.IndexFunc(p.waiting, func(l *line) bool { return p.held[l.company] < p.free })
		if n < 0 {
			return
		}
		l := p.waiting[n]
		p.take(l.company)
		close(l.calls[0])
		if p.remove(n, 0) {
			p.waiting = append(slices.Delete(p.waiting, n, n+1), l) // the others have their turns first
		}
	}
}

func (p *Pool) take(company string) {
	p.free--
	p.held[company]++
	if company == "" {
		return
	}
	if p.last != "" && p.last != company {
		p.sharedAt = time.Now()
	}
	p.last = company
}

// sharedDuration is how long after its last call a company counts as one that uses the pool.
const sharedDuration = 2 * time.Second

// ReleaseRested returns a slot of a company that held it for the given time. If several companies
// use the pool, the company keeps the slot for as long again. So a company that always has calls
// waiting uses half of the time, and a call of another one often finds the resource idle.
func (p *Pool) ReleaseRested(company string, held time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if company != "" && time.Since(p.sharedAt) < sharedDuration {
		time.AfterFunc(held, func() { p.Release(company) })
		return
	}
	p.release(company)
}

// lineOf returns the place of the company's line, or -1 if no call of the company waits.
func (p *Pool) lineOf(company string) int {
	return slices.IndexFunc(p.waiting, func(l *line) bool { return l.company == company })
}

// remove removes a call from the line at place n, and the line if it is then empty. It reports
// whether the line remains.
func (p *Pool) remove(n, call int) bool {
	l := p.waiting[n]
	l.calls = slices.Delete(l.calls, call, call+1)
	if len(l.calls) == 0 {
		p.waiting = slices.Delete(p.waiting, n, n+1)
	}
	return len(l.calls) > 0
}
