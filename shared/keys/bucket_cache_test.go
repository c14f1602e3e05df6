package keys

import (
	"encoding/binary"
	"sync"
	"testing"

	"growthworkspace/shared/auth"
)

// Ensure a process remembers a bounded number of buckets, including the most recent one. The state
// after an admission never replaces a later state. A stored record replaces any state, so that a
// wrong state does not persist.
func TestBucketCacheIsBounded(t *testing.T) {
	t.Parallel()
	m := &NewStore(nil, nil).cache
	nthBucketKey := func(n int) (s bucketKey) {
		binary.BigEndian.PutUint64(s.hash[:], uint64(n))
		s.class = auth.ClassRead
		return s
	}
	var wait sync.WaitGroup
	for part := range 4 {
		wait.Go(func() {
			for n := range bucketCacheMax {
				m.setIfNewer(nthBucketKey(part*bucketCacheMax+n), cachedBucket{quota: 600, tat: int64(n + 1)})
			}
		})
	}
	wait.Wait()
	last := nthBucketKey(-1)
	m.setIfNewer(last, cachedBucket{quota: 600, tat: 5})
	if n := len(m.buckets); n > bucketCacheMax || m.get(last).tat != 5 {
		t.Errorf("%d buckets, the last at %d", n, m.get(last).tat)
	}
	m.setIfNewer(last, cachedBucket{quota: 600, tat: 4})
	if got := m.get(last).tat; got != 5 {
		t.Errorf("went back to %d", got)
	}
	m.setIfNewer(last, cachedBucket{quota: 7, tat: 4})
	if got := m.get(last); got.quota != 7 || got.tat != 4 {
		t.Errorf("kept the old quota: %+v", got)
	}
	seven := 7.0
	m.store(last, storedKey{ReadTAT: 3, keyQuotas: keyQuotas{ReadQuota: &seven}})
	if got := m.get(last); got.tat != 3 || got.quota != 7 {
		t.Errorf("did not learn the stored state: %+v", got)
	}
}
