package keys

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/parallel"
)

// readGroup lets concurrent requests with the same key share the reads of its record, so that a
// flood of refused requests makes one call at a time in each process. A request shares only a read
// that begins after the request, because it must see every earlier revocation. A readGroup is safe
// for concurrent use.
type readGroup struct {
	mu          sync.Mutex
	readsByHash map[[32]byte]*keyReads // indexed by the hash of the whole key
}

// keyReads contains the reads of one key: one is in flight, and nextRead begins after it. nextRead
// is nil if no request is waiting for it.
type keyReads struct{ nextRead *sharedRead }

// sharedRead is one read of a key.
type sharedRead struct {
	read func() (*dynamodb.GetItemOutput, error)
	done chan struct{}
	out  *dynamodb.GetItemOutput // out and err are set before done is closed
	err  error
}

// read returns the record of a key, as stored at some time after read was called. If the key is not
// valid, read returns the error of decodeValidKey; if the call to the table fails, read returns
// that call's error.
func (s *Store) read(ctx context.Context, token auth.Token) (storedKey, error) {
	t := s.readGroup.shareRead(token.Hash, func() (*dynamodb.GetItemOutput, error) {
		// The requests that share this read must not depend on the deadline of the one that started
		// it. The table client has its own deadlines.
		return s.records.GetItem(context.WithoutCancel(ctx), &dynamodb.GetItemInput{Key: keyItemOf(token.CompanyID, token.KeyID)})
	})
	select {
	case <-t.done:
	case <-ctx.Done():
		return storedKey{}, ctx.Err()
	}
	if t.err != nil {
		return storedKey{}, fmt.Errorf("read the key: %w", t.err)
	}
	return decodeValidKey(token, t.out.Item, s.now())
}

// shareRead returns a read that begins after the call. It starts one unless it can share one.
func (r *readGroup) shareRead(hash [32]byte, read func() (*dynamodb.GetItemOutput, error)) *sharedRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	reads, ok := r.readsByHash[hash]
	if ok && reads.nextRead != nil {
		return reads.nextRead
	}
	t := &sharedRead{read: read, done: make(chan struct{})}
	if ok {
		reads.nextRead = t
	} else {
		r.readsByHash[hash] = &keyReads{}
		go r.readUntilIdle(hash, t)
	}
	return t
}

// readUntilIdle reads a key until no request is waiting for a read.
func (r *readGroup) readUntilIdle(hash [32]byte, t *sharedRead) {
	for t != nil {
		t.execute()
		t = r.startNext(hash)
	}
}

func (s *sharedRead) execute() {
	defer close(s.done)
	defer parallel.Recover(&s.err)
	s.out, s.err = s.read()
}

func (r *readGroup) startNext(hash [32]byte) *sharedRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.readsByHash[hash].nextRead
	if r.readsByHash[hash].nextRead = nil; t == nil {
		delete(r.readsByHash, hash)
	}
	return t
}
