package feedback

import (
	"context"
	"slices"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
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

// mayDraft reports whether a key that may only draft can change a reply with this status.
func (s ReplyStatus) mayDraft() bool {
	return s == ReplyStatusFailed || slices.Contains(SettableReplyStatus("").Drafts(), string(s))
}

// replyTexts lists the properties of a reply that are published on the platform.
var replyTexts = []string{"replyBody"}

type updateFeedbackReplyInput struct {
	api.UpdateBody[Feedback]

	FeedbackID string `path:"feedbackId"`
}

func (s service) updateFeedbackReply(ctx context.Context, caller api.Caller, in updateFeedbackReplyInput) (Feedback, error) {
	return s.store.Modify(ctx, caller.CompanyID, in.FeedbackID, func(f *Feedback) error {
		return in.applyToReply(f, caller.Has(auth.FeedbackWrite))
	})
}

// applyToReply applies an update to the reply. A null status counts as ReplyStatusNone. An empty
// update succeeds in every state. While the reply is posting or posted, any other update is a
// conflict, even if it sends the stored values, because the caller assumes that the reply can still
// change.
//
// mayDecide is false for a key that may only draft. Such a key can change a reply only while nobody
// has decided on it. What it writes can be approved only by a caller who has read it.
func (in *updateFeedbackReplyInput) applyToReply(f *Feedback, mayDecide bool) error {
	status := f.status()
	if !mayDecide && !status.mayDraft() && !in.Empty() {
		return auth.NewMissingScopeError(auth.FeedbackWrite)
	}
	if err := in.Condition.RequireMatch(*f); err != nil || in.Empty() {
		return err
	}
	if status == ReplyStatusPosting || status == ReplyStatusPosted {
		return fault.New(fault.Conflict, "the reply is %s and cannot be changed", status)
	}
	if status != ReplyStatusApproved && in.Sent("replyStatus") && *in.Record.ReplyStatus == ReplyStatusApproved {
		if err := in.RequireRead(*f, f.Drafted); err != nil {
			return err
		}
	}
	f.Drafted = api.DraftedProperties(&in.Body, *f, f.Drafted, replyTexts, mayDecide)
	text := in.Record.ReplyBody
	// The approval was for the old body. If there was no old body, the new one has never been
	// approved.
	reworded := in.Sent("replyBody") && (text == nil || f.ReplyBody == nil || *f.ReplyBody != *text)
	if reworded && status == ReplyStatusApproved {
		f.ReplyStatus = new(ReplyStatusDraft)
	}
	in.Apply(f)
	return nil
}
