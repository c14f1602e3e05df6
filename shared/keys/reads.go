package keys

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/parallel"
)

// reads lets concurrent requests with the same key share the reads of its record, so that a flood
// of refused requests makes one call at a time in each process. A request shares only a read that
// begins after the request, because it must see every earlier revocation. Safe for concurrent use.
type reads struct {
	mu    sync.Mutex
	turns map[[32]byte]*turns // by the hash of the whole key
}

// turns contains the reads of one key: one is in flight, and next begins after it. next is nil if
// no request is waiting for it.
type turns struct{ next *turn }

// turn is one read of a key.
type turn struct {
	read func() (*dynamodb.GetItemOutput, error)
	done chan struct{}
	out  *dynamodb.GetItemOutput // set when done is closed, like err
	err  error
}

// read returns the record of a key as it is at some time after the call. If the key is not valid,
// read returns the error of verified; if the call to the table fails, that call's error.
func (s *Store) read(ctx context.Context, token auth.Token) (storedKey, error) {
	t := s.reads.join(token.Hash, func() (*dynamodb.GetItemOutput, error) {
		// Other requests must not depend on the first one's deadline. The table client has its own
		// deadlines.
		return s.records.GetItem(context.WithoutCancel(ctx), &dynamodb.GetItemInput{Key: keyItem(token.CompanyID, token.KeyID)})
	})
	select {
	case <-t.done:
	case <-ctx.Done():
		return storedKey{}, ctx.Err()
	}
	if t.err != nil {
		return storedKey{}, fmt.Errorf("read the key: %w", t.err)
	}
	return verified(token, t.out.Item, s.now())
}

// join returns a read that begins after the call. It starts one unless it can share one.
func (r *reads) join(hash [32]byte, read func() (*dynamodb.GetItemOutput, error)) *turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	running, ok := r.turns[hash]
	if ok && running.next != nil {
		return running.next
	}
	t := &turn{read: read, done: make(chan struct{})}
	if ok {
		running.next = t
	} else {
		r.turns[hash] = &turns{}
		go r.run(hash, t)
	}
	return t
}

// run reads a key until no request is waiting for a read.
func (r *reads) run(hash [32]byte, t *turn) {
	for t != nil {
		t.make()
		t = r.following(hash)
	}
}

func (t *turn) make() {
	defer close(t.done)
	defer parallel.Recover(&t.err)
	t.out, t.err = t.read()
}

func (r *reads) following(hash [32]byte) *turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.turns[hash].next
	if r.turns[hash].next = nil; t == nil {
		delete(r.turns, hash)
	}
	return t
}
