package keys

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/ratelimit"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// Store verifies and keeps keys. Safe for concurrent use.
type Store struct {
	table  *table.Client
	now    func() time.Time
	mu     sync.Mutex
	memory map[remembered]bucket
}

// remembered is what a bucket is known by: the hash of the whole key, so that a wrong secret learns nothing from what
// was remembered of the right one.
type remembered struct {
	hash  [32]byte
	class ratelimit.Class
}

// bucket is the last known state. The arrival time in the table never falls, so a remembered refusal is always right,
// and a flood on one function costs no table calls.
type bucket struct {
	quota ratelimit.Quota
	tat   int64
}

// memoryMax bounds what one process remembers.
const memoryMax = 10_000

// NewStore returns a store.
func NewStore(t *table.Client, now func() time.Time) *Store {
	return &Store{table: t, now: now, memory: map[remembered]bucket{}}
}

// leap is how far in the future an arrival time begins at least, once guesses went wrong: about a call to the table.
const leap = 5 * time.Millisecond

// attemptsMax bounds how often a guess about a bucket may turn out wrong. One wrong guess is usual after a pause, a
// second one when another caller came between.
const attemptsMax = 16

// admissionID is the prefix of the marks of admissions.
const admissionID = "a"

// Admit is api.Keys. It is exact for any number of concurrent callers: the arithmetic is in the write and its condition.
func (s *Store) Admit(ctx context.Context, token auth.Token, scope auth.Scope, class ratelimit.Class) (auth.Admission, error) {
	slot := remembered{token.Hash, class}
	known := s.recall(slot)
	for attempt := range attemptsMax {
		now := s.now()
		latest, admits := known.quota.Latest(now)
		if !admits || known.tat > latest {
			return auth.Admission{}, &ratelimit.ExceededError{Class: class, State: known.quota.At(known.tat, now)}
		}
		mark := s.table.NewID(admissionID)
		out, err := s.table.UpdateItem(ctx, admission(token, scope, class, known, now, attempt, mark))
		var failed *types.ConditionalCheckFailedException
		if err != nil && !errors.As(err, &failed) {
			return auth.Admission{}, fmt.Errorf("admit: %w", err)
		}
		attributes := table.Item(nil)
		if failed != nil {
			attributes = failed.Item
		} else {
			attributes = out.Attributes
		}
		key, err := s.verified(token, attributes, now)
		if err != nil {
			return auth.Admission{}, err
		}
		known.quota, known.tat = key.bucket(class)
		if scope != "" && !slices.Contains(key.Scopes, string(scope)) {
			return auth.Admission{State: known.quota.At(known.tat, now)}, &auth.MissingScopeError{Scope: scope}
		}
		s.remember(slot, known)
		if failed == nil || key.Admission == mark { // the latter when the answer was lost, and the client asked again
			return auth.Admission{State: known.quota.At(known.tat, now), Scopes: key.scopes(), APIVersion: value(key.APIVersion)}, nil
		}
	}
	return auth.Admission{}, errors.New("admit: the bucket moved at every attempt")
}

func (k storedKey) scopes() []auth.Scope {
	out := make([]auth.Scope, len(k.Scopes))
	for i, scope := range k.Scopes {
		out[i] = auth.Scope(scope)
	}
	return out
}

// admission is the conditional write. Of a bucket that is full or filled up since, the arrival time begins at now; of
// one in use it moves on by one interval, which concurrent callers may do side by side.
//
// A bucket that refills about as fast as it is used goes back and forth between the two while the calls are on their way.
// After four wrong guesses the arrival time therefore begins a little in the future, which holds for both, and costs the
// caller that little: more with each guess, and never more than the bucket has.
//
// The mark makes a repetition fail whose first answer was lost, so that a request takes one token whatever becomes of
// answers; Admit recognises it.
func admission(token auth.Token, scope auth.Scope, class ratelimit.Class, known bucket, now time.Time, attempt int, mark string) *dynamodb.UpdateItemInput {
	interval := int64(known.quota.Interval())
	latest, _ := known.quota.Latest(now)
	begin := now.UnixNano()
	if attempt >= 4 {
		begin = min(latest, max(begin, known.tat)+max(interval, int64(leap))<<(attempt-4))
	}
	names := map[string]string{"#hash": "hash", "#revoked": "revokedAt", "#expires": "expiresAt", "#suspended": "suspendedAt", "#tat": tatAttribute(class), "#quota": quotaAttribute(class), "#used": "lastUsedAt", "#mark": "admission"}
	values := table.Item{":mark": table.String(mark), ":hash": table.String(hex.EncodeToString(token.Hash[:])), ":at": table.String(timestamp.Format(now)), ":now": table.Number(begin)}

	set, condition := "", "#hash = :hash AND attribute_not_exists(#revoked) AND (attribute_not_exists(#expires) OR #expires > :at) AND attribute_not_exists(#suspended) AND (attribute_not_exists(#mark) OR #mark <> :mark)"
	if scope != "" {
		names["#scopes"], values[":scope"] = "scopes", table.String(string(scope))
		condition += " AND contains(#scopes, :scope)"
	}
	if known.quota == ratelimit.Default(class) {
		values[":default"] = table.Number(int64(known.quota))
		condition += " AND (attribute_not_exists(#quota) OR #quota = :default)"
	} else {
		values[":quota"] = table.Number(int64(known.quota))
		condition += " AND #quota = :quota"
	}
	if known.tat <= begin {
		values[":next"] = table.Number(begin + interval)
		set = "SET #tat = :next, #used = :at, #mark = :mark"
		condition += " AND (attribute_not_exists(#tat) OR #tat <= :now)"
	} else {
		values[":interval"], values[":latest"] = table.Number(interval), table.Number(latest)
		set = "SET #tat = #tat + :interval, #used = :at, #mark = :mark"
		condition += " AND #tat > :now AND #tat <= :latest"
	}
	return &dynamodb.UpdateItemInput{
		Key:              keyItem(token.CompanyID, token.KeyID),
		UpdateExpression: &set, ConditionExpression: &condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// Verify is api.Keys.
func (s *Store) Verify(ctx context.Context, token auth.Token, class ratelimit.Class) (ratelimit.State, error) {
	now := s.now()
	out, err := s.table.GetItem(ctx, &dynamodb.GetItemInput{Key: keyItem(token.CompanyID, token.KeyID)})
	if err != nil {
		return ratelimit.State{}, fmt.Errorf("verify: %w", err)
	}
	key, err := s.verified(token, out.Item, now)
	if err != nil {
		return ratelimit.State{}, err
	}
	quota, tat := key.bucket(class)
	return quota.At(tat, now), nil
}

// verified decides about a key's record. Unknown, wrong, revoked and expired are one answer to the caller; the reason
// is for the log.
func (s *Store) verified(token auth.Token, item table.Item, now time.Time) (storedKey, error) {
	var key storedKey
	if err := table.Decode(item, &key); err != nil {
		return key, err
	}
	switch {
	case key.Hash == "" || key.Hash != hex.EncodeToString(token.Hash[:]):
		return key, fmt.Errorf("%w: unknown", auth.ErrUnauthorised)
	case key.RevokedAt != nil:
		return key, fmt.Errorf("%w: revoked", auth.ErrUnauthorised)
	case key.ExpiresAt != nil && *key.ExpiresAt <= timestamp.Format(now):
		return key, fmt.Errorf("%w: expired", auth.ErrUnauthorised)
	case key.SuspendedAt != nil:
		return key, auth.ErrSuspended
	}
	return key, nil
}

func (s *Store) recall(slot remembered) bucket {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.memory[slot]; ok {
		return b
	}
	return bucket{quota: ratelimit.Default(slot.class)}
}

func (s *Store) remember(slot remembered, b bucket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.memory[slot]; !ok && len(s.memory) >= memoryMax {
		clear(s.memory) // what is forgotten costs one table call each to learn again
	}
	if b.quota <= 0 {
		delete(s.memory, slot) // a frozen key is asked about each time, so that it thaws at once
		return
	}
	if b.tat >= s.memory[slot].tat || b.quota != s.memory[slot].quota {
		s.memory[slot] = b
	}
}

func keyItem(companyID, keyID string) table.Item {
	key := keyKey(companyID, keyID)
	return table.Item{table.Base.PK(): table.String(key.PK), table.Base.SK(): table.String(key.SK)}
}
