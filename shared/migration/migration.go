// Package migration adds the records of earlier builds to new indexes.
//
// DynamoDB fills a new index only with records that have the index's keys. Records that an earlier
// build stored lack those keys. A Migration computes the keys and writes them, company by company.
// Lists read the index once the migration is complete for the company, and until then read the
// records themselves.
//
// A mark records the migration's progress for one company. A further mark, the one for all
// companies, records that the migration is complete for every company. A new company needs no mark:
// every build that has the migration writes the keys, so the records of that company never lack
// them. A company without a mark is therefore complete if the mark for all companies is complete.
// The reasons are in scripts/docs/explanation/table.md.
package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// Migration writes the index keys of this build to all records of one kind.
type Migration struct {
	name   string
	area   string
	prefix string
	batch  int // the number of records to check before each write of the mark
	apply  func(ctx context.Context, t *table.Client, stored table.Item) (written bool, err error)
}

// New declares a migration. It covers those records in the area's base partition whose sort keys
// start with prefix. keysOf returns all index keys of a record, as for table.Modify. The name
// distinguishes the migrations of an area. name, area and prefix are part of the stored marks, so
// they never change.
func New[T any](name, area, prefix string, keysOf func(T) table.Keys) Migration {
	return Migration{name, area, prefix, batchSize, func(ctx context.Context, t *table.Client, stored table.Item) (bool, error) {
		return table.Reindex(ctx, t, stored, keysOf)
	}}
}

// String returns the migration's area and name, such as "feedback: posted".
func (m Migration) String() string { return m.area + ": " + m.name }

// mark is the stored progress of a migration, for one company or for all.
type mark struct {
	After      string  `store:"after"`      // the sort key of the last record that was checked
	Checked    int64   `store:"checked"`    // the number of records that were checked
	Round      int64   `store:"round"`      // incremented to have all records of all companies checked again
	CompleteAt *string `store:"completeAt"` // nil if the index may lack records
}

func (m mark) equal(other mark) bool {
	return m.After == other.After && m.Checked == other.Checked && m.Round == other.Round && (m.CompleteAt == nil) == (other.CompleteAt == nil)
}

// everyCompany takes the place of a company's id in the key of the mark for all companies. It is
// not a valid id, but has the length of one, so the functions' roles allow them to read the mark.
var everyCompany = "co_" + strings.Repeat("-", 26)

func (m Migration) markKey(companyID string) table.Key {
	return table.Key{PK: table.Partition(companyID, m.area), SK: table.JoinKey("index", m.name)}
}

func markKeys(key table.Key) func(mark) table.Keys {
	return func(mark) table.Keys { return table.Keys{Key: key} }
}

// IsComplete reports whether the index contains all records of a company. It makes one table call,
// which costs one read unit. A list calls IsComplete in parallel with its query of the index, and
// discards the query's result if the migration is incomplete.
func (m Migration) IsComplete(ctx context.Context, t *table.Client, companyID string) (bool, error) {
	items, err := table.BatchGetItemsEventually(ctx, t, []table.Key{m.markKey(companyID), m.markKey(everyCompany)})
	if err != nil {
		return false, fmt.Errorf("migration %s: %w", m, err)
	}
	var all mark
	var own *mark
	for _, item := range items {
		target := &all
		if table.KeyOf(item) == m.markKey(companyID) {
			own = &mark{}
			target = own
		}
		if err := table.Decode(item, target); err != nil {
			return false, err
		}
	}
	return isComplete(own, all), nil
}

// isComplete reports whether a migration is complete for a company. own is the company's mark, or
// nil if it has none. all is the mark for all companies, or the zero value if there is none.
func isComplete(own *mark, all mark) bool {
	if own == nil {
		return all.CompleteAt != nil
	}
	return own.CompleteAt != nil && own.Round == all.Round
}

// IsCompleteForAll reports whether the index contains all records of all companies. It makes one
// table call. It ignores a run that checks the records of a single company again.
func (m Migration) IsCompleteForAll(ctx context.Context, t *table.Client) (bool, error) {
	all, err := m.get(ctx, t, everyCompany)
	if err != nil {
		return false, fmt.Errorf("migration %s: %w", m, err)
	}
	return all != nil && all.CompleteAt != nil, nil
}

// get returns the mark of a company, or nil if there is none.
func (m Migration) get(ctx context.Context, t *table.Client, companyID string) (*mark, error) {
	stored, err := table.Get[mark](ctx, t, m.markKey(companyID))
	if errors.Is(err, fault.ErrNotFound) {
		return nil, nil
	}
	return &stored, err
}

// errConcurrentRun means that another process has written a mark.
var errConcurrentRun = errors.New("another process runs the same migration")

// put stores `after` as a company's mark. It returns errConcurrentRun if the stored mark does not
// equal *before. If before is nil, there must be no stored mark.
func (m Migration) put(ctx context.Context, t *table.Client, companyID string, before *mark, after mark) error {
	key := m.markKey(companyID)
	if before == nil {
		err := t.Insert(ctx, table.Keys{Key: key}, after)
		if errors.Is(err, table.ErrExists) {
			return errConcurrentRun
		}
		return err
	}
	_, err := table.Modify(ctx, t, key, markKeys(key), func(stored *mark) error {
		if !stored.equal(*before) {
			return errConcurrentRun
		}
		*stored = after
		return nil
	})
	if errors.Is(err, fault.ErrNotFound) {
		return errConcurrentRun
	}
	return err
}

// Pending returns the migrations that are not complete for all companies.
func Pending(ctx context.Context, t *table.Client, migrations []Migration) (pending []Migration, err error) {
	keys := make([]table.Key, len(migrations))
	for n, m := range migrations {
		keys[n] = m.markKey(everyCompany)
	}
	items, err := table.BatchGetItems(ctx, t, keys)
	if err != nil {
		return nil, err
	}
	complete := map[table.Key]bool{}
	for _, item := range items {
		var all mark
		if err := table.Decode(item, &all); err != nil {
			return nil, err
		}
		complete[table.KeyOf(item)] = all.CompleteAt != nil
	}
	for n, m := range migrations {
		if !complete[keys[n]] {
			pending = append(pending, m)
		}
	}
	return pending, nil
}
