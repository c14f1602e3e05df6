package feedback

import (
	"context"
	"encoding/json"
	"slices"

	"growthworkspace/shared/table"
)

// Store stores feedback in the partition <company>#feedback, under the sort key feedback#<id>. A
// reference from source and externalId to a record is stored under ext#<digest> (see
// store_push.go); every delete of a record also deletes its reference. The index partitions have
// the same prefix. Except in GSI5, the sort key of an index is priority#postedAt#id: the lowest
// priority comes first, then the newest time, and null last.
//
//	access                       index  partition                                  queries in parallel
//	get, reply, export           base   …                                          1
//	list                         GSI1   …#all                                      1
//	list source, sentiment       GSI3   …#voice#<source>#<sentiment>               1 with both, 4 with one
//	list replyStatus             GSI4   …#queue#<status>                           1
//	list replyStatus and others  GSI2   …#reply#<status>#<source>#<sentiment>      1 with both, 4 with one
//	list posted days             GSI5   …#posted#waiting, …#posted#settled         2; 1 with replyStatus
//
// Every combination of source, sentiment and replyStatus has its own partitions, so a page never
// reads records that do not match. A null source or sentiment has its own partition. GSI2 and GSI4 are
// sparse, because no filter value matches a null replyStatus.
//
// GSI5 has the sort key postedAt#id, newest first. It lacks records without postedAt. A record has
// only one key in each index, so not every combination of filters can have its own partition: a list
// by rating or flags, and one by posted days and another filter, drops the records that do not match
// from what it reads. It reads one partition, or the two of GSI5, and a bounded number of records for
// each page (table.Filter).
type Store struct{ table *table.Client }

// NewStore returns a store over the table.
func NewStore(t *table.Client) Store { return Store{t} }

// Filter selects the records that match all filter values that are set.
type Filter struct {
	Source      *Source
	Sentiment   *Sentiment
	ReplyStatus *ReplyStatus
	Ratings     []int64   // any of them
	Flags       []Flag    // any of them
	Posted      *DayRange // if set, the list is sorted by postedAt, newest first; a record without postedAt is in no range
}

const (
	area             = "feedback"
	feedbackSortKind = "feedback" // the first part of a record's sort key in the base partition
	referenceKind    = "ext"      // the first part of a reference's sort key
	nullPart         = "-"        // stands for null; not a value of any enum
)

func feedbackKey(companyID, feedbackID string) table.Key {
	return table.Key{PK: table.Partition(companyID, area), SK: table.JoinKey(feedbackSortKind, feedbackID)}
}

func allRecords(companyID string) table.Collection {
	return table.Collection{Partition: table.Partition(companyID, area), Prefix: table.JoinKey(feedbackSortKind, "")}
}

func allPartition(companyID string) string { return table.Partition(companyID, area, "all") }

func sentimentPartition(companyID, source, sentiment string) string {
	return table.Partition(companyID, area, "voice", source, sentiment)
}

func replyPartition(companyID string, status ReplyStatus, source, sentiment string) string {
	return table.Partition(companyID, area, "reply", string(status), source, sentiment)
}

func queuePartition(companyID string, status ReplyStatus) string {
	return table.Partition(companyID, area, "queue", string(status))
}

func keysOf(f Feedback) table.Keys {
	sortKey := table.JoinKey(table.NumberKey(f.Priority), table.DescendingTimeKey(f.PostedAt), f.ID)
	source, sentiment := keyPart(f.Source), keyPart(f.Sentiment)
	keys := table.Keys{
		Key:  feedbackKey(f.CompanyID, f.ID),
		GSI1: table.Key{PK: allPartition(f.CompanyID), SK: sortKey},
		GSI3: table.Key{PK: sentimentPartition(f.CompanyID, source, sentiment), SK: sortKey},
	}
	keys.GSI5 = postedKey(f)
	if f.ReplyStatus != nil {
		keys.GSI4 = table.Key{PK: queuePartition(f.CompanyID, *f.ReplyStatus), SK: sortKey}
		keys.GSI2 = table.Key{PK: replyPartition(f.CompanyID, *f.ReplyStatus, source, sentiment), SK: sortKey}
	}
	return keys
}

func keysOfClaimed(p ClaimedReply) table.Keys { return keysOf(p.Feedback) }

// keyPart returns the key part for a nullable value.
func keyPart[T ~string](value *T) string {
	if value == nil {
		return nullPart
	}
	return string(*value)
}

// keyParts returns the key parts that match a filter. If filter is nil, it returns the parts for
// all values and for null.
func keyParts[T interface {
	~string
	Values() []string
}](filter *T) []string {
	if filter != nil {
		return []string{string(*filter)}
	}
	var values T
	return append(slices.Clone(values.Values()), nullPart)
}

// listQuery returns the query for the records that match a filter.
func listQuery(companyID string, f Filter) table.Query {
	hasUnindexed := len(f.Ratings)+len(f.Flags) > 0
	indexed := f
	if hasUnindexed && (f.Source == nil || f.Sentiment == nil) { // their partitions are too many for a list that drops records
		indexed.Source, indexed.Sentiment = nil, nil
	}
	q := indexedQuery(companyID, indexed)
	if hasUnindexed || f.Posted != nil {
		q.Filter = f.tests()
	}
	return q
}

// indexedQuery returns the index and the partitions that hold the records that match the source,
// sentiment and reply status of a filter, or its posted days.
func indexedQuery(companyID string, f Filter) table.Query {
	switch {
	case f.Posted != nil:
		return postedQuery(companyID, f)
	case f.Source == nil && f.Sentiment == nil && f.ReplyStatus == nil:
		return table.Query{Index: table.GSI1, Partitions: []string{allPartition(companyID)}}
	case f.Source == nil && f.Sentiment == nil:
		return table.Query{Index: table.GSI4, Partitions: []string{queuePartition(companyID, *f.ReplyStatus)}}
	}
	q := table.Query{Index: table.GSI3}
	if f.ReplyStatus != nil {
		q.Index = table.GSI2
	}
	for _, source := range keyParts(f.Source) {
		for _, sentiment := range keyParts(f.Sentiment) {
			partition := sentimentPartition(companyID, source, sentiment)
			if f.ReplyStatus != nil {
				partition = replyPartition(companyID, *f.ReplyStatus, source, sentiment)
			}
			q.Partitions = append(q.Partitions, partition)
		}
	}
	return q
}

// tests returns the tests for all filter values except the posted days.
func (f Filter) tests() table.Filter {
	out := table.Filter{}
	if f.Source != nil {
		out["source"] = table.Is(*f.Source)
	}
	if f.Sentiment != nil {
		out["sentiment"] = table.Is(*f.Sentiment)
	}
	if f.ReplyStatus != nil {
		out["replyStatus"] = table.Is(*f.ReplyStatus)
	}
	if len(f.Ratings) > 0 {
		out["rating"] = table.Is(f.Ratings...)
	}
	if len(f.Flags) > 0 {
		out["flags"] = table.Has(f.Flags...)
	}
	return out
}

// List returns a page of the records that match a filter, as JSON.
func (s Store) List(ctx context.Context, companyID string, f Filter, after string, limit int) (table.Page[json.RawMessage], error) {
	q := listQuery(companyID, f)
	q.After, q.Limit = after, limit
	return table.ListJSON[Feedback](ctx, s.table, q)
}

// Get returns one record, or fault.ErrNotFound.
func (s Store) Get(ctx context.Context, companyID, feedbackID string) (Feedback, error) {
	return table.Get[Feedback](ctx, s.table, feedbackKey(companyID, feedbackID))
}

// Modify changes one record by compare-and-set, like table.Modify.
func (s Store) Modify(ctx context.Context, companyID, feedbackID string, change func(*Feedback) error) (Feedback, error) {
	return table.ModifyWith(ctx, s.table, feedbackKey(companyID, feedbackID), func(f *Feedback) (table.Keys, error) {
		if err := change(f); err != nil {
			return table.Keys{}, err
		}
		return keysOf(*f), nil
	}, nil)
}
