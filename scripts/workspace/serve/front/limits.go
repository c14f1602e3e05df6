package front

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// pool has a slot for each request that may be handled concurrently. Its capacity is the number of
// slots.
type pool chan struct{}

// acquire waits for a slot for at most the given time, and reports whether it got one.
func (p pool) acquire(ctx context.Context, most time.Duration) bool {
	select {
	case p <- struct{}{}:
		return true
	default:
	}
	wait := time.NewTimer(most)
	defer wait.Stop()
	select {
	case p <- struct{}{}:
		return true
	case <-wait.C:
	case <-ctx.Done():
	}
	return false
}

func (p pool) release() { <-p }

// budget is a number of bytes shared by many requests.
type budget struct {
	limit int64
	used  atomic.Int64
}

func (b *budget) take(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *budget) give(n int64) { b.used.Add(-n) }

// room reports whether take would succeed.
func (b *budget) room(n int64) bool { return b.used.Load()+n <= b.limit }

// sizesMax is the maximum number of remembered paths.
const sizesMax = 256

// sizes remembers the paths whose last response was heavy. It is safe for concurrent use.
type sizes struct {
	mu     sync.Mutex
	byPath map[string]int64
}

// of returns the size of a path's last response, or 0 if it was not heavy or is unknown.
func (s *sizes) of(path string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byPath[path]
}

// saw remembers the size of a response.
func (s *sizes) saw(path string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size <= heavyBytes {
		delete(s.byPath, path)
		return
	}
	if s.byPath == nil {
		s.byPath = map[string]int64{}
	}
	for other := range s.byPath {
		if len(s.byPath) < sizesMax {
			break
		}
		delete(s.byPath, other)
	}
	s.byPath[path] = size
}
