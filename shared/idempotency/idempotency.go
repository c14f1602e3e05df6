// Package idempotency stores the responses to requests with an Idempotency-Key, in the same
// transaction as the change that the request makes. A change therefore never exists without its
// response, and only one of several requests with the same key makes the change. See
// scripts/docs/explanation/errors-and-retries.md.
//
// The store of an operation that accepts an Idempotency-Key writes with this package's Transact,
// Insert or Modify, and passes them the response that it is about to return. If the request has no
// Idempotency-Key, these functions behave as in package table. A change that needs several
// transactions calls Reserve before its first write; see reserve.go. The pipeline stores every
// other response at the end of the request (Attempt.Finish): the response to a reserved change, an
// error, or the response to a publish that changes nothing.
//
// A response may contain the secret of a new key, which must not be stored in plain text. Responses
// are therefore encrypted with a secret that can only be derived from the caller's key.
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

// Identity identifies a request with an Idempotency-Key.
type Identity struct {
	CompanyID, KeyID string
	Area             string // the operation's area; the response is stored in its partition
	Operation        string
	Key              string            // the Idempotency-Key
	RequestDigest    [sha256.Size]byte // the digest of the arguments that were sent
	EncryptionKey    [32]byte          // the secret with which the response is encrypted
}

// Response is the response to a request.
type Response struct {
	Status int
	Body   []byte // JSON
	Tag    string // entity tag; empty if there is none
}

// ErrAlreadyServed means that a write was not made because another request with the same
// Idempotency-Key was faster. Both requests get the response to the faster one.
var ErrAlreadyServed = errors.New("another request with the same Idempotency-Key was faster")

// Errors that callers see.
var (
	errKeyReused  = fault.Invalid("header.Idempotency-Key", "was sent before with another request; use a new one")
	errUnreadable = fault.New(fault.Conflict, "header.Idempotency-Key: the response to an earlier request with it cannot be read, "+
		"because another version of the service stored it; check whether that request made its change, then use a new one")
	errInProgress = fault.New(fault.Unavailable, "header.Idempotency-Key: an earlier request with it is still running or was cut off; "+
		"send this one again after the seconds in Retry-After")
)

// recordVersion is the format version of this package's records. A record with a different version,
// stored by an older or newer build, cannot be compared with a request, because its digest may
// cover different data. In version 2, Identity.RequestDigest is the digest of the properties that
// were sent.
const recordVersion = 2

// partBytesMax is the maximum size of the part of a response that is stored in one record. DynamoDB
// accepts 400 KB.
const partBytesMax = 350 << 10

// Store stores responses. The records of one response share a prefix in the partition of the
// operation's area:
//
//	access         key
//	the response   <company>#<area> / idempotency#<digest>#answer, with the first part of the body
//	a reservation  the same key; the response replaces it
//	other parts    <company>#<area> / idempotency#<digest>#part#<attempt>#<n>, written before the record that names them
//
// digest is the digest of the caller's key id, the operation and the Idempotency-Key.
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

// Attempt is the processing of one request with an Idempotency-Key. It is safe for concurrent use.
type Attempt struct {
	Identity

	store  Store
	encode func(response any) (body []byte, tag string, err error)

	mu          sync.Mutex
	state       attemptState
	reservation string // the token of this attempt's reservation; empty if there is none
}

type attemptState int

const (
	attemptPending  attemptState = iota
	attemptReserved              // this attempt holds the reservation of the Idempotency-Key
	attemptStored                // the response is stored
	attemptBeaten                // another request with the same identity was faster
)

// Begin returns the attempt for a request. The caller stores it in table.Request.Attempt. encode
// returns the JSON and the entity tag of a response that an operation's function is about to
// return.
func (s Store) Begin(i Identity, encode func(response any) (body []byte, tag string, err error)) *Attempt {
	return &Attempt{Identity: i, store: s, encode: encode}
}

// storedRecord is the stored record of a response, of a part of one, or of a reservation.
type storedRecord struct {
	SK      string  `store:"sk"`
	Version int64   `store:"form"`
	Request []byte  `store:"request"`
	Status  int64   `store:"status"`
	Tag     *string `store:"tag"`
	Attempt string  `store:"attempt"` // identifies the parts of the response
	Parts   int64   `store:"parts"`
	Body    []byte  `store:"body"` // encrypted
	TTL     int64   `store:"ttl"`

	Reservation *string `store:"claim"`     // the token of a reservation; nil for a response
	ReservedAt  *int64  `store:"claimedAt"` // in milliseconds of Unix time
}

func (i Identity) partition() string { return table.Partition(i.CompanyID, i.Area) }

func (i Identity) prefix() string {
	sum := sha256.Sum256([]byte(i.KeyID + "\n" + i.Operation + "\n" + i.Key))
	return table.JoinKey("idempotency", hex.EncodeToString(sum[:]), "")
}

func (i Identity) responseKey() table.Key {
	return table.Key{PK: i.partition(), SK: i.prefix() + "answer"}
}

func (i Identity) partKey(attempt string, n int) table.Key {
	return table.Key{PK: i.partition(), SK: i.prefix() + table.JoinKey("part", attempt, fmt.Sprintf("%06d", n))}
}

// Lookup returns the stored response to an earlier request with the same identity, or nil if there
// is none. It returns bad_request if the earlier request had different arguments, and conflict if
// the response cannot be read.
func (a *Attempt) Lookup(ctx context.Context) (*Response, error) {
	found, err := a.readStored(ctx)
	return found.response, err
}

// storedState describes what an earlier request with the same identity has stored: nothing, a
// reservation or a response.
type storedState struct {
	response      *Response
	isReservation bool
	reservedAt    int64 // in milliseconds of Unix time
}

func (i Identity) collection() table.Collection {
	return table.Collection{Partition: i.partition(), Prefix: i.prefix(), Consistent: true}
}

// readStored reads what an earlier request has stored. It returns the same errors as Lookup.
func (a *Attempt) readStored(ctx context.Context) (storedState, error) {
	records, err := table.ReadAll[storedRecord](ctx, a.store.table, a.collection())
	if errors.Is(err, table.ErrUnreadable) {
		return storedState{}, a.ignoreIfExpired(ctx, wrapUnreadable(err))
	}
	if err != nil {
		return storedState{}, fmt.Errorf("read a stored response: %w", err)
	}
	at := slices.IndexFunc(records, func(r storedRecord) bool { return r.SK == a.responseKey().SK })
	if at < 0 || records[at].TTL <= a.now().Unix() {
		return storedState{}, nil
	}
	r := records[at]
	switch {
	case r.Version != recordVersion || len(r.Request) != sha256.Size:
		return storedState{}, wrapUnreadable(fmt.Errorf("its form is %d", r.Version))
	case [sha256.Size]byte(r.Request) != a.RequestDigest:
		return storedState{}, errKeyReused
	case r.ReservedAt != nil:
		return storedState{isReservation: true, reservedAt: *r.ReservedAt}, nil
	}
	response, err := a.assembleResponse(r, records)
	if err != nil {
		return storedState{}, wrapUnreadable(err)
	}
	return storedState{response: response}, nil
}

// wrapUnreadable returns the error for a stored response that cannot be read. It is unknown whether
// the request's change was made or refused. Until the record expires, the change must therefore not
// be repeated, and must not be reported as failed.
func wrapUnreadable(cause error) error { return fmt.Errorf("%w (%w)", errUnreadable, cause) }

// ignoreIfExpired returns the given error, or nil if the unreadable record has expired.
func (a *Attempt) ignoreIfExpired(ctx context.Context, unreadable error) error {
	type expiryRecord struct {
		SK  string `store:"sk"`
		TTL int64  `store:"ttl"`
	}
	records, err := table.ReadAll[expiryRecord](ctx, a.store.table, a.collection())
	if err != nil && !errors.Is(err, table.ErrUnreadable) {
		return fmt.Errorf("read a stored response: %w", err)
	}
	for _, r := range records {
		if r.SK == a.responseKey().SK && r.TTL <= a.now().Unix() {
			return nil
		}
	}
	return unreadable
}

// assembleResponse assembles a response from its record r and its parts, which it finds in records.
func (a *Attempt) assembleResponse(r storedRecord, records []storedRecord) (*Response, error) {
	sealed := slices.Clone(r.Body)
	for n := range int(r.Parts) {
		at := slices.IndexFunc(records, func(p storedRecord) bool { return p.SK == a.partKey(r.Attempt, n).SK })
		if at < 0 {
			return nil, errors.New("a part is missing")
		}
		sealed = append(sealed, records[at].Body...)
	}
	body, err := a.decrypt(sealed)
	if err != nil {
		return nil, err
	}
	out := &Response{Status: int(r.Status), Body: body}
	if r.Tag != nil {
		out.Tag = *r.Tag
	}
	if out.Status != http.StatusOK {
		if _, err := fault.Parse(body); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Finish stores the response, unless it was stored in the transaction of the change. If the
// response is nil, Finish stores nothing and releases this attempt's reservation, if any. If
// another request with the same identity was faster, Finish returns that request's response, which
// must be sent instead. If that request has only a reservation so far, Finish waits for its
// response, like Reserve.
func (a *Attempt) Finish(ctx context.Context, r *Response) (earlier *Response, err error) {
	switch state := a.currentState(); {
	case state == attemptStored || state == attemptPending && r == nil:
		return nil, nil
	case state == attemptReserved && r == nil:
		return nil, a.releaseReservation(ctx)
	case state != attemptBeaten:
		if err := a.transact(ctx, a.store.table, *r); !errors.Is(err, ErrAlreadyServed) {
			return nil, err
		}
	}
	found, err := a.waitForOthers(ctx)
	switch {
	case err == nil && found.isReservation:
		err = errInProgress
	case err == nil && found.response == nil:
		err = errors.New("store a response: the earlier one has been deleted")
	}
	return found.response, err
}

// attemptOf returns the attempt in a context, or nil if the request has no Idempotency-Key.
func attemptOf(ctx context.Context) *Attempt {
	r := table.RequestOf(ctx)
	if r == nil {
		return nil
	}
	a, _ := r.Attempt.(*Attempt)
	return a
}

// Transact is table.Client.Transact for the change that an operation makes. If the request has an
// Idempotency-Key, it stores the response in the same transaction. If another request with that key
// was faster, it returns ErrAlreadyServed and writes nothing.
func Transact(ctx context.Context, t *table.Client, response any, writes ...table.Write) error {
	a := attemptOf(ctx)
	if a == nil {
		return t.Transact(ctx, writes...)
	}
	body, tag, err := a.encode(response)
	if err != nil {
		return fmt.Errorf("store a response: %w", err)
	}
	return a.transact(ctx, t, Response{Status: http.StatusOK, Body: body, Tag: tag}, writes...)
}

// Insert is table.Client.Insert for the record that an operation creates. See Transact.
func Insert(ctx context.Context, t *table.Client, response any, keys table.Keys, record any) error {
	if attemptOf(ctx) == nil {
		return t.Insert(ctx, keys, record)
	}
	err := Transact(ctx, t, response, t.WriteCreate(keys, record))
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return table.ErrExists
	}
	return err
}

// Modify is table.Modify for the record that an operation changes and returns. See Transact.
func Modify[T any](ctx context.Context, t *table.Client, key table.Key, keysOf func(T) table.Keys, change func(*T) error) (T, error) {
	return table.ModifyWith(ctx, t, key, table.WithKeys(keysOf, change), commitFunc(ctx, t))
}

// ModifyAs is Modify for an operation whose response is not the record itself. respond returns the
// response for a changed record.
func ModifyAs[T any](ctx context.Context, t *table.Client, key table.Key, keysOf func(T) table.Keys, change func(*T) error, respond func(T) any) (T, error) {
	commit := commitFunc(ctx, t)
	if commit == nil {
		return table.Modify(ctx, t, key, keysOf, change)
	}
	return table.ModifyWith(ctx, t, key, table.WithKeys(keysOf, change), func(record any, update table.Write) error {
		return commit(respond(*record.(*T)), update)
	})
}

// commitFunc returns a commit function for table.ModifyWith that stores the response, or nil if the
// request has no Idempotency-Key.
func commitFunc(ctx context.Context, t *table.Client) func(record any, update table.Write) error {
	if attemptOf(ctx) == nil {
		return nil
	}
	return func(record any, update table.Write) error { return Transact(ctx, t, record, update) }
}

func (a *Attempt) now() time.Time { return a.store.table.Clock()() }

func (a *Attempt) currentState() attemptState {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state
}

func (a *Attempt) setState(s attemptState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state = s
}

// transact makes the writes and stores the response in one transaction.
func (a *Attempt) transact(ctx context.Context, t *table.Client, r Response, writes ...table.Write) error {
	record, err := a.encodeResponse(ctx, r)
	if err != nil {
		return fmt.Errorf("store a response: %w", err)
	}
	condition, names, values := a.keyFreeCondition()
	all := append(slices.Clone(writes), t.WritePutIf(table.Keys{Key: a.responseKey()}, record, condition, names, values))
	err = t.Transact(ctx, all...)
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		if _, failed := canceled.Failed(len(writes)); failed {
			a.setState(attemptBeaten)
			return ErrAlreadyServed
		}
	}
	if err == nil {
		a.setState(attemptStored)
	}
	return err
}

// baseRecord returns a record with the fields that a response and a reservation have in common.
func (a *Attempt) baseRecord() storedRecord {
	return storedRecord{SK: a.responseKey().SK, Version: recordVersion, Request: a.RequestDigest[:], TTL: a.now().Add(ResponseTTL).Unix()}
}

// encodeResponse encrypts a response and writes the parts of it that do not fit into its record.
// Parts to which no record refers are deleted when they expire.
func (a *Attempt) encodeResponse(ctx context.Context, r Response) (storedRecord, error) {
	sealed, err := a.encrypt(r.Body)
	if err != nil {
		return storedRecord{}, err
	}
	record := a.baseRecord()
	record.Status, record.Attempt = int64(r.Status), a.store.table.NewID("try")
	if r.Tag != "" {
		record.Tag = &r.Tag
	}
	chunks := slices.Collect(slices.Chunk(sealed, partBytesMax))
	record.Body, record.Parts = chunks[0], int64(len(chunks)-1)
	var parts []table.Item
	for n, chunk := range chunks[1:] {
		key := a.partKey(record.Attempt, n)
		parts = append(parts, a.store.table.NewItem(table.Keys{Key: key}, storedRecord{SK: key.SK, Body: chunk, TTL: record.TTL}))
	}
	if len(parts) > 0 {
		err = a.store.table.BatchPut(ctx, parts)
	}
	return record, err
}

// encrypt encrypts a body with the secret that is derived from the caller's key. It also
// authenticates where the body is stored.
func (a *Attempt) encrypt(body []byte) ([]byte, error) {
	gcm, err := a.cipher()
	if err != nil {
		return nil, err
	}
	return gcm.Seal(nil, nil, body, a.additionalData()), nil
}

func (a *Attempt) decrypt(sealed []byte) ([]byte, error) {
	gcm, err := a.cipher()
	if err != nil {
		return nil, err
	}
	return gcm.Open(nil, nil, sealed, a.additionalData())
}

func (a *Attempt) cipher() (cipher.AEAD, error) {
	block, err := aes.NewCipher(a.EncryptionKey[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (a *Attempt) additionalData() []byte {
	return bytes.Join([][]byte{[]byte(a.partition()), []byte(strings.TrimSuffix(a.prefix(), "#"))}, []byte("#"))
}
