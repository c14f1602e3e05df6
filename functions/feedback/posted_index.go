package feedback

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"growthworkspace/shared/migration"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// PostedIndex is the migration that adds records stored by an older version of the service to the
// index by posted day. Until it is complete for a company, listing by posted day reads all of the
// company's records.
var PostedIndex = migration.New("posted", area, table.JoinKey(feedbackSortKind, ""), keysOfClaimed)

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

func (d DayRange) contains(f Feedback) bool {
	lowest, highest := d.sortKeyBounds()
	at := postedKey(f).SK
	return at != "" && lowest <= at && at <= highest
}

// postedQuery returns the query for a filter with a range of days. The index is not keyed by source
// or sentiment, so the query reads all records in the range and drops those that do not match these
// filters.
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

// listPosted implements List for a filter with a range of days. In parallel with the query, it
// checks whether the index is complete.
func (s Store) listPosted(ctx context.Context, companyID string, f Filter, after string, limit int) (page table.Page[json.RawMessage], err error) {
	var isComplete bool
	var failure error // ignored while the index is incomplete, because a table created by an older version lacks the index
	err = parallel.Both(func() (err error) {
		isComplete, err = PostedIndex.IsComplete(ctx, s.table, companyID)
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
	case isComplete:
		return page, failure
	}
	return s.listUnindexed(ctx, companyID, f, after, limit)
}

// listUnindexed returns the page that a complete index would yield, without using the index. It
// reads all of the company's records, but keeps only a few pages in memory.
func (s Store) listUnindexed(ctx context.Context, companyID string, f Filter, after string, limit int) (table.Page[json.RawMessage], error) {
	sortKeyOf := func(f Feedback) string { return postedKey(f).SK }
	var matching []Feedback
	err := table.ForEach(ctx, s.table, allRecords(companyID), func(record Feedback) error {
		if !f.matches(record) {
			return nil
		}
		if matching = append(matching, record); len(matching) > 4*limit {
			matching = table.PageOf(matching, sortKeyOf, after, limit+1).Records
		}
		return nil
	})
	page := table.PageOf(matching, sortKeyOf, after, limit)
	texts := table.Page[json.RawMessage]{Next: page.Next, PositionAfter: page.PositionAfter}
	for i := range page.Records {
		text, failure := schema.Encode(&page.Records[i])
		texts.Records, err = append(texts.Records, text), cmp.Or(err, failure)
	}
	return texts, err
}

func (f Filter) matches(record Feedback) bool {
	return matchesValue(f.Source, record.Source) && matchesValue(f.Sentiment, record.Sentiment) && matchesValue(f.ReplyStatus, record.ReplyStatus) &&
		(f.Posted == nil || f.Posted.contains(record))
}

func matchesValue[T comparable](filter, value *T) bool {
	return filter == nil || value != nil && *filter == *value
}
