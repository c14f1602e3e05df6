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
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// Store verifies and stores keys. Safe for concurrent use.
type Store struct {
	table  *table.Client
	now    func() time.Time
	mu     sync.Mutex
	memory map[remembered]bucket
}

// remembered identifies a bucket by the hash of the whole key, so that a caller with a wrong secret gets nothing that
// was remembered for the right one.
type remembered struct {
	hash  [32]byte
	class auth.Class
}

// bucket is the last known state of a bucket. The theoretical arrival time (TAT) in the table never decreases, so a
// remembered refusal stays correct, and a flood of requests to one function costs no calls to the table.
type bucket struct {
	quota auth.Quota
	tat   int64
}

// memoryMax bounds how many buckets one process remembers.
const memoryMax = 10_000

// NewStore returns a store.
func NewStore(t *table.Client, now func() time.Time) *Store {
	return &Store{table: t, now: now, memory: map[remembered]bucket{}}
}

// leap is the least that a TAT starts in the future after several wrong guesses: about the time of a call to the table.
const leap = 5 * time.Millisecond

// attemptsMax bounds the wrong guesses about a bucket. One is usual after a pause, and a second one if another caller
// was faster.
const attemptsMax = 16

// admissionID is the prefix of the write tokens of admissions.
const admissionID = "a"

// Admit verifies a key, requires a scope (none if empty) and takes one request from the bucket of the class. It is
// exact for any number of concurrent callers, because the arithmetic is part of the write and its condition.
//
// Returns auth.ErrUnauthorised, auth.ErrSuspended, auth.MissingScope or auth.QuotaExceeded, or a failure of the table.
// With MissingScope and QuotaExceeded the admission has the state of the bucket.
func (s *Store) Admit(ctx context.Context, token auth.Token, scope auth.Scope, class auth.Class) (auth.Admission, error) {
	slot := remembered{token.Hash, class}
	known := s.recall(slot)
	for attempt := range attemptsMax {
		now := s.now()
		latest, admits := known.quota.Latest(now)
		if !admits || known.tat > latest {
			return auth.Admission{Quota: known.quota.At(known.tat, now)}, auth.QuotaExceeded(class)
		}
		writeToken := s.table.NewID(admissionID)
		out, err := s.table.UpdateKey(ctx, admission(token, scope, class, known, now, attempt, writeToken))
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
		key, err := verified(token, attributes, now)
		if err != nil {
			return auth.Admission{}, err
		}
		known.quota, known.tat = key.bucket(class)
		admitted := auth.Admission{Quota: known.quota.At(known.tat, now), Scopes: key.scopes(), APIVersion: value(key.APIVersion)}
		if scope != "" && !slices.Contains(admitted.Scopes, scope) {
			return auth.Admission{Quota: admitted.Quota}, auth.MissingScope(scope)
		}
		s.remember(slot, known)
		if failed == nil || key.Admission == writeToken { // the latter if the SDK retried after a lost response
			return admitted, nil
		}
	}
	return auth.Admission{}, errors.New("admit: other callers changed the bucket during every attempt")
}

func (k storedKey) scopes() []auth.Scope {
	out := make([]auth.Scope, len(k.Scopes))
	for i, scope := range k.Scopes {
		out[i] = auth.Scope(scope)
	}
	return out
}

// admission returns the conditional write. The TAT of a full bucket starts at now. The TAT of a bucket in use increases
// by one interval, which concurrent callers can do without conflict.
//
// A bucket that refills about as fast as it is used switches between the two while calls are on their way. After four
// wrong guesses the TAT therefore starts a little in the future, which is correct in both cases and costs the caller a
// part of its quota: more with each guess, but never more than the bucket has.
//
// The write token makes a retry after a lost response fail, so a request takes one token from the bucket even if it is
// sent twice. Admit recognises its own token.
func admission(token auth.Token, scope auth.Scope, class auth.Class, known bucket, now time.Time, attempt int, writeToken string) *dynamodb.UpdateItemInput {
	interval := int64(known.quota.Interval())
	latest, _ := known.quota.Latest(now)
	begin := now.UnixNano()
	if attempt >= 4 {
		begin = min(latest, max(begin, known.tat)+max(interval, int64(leap))<<(attempt-4))
	}
	names := map[string]string{"#hash": "hash", "#revoked": "revokedAt", "#expires": "expiresAt", "#suspended": "suspendedAt", "#tat": tatAttribute(class), "#quota": quotaAttribute(class), "#used": "lastUsedAt", "#mark": "admission"}
	values := table.Item{":mark": table.String(writeToken), ":hash": table.String(hex.EncodeToString(token.Hash[:])), ":at": table.String(timestamp.Format(now)), ":now": table.Number(begin)}

	set, condition := "", "#hash = :hash AND attribute_not_exists(#revoked) AND (attribute_not_exists(#expires) OR #expires > :at) AND attribute_not_exists(#suspended) AND (attribute_not_exists(#mark) OR #mark <> :mark)"
	if scope != "" {
		names["#scopes"], values[":scope"] = "scopes", table.String(string(scope))
		condition += " AND contains(#scopes, :scope)"
	}
	if known.quota == auth.DefaultQuota(class) {
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

// Verify is Admit without a scope and without taking a request from the bucket.
func (s *Store) Verify(ctx context.Context, token auth.Token, class auth.Class) (auth.QuotaState, error) {
	now := s.now()
	out, err := s.table.GetItem(ctx, &dynamodb.GetItemInput{Key: keyItem(token.CompanyID, token.KeyID)})
	if err != nil {
		return auth.QuotaState{}, fmt.Errorf("verify: %w", err)
	}
	key, err := verified(token, out.Item, now)
	if err != nil {
		return auth.QuotaState{}, err
	}
	quota, tat := key.bucket(class)
	return quota.At(tat, now), nil
}

// verified decodes a key's record and checks whether the key is valid. Unknown, wrong, revoked and expired keys get the
// same error; only the log shows the reason.
func verified(token auth.Token, item table.Item, now time.Time) (storedKey, error) {
	var key storedKey
	if err := table.Decode(item, &key); err != nil {
		return key, err
	}
	switch {
	case key.Hash == "" || key.Hash != hex.EncodeToString(token.Hash[:]):
		return key, fmt.Errorf("unknown: %w", auth.ErrUnauthorised)
	case key.RevokedAt != nil:
		return key, fmt.Errorf("revoked: %w", auth.ErrUnauthorised)
	case key.ExpiresAt != nil && *key.ExpiresAt <= timestamp.Format(now):
		return key, fmt.Errorf("expired: %w", auth.ErrUnauthorised)
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
	return bucket{quota: auth.DefaultQuota(slot.class)}
}

func (s *Store) remember(slot remembered, b bucket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.memory[slot]; !ok && len(s.memory) >= memoryMax {
		clear(s.memory) // a forgotten bucket costs one call
	}
	if b.quota <= 0 {
		delete(s.memory, slot) // a frozen key is read each time, so that it is admitted again as soon as the quota is raised
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
