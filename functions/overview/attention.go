package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"growthworkspace/shared/timestamp"
)

// Kind is a kind of thing that needs a person.
type Kind string

// The kinds, the most urgent first. will_be_refused, for posts and replies that their platform
// would refuse, belongs before channel_broken; it needs the warnings of writes.
const (
	KindReplyToApprove     Kind = "reply_to_approve"
	KindReviewUrgent       Kind = "review_urgent"
	KindReviewUnanswered   Kind = "review_unanswered"
	KindReplyFailed        Kind = "reply_failed"
	KindReplyStuck         Kind = "reply_stuck"
	KindPostOverdue        Kind = "post_overdue"
	KindPostFailed         Kind = "post_failed"
	KindPostStuck          Kind = "post_stuck"
	KindPostUnread         Kind = "post_unread"
	KindChannelBroken      Kind = "channel_broken"
	KindMetricStale        Kind = "metric_stale"
	KindMetricToConfirm    Kind = "metric_to_confirm"
	KindGoalBehind         Kind = "goal_behind"
	KindGoalReached        Kind = "goal_reached"
	KindGoalOverdue        Kind = "goal_overdue"
	KindAuditFallen        Kind = "audit_fallen"
	KindRoadmapUnpublished Kind = "roadmap_unpublished"
	KindKeyExpiring        Kind = "key_expiring"
)

// Values implements schema.Enum.
func (Kind) Values() []string {
	return []string{
		string(KindReplyToApprove), string(KindReviewUrgent), string(KindReviewUnanswered), string(KindReplyFailed),
		string(KindReplyStuck), string(KindPostOverdue), string(KindPostFailed), string(KindPostStuck),
		string(KindPostUnread), string(KindChannelBroken), string(KindMetricStale), string(KindMetricToConfirm),
		string(KindGoalBehind), string(KindGoalReached), string(KindGoalOverdue), string(KindAuditFallen),
		string(KindRoadmapUnpublished), string(KindKeyExpiring),
	}
}

// Attention is what needs a person, of one kind.
type Attention struct {
	Kind  Kind            `json:"kind" doc:"what needs a person"`
	Count int64           `json:"count" doc:"how many records"`
	More  bool            `json:"more" doc:"there are more than count"`
	Since *string         `json:"since" format:"date-time" doc:"the earliest time of the records"`
	Items []AttentionItem `json:"items" doc:"up to three of the records, the most urgent first"`
}

// AttentionItem is a record that needs a person.
type AttentionItem struct {
	ID     string  `json:"id" doc:"the record's id"`
	Title  string  `json:"title" doc:"its name or first words, at most 80 characters"`
	Status *string `json:"status" doc:"its status"`
	At     *string `json:"at" format:"date-time" doc:"since when it needs a person, or when it will end"`
	Detail *string `json:"detail" doc:"why, at most 120 characters"`
}

// Limits of what the overview shows of a kind.
const (
	itemsMax       = 3
	titleCharsMax  = 80
	detailCharsMax = 120
)

// stuckAfter is how long after its time an unsent post counts as overdue, and how long a record may
// stay claimed before it counts as stuck. A program that sends every few minutes needs some time.
const stuckAfter = 15 * time.Minute

// isRecent reports whether a claimed record changed so lately that it is not stuck. An import may
// have brought a record without a time, which is stuck.
func (r *reader) isRecent(updatedAt *string) bool {
	return updatedAt != nil && !isBefore(updatedAt, r.now().Add(-stuckAfter))
}

// attentionOf returns the entry of a kind, from its records, the most urgent first.
func attentionOf(kind Kind, items []AttentionItem, more bool) Attention {
	out := Attention{Kind: kind, Count: int64(len(items)), More: more && len(items) > 0,
		Items: items[:min(len(items), itemsMax)]}
	for _, item := range items {
		if item.At != nil && (out.Since == nil || *item.At < *out.Since) {
			out.Since = item.At
		}
	}
	return out
}

// titleOf returns the first of a record's titles that is not empty, or its id.
func titleOf(id string, titles ...*string) string {
	for _, title := range titles {
		if text := excerpt(value(title, ""), titleCharsMax); text != "" {
			return text
		}
	}
	return id
}

// item returns the entry of a record. detail may be empty.
func item(id string, status, at *string, detail string, titles ...*string) AttentionItem {
	out := AttentionItem{ID: id, Title: titleOf(id, titles...), Status: status, At: at}
	if detail = excerpt(detail, detailCharsMax); detail != "" {
		out.Detail = &detail
	}
	return out
}

// oldestFirst sorts the entries of records by their time. Those without a time come last.
func oldestFirst(items []AttentionItem) []AttentionItem {
	slices.SortStableFunc(items, func(a, b AttentionItem) int {
		return cmp.Or(cmp.Compare(value(a.At, "~"), value(b.At, "~")), cmp.Compare(a.ID, b.ID))
	})
	return items
}

// excerpt returns a text in one line, shortened to a number of characters.
func excerpt(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return strings.TrimSpace(string(runes[:most-1])) + "…"
}

// value returns what p points to, or instead if p is nil.
func value[T any](p *T, instead T) T {
	if p == nil {
		return instead
	}
	return *p
}

// isBefore reports whether a timestamp is set and before a time.
func isBefore(at *string, t time.Time) bool { return at != nil && *at < timestamp.Format(t) }

// first returns the first text that is set, or nil.
func first(texts ...*string) *string {
	for _, text := range texts {
		if text != nil {
			return text
		}
	}
	return nil
}
