package keys

import (
	"encoding/binary"
	"sync"
	"testing"

	"growthworkspace/shared/auth"
)

// Ensure a process remembers a bounded number of buckets, including the last one, and never replaces a state by an
// older one.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	s := NewStore(nil, nil)
	slot := func(n int) (r remembered) {
		binary.BigEndian.PutUint64(r.hash[:], uint64(n))
		r.class = auth.ClassRead
		return r
	}
	var wait sync.WaitGroup
	for part := range 4 {
		wait.Go(func() {
			for n := range memoryMax {
				s.remember(slot(part*memoryMax+n), bucket{600, int64(n + 1)})
			}
		})
	}
	wait.Wait()
	last := slot(-1)
	s.remember(last, bucket{600, 5})
	if n := len(s.memory); n > memoryMax || s.recall(last).tat != 5 {
		t.Errorf("%d buckets, the last at %d", n, s.recall(last).tat)
	}
	s.remember(last, bucket{600, 4})
	if got := s.recall(last).tat; got != 5 {
		t.Errorf("went back to %d", got)
	}
	s.remember(last, bucket{0, 9})
	if got := s.recall(last); got != (bucket{quota: 600}) {
		t.Errorf("remembers a frozen key: %+v", got)
	}
}
