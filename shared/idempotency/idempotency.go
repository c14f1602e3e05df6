// Package idempotency remembers the answers of requests that carry an Idempotency-Key (decisions.md §12), in the very
// transaction that makes the change: there is no moment at which a change is made and its answer unknown, and of two
// requests with one key only one makes it.
//
// A function whose operation takes the key writes through Transact or Insert of this package, with the answer that it is
// about to give; without a key they are those of package table. What ends without such a write (a refusal, a publish
// that changes nothing, a push of points, which overwrites by itself) is remembered by the pipeline when it is known.
//
// An answer may hold a secret, a new key, which the table must never have. So answers are sealed with what only the
// bearer of the caller's key can make again.
package idempotency

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/entity"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
)

// keep is how long an answer is remembered.
const keep = 24 * time.Hour

// partBytes is the largest part of an answer in one record, of which DynamoDB takes 400 KB.
const partBytes = 350 << 10

// Store is api.Memory over the table. The records of one attempt have one prefix, in the partition of the operation's area:
//
//	access       key
//	the answer   <company>#<area> / idempotency#<digest>#answer, with the first part of the body
//	the rest     <company>#<area> / idempotency#<digest>#part#<attempt>#<n>, written before the answer that names them
//
// where digest is that of the caller's key id, the operation and the Idempotency-Key.
type Store struct {
	table *table.Client
	now   func() time.Time
}

// NewStore returns a store.
func NewStore(t *table.Client) Store { return Store{t, t.Clock()} }

// kept is the answer's record, or one of its parts.
type kept struct {
	SK      string  `store:"sk"`
	Request []byte  `store:"request"`
	Status  int64   `store:"status"`
	Tag     *string `store:"tag"`
	Attempt string  `store:"attempt"` // names the parts
	Parts   int64   `store:"parts"`
	Body    []byte  `store:"body"` // sealed
	TTL     int64   `store:"ttl"`
}

func prefix(a api.Attempt) string {
	sum := sha256.Sum256([]byte(a.KeyID + "\n" + a.Operation + "\n" + a.Key))
	return table.Join("idempotency", hex.EncodeToString(sum[:]), "")
}

func partition(a api.Attempt) string { return table.Partition(a.CompanyID, a.Area) }

func answerKey(a api.Attempt) table.Key { return table.Key{PK: partition(a), SK: prefix(a) + "answer"} }

func partKey(a api.Attempt, attempt string, n int) table.Key {
	return table.Key{PK: partition(a), SK: prefix(a) + table.Join("part", attempt, fmt.Sprintf("%06d", n))}
}

// Recall is api.Memory.
func (s Store) Recall(ctx context.Context, a api.Attempt) (*api.Remembered, error) {
	records, err := table.Whole[kept](ctx, s.table, table.Collection{Partition: partition(a), Prefix: prefix(a), Consistent: true})
	if err != nil {
		return nil, fmt.Errorf("recall an answer: %w", err)
	}
	at := slices.IndexFunc(records, func(r kept) bool { return r.SK == answerKey(a).SK })
	if at < 0 || records[at].TTL <= s.now().Unix() {
		return nil, nil
	}
	answer := records[at]
	sealed := slices.Clone(answer.Body)
	for n := range int(answer.Parts) {
		at := slices.IndexFunc(records, func(r kept) bool { return r.SK == partKey(a, answer.Attempt, n).SK })
		if at < 0 {
			return nil, errors.New("recall an answer: a part is missing")
		}
		sealed = append(sealed, records[at].Body...)
	}
	if len(answer.Request) != sha256.Size {
		return nil, errors.New("recall an answer: no digest of the request")
	}
	body, err := open(a, sealed)
	if err != nil {
		return nil, fmt.Errorf("recall an answer: %w", err)
	}
	out := api.Remembered{Request: [sha256.Size]byte(answer.Request), Status: int(answer.Status), Body: body}
	if answer.Tag != nil {
		out.Tag = *answer.Tag
	}
	return &out, nil
}

// session is the attempt that a context is about.
type session struct {
	store   Store
	attempt api.Attempt

	mu   sync.Mutex
	done bool // the answer is in the table
}

type sessionKey struct{}

// Attach is api.Memory.
func (s Store) Attach(ctx context.Context, a api.Attempt) context.Context {
	return context.WithValue(ctx, sessionKey{}, &session{store: s, attempt: a})
}

func sessionOf(ctx context.Context) *session {
	s, _ := ctx.Value(sessionKey{}).(*session)
	return s
}

// Remember is api.Memory.
func (s Store) Remember(ctx context.Context, r api.Remembered) (*api.Remembered, error) {
	at := sessionOf(ctx)
	if at.isDone() {
		return nil, nil
	}
	err := at.transact(ctx, s.table, r)
	if errors.Is(err, api.ErrAnswered) {
		other, err := s.Recall(ctx, at.attempt)
		if err == nil && other == nil {
			err = errors.New("remember an answer: the other one has gone")
		}
		return other, err
	}
	return nil, err
}

// Transact is table.Client.Transact for the write that an operation is about: the answer is remembered with it, if the
// request asks for that. api.ErrAnswered when another request with the same Idempotency-Key came first; nothing was written.
func Transact(ctx context.Context, t *table.Client, answer any, writes ...table.Write) error {
	at := sessionOf(ctx)
	if at == nil {
		return t.Transact(ctx, writes...)
	}
	body, err := schema.Encode(answer)
	if err != nil {
		return fmt.Errorf("remember an answer: %w", err)
	}
	return at.transact(ctx, t, api.Remembered{Request: at.attempt.Request, Status: 200, Body: body, Tag: entity.Tag(answer, body)}, writes...)
}

// Insert is table.Client.Insert for the record that an operation creates; see Transact.
func Insert(ctx context.Context, t *table.Client, answer any, keys table.Keys, record any) error {
	if sessionOf(ctx) == nil {
		return t.Insert(ctx, keys, record)
	}
	err := Transact(ctx, t, answer, t.WriteNew(keys, record))
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return table.ErrExists
	}
	return err
}

func (s *session) isDone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

// transact does the writes and remembers the answer, all or nothing.
func (s *session) transact(ctx context.Context, t *table.Client, r api.Remembered, writes ...table.Write) error {
	answer, err := s.store.prepare(ctx, s.attempt, r)
	if err != nil {
		return err
	}
	all := append(slices.Clone(writes), t.WriteUnlessKept(table.Keys{Key: answerKey(s.attempt)}, answer, s.store.now().Unix()))
	err = t.Transact(ctx, all...)
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		if _, answered := canceled.Failed(len(writes)); answered {
			return api.ErrAnswered
		}
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	return nil
}

// prepare seals an answer and writes what of it does not fit into its record. Parts that no answer names expire.
func (s Store) prepare(ctx context.Context, a api.Attempt, r api.Remembered) (kept, error) {
	sealed, err := seal(a, r.Body)
	if err != nil {
		return kept{}, fmt.Errorf("remember an answer: %w", err)
	}
	ttl := s.now().Add(keep).Unix()
	answer := kept{SK: answerKey(a).SK, Request: r.Request[:], Status: int64(r.Status), Attempt: s.table.NewID("try"), TTL: ttl}
	if r.Tag != "" {
		answer.Tag = &r.Tag
	}
	chunks := slices.Collect(slices.Chunk(sealed, partBytes))
	answer.Body, answer.Parts = chunks[0], int64(len(chunks)-1)
	var parts []table.Item
	for n, chunk := range chunks[1:] {
		key := partKey(a, answer.Attempt, n)
		parts = append(parts, s.table.NewItem(table.Keys{Key: key}, kept{SK: key.SK, Body: chunk, TTL: ttl}))
	}
	if len(parts) > 0 {
		if err := s.table.Put(ctx, parts); err != nil {
			return kept{}, fmt.Errorf("remember an answer: %w", err)
		}
	}
	return answer, nil
}

// seal encrypts a body for the bearer of the caller's key, bound to its place.
func seal(a api.Attempt, body []byte) ([]byte, error) {
	gcm, err := cipherOf(a)
	if err != nil {
		return nil, err
	}
	return gcm.Seal(nil, nil, body, place(a)), nil
}

func open(a api.Attempt, sealed []byte) ([]byte, error) {
	gcm, err := cipherOf(a)
	if err != nil {
		return nil, err
	}
	return gcm.Open(nil, nil, sealed, place(a))
}

func cipherOf(a api.Attempt) (cipher.AEAD, error) {
	block, err := aes.NewCipher(a.Seal[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func place(a api.Attempt) []byte {
	return bytes.Join([][]byte{[]byte(partition(a)), []byte(strings.TrimSuffix(prefix(a), "#"))}, []byte("#"))
}
