package feedback

import (
	"context"
	"slices"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// ReplyStatus is the state of a reply. The transitions are in
// scripts/docs/reference/states.md#replies.
type ReplyStatus string

// The statuses of a reply. Only the posting step (posting.go) sets posting, posted and failed.
const (
	ReplyStatusNone        ReplyStatus = "none"
	ReplyStatusDraft       ReplyStatus = "draft"
	ReplyStatusNeedsReview ReplyStatus = "needs_review"
	ReplyStatusApproved    ReplyStatus = "approved"
	ReplyStatusPosting     ReplyStatus = "posting"
	ReplyStatusPosted      ReplyStatus = "posted"
	ReplyStatusFailed      ReplyStatus = "failed"
	ReplyStatusSkipped     ReplyStatus = "skipped"
)

// RequestType implements schema.RequestEnum.
func (ReplyStatus) RequestType() schema.Enum { return SettableReplyStatus("") }

// Values implements schema.Enum.
func (ReplyStatus) Values() []string {
	return []string{"none", "draft", "needs_review", "approved", "posting", "posted", "failed", "skipped"}
}

// SettableReplyStatus is a status that an API caller can set: any status except those set by the
// posting step.
type SettableReplyStatus string

// Values implements schema.Enum.
func (SettableReplyStatus) Values() []string {
	return slices.DeleteFunc(ReplyStatus("").Values(), func(s string) bool {
		return s == string(ReplyStatusPosting) || s == string(ReplyStatusPosted) || s == string(ReplyStatusFailed)
	})
}

// Drafts implements schema.DraftEnum: a key that may only draft can hand a reply over for review,
// but not approve it.
func (SettableReplyStatus) Drafts() []string {
	return []string{string(ReplyStatusNone), string(ReplyStatusDraft), string(ReplyStatusNeedsReview)}
}

// replyDrafts is the rule for keys that may only draft: they can change a reply only while nobody
// has decided on it.
var replyDrafts = api.DraftRule[Feedback]{
	IsDraft: func(f Feedback) bool {
		status := f.status()
		return status == ReplyStatusFailed || slices.Contains(SettableReplyStatus("").Drafts(), string(status))
	},
	Check:      Feedback.checkUnposted,
	IsApproved: func(f Feedback) bool { return f.status() == ReplyStatusApproved },
	Properties: []string{"replyBody"},
	Drafted:    func(f *Feedback) *[]string { return &f.Drafted },
}

func (f Feedback) checkUnposted() error {
	if status := f.status(); status == ReplyStatusPosting || status == ReplyStatusPosted {
		return fault.New(fault.Conflict, "the reply is %s and cannot be changed", status)
	}
	return nil
}

type updateFeedbackReplyInput struct {
	api.UpdateBody[Feedback]

	FeedbackID string `path:"feedbackId"`
}

// updateFeedbackReply applies an update to the reply. A null status counts as ReplyStatusNone.
func (s service) updateFeedbackReply(ctx context.Context, caller api.Caller, in updateFeedbackReplyInput) (Feedback, error) {
	return s.store.Modify(ctx, caller.CompanyID, in.FeedbackID, func(f *Feedback) error {
		before := *f
		if err := in.EditDrafted(f, caller, &replyDrafts); err != nil {
			return err
		}
		// The approval was for the old body. If there was no old body, the new one has never been
		// approved.
		reworded := in.Sent("replyBody") && (f.ReplyBody == nil || before.ReplyBody == nil || *before.ReplyBody != *f.ReplyBody)
		if reworded && before.status() == ReplyStatusApproved && !in.Sent("replyStatus") {
			f.ReplyStatus = new(ReplyStatusDraft)
		}
		return nil
	})
}
