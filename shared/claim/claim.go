// Package claim gives a record to one worker at a time. A worker claims a record that is ready, works on it outside this
// service, and reports how that ended; an area says which statuses these are.
//
// A claim is a condition on the write, so of any number of workers exactly one gets a record. A report needs the id of the
// claim. A claim does not expire, because nobody here knows whether a worker that died had done its work: Stuck lists old
// claims, and an operator finds out and reports in place of the worker.
package claim

import (
	"context"
	"slices"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

// prefix is that of the ids of claims.
const prefix = "clm"

// Claim is the claim that holds a record, or that held it last. Records embed it as they are stored. An export leaves it
// out, and an import removes it.
type Claim struct {
	ClaimID   *string `json:"claimId"`   // clm_…; null when no worker had the record since it was created or imported
	ClaimedAt *string `json:"claimedAt"` // when the claim was created
}

// New returns a claim of its own.
func New(t *table.Client) Claim { return Claim{new(t.NewID(prefix)), new(t.Now())} }

func (c Claim) last() Claim { return c }

// heldBy reports whether a claim is the last one that the record had. The empty id is that of a record without a claim,
// which an import brought while it was claimed.
func (c Claim) heldBy(claimID string) bool { return text(c.ClaimID) == claimID }

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Kind is a kind of record that workers claim.
type Kind[T interface{ last() Claim }] struct {
	Name   string // in errors, such as post
	Prefix string // of the ids of its records
	Busy   string // the status of a record that a worker has

	Status func(T) string
	Key    func(companyID, recordID string) table.Key
	KeysOf func(T) table.Keys

	Index      table.Index                     // where the records are that a worker has
	Partitions func(companyID string) []string // of that index
}

// Has reports whether a claim holds a record: a retry of the claim, after a lost response, finds that it succeeded.
func (k Kind[T]) Has(record T, c Claim) bool {
	return k.Status(record) == k.Busy && record.last().heldBy(*c.ClaimID)
}

// Report checks the report of a worker, which moves a record to another status. repeated reports whether the record has
// that status by a report of this very claim; a record without a claim remembers none. conflict when the claim does not
// hold the record.
func (k Kind[T]) Report(record T, claimID, to string) (repeated bool, err error) {
	status, held := k.Status(record), record.last().heldBy(claimID)
	switch {
	case claimID != "" && status == to && held:
		return true, nil
	case status != k.Busy:
		return false, fault.New(fault.Conflict, "the %s is %s; the claim does not hold it any more", k.Name, status)
	case !held:
		return false, fault.New(fault.Conflict, "another claim holds the %s", k.Name)
	}
	return false, nil
}

// Change changes a record and its claim by compare-and-set, so that every rule of change is a condition on the write.
// fault.ErrNotFound when there is no such record.
func (k Kind[T]) Change(ctx context.Context, t *table.Client, companyID, recordID string, change func(*T) error) (T, error) {
	if !id.Valid(k.Prefix, recordID) { // what is typed on a command line must not become another key
		var none T
		return none, fault.ErrNotFound
	}
	return table.Modify(ctx, t, k.Key(companyID, recordID), k.KeysOf, change)
}

// Stuck returns the company's records that a worker has under a claim created at claimedBefore or earlier, a timestamp as
// records have it, or under none. Those without a claim come first, since nobody works on them, then the oldest claim.
func (k Kind[T]) Stuck(ctx context.Context, t *table.Client, companyID, claimedBefore string) ([]T, error) {
	partitions := k.Partitions(companyID)
	found := make([][]T, len(partitions))
	err := table.Parallel(len(partitions), len(partitions), func(n int) (err error) {
		found[n], err = table.Whole[T](ctx, t, table.Collection{Index: k.Index, Partition: partitions[n]})
		return err
	})
	if err != nil {
		return nil, err
	}
	stuck := slices.DeleteFunc(slices.Concat(found...), func(record T) bool { return text(record.last().ClaimedAt) > claimedBefore })
	order := func(record T) string { return table.Join(text(record.last().ClaimedAt), k.KeysOf(record).SK) }
	slices.SortFunc(stuck, func(a, b T) int { return strings.Compare(order(a), order(b)) })
	return stuck, nil
}

// Ready returns the first limit records of a query that are ready to be claimed, and the position to go on from, empty at
// the end. judge reports whether a record is ready, and whether any may come after it.
//
// The query reads an index, which lags a write by milliseconds: a listed record may have been claimed or changed, which
// its claim finds out. There is no list over companies, because no index lacks the company.
func Ready[T any](ctx context.Context, t *table.Client, q table.Query, limit int, positionOf func(T) string, judge func(T) (ready, more bool)) (found []T, next string, err error) {
	q.Limit = limit + 1
	found = []T{}
	for {
		page, after, err := table.List[T](ctx, t, q)
		if err != nil {
			return nil, "", err
		}
		for _, record := range page {
			ready, more := judge(record)
			switch {
			case !more:
				return found, "", nil
			case ready && len(found) == limit:
				return found, positionOf(found[limit-1]), nil
			case ready:
				found = append(found, record)
			}
		}
		if after == "" {
			return found, "", nil
		}
		q.After = after
	}
}
