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

// Accepts implements schema.RequestEnum.
func (ReplyStatus) Accepts() schema.Enum { return SettableReplyStatus("") }

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

type updateFeedbackReplyInput struct {
	api.UpdateBody[Feedback]

	FeedbackID string `path:"feedbackId"`
}

func (s service) updateFeedbackReply(ctx context.Context, caller api.Caller, in updateFeedbackReplyInput) (Feedback, error) {
	return s.store.Modify(ctx, caller.CompanyID, in.FeedbackID, in.applyToReply)
}

// applyToReply applies an update of the reply. A null status means none. An empty update succeeds
// in every state. While the reply is posting or posted, any other update is a conflict, even if it
// sends the stored values, because the caller assumes that the reply can still change.
func (in *updateFeedbackReplyInput) applyToReply(f *Feedback) error {
	if err := in.Condition.RequireMatch(*f); err != nil {
		return err
	}
	if in.Empty() {
		return nil
	}
	status := ReplyStatusNone
	if f.ReplyStatus != nil {
		status = *f.ReplyStatus
	}
	if status == ReplyStatusPosting || status == ReplyStatusPosted {
		return fault.New(fault.Conflict, "the reply is %s and cannot be changed", status)
	}
	text := in.Record.ReplyBody
	// The approval was for the old text. If the reply had no text before, the new text has never
	// been approved.
	reworded := in.Sent("replyBody") && (text == nil || f.ReplyBody == nil || *f.ReplyBody != *text)
	if reworded && status == ReplyStatusApproved {
		f.ReplyStatus = new(ReplyStatusDraft)
	}
	in.Apply(f)
	return nil
}
