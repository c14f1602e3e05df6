package keys

import (
	"sync"
	"time"

	"growthworkspace/shared/auth"
)

// memory contains the last known states of buckets. It saves calls to the table but decides
// nothing: every admission is conditional on the stored state, and every refusal reads that state.
// Safe for concurrent use.
type memory struct {
	mu      sync.Mutex
	buckets map[slot]bucket
}

// slot identifies a bucket by the hash of the whole key, so that a caller with a wrong secret gets
// nothing that was remembered for the right key.
type slot struct {
	hash  [32]byte
	class auth.Class
}

// bucket is the state of a bucket when it was last seen.
type bucket struct {
	quota auth.Quota
	tat   int64
	owner *owner // nil: the record of its key has not been seen
}

// owner contains the fields of a key that never change.
type owner struct {
	scopes     []auth.Scope
	apiVersion string
}

func ownerOf(k storedKey) *owner { return &owner{k.scopes(), value(k.APIVersion)} }

// admission returns the admission of the request that produced b.
func (b bucket) admission(now time.Time) auth.Admission {
	return auth.Admission{Quota: b.quota.At(b.tat, now), Scopes: b.owner.scopes, APIVersion: b.owner.apiVersion}
}

// memoryMax bounds how many buckets one process remembers.
const memoryMax = 10_000

// recall returns the last known state of a bucket. It assumes that an unknown bucket is full and
// has the default quota.
func (m *memory) recall(at slot) bucket {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b, ok := m.buckets[at]; ok {
		return b
	}
	return bucket{quota: auth.DefaultQuota(at.class)}
}

// learn remembers the bucket of a stored record and returns it.
func (m *memory) learn(at slot, key storedKey) bucket {
	b := bucket{owner: ownerOf(key)}
	b.quota, b.tat = key.bucket(at.class)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(at, b)
	return b
}

// advance remembers the state after an admission, unless it knows a later one, because responses
// can arrive out of order.
func (m *memory) advance(at slot, b bucket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.buckets[at]; !ok || b.tat >= known.tat || b.quota != known.quota {
		m.set(at, b)
	}
}

func (m *memory) set(at slot, b bucket) {
	if _, ok := m.buckets[at]; !ok && len(m.buckets) >= memoryMax {
		clear(m.buckets) // a forgotten bucket costs one extra call
	}
	m.buckets[at] = b
}
