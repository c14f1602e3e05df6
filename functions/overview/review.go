package overview

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// review is what the rules read of a review or mention.
type review struct {
	ID          string
	Source      *string
	Title, Body *string
	Rating      *int64
	Priority    *int64
	Flags       []string
	ReplyStatus *string
	PostedAt    *string
	CreatedAt   *string
	UpdatedAt   *string
}

// Numbers that make a review without a reply urgent.
const (
	urgentStarsMax    = 2
	urgentPriorityMax = 1
)

// urgentFlags make a review without a reply urgent, whatever its stars.
var urgentFlags = []string{"legal", "safety"}

func (r review) isUrgent() bool {
	return r.Rating != nil && *r.Rating <= urgentStarsMax || r.Priority != nil && *r.Priority <= urgentPriorityMax ||
		slices.ContainsFunc(r.Flags, func(flag string) bool { return slices.Contains(urgentFlags, flag) })
}

// detail says what is known about the review besides its text.
func (r review) detail() string {
	var parts []string
	if r.Rating != nil {
		parts = append(parts, fmt.Sprintf("%d of 5 stars", *r.Rating))
	}
	if r.Source != nil {
		parts = append(parts, *r.Source)
	}
	return strings.Join(append(parts, r.Flags...), ", ")
}

// byUrgency sorts reviews: the lowest priority number first, then the fewest stars, then the newest.
func byUrgency(reviews []review) []review {
	out := slices.Clone(reviews)
	slices.SortStableFunc(out, func(a, b review) int {
		const last = math.MaxInt64
		return cmp.Or(cmp.Compare(value(a.Priority, last), value(b.Priority, last)),
			cmp.Compare(value(a.Rating, last), value(b.Rating, last)),
			cmp.Compare(value(b.PostedAt, ""), value(a.PostedAt, "")), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// reviewReads are the reads of reviews, by the status of their reply.
type reviewReads struct{ toApprove, unanswered, failed, posting *records[review] }

func (r *reader) startReviews(replyStatus string) *records[review] {
	return startList[review](r, "list_feedback", map[string]any{"replyStatus": replyStatus, "limit": pageMax},
		countMax, nil)
}

func (r *reader) startReviewReads() reviewReads {
	return reviewReads{r.startReviews("needs_review"), r.startReviews("none"), r.startReviews("failed"),
		r.startReviews("posting")}
}

func (r *reader) reviewsToAttend(reads reviewReads) []Attention {
	entries := func(reviews []review, at func(review) *string) (out []AttentionItem) {
		for _, f := range byUrgency(reviews) {
			out = append(out, item(f.ID, f.ReplyStatus, at(f), f.detail(), f.Title, f.Body))
		}
		return out
	}
	updated := func(f review) *string { return first(f.UpdatedAt, f.CreatedAt) }
	posted := func(f review) *string { return first(f.PostedAt, f.CreatedAt) }
	var urgent, others []review
	for _, f := range reads.unanswered.all {
		if f.isUrgent() {
			urgent = append(urgent, f)
		} else {
			others = append(others, f)
		}
	}
	stuck := slices.DeleteFunc(slices.Clone(reads.posting.all), func(f review) bool { return r.isRecent(f.UpdatedAt) })
	return []Attention{
		attentionOf(KindReplyToApprove, entries(reads.toApprove.all, updated), reads.toApprove.more),
		attentionOf(KindReviewUrgent, entries(urgent, posted), reads.unanswered.more),
		attentionOf(KindReviewUnanswered, entries(others, posted), reads.unanswered.more),
		attentionOf(KindReplyFailed, oldestFirst(entries(reads.failed.all, updated)), reads.failed.more),
		attentionOf(KindReplyStuck, oldestFirst(entries(stuck, updated)), reads.posting.more),
	}
}
