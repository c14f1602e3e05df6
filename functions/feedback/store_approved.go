package feedback

import (
	"context"
	"slices"
	"strings"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
)

// ApprovedReplies returns the company's feedback whose reply is approved and has a text, in the order of every list
// (the lowest priority number first), at most limit of them, and the position to go on from, empty at the end.
//
// It reads an index partition, which lags a write by milliseconds: a reply that is listed may have been claimed or
// changed, which its claim finds out. There is no list over companies, because no index lacks the company.
func (s Store) ApprovedReplies(ctx context.Context, companyID, after string, limit int) (approved []Feedback, next string, err error) {
	q := table.Query{Index: table.GSI4, Partitions: []string{queuePartition(companyID, ReplyStatusApproved)}, After: after, Limit: limit + 1}
	approved = []Feedback{}
	for {
		page, more, err := table.List[Feedback](ctx, s.table, q)
		if err != nil {
			return nil, "", err
		}
		for _, f := range page {
			if !f.postable() {
				continue
			}
			if len(approved) == limit {
				return approved, keysOf(approved[limit-1]).GSI4.SK, nil
			}
			approved = append(approved, f)
		}
		if more == "" {
			return approved, "", nil
		}
		q.After = more
	}
}

// StuckReplies returns the company's feedback whose reply is posting under a claim that was made at claimedBefore or
// earlier, a timestamp as records have it, or under none: those whose posting step has probably died. The oldest claim
// comes first. They are for the operator to look at, since only the platform knows whether they were posted.
func (s Store) StuckReplies(ctx context.Context, companyID, claimedBefore string) ([]Posting, error) {
	posting, err := table.Whole[Posting](ctx, s.table, table.Collection{Index: table.GSI4, Partition: queuePartition(companyID, ReplyStatusPosting)})
	if err != nil {
		return nil, err
	}
	stuck := slices.DeleteFunc(posting, func(p Posting) bool { return p.ClaimedAt != nil && *p.ClaimedAt > claimedBefore })
	slices.SortFunc(stuck, func(a, b Posting) int { return strings.Compare(a.claimOrder(), b.claimOrder()) })
	return stuck, nil
}

// claimOrder puts replies without a claim first: nobody works on them.
func (p Posting) claimOrder() string {
	if p.ClaimedAt == nil {
		return table.Join("", p.ID)
	}
	return table.Join(*p.ClaimedAt, p.ID)
}

// ClaimReply moves a reply from approved to posting and returns it as it is then, with the id of the claim: that text is
// what to post. fault.ErrNotFound when there is no such feedback, fault.Conflict when the reply is in another state or
// has no text.
//
// After any other error the claim may have been made or not. If it was, the reply is in StuckReplies in due time.
func (s Store) ClaimReply(ctx context.Context, companyID, feedbackID string) (Posting, error) {
	claimID, now := s.table.NewID(claimPrefix), s.table.Now()
	return s.posting(ctx, companyID, feedbackID, func(p *Posting) error { return p.claim(claimID, now) })
}

// ReportPosted moves a reply from posting to posted. fault.ErrNotFound when there is no such feedback, fault.Conflict
// when the claim does not hold the reply, because a report ended it, another claim came after it or an import replaced
// the feedback. To repeat a report is safe. The empty claim id is that of a reply which an import brought as posting; its
// report cannot be repeated.
func (s Store) ReportPosted(ctx context.Context, companyID, feedbackID, claimID string) (Posting, error) {
	return s.posting(ctx, companyID, feedbackID, func(p *Posting) error { return p.end(claimID, ReplyStatusPosted) })
}

// ReportReplyFailed moves a reply from posting to failed, from where the API may draft or approve it again. Errors and
// repetition as of ReportPosted.
func (s Store) ReportReplyFailed(ctx context.Context, companyID, feedbackID, claimID string) (Posting, error) {
	return s.posting(ctx, companyID, feedbackID, func(p *Posting) error { return p.end(claimID, ReplyStatusFailed) })
}

// posting changes feedback and its claim by compare-and-set (table.Modify), so that every rule is a condition on the write.
func (s Store) posting(ctx context.Context, companyID, feedbackID string, change func(*Posting) error) (Posting, error) {
	if !id.Valid(id.Feedback, feedbackID) { // what is typed on a command line must not become another key
		return Posting{}, fault.ErrNotFound
	}
	keys := func(p Posting) table.Keys { return keysOf(p.Feedback) }
	return table.Modify(ctx, s.table, feedbackKey(companyID, feedbackID), keys, change)
}
