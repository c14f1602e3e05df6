package feedback

import (
	"context"

	"growthworkspace/shared/claim"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// The posting step: a worker posts approved replies to their platform, and this service records the
// outcome. The operations in reply_claim.go and the command `workspace approved` call these
// methods.
//
//	Store.ApprovedReplies    lists the company's replies that are ready to post
//	Store.ClaimReply         approved → posting; locks the reply for this worker
//	Store.ReportPosted       posting → posted
//	Store.ReportReplyFailed  posting → failed; the API can approve the reply again
//
// The worker shows a person the reply that ClaimReply returned, not the one that was listed
// earlier. While a reply is posting, the API rejects changes to it with conflict, so the person
// confirms exactly what was approved. A claim does not expire; list_reply_claims lists the claims
// (see package claim). The worker decides which platforms accept replies.

// ClaimedReply is a feedback record together with the claim on its reply.
type ClaimedReply struct {
	Feedback
	claim.Claim

	ConfirmedBy *string `json:"confirmedBy"` // who confirmed the reply that is posted with this claim; null if unknown
}

// claimedReplyKind configures package claim for replies. A reply is claimed while its status is
// posting.
var claimedReplyKind = claim.Kind[ClaimedReply]{
	Name: "reply", Prefix: feedbackIDPrefix, ClaimedStatus: string(ReplyStatusPosting),
	Status: func(p ClaimedReply) string { return string(p.status()) },
	Key:    feedbackKey, KeysOf: keysOfClaimed,
	Index: table.GSI4, Partitions: func(companyID string) []string {
		return []string{queuePartition(companyID, ReplyStatusPosting)}
	},
}

// hasPostableReply reports whether the reply can be claimed, which means that it is approved and
// its body is not empty. A reply without a body can be approved.
func (f Feedback) hasPostableReply() bool {
	return f.status() == ReplyStatusApproved && f.ReplyBody != nil && *f.ReplyBody != ""
}

// status returns the status of the reply, or ReplyStatusNone if it is null.
func (f Feedback) status() ReplyStatus {
	if f.ReplyStatus == nil {
		return ReplyStatusNone
	}
	return *f.ReplyStatus
}

// setClaim moves an approved reply to posting. It does nothing if c has already been set by an
// attempt whose response was lost. Returns conflict when the reply is not approved or has no body.
func (r *ClaimedReply) setClaim(c claim.Claim, confirmedBy *string) error {
	switch {
	case claimedReplyKind.IsHeldBy(*r, c):
		return nil
	case r.status() != ReplyStatusApproved:
		return fault.New(fault.Conflict, "the reply is %s; only an approved reply can be claimed", r.status())
	case !r.hasPostableReply():
		return fault.New(fault.Conflict, "the reply is approved but has no text")
	}
	r.ReplyStatus, r.Claim, r.ConfirmedBy = new(ReplyStatusPosting), c, confirmedBy
	return nil
}

// setFinalStatus records the outcome of posting. Repeating a report succeeds and changes nothing.
func (r *ClaimedReply) setFinalStatus(claimID string, to ReplyStatus) error {
	repeated, err := claimedReplyKind.CheckReport(*r, claimID, string(to))
	if err == nil && !repeated {
		r.ReplyStatus = &to
	}
	return err
}

// ApprovedReplies returns a page of the feedback whose reply is approved and has a body, lowest
// priority number first. A nil source means all sources. See claim.ListReady.
func (s Store) ApprovedReplies(ctx context.Context, companyID string, source *Source, after string, limit int) (table.Page[Feedback], error) {
	q := listQuery(companyID, Filter{Source: source, ReplyStatus: new(ReplyStatusApproved)})
	q.After = after
	position := func(f Feedback) string { return keysOf(f).GSI4.SK }
	return claim.ListReady(ctx, s.table, q, limit, position, func(f Feedback) (ready, more bool) { return f.hasPostableReply(), true })
}

// ClaimReply moves a reply from approved to posting and returns it with the id of the claim. The
// worker must post exactly the returned body. confirmedBy names the person who confirmed it, and is
// stored with the claim; nil means that the person is not known. Returns fault.ErrNotFound when the
// feedback does not exist, and fault.Conflict when the reply is not approved or has no body.
//
// After any other error the claim may or may not exist. If it does, list_reply_claims lists
// the reply.
func (s Store) ClaimReply(ctx context.Context, companyID, feedbackID string, confirmedBy *string) (ClaimedReply, error) {
	c := claim.New(s.table)
	return claimedReplyKind.Modify(ctx, s.table, companyID, feedbackID, func(p *ClaimedReply) error { return p.setClaim(c, confirmedBy) }, ClaimedReply.claimResponse)
}

// ReportPosted moves a reply from posting to posted. Returns fault.ErrNotFound when the feedback
// does not exist. Returns fault.Conflict when this claim no longer owns the reply because a
// different outcome was reported, or the reply was claimed again or replaced by an import.
// Repeating a report succeeds. A reply that was imported as posting has an empty claim id, and its
// report cannot be repeated.
func (s Store) ReportPosted(ctx context.Context, companyID, feedbackID, claimID string) (ClaimedReply, error) {
	return claimedReplyKind.Modify(ctx, s.table, companyID, feedbackID, func(p *ClaimedReply) error { return p.setFinalStatus(claimID, ReplyStatusPosted) }, ClaimedReply.reportResponse)
}

// ReportReplyFailed moves a reply from posting to failed. The API can then edit and approve it
// again. Errors and repeated reports are handled as in ReportPosted.
func (s Store) ReportReplyFailed(ctx context.Context, companyID, feedbackID, claimID string) (ClaimedReply, error) {
	return claimedReplyKind.Modify(ctx, s.table, companyID, feedbackID, func(p *ClaimedReply) error { return p.setFinalStatus(claimID, ReplyStatusFailed) }, ClaimedReply.reportResponse)
}
