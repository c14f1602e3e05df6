package migration

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// Progress reports how far a migration has got.
type Progress struct {
	Migration Migration
	CompanyID string
	Number    int   // the company's number, counted from 1
	Companies int   // the number of companies
	Checked   int64 // the number of the company's records that have been checked, including by earlier calls
}

// batchSize is the number of records to check before each write of the mark. batchConcurrency is
// the number of records to write concurrently.
const (
	batchSize        = 200
	batchConcurrency = 16
)

// Run runs the migrations for all companies. The caller must list companyIDs only when no Lambda
// function runs an earlier build any more. Run continues where an earlier call stopped, and skips
// what is complete. If recheck is true, it checks every record of every company again, and no list
// uses the indexes until that check is complete. Several processes may run the same migrations
// concurrently. If one of them starts to check every record again, the others stop with an error.
//
// written is the number of records whose index keys this call changed. Run calls report after each
// batch. It stops at the first error; the companies that it has already migrated stay complete.
func Run(ctx context.Context, t *table.Client, migrations []Migration, companyIDs []string, recheck bool, report func(Progress)) (written int64, err error) {
	t = t.AsImport() // the feed of changes ignores these writes, because no field of a record changes
	for _, m := range migrations {
		n, err := m.run(ctx, t, companyIDs, recheck, report)
		if written += n; err != nil {
			return written, fmt.Errorf("migration %s: %w", m, err)
		}
	}
	return written, nil
}

// RunCompany is Run for one company. It does not complete the migrations for all companies.
func RunCompany(ctx context.Context, t *table.Client, migrations []Migration, companyID string, recheck bool, report func(Progress)) (written int64, err error) {
	t = t.AsImport()
	for _, m := range migrations {
		all, err := m.begin(ctx, t, false)
		if err != nil {
			return written, fmt.Errorf("migration %s: %w", m, err)
		}
		n, err := m.runCompany(ctx, t, all, recheck, Progress{m, companyID, 1, 1, 0}, report)
		if written += n; err != nil {
			return written, fmt.Errorf("migration %s: %w", m, err)
		}
	}
	return written, nil
}

func (m Migration) run(ctx context.Context, t *table.Client, companyIDs []string, recheck bool, report func(Progress)) (written int64, err error) {
	all, err := m.begin(ctx, t, recheck)
	if err != nil {
		return 0, err
	}
	for n, companyID := range companyIDs {
		companyWritten, err := m.runCompany(ctx, t, all, false, Progress{m, companyID, n + 1, len(companyIDs), 0}, report)
		if written += companyWritten; err != nil {
			return written, fmt.Errorf("company %s: %w", companyID, err)
		}
	}
	if all.CompleteAt != nil {
		return written, nil
	}
	complete := all
	complete.CompleteAt = new(t.Now())
	err = m.put(ctx, t, everyCompany, &all, complete)
	if !errors.Is(err, errConcurrentRun) {
		return written, err
	}
	// Another process has completed the migration, or has begun a new round of checks.
	current, err := m.get(ctx, t, everyCompany)
	if err == nil && (current == nil || !current.equal(complete)) {
		err = errConcurrentRun
	}
	return written, err
}

// begin returns the mark for all companies, and creates it if it is missing. If recheck is true, it
// starts a new round, so the marks of all companies then count as incomplete.
func (m Migration) begin(ctx context.Context, t *table.Client, recheck bool) (mark, error) {
	for {
		stored, err := m.get(ctx, t, everyCompany)
		if err != nil || stored != nil && !recheck {
			return valueOrZero(stored), err
		}
		next := mark{}
		if stored != nil {
			next.Round = stored.Round + 1
		} else if recheck {
			next.Round = 1
		}
		if err := m.put(ctx, t, everyCompany, stored, next); !errors.Is(err, errConcurrentRun) {
			return next, err
		}
	}
}

func valueOrZero(m *mark) mark {
	if m == nil {
		return mark{}
	}
	return *m
}

// runCompany runs the migration for one company. If another process runs it for the same company,
// it continues from the mark of that process.
func (m Migration) runCompany(ctx context.Context, t *table.Client, all mark, recheck bool, progress Progress, report func(Progress)) (written int64, err error) {
	for {
		own, err := m.get(ctx, t, progress.CompanyID)
		if err != nil || isComplete(own, all) && !recheck {
			return written, err
		}
		if own != nil && own.Round > all.Round {
			return written, errConcurrentRun // resetting the mark would undo the new round that another process started
		}
		if recheck || own != nil && own.Round != all.Round {
			err = m.put(ctx, t, progress.CompanyID, own, mark{Round: all.Round})
			if own = (&mark{Round: all.Round}); err == nil {
				recheck = false
			}
		}
		if err == nil {
			var n int64
			n, err = m.processRecords(ctx, t, own, all.Round, progress, report)
			written += n
		}
		if !errors.Is(err, errConcurrentRun) {
			return written, err
		}
	}
}

// processRecords applies the migration to the company's records that come after those its mark
// covers, and then marks the company as complete.
func (m Migration) processRecords(ctx context.Context, t *table.Client, own *mark, round int64, progress Progress, report func(Progress)) (written int64, err error) {
	next := valueOrZero(own)
	next.Round = round
	var batch []table.Item
	flush := func() error {
		n, err := m.applyAll(ctx, t, batch)
		if written += n; err != nil {
			return err
		}
		if len(batch) > 0 {
			next.After = table.KeyOf(batch[len(batch)-1]).SK
			next.Checked += int64(len(batch))
			batch = nil
		}
		progress.Checked = next.Checked
		report(progress)
		if err := m.put(ctx, t, progress.CompanyID, own, next); err != nil {
			return err
		}
		own = new(next)
		return nil
	}
	collection := table.Collection{Partition: table.Partition(progress.CompanyID, m.area), Prefix: m.prefix, Consistent: true}
	if next.After != "" {
		collection.Prefix, collection.Until = next.After+"!", m.prefix+"~" // the bounds use characters that do not occur in ids
	}
	err = table.ForEachItem(ctx, t, collection, func(item table.Item) error {
		if batch = append(batch, item); len(batch) < m.batch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return written, err
	}
	next.CompleteAt = new(t.Now())
	return written, flush()
}

func (m Migration) applyAll(ctx context.Context, t *table.Client, items []table.Item) (written int64, err error) {
	var n atomic.Int64
	err = parallel.Do(len(items), batchConcurrency, func(i int) error {
		changed, err := m.apply(ctx, t, items[i])
		if changed {
			n.Add(1)
		}
		if err != nil {
			return fmt.Errorf("record %s: %w", table.KeyOf(items[i]).SK, err)
		}
		return nil
	})
	return n.Load(), err
}

// CompleteEmpty marks the migrations as complete if the table has no items, and reports whether
// that is so. Records that are written later have all keys, so a new table needs no migration.
func CompleteEmpty(ctx context.Context, t *table.Client, migrations []Migration) (isEmpty bool, err error) {
	isEmpty, err = t.IsEmpty(ctx)
	if err != nil || !isEmpty {
		return false, err
	}
	_, err = Run(ctx, t, migrations, nil, false, func(Progress) {})
	return err == nil, err
}
