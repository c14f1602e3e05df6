package feedback

import (
	"context"
	"slices"

	"growthworkspace/shared/api"
	"growthworkspace/shared/fault"
)

// ReplyStatus is the state of a reply. The transitions are in scripts/docs/reference/states.md#replies.
type ReplyStatus string

// The statuses of a reply. Only the posting step (approved.go) sets posting, posted and failed.
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

// Values implements schema.Enum.
func (ReplyStatus) Values() []string {
	return []string{"none", "draft", "needs_review", "approved", "posting", "posted", "failed", "skipped"}
}

// SettableReplyStatus is a status that an API caller can set: any except those of the posting step.
type SettableReplyStatus string

// Values implements schema.Enum.
func (SettableReplyStatus) Values() []string {
	return slices.DeleteFunc(ReplyStatus("").Values(), func(s string) bool {
		return s == string(ReplyStatusPosting) || s == string(ReplyStatusPosted) || s == string(ReplyStatusFailed)
	})
}

type updateFeedbackReplyInput struct {
	api.Condition

	FeedbackID  string                 `path:"feedbackId"`
	ReplyBody   api.Clearable[*string] `json:"replyBody" max:"6000" doc:"the text that would be posted"`
	ReplyStatus *SettableReplyStatus   `json:"replyStatus" doc:"agents should stop at needs_review; a person approves. posting, posted and failed are set by whoever posts" tool:"agents should stop at needs_review; a person approves"`
}

func (s service) updateFeedbackReply(ctx context.Context, caller api.Caller, in updateFeedbackReplyInput) (Feedback, error) {
	return s.store.Modify(ctx, caller.CompanyID, in.FeedbackID, func(f *Feedback) error { return f.reply(in) })
}

// reply applies an update of the reply. A null status counts as none. The empty update succeeds in every state. While the
// reply is posting or posted, any other update is a conflict, even one with the stored values: its caller assumes that
// the reply can still change.
func (f *Feedback) reply(in updateFeedbackReplyInput) error {
	if err := in.Condition.Check(*f); err != nil {
		return err
	}
	if !in.ReplyBody.Sent && in.ReplyStatus == nil {
		return nil
	}
	status := ReplyStatusNone
	if f.ReplyStatus != nil {
		status = *f.ReplyStatus
	}
	if status == ReplyStatusPosting || status == ReplyStatusPosted {
		return fault.New(fault.Conflict, "the reply is %s and cannot be changed", status)
	}
	text := in.ReplyBody.Value
	// The approval was for the old text. Of a reply without one, the first text was never approved.
	reworded := in.ReplyBody.Sent && (text == nil || f.ReplyBody == nil || *f.ReplyBody != *text)
	if reworded && status == ReplyStatusApproved {
		f.ReplyStatus = new(ReplyStatusDraft)
	}
	in.ReplyBody.Apply(&f.ReplyBody)
	if in.ReplyStatus != nil {
		f.ReplyStatus = new(ReplyStatus(*in.ReplyStatus))
	}
	return nil
}
