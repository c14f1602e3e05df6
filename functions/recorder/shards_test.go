package recorder_test

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"growthworkspace/shared/change"
)

// shardedStream models a table's stream with many shards. Each item belongs to one shard. A shard
// can be split: it ends, and its items continue in two new shards. Each shard has a checkpoint, up
// to which its records have been consumed. A shard is consumed by one consumer at a time, and only
// after its parent. These are Lambda's guarantees; everything else is random.
type shardedStream struct {
	mu       sync.Mutex
	changed  *sync.Cond
	shards   []*modelShard
	sequence int64
	isClosed bool // nothing more will be written
	releases int  // the number of leases that have ended
}

type modelShard struct {
	id         string
	parent     *modelShard
	low, high  uint32 // the range of hashes of the items
	records    []change.StreamRecord
	checkpoint int
	isClosed   bool
	isLeased   bool
}

func newShardedStream(shards int) *shardedStream {
	s := &shardedStream{sequence: 90_000} // the sequence number soon gets a sixth digit
	s.changed = sync.NewCond(&s.mu)
	width := uint64(1<<32) / uint64(shards)
	for n := range shards {
		high := uint32(uint64(n+1)*width - 1)
		if n == shards-1 {
			high = 1<<32 - 1
		}
		s.shards = append(s.shards, &modelShard{id: "shard-" + strconv.Itoa(n), low: uint32(uint64(n) * width), high: high})
	}
	return s
}

func hashOf(r change.StreamRecord) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(r.Key.PK + " " + r.Key.SK)) // never fails
	return h.Sum32()
}

// write appends a record to the shard of its item and gives it a sequence number.
func (s *shardedStream) write(r change.StreamRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sequence += 1 + rand.Int64N(50)
	r.SequenceNumber = strconv.FormatInt(s.sequence, 10)
	hash := hashOf(r)
	n := slices.IndexFunc(s.shards, func(m *modelShard) bool { return !m.isClosed && m.low <= hash && hash <= m.high })
	s.shards[n].records = append(s.shards[n].records, r)
	s.changed.Broadcast()
}

// split ends a random open shard and adds its two children.
func (s *shardedStream) split() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var open []*modelShard
	for _, m := range s.shards {
		if !m.isClosed && m.high-m.low > 1 {
			open = append(open, m)
		}
	}
	m := open[rand.IntN(len(open))]
	m.isClosed = true
	middle := m.low + (m.high-m.low)/2
	s.shards = append(s.shards,
		&modelShard{id: m.id + "a", parent: m, low: m.low, high: middle}, &modelShard{id: m.id + "b", parent: m, low: middle + 1, high: m.high})
	s.changed.Broadcast()
}

func (s *shardedStream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isClosed = true
	s.changed.Broadcast()
}

// lease waits for a shard with unconsumed records, and returns it with its next batch, which may
// have any size. ok is false at the end of the stream.
func (s *shardedStream) lease() (m *modelShard, batch []change.StreamRecord, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var ready []*modelShard
		left := 0
		for _, m := range s.shards {
			n := len(m.records) - m.checkpoint
			left += n
			if n > 0 && !m.isLeased && m.parent.isConsumed() {
				ready = append(ready, m)
			}
		}
		if len(ready) > 0 {
			m = ready[rand.IntN(len(ready))]
			m.isLeased = true
			rest := m.records[m.checkpoint:]
			return m, rest[:1+rand.IntN(min(len(rest), change.PacketChangesMax))], true
		}
		if s.isClosed && left == 0 {
			return nil, nil, false
		}
		s.changed.Wait()
	}
}

// isConsumed reports whether all records of the shard and of its ancestors are consumed. A nil
// shard counts as consumed.
func (m *modelShard) isConsumed() bool {
	return m == nil || m.checkpoint == len(m.records) && m.parent.isConsumed()
}

// release ends a lease. `consumed` is the number of records of the batch that need not be delivered
// again.
func (s *shardedStream) release(m *modelShard, consumed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.isLeased = false
	m.checkpoint += consumed
	s.releases++
	s.changed.Broadcast()
}

// waitForRelease waits until more leases have ended than the given number, or everything is
// consumed. It returns the number of ended leases, and whether everything is consumed.
func (s *shardedStream) waitForRelease(seen int) (releases int, isDone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		isDone = s.isClosed && !slices.ContainsFunc(s.shards, func(m *modelShard) bool { return m.checkpoint < len(m.records) })
		if s.releases > seen || isDone {
			return s.releases, isDone
		}
		s.changed.Wait()
	}
}

// records returns every record of the stream, in the order of the sequence numbers.
func (s *shardedStream) records() (out []change.StreamRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.shards {
		out = append(out, m.records...)
	}
	slices.SortFunc(out, func(a, b change.StreamRecord) int {
		if n := len(a.SequenceNumber) - len(b.SequenceNumber); n != 0 {
			return n
		}
		return strings.Compare(a.SequenceNumber, b.SequenceNumber)
	})
	return out
}

// writtenAt is the time of a record, a whole second as in DynamoDB.
func writtenAt(now time.Time) time.Time { return now.Truncate(time.Second) }
