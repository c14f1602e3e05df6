package feedback

import (
	"time"

	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

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

// postedQuery returns the query for a range of days and a reply status.
func postedQuery(companyID string, f Filter) table.Query {
	q := table.Query{Index: table.GSI5, Partitions: []string{postedPartition(companyID, true), postedPartition(companyID, false)}}
	q.From, q.Until = f.Posted.sortKeyBounds()
	if f.ReplyStatus != nil {
		q.Partitions = []string{postedPartition(companyID, needsReplyAction(f.ReplyStatus))}
	}
	return q
}
