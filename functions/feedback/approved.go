package feedback

import (
	"context"

	"growthworkspace/shared/claim"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// The posting step: a worker posts approved replies to their platform, and this service records the outcome. No HTTP
// operation does it; the command `workspace approved` does the same on a command line.
//
//	Store.ApprovedReplies    lists the replies that are ready, of one company
//	Store.ClaimReply         locks one for this worker: approved → posting
//	Store.ReportPosted       posting → posted
//	Store.ReportReplyFailed  posting → failed; the API can approve the reply again
//
// A person confirms the text that the claim returned, not what was listed before. While a reply is posting the API rejects
// changes to it with conflict, so the text that is confirmed is the text that was approved. Store.StuckReplies lists old
// claims; see package claim. Which platforms accept replies is for the worker to know.

// Posting is feedback with the claim on its reply.
type Posting struct {
	Feedback
	claim.Claim
}

// replies are claimed while they are posting.
var replies = claim.Kind[Posting]{
	Name: "reply", Prefix: feedbackIDs, Busy: string(ReplyStatusPosting),
	Status: func(p Posting) string { return string(p.status()) },
	Key:    feedbackKey, KeysOf: func(p Posting) table.Keys { return keysOf(p.Feedback) },
	Index: table.GSI4, Partitions: func(companyID string) []string {
		return []string{queuePartition(companyID, ReplyStatusPosting)}
	},
}

// postable reports whether a reply can be claimed. A reply may be approved before it has a text.
func (f Feedback) postable() bool {
	return f.status() == ReplyStatusApproved && f.ReplyBody != nil && *f.ReplyBody != ""
}

// status is the reply's; null counts as none.
func (f Feedback) status() ReplyStatus {
	if f.ReplyStatus == nil {
		return ReplyStatusNone
	}
	return *f.ReplyStatus
}

// claim moves an approved reply to posting. It is idempotent: a retry after a lost response finds its own claim.
func (p *Posting) claim(c claim.Claim) error {
	switch {
	case replies.Has(*p, c):
		return nil
	case p.status() != ReplyStatusApproved:
		return fault.New(fault.Conflict, "the reply is %s; only one that is approved can be claimed", p.status())
	case !p.postable():
		return fault.New(fault.Conflict, "the reply is approved but has no text")
	}
	p.ReplyStatus, p.Claim = new(ReplyStatusPosting), c
	return nil
}

// end records the outcome. A repeated report changes nothing and succeeds.
func (p *Posting) end(claimID string, to ReplyStatus) error {
	repeated, err := replies.Report(*p, claimID, string(to))
	if err == nil && !repeated {
		p.ReplyStatus = &to
	}
	return err
}

// ApprovedReplies returns the company's feedback whose reply is approved and has a text, in the order of every list
// (the lowest priority number first), at most limit of them, and the position to go on from, empty at the end. See
// claim.Ready.
func (s Store) ApprovedReplies(ctx context.Context, companyID, after string, limit int) (approved []Feedback, next string, err error) {
	q := table.Query{Index: table.GSI4, Partitions: []string{queuePartition(companyID, ReplyStatusApproved)}, After: after}
	position := func(f Feedback) string { return keysOf(f).GSI4.SK }
	return claim.Ready(ctx, s.table, q, limit, position, func(f Feedback) (ready, more bool) { return f.postable(), true })
}

// StuckReplies returns the company's feedback whose worker has probably died. See claim.Kind.
func (s Store) StuckReplies(ctx context.Context, companyID, claimedBefore string) ([]Posting, error) {
	return replies.Stuck(ctx, s.table, companyID, claimedBefore)
}

// ClaimReply moves a reply from approved to posting and returns it as it is then, with the id of the claim: that text is
// what to post. fault.ErrNotFound when there is no such feedback, fault.Conflict when the reply is in another state or
// has no text.
//
// After any other error the claim may have been created or not. If it was, StuckReplies lists the reply in due time.
func (s Store) ClaimReply(ctx context.Context, companyID, feedbackID string) (Posting, error) {
	c := claim.New(s.table)
	return replies.Change(ctx, s.table, companyID, feedbackID, func(p *Posting) error { return p.claim(c) })
}

// ReportPosted moves a reply from posting to posted. fault.ErrNotFound when there is no such feedback, fault.Conflict
// when the claim does not hold the reply, because a report ended it, another claim came after it or an import replaced
// the feedback. To repeat a report is safe. The empty claim id is that of a reply which an import brought as posting; its
// report cannot be repeated.
func (s Store) ReportPosted(ctx context.Context, companyID, feedbackID, claimID string) (Posting, error) {
	return replies.Change(ctx, s.table, companyID, feedbackID, func(p *Posting) error { return p.end(claimID, ReplyStatusPosted) })
}

// ReportReplyFailed moves a reply from posting to failed, from where the API may draft or approve it again. Errors and
// repetition as of ReportPosted.
func (s Store) ReportReplyFailed(ctx context.Context, companyID, feedbackID, claimID string) (Posting, error) {
	return replies.Change(ctx, s.table, companyID, feedbackID, func(p *Posting) error { return p.end(claimID, ReplyStatusFailed) })
}
