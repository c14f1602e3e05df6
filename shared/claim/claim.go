// Package claim locks a record for one worker at a time. A worker claims a record that is ready,
// works on it outside this service, and reports the outcome. The record's area defines the
// statuses.
//
// A claim is a conditional write, so only one worker gets a record. A report must contain the id of
// the claim. A claim does not expire, because the service cannot know whether a worker that crashed
// had finished its work. List lists the claims. An operator checks the old ones and reports the
// outcome on the worker's behalf.
package claim

import (
	"context"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/table"
)

const idPrefix = "clm"

// Claim is the claim that locks a record, or the last one that did. Stored records embed it. An
// export does not contain it, and an import removes it.
type Claim struct {
	ClaimID   *string `json:"claimId"`   // clm_…; null if no worker has claimed the record since it was created or imported
	ClaimedAt *string `json:"claimedAt"` // when the claim was created
}

// New returns a new claim.
func New(t *table.Client) Claim { return Claim{new(t.NewID(idPrefix)), new(t.Now())} }

func (c Claim) current() Claim { return c }

// isHeldBy reports whether the record's last claim has the given id. The empty id matches a record
// without a claim, such as one that was imported with the claimed status.
func (c Claim) isHeldBy(claimID string) bool { return valueOrEmpty(c.ClaimID) == claimID }

func valueOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Kind describes a record type that workers claim.
type Kind[T interface{ current() Claim }] struct {
	Name          string // name in error messages, such as "post"
	Prefix        string // prefix of the records' ids
	ClaimedStatus string // the status of a claimed record

	Status func(T) string
	Key    func(companyID, recordID string) table.Key
	KeysOf func(T) table.Keys

	Index      table.Index                     // lists the claimed records
	Partitions func(companyID string) []string // the partitions of Index that contain a company's claimed records
}

// IsHeldBy reports whether the claim c locks a record. If it does, an earlier attempt to write c
// succeeded even though its response was lost.
func (k Kind[T]) IsHeldBy(record T, c Claim) bool {
	return k.Status(record) == k.ClaimedStatus && record.current().isHeldBy(*c.ClaimID)
}

// CheckReport checks a worker's report, which changes the status of a record to newStatus. repeated
// is true if the same claim has already reported that status; it is always false for a record
// without a claim. If the claim neither locks the record nor has reported that status, CheckReport
// returns conflict.
func (k Kind[T]) CheckReport(record T, claimID, newStatus string) (repeated bool, err error) {
	status, held := k.Status(record), record.current().isHeldBy(claimID)
	switch {
	case claimID != "" && status == newStatus && held:
		return true, nil
	case status != k.ClaimedStatus:
		return false, fault.New(fault.Conflict, "the %s is %s; the claim no longer locks it", k.Name, status)
	case !held:
		return false, fault.New(fault.Conflict, "another claim locks the %s", k.Name)
	}
	return false, nil
}

// Modify changes a record and its claim by compare-and-set, so whatever the change function checks
// is still true at the time of the write. respond returns the response to the operation that makes
// the change. If the request has an Idempotency-Key, the response is stored in the same
// transaction. Modify returns fault.ErrNotFound if the record does not exist.
func (k Kind[T]) Modify(ctx context.Context, t *table.Client, companyID, recordID string, change func(*T) error, respond func(T) any) (T, error) {
	if !id.Valid(k.Prefix, recordID) { // an invalid id from a command line might form the key of a different record
		var none T
		return none, fault.ErrNotFound
	}
	return idempotency.ModifyAs(ctx, t, k.Key(companyID, recordID), k.KeysOf, change, respond)
}

// RequireLocked returns conflict unless the claim with this id still locks the record. It returns
// fault.ErrNotFound if the record does not exist.
//
// The stored response to a claim is replayed only after this check. Otherwise a program that
// received it after the outcome was reported would do the work a second time.
func (k Kind[T]) RequireLocked(ctx context.Context, t *table.Client, companyID, recordID, claimID string) error {
	record, err := table.Get[T](ctx, t, k.Key(companyID, recordID))
	if err != nil {
		return err
	}
	if k.Status(record) != k.ClaimedStatus || !record.current().isHeldBy(claimID) {
		return fault.New(fault.Conflict, "header.Idempotency-Key: the claim of the first request no longer locks the %s, which is %s; do not send it", k.Name, k.Status(record))
	}
	return nil
}

// List returns a page of the company's claimed records, in the order of the index. The list
// includes records that have the ClaimedStatus but no claim.
func (k Kind[T]) List(ctx context.Context, t *table.Client, companyID, after string, limit int) (table.Page[T], error) {
	return table.List[T](ctx, t, table.Query{Index: k.Index, Partitions: k.Partitions(companyID), After: after, Limit: limit})
}

// ListReady runs q and returns a page of at most limit records that are ready to be claimed.
// isReady reports whether a record is ready, and whether any later record may be. positionOf
// returns the position of a record, after which the next page starts.
//
// The query reads an index, which lags writes by milliseconds. If a listed record has since been
// claimed or changed, claiming it fails.
func ListReady[T any](ctx context.Context, t *table.Client, q table.Query, limit int, positionOf func(T) string, isReady func(T) (ready, more bool)) (table.Page[T], error) {
	q.Limit = limit + 1
	found := []T{}
	newPage := func(next string) (table.Page[T], error) {
		return table.Page[T]{Records: found, Next: next, PositionAfter: func(n int) string { return positionOf(found[n]) }}, nil
	}
	for {
		page, err := table.List[T](ctx, t, q)
		if err != nil {
			return table.Page[T]{}, err
		}
		for _, record := range page.Records {
			ready, more := isReady(record)
			switch {
			case !more:
				return newPage("")
			case ready && len(found) == limit:
				return newPage(positionOf(found[limit-1]))
			case ready:
				found = append(found, record)
			}
		}
		if page.Next == "" {
			return newPage("")
		}
		q.After = page.Next
	}
}
