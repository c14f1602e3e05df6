package feedback

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// The operations below are for a program that posts one company's replies. They make the posting
// step (posting.go) available to keys with the scope feedback:send. They are not offered as tools,
// because every claim must be followed by a report, which a model might forget to send.

// ReplyClaim is a review or mention with the claim that locks its reply.
type ReplyClaim struct {
	ClaimID   *string  `json:"claimId" doc:"a report must send it; null for a reply that an import brought as posting"`
	ClaimedAt *string  `json:"claimedAt" format:"date-time" doc:"when the reply was claimed"`
	Feedback  Feedback `json:"feedback" doc:"the review or mention; its replyBody is what to post"`
}

func (r ClaimedReply) claimResponse() any { return r.replyClaim() }

func (r ClaimedReply) replyClaim() ReplyClaim { return ReplyClaim{r.ClaimID, r.ClaimedAt, r.Feedback} }

func (r ClaimedReply) reportResponse() any { return r.Feedback }

type listApprovedRepliesInput struct {
	Source *Source    `query:"source" doc:"only from this platform"`
	Limit  int64      `query:"limit" default:"50" min:"1" max:"200"`
	Cursor api.Cursor `query:"cursor"`
}

func (s service) listApprovedReplies(ctx context.Context, caller api.Caller, in listApprovedRepliesInput) (api.List[Feedback], error) {
	page, err := s.store.ApprovedReplies(ctx, caller.CompanyID, in.Source, string(in.Cursor), int(in.Limit))
	return api.NewList(page), err
}

type claimReplyInput struct {
	api.Idempotent

	FeedbackID  string `path:"feedbackId"`
	ConfirmedBy string `json:"confirmedBy" min:"1" max:"200" doc:"the person who looked at the text and confirmed it; stored with the claim"`
}

func (s service) claimReply(ctx context.Context, caller api.Caller, in claimReplyInput) (ReplyClaim, error) {
	claimed, err := s.store.ClaimReply(ctx, caller.CompanyID, in.FeedbackID, &in.ConfirmedBy)
	return claimed.replyClaim(), err
}

// checkClaim refuses to replay a claim that no longer locks its reply. A program that received it
// again would post the reply a second time.
func (s service) checkClaim(ctx context.Context, caller api.Caller, in claimReplyInput, stored ReplyClaim) error {
	return claimedReplyKind.RequireLocked(ctx, s.store.table, caller.CompanyID, in.FeedbackID, *stored.ClaimID)
}

// ReplyOutcome is what happened to a claimed reply.
type ReplyOutcome string

// The outcomes. After ReplyOutcomeFailed the reply can be approved again, so a program may report
// it only if the reply was not posted.
const (
	ReplyOutcomePosted ReplyOutcome = "posted"
	ReplyOutcomeFailed ReplyOutcome = "failed"
)

// Values implements schema.Enum.
func (ReplyOutcome) Values() []string {
	return []string{string(ReplyOutcomePosted), string(ReplyOutcomeFailed)}
}

type reportReplyInput struct {
	api.Idempotent

	FeedbackID string       `path:"feedbackId"`
	ClaimID    *string      `json:"claimId" min:"1" max:"50" doc:"the claimId of the current claim; null only for a reply that has none because an import brought it as posting"`
	Outcome    ReplyOutcome `json:"outcome" doc:"posted: it is on the platform; failed: it was not posted, and can be changed and approved again"`
}

func (s service) reportReply(ctx context.Context, caller api.Caller, in reportReplyInput) (Feedback, error) {
	claimID := ""
	if in.ClaimID != nil {
		claimID = *in.ClaimID
	}
	report := s.store.ReportPosted
	if in.Outcome == ReplyOutcomeFailed {
		report = s.store.ReportReplyFailed
	}
	reported, err := report(ctx, caller.CompanyID, in.FeedbackID, claimID)
	return reported.Feedback, err
}

type listReplyClaimsInput struct {
	Limit  int64      `query:"limit" default:"50" min:"1" max:"200"`
	Cursor api.Cursor `query:"cursor"`
}

func (s service) listReplyClaims(ctx context.Context, caller api.Caller, in listReplyClaimsInput) (api.List[ReplyClaim], error) {
	page, err := claimedReplyKind.List(ctx, s.store.table, caller.CompanyID, string(in.Cursor), int(in.Limit))
	return api.NewList(table.MapPage(page, ClaimedReply.replyClaim)), err
}
