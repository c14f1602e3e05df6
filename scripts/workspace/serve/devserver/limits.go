package devserver

import (
	"sync"
	"sync/atomic"
)

// byteBudget limits the number of bytes that all requests together may reserve.
type byteBudget struct {
	limit int64
	used  atomic.Int64
}

func (b *byteBudget) reserve(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

func (b *byteBudget) release(n int64) { b.used.Add(-n) }

// hasRoom reports whether reserve would succeed now.
func (b *byteBudget) hasRoom(n int64) bool { return b.used.Load()+n <= b.limit }

// sizesMax is the maximum number of paths in a sizeCache.
const sizesMax = 256

// sizeCache remembers the paths whose last response was heavy. It is safe for concurrent use.
type sizeCache struct {
	mu          sync.Mutex
	sizesByPath map[string]int64
}

// get returns the size of a path's last response, or 0 if that was not heavy or is unknown.
func (s *sizeCache) get(path string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizesByPath[path]
}

// set remembers the size of a path's response if it is heavy, and forgets the path otherwise.
func (s *sizeCache) set(path string, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size <= heavyBytesMin {
		delete(s.sizesByPath, path)
		return
	}
	if s.sizesByPath == nil {
		s.sizesByPath = map[string]int64{}
	}
	for other := range s.sizesByPath {
		if len(s.sizesByPath) < sizesMax {
			break
		}
		delete(s.sizesByPath, other)
	}
	s.sizesByPath[path] = size
}
