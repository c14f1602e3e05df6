package broadcast

import (
	"context"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// The operations below are for a program that sends one company's posts. They make the dispatcher's
// interface (dispatch.go) available to keys with the scope broadcast:send. They are not offered as
// tools, because every claim must be followed by a report, which a model might forget to send.

// PostClaim is a post with the claim that locks it.
type PostClaim struct {
	ClaimID   *string `json:"claimId" doc:"a report must send it; null for a post that an import brought as publishing"`
	ClaimedAt *string `json:"claimedAt" format:"date-time" doc:"when the post was claimed"`
	Post      Post    `json:"post" doc:"the post, to be sent as it is here"`
}

func (p ClaimedPost) claimResponse() any { return p.postClaim() }

func (p ClaimedPost) postClaim() PostClaim { return PostClaim{p.ClaimID, p.ClaimedAt, p.Post} }

func (p ClaimedPost) reportResponse() any { return p.Post }

type listDuePostsInput struct {
	Platform *Platform  `query:"platform" doc:"only posts for this platform"`
	Limit    int64      `query:"limit" default:"50" min:"1" max:"200"`
	Cursor   api.Cursor `query:"cursor"`
}

func (s service) listDuePosts(ctx context.Context, caller api.Caller, in listDuePostsInput) (api.List[Post], error) {
	page, err := s.store.DuePosts(ctx, caller.CompanyID, in.Platform, string(in.Cursor), int(in.Limit))
	return api.NewList(page), err
}

type claimPostInput struct {
	api.Idempotent

	PostID string `path:"postId"`
}

func (s service) claimPost(ctx context.Context, caller api.Caller, in claimPostInput) (PostClaim, error) {
	claimed, err := s.store.ClaimPost(ctx, caller.CompanyID, in.PostID)
	return claimed.postClaim(), err
}

// checkClaim refuses to replay a claim that no longer locks its post. A program that received it
// again would send the post a second time.
func (s service) checkClaim(ctx context.Context, caller api.Caller, in claimPostInput, stored PostClaim) error {
	return claimedPostKind.RequireLocked(ctx, s.store.table, caller.CompanyID, in.PostID, *stored.ClaimID)
}

// PostOutcome is what happened to a claimed post.
type PostOutcome string

// The outcomes. PostOutcomeRetry schedules the post again, so a program may report it only if the
// post was not sent.
const (
	PostOutcomePublished PostOutcome = "published"
	PostOutcomeFailed    PostOutcome = "failed"
	PostOutcomeRetry     PostOutcome = "retry"
)

// Values implements schema.Enum.
func (PostOutcome) Values() []string {
	return []string{string(PostOutcomePublished), string(PostOutcomeFailed), string(PostOutcomeRetry)}
}

type reportPostInput struct {
	api.Idempotent

	PostID        string      `path:"postId"`
	ClaimID       *string     `json:"claimId" min:"1" max:"50" doc:"the claimId of the current claim; null only for a post that has none because an import brought it as publishing"`
	Outcome       PostOutcome `json:"outcome" doc:"published: it is on the platform; failed: it was not sent and somebody must look at it; retry: it was not sent, schedule it again"`
	ExternalID    *string     `json:"externalId" max:"200" doc:"the platform's own id; only with published"`
	ExternalURL   *string     `json:"externalUrl" format:"web" max:"2000" doc:"the post's URL on the platform; only with published"`
	PublishedAt   *string     `json:"publishedAt" format:"date-time" doc:"when it was published; only with published; now when left out"`
	FailureReason *string     `json:"failureReason" min:"1" max:"2000" doc:"why sending failed; required with failed, and only with it"`
}

// Check implements api.Checker.
func (in reportPostInput) Check() (problems []string) {
	for _, f := range []struct {
		name  string
		value *string
	}{{"externalId", in.ExternalID}, {"externalUrl", in.ExternalURL}, {"publishedAt", in.PublishedAt}} {
		if f.value != nil && in.Outcome != PostOutcomePublished {
			problems = append(problems, "body."+f.name+": is allowed only when outcome is published")
		}
	}
	switch {
	case in.Outcome == PostOutcomeFailed && in.FailureReason == nil:
		problems = append(problems, "body.failureReason: is required when outcome is failed")
	case in.Outcome != PostOutcomeFailed && in.FailureReason != nil:
		problems = append(problems, "body.failureReason: is allowed only when outcome is failed")
	}
	return problems
}

func (s service) reportPost(ctx context.Context, caller api.Caller, in reportPostInput) (Post, error) {
	claimID := ""
	if in.ClaimID != nil {
		claimID = *in.ClaimID
	}
	var reported ClaimedPost
	var err error
	switch in.Outcome {
	case PostOutcomePublished:
		reported, err = s.store.ReportPublished(ctx, caller.CompanyID, in.PostID, claimID, Outcome{in.ExternalID, in.ExternalURL, in.PublishedAt})
	case PostOutcomeFailed:
		reported, err = s.store.ReportFailed(ctx, caller.CompanyID, in.PostID, claimID, *in.FailureReason)
	case PostOutcomeRetry:
		reported, err = s.store.RetryPost(ctx, caller.CompanyID, in.PostID, claimID)
	}
	return reported.Post, err
}

type listPostClaimsInput struct {
	Limit  int64      `query:"limit" default:"50" min:"1" max:"200"`
	Cursor api.Cursor `query:"cursor"`
}

func (s service) listPostClaims(ctx context.Context, caller api.Caller, in listPostClaimsInput) (api.List[PostClaim], error) {
	page, err := claimedPostKind.List(ctx, s.store.table, caller.CompanyID, string(in.Cursor), int(in.Limit))
	return api.NewList(table.MapPage(page, ClaimedPost.postClaim)), err
}
