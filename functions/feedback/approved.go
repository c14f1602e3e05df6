package feedback

import "growthworkspace/shared/fault"

// What follows is the contract of the posting step (decisions.md §3, §14): no HTTP operation, but the moves of a reply
// that belong to whoever posts it to its platform. The command `workspace approved` is the same on a command line. The
// posting step
//
//  1. lists the approved replies (Store.ApprovedReplies), of each company,
//  2. claims one (Store.ClaimReply), which moves it to posting,
//  3. has a person confirm what the claim returned, and posts that, not what was read before,
//  4. reports (Store.ReportPosted, Store.ReportReplyFailed) with the claim's id.
//
// Of any number of posting steps exactly one gets a claim, because it is a condition on the write; from then on the API
// refuses to change the reply (conflict), so the text that is confirmed is the text that was approved; and a report with
// another claim's id is refused. A claim never ends by itself: Store.StuckReplies lists those that are old, and the
// operator looks at the platform and reports in place of the process that died. A reply that was not posted is reported
// failed, and can be approved again by the API. Which platforms take replies is the posting step's to know.

// Posting is feedback with the claim that holds its reply while it is posting, or that held it last. Export leaves the
// claim out, and an import ends it.
type Posting struct {
	Feedback

	ClaimID   *string `json:"claimId"`   // clm_…; null when no posting step had the reply since it was imported
	ClaimedAt *string `json:"claimedAt"` // when the claim was made
}

// claimPrefix begins the id of a claim.
const claimPrefix = "clm"

// postable tells whether a reply can be claimed. An approval may come before its text (decisions.md §3).
func (f Feedback) postable() bool {
	return f.is(ReplyStatusApproved) && f.ReplyBody != nil && *f.ReplyBody != ""
}

func (f Feedback) is(status ReplyStatus) bool { return f.status() == status }

// status is the reply's; null counts as none.
func (f Feedback) status() ReplyStatus {
	if f.ReplyStatus == nil {
		return ReplyStatusNone
	}
	return *f.ReplyStatus
}

// claim moves an approved reply to posting. That the reply has this very claim is what a write leaves whose answer was
// lost.
func (p *Posting) claim(claimID, now string) error {
	switch {
	case p.is(ReplyStatusPosting) && p.heldBy(claimID):
		return nil
	case !p.is(ReplyStatusApproved):
		return fault.New(fault.Conflict, "the reply is %s; only one that is approved can be claimed", p.status())
	case !p.postable():
		return fault.New(fault.Conflict, "the reply is approved but has no text")
	}
	p.ReplyStatus, p.ClaimID, p.ClaimedAt = new(ReplyStatusPosting), &claimID, &now
	return nil
}

// end ends a claim. Said again, it is heard again; a reply without a claim remembers no report.
func (p *Posting) end(claimID string, to ReplyStatus) error {
	switch {
	case claimID != "" && p.is(to) && p.heldBy(claimID):
		return nil
	case !p.is(ReplyStatusPosting):
		return fault.New(fault.Conflict, "the reply is %s; the claim does not hold it any more", p.status())
	case !p.heldBy(claimID):
		return fault.New(fault.Conflict, "another claim holds the reply")
	}
	p.ReplyStatus = &to
	return nil
}

// heldBy tells whether a claim is the last one that the reply had. The empty id is that of a reply that has none, which
// an import brought as posting.
func (p *Posting) heldBy(claimID string) bool {
	if p.ClaimID == nil {
		return claimID == ""
	}
	return *p.ClaimID == claimID
}
