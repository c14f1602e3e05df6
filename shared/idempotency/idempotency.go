// Package idempotency remembers the responses of requests that carry an Idempotency-Key, in the very transaction that makes the
// change. So there is no moment at which a change is made and its response is unknown, and of two requests with one key only
// one makes the change.
//
// A store whose operation takes the key writes through Transact or Insert of this package, with the response that it is about
// to return; without a key they are those of package table. What ends without such a write (a refusal, a publish that changes
// nothing, a push of points, which overwrites by itself) is remembered by the pipeline when it is known.
//
// A response may hold a secret, a new key, which must never be in the table. So responses are sealed with a secret that only
// the bearer of the caller's key can derive again.
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
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// Identity is what a request with an Idempotency-Key is known by.
type Identity struct {
	CompanyID, KeyID string
	Area             string // of the operation: its partition keeps the response
	Operation        string
	Key              string            // the Idempotency-Key
	Request          [sha256.Size]byte // digest of the arguments
	Seal             [32]byte          // the secret that the response is sealed with
}

// Response is how a request ended.
type Response struct {
	Request [sha256.Size]byte
	Status  int
	Body    []byte // JSON
	Tag     string // entity tag; empty: none
}

// ErrAnswered is the error of a write that was not made, because another request with the same Idempotency-Key made it first.
// The response of that request is the response.
var ErrAnswered = errors.New("another request with the same Idempotency-Key was first")

// keepFor is how long a response is remembered.
const keepFor = 24 * time.Hour

// partBytes is the largest part of a response in one record, of which DynamoDB accepts 400 KB.
const partBytes = 350 << 10

// Store keeps responses. The records of one request have one prefix, in the partition of the operation's area:
//
//	access         key
//	the response   <company>#<area> / idempotency#<digest>#answer, with the first part of the body
//	other parts    <company>#<area> / idempotency#<digest>#part#<attempt>#<n>, written before the record that names them
//
// where digest is that of the caller's key id, the operation and the Idempotency-Key.
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

// Attempt is one request with an Idempotency-Key while it is served. Safe for concurrent use.
type Attempt struct {
	Identity

	store  Store
	encode func(response any) (body []byte, tag string, err error)

	mu    sync.Mutex
	state state
}

// state is how far an attempt came.
type state int

const (
	open       state = iota
	remembered       // the response is in the table
	lost             // another request with the same identity was first
)

// Begin returns the attempt of a request. encode returns the JSON and the entity tag of what the operation's function is about to
// return. The attempt takes effect as table.Request.Attempt of the context.
func (s Store) Begin(i Identity, encode func(response any) (body []byte, tag string, err error)) *Attempt {
	return &Attempt{Identity: i, store: s, encode: encode}
}

// stored is the record of a response, or of one of its parts.
type stored struct {
	SK      string  `store:"sk"`
	Request []byte  `store:"request"`
	Status  int64   `store:"status"`
	Tag     *string `store:"tag"`
	Attempt string  `store:"attempt"` // names the parts
	Parts   int64   `store:"parts"`
	Body    []byte  `store:"body"` // sealed
	TTL     int64   `store:"ttl"`
}

func (i Identity) partition() string { return table.Partition(i.CompanyID, i.Area) }

func (i Identity) prefix() string {
	sum := sha256.Sum256([]byte(i.KeyID + "\n" + i.Operation + "\n" + i.Key))
	return table.Join("idempotency", hex.EncodeToString(sum[:]), "")
}

func (i Identity) responseKey() table.Key {
	return table.Key{PK: i.partition(), SK: i.prefix() + "answer"}
}

func (i Identity) partKey(attempt string, n int) table.Key {
	return table.Key{PK: i.partition(), SK: i.prefix() + table.Join("part", attempt, fmt.Sprintf("%06d", n))}
}

// Recall returns the response of an earlier request with the same identity, nil when there is none; a nil Attempt has none. The error
// is bad_request when that was another request than this one.
func (a *Attempt) Recall(ctx context.Context) (*Response, error) {
	if a == nil {
		return nil, nil
	}
	r, err := a.recall(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("recall a response: %w", err)
	case r != nil && r.Request != a.Request:
		return nil, fault.Invalid("header.Idempotency-Key", "was sent before with another request; use a new one")
	}
	return r, nil
}

func (a *Attempt) recall(ctx context.Context) (*Response, error) {
	records, err := table.Whole[stored](ctx, a.store.table, table.Collection{Partition: a.partition(), Prefix: a.prefix(), Consistent: true})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(records, func(r stored) bool { return r.SK == a.responseKey().SK })
	if at < 0 || records[at].TTL <= a.now().Unix() {
		return nil, nil
	}
	found := records[at]
	sealed := slices.Clone(found.Body)
	for n := range int(found.Parts) {
		at := slices.IndexFunc(records, func(r stored) bool { return r.SK == a.partKey(found.Attempt, n).SK })
		if at < 0 {
			return nil, errors.New("a part is missing")
		}
		sealed = append(sealed, records[at].Body...)
	}
	if len(found.Request) != sha256.Size {
		return nil, errors.New("no digest of the request")
	}
	body, err := a.unseal(sealed)
	if err != nil {
		return nil, err
	}
	out := Response{Request: [sha256.Size]byte(found.Request), Status: int(found.Status), Body: body}
	if found.Tag != nil {
		out.Tag = *found.Tag
	}
	return &out, nil
}

// End ends an attempt. It remembers the response, unless that is nil or was remembered in the transaction of the change. When another
// request with the same identity was first, that one's response is returned, and counts.
func (a *Attempt) End(ctx context.Context, r *Response) (earlier *Response, err error) {
	switch a.reached() {
	case remembered:
		return nil, nil
	case open:
		if r == nil {
			return nil, nil
		}
		if err := a.transact(ctx, a.store.table, *r); !errors.Is(err, ErrAnswered) {
			return nil, err
		}
	}
	earlier, err = a.Recall(ctx)
	if err == nil && earlier == nil {
		err = errors.New("remember a response: the earlier one is gone")
	}
	return earlier, err
}

// attemptOf returns the attempt of a context, nil when its request carries no Idempotency-Key.
func attemptOf(ctx context.Context) *Attempt {
	r := table.RequestOf(ctx)
	if r == nil {
		return nil
	}
	a, _ := r.Attempt.(*Attempt)
	return a
}

// Transact is table.Client.Transact for the change that an operation is about. With an Idempotency-Key the response is remembered
// in the same transaction; ErrAnswered when another request was first, and nothing was written.
func Transact(ctx context.Context, t *table.Client, response any, writes ...table.Write) error {
	a := attemptOf(ctx)
	if a == nil {
		return t.Transact(ctx, writes...)
	}
	body, tag, err := a.encode(response)
	if err != nil {
		return fmt.Errorf("remember a response: %w", err)
	}
	return a.transact(ctx, t, Response{Request: a.Request, Status: http.StatusOK, Body: body, Tag: tag}, writes...)
}

// Insert is table.Client.Insert for the record that an operation creates; see Transact.
func Insert(ctx context.Context, t *table.Client, response any, keys table.Keys, record any) error {
	if attemptOf(ctx) == nil {
		return t.Insert(ctx, keys, record)
	}
	err := Transact(ctx, t, response, t.WriteNew(keys, record))
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return table.ErrExists
	}
	return err
}

func (a *Attempt) now() time.Time { return a.store.table.Clock()() }

func (a *Attempt) reached() state {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

func (a *Attempt) reach(s state) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = s
}

// transact makes the writes and remembers the response, all or nothing.
func (a *Attempt) transact(ctx context.Context, t *table.Client, r Response, writes ...table.Write) error {
	record, err := a.prepare(ctx, r)
	if err != nil {
		return fmt.Errorf("remember a response: %w", err)
	}
	all := append(slices.Clone(writes), t.WriteUnlessKept(table.Keys{Key: a.responseKey()}, record, a.now().Unix()))
	err = t.Transact(ctx, all...)
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		if _, answered := canceled.Failed(len(writes)); answered {
			a.reach(lost)
			return ErrAnswered
		}
	}
	if err == nil {
		a.reach(remembered)
	}
	return err
}

// prepare seals a response and writes the parts that do not fit into its record. Parts that no record names expire.
func (a *Attempt) prepare(ctx context.Context, r Response) (stored, error) {
	sealed, err := a.seal(r.Body)
	if err != nil {
		return stored{}, err
	}
	ttl := a.now().Add(keepFor).Unix()
	record := stored{SK: a.responseKey().SK, Request: r.Request[:], Status: int64(r.Status), Attempt: a.store.table.NewID("try"), TTL: ttl}
	if r.Tag != "" {
		record.Tag = &r.Tag
	}
	chunks := slices.Collect(slices.Chunk(sealed, partBytes))
	record.Body, record.Parts = chunks[0], int64(len(chunks)-1)
	var parts []table.Item
	for n, chunk := range chunks[1:] {
		key := a.partKey(record.Attempt, n)
		parts = append(parts, a.store.table.NewItem(table.Keys{Key: key}, stored{SK: key.SK, Body: chunk, TTL: ttl}))
	}
	if len(parts) > 0 {
		err = a.store.table.Put(ctx, parts)
	}
	return record, err
}

// seal encrypts a body for the bearer of the caller's key, bound to where it is stored.
func (a *Attempt) seal(body []byte) ([]byte, error) {
	gcm, err := a.cipher()
	if err != nil {
		return nil, err
	}
	return gcm.Seal(nil, nil, body, a.location()), nil
}

func (a *Attempt) unseal(sealed []byte) ([]byte, error) {
	gcm, err := a.cipher()
	if err != nil {
		return nil, err
	}
	return gcm.Open(nil, nil, sealed, a.location())
}

func (a *Attempt) cipher() (cipher.AEAD, error) {
	block, err := aes.NewCipher(a.Seal[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (a *Attempt) location() []byte {
	return bytes.Join([][]byte{[]byte(a.partition()), []byte(strings.TrimSuffix(a.prefix(), "#"))}, []byte("#"))
}
