package keys

import (
	"sync"
	"time"

	"growthworkspace/shared/auth"
)

// bucketCache contains the last known states of buckets. It saves calls to the table but decides
// nothing: every admission is conditional on the stored state, and every refusal reads that state.
// It is safe for concurrent use.
type bucketCache struct {
	mu      sync.Mutex
	buckets map[bucketKey]cachedBucket
}

// bucketKey identifies a bucket by the hash of the whole key, so that a caller with a wrong secret
// cannot use what was remembered for the right key.
type bucketKey struct {
	hash  [32]byte
	class auth.Class
}

// cachedBucket is the state of a bucket when it was last seen.
type cachedBucket struct {
	quota auth.Quota
	tat   int64
	info  *keyInfo // nil if the key's record has not been seen
}

// keyInfo contains the fields of a key that never change.
type keyInfo struct {
	scopes     []auth.Scope
	apiVersion string
}

func keyInfoOf(k storedKey) *keyInfo { return &keyInfo{k.scopeList(), valueOrEmpty(k.APIVersion)} }

// admission returns the admission of the request that produced b.
func (b cachedBucket) admission(now time.Time) auth.Admission {
	return auth.Admission{Quota: b.quota.StateAt(b.tat, now), Scopes: b.info.scopes, APIVersion: b.info.apiVersion}
}

// bucketCacheMax bounds how many buckets one process remembers.
const bucketCacheMax = 10_000

// get returns the last known state of a bucket. It assumes that an unknown bucket is full and
// has the default quota.
func (c *bucketCache) get(bucketID bucketKey) cachedBucket {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b, ok := c.buckets[bucketID]; ok {
		return b
	}
	return cachedBucket{quota: auth.DefaultQuota(bucketID.class)}
}

// store remembers the bucket of a stored record and returns it.
func (c *bucketCache) store(bucketID bucketKey, key storedKey) cachedBucket {
	b := cachedBucket{info: keyInfoOf(key)}
	b.quota, b.tat = key.bucket(bucketID.class)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(bucketID, b)
	return b
}

// setIfNewer remembers the state after an admission, unless a later state is known, because
// responses can arrive out of order.
func (c *bucketCache) setIfNewer(bucketID bucketKey, b cachedBucket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.buckets[bucketID]; !ok || b.tat >= known.tat || b.quota != known.quota {
		c.set(bucketID, b)
	}
}

func (c *bucketCache) set(bucketID bucketKey, b cachedBucket) {
	if _, ok := c.buckets[bucketID]; !ok && len(c.buckets) >= bucketCacheMax {
		clear(c.buckets) // a forgotten bucket costs one extra call
	}
	c.buckets[bucketID] = b
}
