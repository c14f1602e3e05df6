package keys

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// Store verifies and stores keys. It is safe for concurrent use.
type Store struct {
	table     *table.Client
	records   keyTable
	now       func() time.Time
	cache     bucketCache
	readGroup readGroup
}

// keyTable is the store of key records that Admit and Verify use. A test that chooses the order of
// calls uses a model of the table. All other code uses the table itself.
type keyTable interface {
	NewID(prefix string) string
	GetItem(context.Context, *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error)
	UpdateKey(context.Context, *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error)
}

// NewStore returns a store.
func NewStore(t *table.Client, now func() time.Time) *Store {
	return &Store{table: t, records: t, now: now, cache: bucketCache{buckets: map[bucketKey]cachedBucket{}}, readGroup: readGroup{readsByHash: map[[32]byte]*keyReads{}}}
}

// attemptsMax is the maximum number of attempts to charge a bucket or to add a key. One wrong guess
// about a bucket is common after a pause or a quota change, and so is a second one if another
// caller was faster.
const attemptsMax = 12

const admissionTokenPrefix = "a"

// Admit verifies a key, requires one of the scopes (none if scopes is empty) and takes one request
// from the bucket of the class. It is exact for any number of concurrent callers, because the
// arithmetic is part of the write and its condition.
//
// If the bucket was empty when it was last seen, Admit first reads the key, which may have been
// revoked or given a different quota since.
//
// Admit returns auth.ErrUnauthorised, auth.ErrSuspended, auth.NewMissingScopeError for the first of
// the scopes, auth.NewFrozenError or auth.NewQuotaExceededError, or the error of a failed call to
// the table. With the errors for a missing scope, a frozen class and an exceeded quota, the
// admission contains the state of the bucket. Admit returns fault.ErrUnavailable if other callers
// changed the bucket during every attempt.
func (s *Store) Admit(ctx context.Context, token auth.Token, scopes []auth.Scope, class auth.Class) (auth.Admission, error) {
	bucketID := bucketKey{token.Hash, class}
	known := s.cache.get(bucketID)
	for range attemptsMax {
		now := s.now()
		charge, hasRoom := known.quota.Charge(known.tat, now)
		if !hasRoom {
			key, err := s.read(ctx, token)
			if err != nil {
				return auth.Admission{}, err
			}
			now = s.now()
			known = s.cache.store(bucketID, key)
			if err := key.checkAdmission(scopes, class, now); err != nil {
				return auth.Admission{Quota: known.quota.StateAt(known.tat, now)}, err
			}
			charge, _ = known.quota.Charge(known.tat, now)
		}
		if charge.Start != 0 && known.info != nil {
			// Remember this charge before it is written, so that concurrent requests in this
			// process start from it, instead of all assuming a full bucket.
			s.cache.setIfNewer(bucketID, cachedBucket{known.quota, charge.Start, known.info})
		}
		writeToken := s.records.NewID(admissionTokenPrefix)
		out, err := s.records.UpdateKey(ctx, chargeUpdate(token, scopes, class, known, charge, now, writeToken))
		var failed *types.ConditionalCheckFailedException
		switch {
		case err == nil:
			return s.admissionAfter(bucketID, known, out.Attributes, now)
		case !errors.As(err, &failed):
			return auth.Admission{}, fmt.Errorf("admit: %w", err)
		}
		key, err := decodeValidKey(token, failed.Item, now)
		if err != nil {
			return auth.Admission{}, err
		}
		known = s.cache.store(bucketID, key)
		if key.AdmissionToken == writeToken { // this write succeeded, but its response was lost and the SDK retried it
			return known.admission(now), nil
		}
		if err := key.checkAdmission(scopes, class, now); err != nil {
			return auth.Admission{Quota: known.quota.StateAt(known.tat, now)}, err
		}
	}
	return auth.Admission{}, fmt.Errorf("admit: other callers changed the bucket during each of %d attempts: %w", attemptsMax, fault.ErrUnavailable)
}

// admissionAfter returns the admission after a successful write, from the attributes that the write
// returned. The write's condition has verified the key.
func (s *Store) admissionAfter(bucketID bucketKey, known cachedBucket, attributes table.Item, now time.Time) (auth.Admission, error) {
	var key storedKey
	if err := table.Decode(attributes, &key); err != nil {
		return auth.Admission{}, fmt.Errorf("admit: %w", err)
	}
	_, known.tat = key.bucket(bucketID.class)
	if known.info == nil {
		known.info = keyInfoOf(key)
	}
	s.cache.setIfNewer(bucketID, known)
	return known.admission(now), nil
}

// checkAdmission returns why a valid key does not admit a request now: auth.NewMissingScopeError,
// auth.NewFrozenError or auth.NewQuotaExceededError. It returns nil if the key admits the request.
func (k storedKey) checkAdmission(scopes []auth.Scope, class auth.Class, now time.Time) error {
	quota, tat := k.bucket(class)
	_, hasRoom := quota.Charge(tat, now)
	switch {
	case !k.hasOneOf(scopes):
		return auth.NewMissingScopeError(scopes[0])
	case quota <= 0:
		return auth.NewFrozenError(class)
	case !hasRoom:
		return auth.NewQuotaExceededError(class)
	}
	return nil
}

// hasOneOf reports whether the key has one of the scopes. It returns true if scopes is empty.
func (k storedKey) hasOneOf(scopes []auth.Scope) bool {
	return len(scopes) == 0 || slices.ContainsFunc(scopes, func(s auth.Scope) bool { return slices.Contains(k.Scopes, string(s)) })
}

func (k storedKey) scopeList() []auth.Scope {
	out := make([]auth.Scope, len(k.Scopes))
	for i, scope := range k.Scopes {
		out[i] = auth.Scope(scope)
	}
	return out
}

// chargeUpdate returns the conditional write of a charge.
//
// The write token makes a retry after a lost response fail, so a request is charged only once, even
// if it is sent twice. Admit recognises its own write token.
//
// The write runs for every request, so it uses placeholders only for reserved words and values, and
// returns the whole record only to a process that has not seen it.
func chargeUpdate(token auth.Token, scopes []auth.Scope, class auth.Class, known cachedBucket, charge auth.Charge, now time.Time, writeToken string) *dynamodb.UpdateItemInput {
	tat, quota := bucketAttributes[class].tat, bucketAttributes[class].quota
	values := table.Item{
		":hash": table.String(hex.EncodeToString(token.Hash[:])), ":at": table.String(timestamp.Format(now)), ":mark": table.String(writeToken),
		":quota": table.Number(int64(known.quota)),
	}
	condition := "#hash = :hash AND attribute_not_exists(revokedAt) AND attribute_not_exists(suspendedAt)" +
		" AND (attribute_not_exists(expiresAt) OR expiresAt > :at) AND (attribute_not_exists(admission) OR admission <> :mark)"
	if len(scopes) > 0 {
		condition += " AND (" + scopeCondition(scopes, values) + ")"
	}
	if known.quota == auth.DefaultQuota(class) {
		condition += " AND (attribute_not_exists(" + quota + ") OR " + quota + " = :quota)"
	} else {
		condition += " AND " + quota + " = :quota"
	}
	set := "SET lastUsedAt = :at, admission = :mark, " + tat + " = "
	if charge.Start != 0 {
		values[":tat"] = table.Number(charge.Start)
		set += ":tat"
	} else {
		values[":step"] = table.Number(charge.Step)
		set += tat + " + :step"
	}
	switch {
	case charge.MinTAT == math.MinInt64:
		values[":upTo"] = table.Number(charge.MaxTAT)
		condition += " AND (attribute_not_exists(" + tat + ") OR " + tat + " <= :upTo)"
	default:
		values[":above"], values[":upTo"] = table.Number(charge.MinTAT), table.Number(charge.MaxTAT)
		condition += " AND " + tat + " > :above AND " + tat + " <= :upTo"
	}
	returnValues := types.ReturnValueUpdatedNew
	if known.info == nil {
		returnValues = types.ReturnValueAllNew
	}
	return &dynamodb.UpdateItemInput{
		Key:              keyItemOf(token.CompanyID, token.KeyID),
		UpdateExpression: &set, ConditionExpression: &condition,
		ExpressionAttributeNames: hashPlaceholder, ExpressionAttributeValues: values,
		ReturnValues:                        returnValues,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// scopeCondition returns the condition that a key has one of the scopes. It adds the values of the
// condition's placeholders to values.
func scopeCondition(scopes []auth.Scope, values table.Item) string {
	alternatives := make([]string, len(scopes))
	for i, scope := range scopes {
		placeholder := ":scope" + strconv.Itoa(i)
		values[placeholder] = table.String(string(scope))
		alternatives[i] = "contains(scopes, " + placeholder + ")"
	}
	return strings.Join(alternatives, " OR ")
}

// hashPlaceholder maps the placeholder of the only attribute whose name is a reserved word.
var hashPlaceholder = map[string]string{"#hash": "hash"}

// Verify is like Admit, but takes no request from the bucket and ignores how many requests are
// left.
func (s *Store) Verify(ctx context.Context, token auth.Token, scopes []auth.Scope, class auth.Class) (auth.QuotaState, error) {
	now := s.now()
	out, err := s.records.GetItem(ctx, &dynamodb.GetItemInput{Key: keyItemOf(token.CompanyID, token.KeyID)})
	if err != nil {
		return auth.QuotaState{}, fmt.Errorf("verify: %w", err)
	}
	key, err := decodeValidKey(token, out.Item, now)
	if err != nil {
		return auth.QuotaState{}, err
	}
	quota, tat := key.bucket(class)
	if !key.hasOneOf(scopes) {
		err = auth.NewMissingScopeError(scopes[0])
	}
	return quota.StateAt(tat, now), err
}

// decodeValidKey decodes a key's record and checks whether the key is valid. Unknown, wrong,
// revoked and expired keys get the same error; only the log shows the reason.
func decodeValidKey(token auth.Token, item table.Item, now time.Time) (storedKey, error) {
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

func keyItemOf(companyID, keyID string) table.Item {
	key := recordKey(companyID, keyID)
	return table.Item{table.Base.PK(): table.String(key.PK), table.Base.SK(): table.String(key.SK)}
}
