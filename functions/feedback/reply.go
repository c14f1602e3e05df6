package feedback

import (
	"context"
	"slices"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
)

// ReplyStatus is where a reply is on its way from nothing to the platform (spec.md, States; decisions.md §3).
type ReplyStatus string

// The statuses of a reply. posting, posted and failed belong to the posting step, which is outside this API.
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

// Values is schema.Enum.
func (ReplyStatus) Values() []string {
	return []string{"none", "draft", "needs_review", "approved", "posting", "posted", "failed", "skipped"}
}

// SettableReplyStatus is what a caller may make of a reply: the statuses but those of the posting step (decisions.md §3).
type SettableReplyStatus string

// Values is schema.Enum.
func (SettableReplyStatus) Values() []string {
	return slices.DeleteFunc(ReplyStatus("").Values(), func(s string) bool {
		return s == string(ReplyStatusPosting) || s == string(ReplyStatusPosted) || s == string(ReplyStatusFailed)
	})
}

type updateFeedbackReplyInput struct {
	api.Condition

	FeedbackID  string               `path:"feedbackId"`
	ReplyBody   *string              `json:"replyBody" max:"6000" doc:"the reply's text"`
	ReplyStatus *SettableReplyStatus `json:"replyStatus" doc:"posting, posted and failed are set by the posting step alone"`
}

func (s service) updateFeedbackReply(ctx context.Context, caller api.Caller, in updateFeedbackReplyInput) (Feedback, error) {
	return s.store.Modify(ctx, caller.CompanyID, in.FeedbackID, func(f *Feedback) error { return f.reply(in) })
}

// reply applies an update of the reply. A null status counts as none. The empty update asks for nothing, so it passes
// whatever the status is; any other is refused while the reply is posting or posted, one that repeats the stored
// values included, because its caller believes that the reply still can change (decisions.md §3).
func (f *Feedback) reply(in updateFeedbackReplyInput) error {
	if err := in.Condition.Check(*f); err != nil {
		return err
	}
	if in.ReplyBody == nil && in.ReplyStatus == nil {
		return nil
	}
	status := ReplyStatusNone
	if f.ReplyStatus != nil {
		status = *f.ReplyStatus
	}
	if status == ReplyStatusPosting || status == ReplyStatusPosted {
		return fault.New(fault.Conflict, "the reply is %s and cannot change", status)
	}
	reworded := in.ReplyBody != nil && (f.ReplyBody == nil || *f.ReplyBody != *in.ReplyBody)
	if reworded && status == ReplyStatusApproved { // an approval is of a text
		f.ReplyStatus = new(ReplyStatusDraft)
	}
	api.Set(&f.ReplyBody, in.ReplyBody)
	if in.ReplyStatus != nil {
		f.ReplyStatus = new(ReplyStatus(*in.ReplyStatus))
	}
	return nil
}
