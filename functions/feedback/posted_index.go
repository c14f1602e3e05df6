package feedback

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// Listing by posted day reads an index. Records that an older version of the service stored may be
// missing from it, so each company has a backfillState that says whether the index is complete.
// Until then, listing by posted day reads all of the company's records.

// DayRange is an inclusive range of days in UTC, each in a form that timestamp.ParseDay accepts. An
// empty bound means unbounded.
type DayRange struct{ From, To string }

// postedPartitionNames names the two partitions that a company has in the index: one for the
// records whose reply someone has to act on, and one for all others. They are separate so that
// listing the review queue over a long range does not read settled feedback.
var postedPartitionNames = map[bool]string{true: "waiting", false: "settled"}

// needsReplyAction reports whether someone has to act on a reply with this status.
func needsReplyAction(status *ReplyStatus) bool {
	if status == nil {
		return false
	}
	switch *status {
	case ReplyStatusDraft, ReplyStatusNeedsReview, ReplyStatusApproved, ReplyStatusPosting, ReplyStatusFailed:
		return true
	case ReplyStatusNone, ReplyStatusPosted, ReplyStatusSkipped:
	}
	return false
}

func postedPartition(companyID string, waiting bool) string {
	return table.Partition(companyID, area, "posted", postedPartitionNames[waiting])
}

// postedKey returns the key of a record in the index, or the zero key for a record without
// postedAt.
func postedKey(f Feedback) table.Key {
	if f.PostedAt == nil {
		return table.Key{}
	}
	return table.Key{PK: postedPartition(f.CompanyID, needsReplyAction(f.ReplyStatus)), SK: table.JoinKey(table.DescendingTimeKey(f.PostedAt), f.ID)}
}

// sortKeyBounds returns the minimum and maximum sort key in the index for the range.
func (d DayRange) sortKeyBounds() (lowest, highest string) {
	highest = "~" // after every sort key
	if to, ok := timestamp.ParseDay(d.To); ok {
		lowest = table.DescendingTimeKey(new(timestamp.Format(to.Add(24*time.Hour - time.Millisecond))))
	}
	if from, ok := timestamp.ParseDay(d.From); ok {
		highest = table.JoinKey(table.DescendingTimeKey(new(timestamp.Format(from))), "~")
	}
	return lowest, highest
}

// contains reports whether a record was posted in the range of days.
func (d DayRange) contains(f Feedback) bool {
	lowest, highest := d.sortKeyBounds()
	at := postedKey(f).SK
	return at != "" && lowest <= at && at <= highest
}

// postedQuery returns the query for a filter with a range of days. The index is not keyed by source
// or sentiment, so the query reads all records and drops those that do not match these filters.
func postedQuery(companyID string, f Filter) table.Query {
	q := table.Query{Index: table.GSI5, Filter: table.Filter{}}
	q.From, q.Until = f.Posted.sortKeyBounds()
	if f.ReplyStatus == nil {
		q.Partitions = []string{postedPartition(companyID, true), postedPartition(companyID, false)}
	} else {
		q.Partitions = []string{postedPartition(companyID, needsReplyAction(f.ReplyStatus))}
		q.Filter["replyStatus"] = table.String(string(*f.ReplyStatus))
	}
	if f.Source != nil {
		q.Filter["source"] = table.String(string(*f.Source))
	}
	if f.Sentiment != nil {
		q.Filter["sentiment"] = table.String(string(*f.Sentiment))
	}
	return q
}

// listPosted implements List for a filter with a range of days. It reads the backfillState and the
// index in parallel.
func (s Store) listPosted(ctx context.Context, companyID string, f Filter, after string, limit int) (page table.Page[json.RawMessage], err error) {
	var state backfillState
	var failure error // ignored while the index is incomplete, because the table of an older version has no such index
	err = parallel.Both(func() (err error) {
		state, err = s.backfillState(ctx, companyID)
		return err
	}, func() error {
		q := postedQuery(companyID, f)
		q.After, q.Limit = after, limit
		page, failure = table.ListJSON[Feedback](ctx, s.table, q)
		return nil
	})
	switch {
	case err != nil:
		return page, err
	case state.CompleteAt != nil:
		return page, failure
	}
	return s.listUnindexed(ctx, companyID, f, after, limit)
}

// listUnindexed returns the page that a complete index would yield, without using the index. It
// reads all of the company's records, but keeps only a few pages in memory.
func (s Store) listUnindexed(ctx context.Context, companyID string, f Filter, after string, limit int) (table.Page[json.RawMessage], error) {
	order := func(f Feedback) string { return postedKey(f).SK }
	var matching []Feedback
	err := table.ForEach(ctx, s.table, allRecords(companyID), func(record Feedback) error {
		if !f.matches(record) {
			return nil
		}
		if matching = append(matching, record); len(matching) > 4*limit {
			matching = table.PageOf(matching, order, after, limit+1).Records
		}
		return nil
	})
	page := table.PageOf(matching, order, after, limit)
	texts := table.Page[json.RawMessage]{Next: page.Next, PositionAfter: page.PositionAfter}
	for i := range page.Records {
		text, failure := schema.Encode(&page.Records[i])
		texts.Records, err = append(texts.Records, text), cmp.Or(err, failure)
	}
	return texts, err
}

// matches reports whether a record matches every filter that is set.
func (f Filter) matches(record Feedback) bool {
	return matchesValue(f.Source, record.Source) && matchesValue(f.Sentiment, record.Sentiment) && matchesValue(f.ReplyStatus, record.ReplyStatus) &&
		(f.Posted == nil || f.Posted.contains(record))
}

func matchesValue[T comparable](filter, value *T) bool {
	return filter == nil || value != nil && *filter == *value
}

// backfillState records how much of a company's feedback is in the index by posted day.
type backfillState struct {
	After      string  `store:"after"`      // the sort key of the last record checked
	Checked    int64   `store:"checked"`    // the number of records checked
	CompleteAt *string `store:"completeAt"` // nil if the index may lack some records
}

func backfillStateKey(companyID string) table.Key {
	return table.Key{PK: table.Partition(companyID, area), SK: table.JoinKey("index", "posted")}
}

// backfillState returns the stored backfillState of a company, or the zero value if there is none.
func (s Store) backfillState(ctx context.Context, companyID string) (backfillState, error) {
	state, err := table.Get[backfillState](ctx, s.table, backfillStateKey(companyID))
	if errors.Is(err, fault.ErrNotFound) {
		return backfillState{}, nil
	}
	return state, err
}

func (s Store) setBackfillState(ctx context.Context, companyID string, state backfillState) error {
	return s.table.BatchPut(ctx, []table.Item{s.table.NewItem(table.Keys{Key: backfillStateKey(companyID)}, state)})
}

// backfillBatchSize is the number of records that are checked before the backfillState is written.
// backfillConcurrency is the number of records that are written concurrently.
const (
	backfillBatchSize   = 200
	backfillConcurrency = 16
)

// BackfillPostedIndex adds a company's records to the index by posted day and marks the index as
// complete, even for a company without records. It continues where an earlier call stopped. If the
// index is already complete, it does nothing, or, if recheck is true, checks every record again.
// Lists do not use the index until that check has finished.
//
// After each batch, it calls report with the number of records checked so far, including those
// checked by earlier calls. filled is the number of records that this call added to the index. All
// Lambda functions must already run a version that writes the keys of the index.
func (s Store) BackfillPostedIndex(ctx context.Context, companyID string, recheck bool, report func(checked int64)) (filled int64, err error) {
	state, err := s.backfillState(ctx, companyID)
	if err != nil || state.CompleteAt != nil && !recheck {
		return 0, err
	}
	if state.CompleteAt != nil {
		state = backfillState{}
		if err := s.setBackfillState(ctx, companyID, state); err != nil {
			return 0, err
		}
	}
	var step []indexedRecord
	flush := func() error {
		n, err := s.backfillBatch(ctx, companyID, step, &state)
		if filled += n; err != nil {
			return err
		}
		step = step[:0]
		report(state.Checked)
		return s.setBackfillState(ctx, companyID, state)
	}
	from := allRecords(companyID)
	from.Consistent = true
	if state.After != "" {
		from.Prefix, from.Until = state.After+"!", from.Prefix+"~" // the bounds use characters that do not occur in ids
	}
	err = table.ForEach(ctx, s.table, from, func(record indexedRecord) error {
		if step = append(step, record); len(step) < backfillBatchSize {
			return nil
		}
		return flush()
	})
	if err != nil {
		return filled, err
	}
	state.CompleteAt = new(s.table.Now())
	return filled, flush()
}

// indexedRecord is a record with its keys in the index by posted day.
type indexedRecord struct {
	Feedback

	PostedPK string `store:"gsi5pk"`
	PostedSK string `store:"gsi5sk"`
}

// backfillBatch writes the index keys of records that lack them or have wrong ones, and updates
// state to include all the records. filled is the number of records that it wrote.
func (s Store) backfillBatch(ctx context.Context, companyID string, records []indexedRecord, state *backfillState) (filled int64, err error) {
	var written atomic.Int64
	err = parallel.Do(len(records), backfillConcurrency, func(n int) error {
		r := records[n]
		if (table.Key{PK: r.PostedPK, SK: r.PostedSK}) == postedKey(r.Feedback) {
			return nil
		}
		changed, err := table.Reindex(ctx, s.table, feedbackKey(companyID, r.ID), keysOf)
		if changed {
			written.Add(1)
		}
		return err
	})
	if err == nil && len(records) > 0 {
		state.After = feedbackKey(companyID, records[len(records)-1].ID).SK
		state.Checked += int64(len(records))
	}
	return written.Load(), err
}
