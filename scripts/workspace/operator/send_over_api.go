package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/feedback"
	"growthworkspace/scripts/workspace/user"
	"growthworkspace/shared/claim"
	"growthworkspace/shared/client"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// postStore is what `workspace due` needs from a store of posts. broadcast.Store implements it with
// the table, and postsOverAPI with the API.
type postStore interface {
	DuePosts(ctx context.Context, companyID string, platform *broadcast.Platform, after string, limit int) (table.Page[broadcast.Post], error)
	ClaimPost(ctx context.Context, companyID, postID string) (broadcast.ClaimedPost, error)
	ReportPublished(ctx context.Context, companyID, postID, claimID string, o broadcast.Outcome) (broadcast.ClaimedPost, error)
	ReportFailed(ctx context.Context, companyID, postID, claimID, reason string) (broadcast.ClaimedPost, error)
	RetryPost(ctx context.Context, companyID, postID, claimID string) (broadcast.ClaimedPost, error)
	StuckPosts(ctx context.Context, companyID, claimedBefore string) ([]broadcast.ClaimedPost, error)
}

// replyStore is what `workspace approved` needs from a store of replies. feedback.Store implements
// it with the table, and repliesOverAPI with the API.
type replyStore interface {
	ApprovedReplies(ctx context.Context, companyID string, source *feedback.Source, after string, limit int) (table.Page[feedback.Feedback], error)
	ClaimReply(ctx context.Context, companyID, feedbackID string, confirmedBy *string) (feedback.ClaimedReply, error)
	ReportPosted(ctx context.Context, companyID, feedbackID, claimID string) (feedback.ClaimedReply, error)
	ReportReplyFailed(ctx context.Context, companyID, feedbackID, claimID string) (feedback.ClaimedReply, error)
	StuckReplies(ctx context.Context, companyID, claimedBefore string) ([]feedback.ClaimedReply, error)
}

// postsOverAPI is a postStore for the company of a key. Its methods ignore the company id that they
// are passed, because the service takes the company from the key.
type postsOverAPI struct{ user.RemoteService }

func (p postsOverAPI) DuePosts(ctx context.Context, _ string, platform *broadcast.Platform, after string, limit int) (table.Page[broadcast.Post], error) {
	in := client.ListDuePostsInput{}
	if platform != nil {
		in.Platform = client.Value(client.BroadcastPlatform(*platform))
	}
	return readOverAPI[broadcast.Post](p.RemoteService, after, limit, func(cursor client.Optional[string], limit int, into client.CallOption) (string, error) {
		in.Cursor, in.Limit = cursor, client.Value(limit)
		page, err := p.ListDuePosts(ctx, in, into)
		return page.Next, err
	})
}

func (p postsOverAPI) ClaimPost(ctx context.Context, _, postID string) (broadcast.ClaimedPost, error) {
	var response client.Response
	_, err := p.ClaimBroadcastPost(ctx, client.ClaimBroadcastPostInput{PostID: postID}, client.Into(&response))
	claimed, err := decodeResponse[broadcast.PostClaim](p.RemoteService, response, err)
	return claimedPost(claimed), err
}

func claimedPost(c broadcast.PostClaim) broadcast.ClaimedPost {
	return broadcast.ClaimedPost{Post: c.Post, Claim: claim.Claim{ClaimID: c.ClaimID, ClaimedAt: c.ClaimedAt}}
}

func (p postsOverAPI) report(ctx context.Context, claimID string, in client.ReportBroadcastPostInput) (broadcast.ClaimedPost, error) {
	in.ClaimID = optionalText(&claimID)
	var response client.Response
	_, err := p.ReportBroadcastPost(ctx, in, client.Into(&response))
	post, err := decodeResponse[broadcast.Post](p.RemoteService, response, err)
	return broadcast.ClaimedPost{Post: post, Claim: claim.Claim{ClaimID: textOrNil(claimID)}}, err
}

func (p postsOverAPI) ReportPublished(ctx context.Context, _, postID, claimID string, o broadcast.Outcome) (broadcast.ClaimedPost, error) {
	in := client.ReportBroadcastPostInput{
		PostID: postID, Outcome: string(broadcast.PostOutcomePublished), ExternalID: optionalText(o.ExternalID), ExternalURL: optionalText(o.ExternalURL),
	}
	if o.PublishedAt != nil {
		at, ok := timestamp.Parse(*o.PublishedAt)
		if !ok {
			return broadcast.ClaimedPost{}, o.Check()
		}
		in.PublishedAt = client.Value(at)
	}
	return p.report(ctx, claimID, in)
}

func (p postsOverAPI) ReportFailed(ctx context.Context, _, postID, claimID, reason string) (broadcast.ClaimedPost, error) {
	return p.report(ctx, claimID, client.ReportBroadcastPostInput{PostID: postID, Outcome: string(broadcast.PostOutcomeFailed), FailureReason: client.Value(reason)})
}

func (p postsOverAPI) RetryPost(ctx context.Context, _, postID, claimID string) (broadcast.ClaimedPost, error) {
	return p.report(ctx, claimID, client.ReportBroadcastPostInput{PostID: postID, Outcome: string(broadcast.PostOutcomeRetry)})
}

func (p postsOverAPI) StuckPosts(ctx context.Context, _, claimedBefore string) ([]broadcast.ClaimedPost, error) {
	page, err := readOverAPI[broadcast.PostClaim](p.RemoteService, "", 0, func(cursor client.Optional[string], limit int, into client.CallOption) (string, error) {
		page, err := p.ListPostClaims(ctx, client.ListPostClaimsInput{Cursor: cursor, Limit: client.Value(limit)}, into)
		return page.Next, err
	})
	var claimed []broadcast.ClaimedPost
	for _, c := range page.Records {
		claimed = append(claimed, claimedPost(c))
	}
	return claim.FilterStale(claimed, claimedBefore, func(d broadcast.ClaimedPost) string { return d.ID }), err
}

// repliesOverAPI is a replyStore for the company of a key. Its methods ignore the company id that
// they are passed, because the service takes the company from the key.
type repliesOverAPI struct{ user.RemoteService }

func (r repliesOverAPI) ApprovedReplies(ctx context.Context, _ string, source *feedback.Source, after string, limit int) (table.Page[feedback.Feedback], error) {
	in := client.ListApprovedRepliesInput{}
	if source != nil {
		in.Source = client.Value(client.FeedbackSource(*source))
	}
	return readOverAPI[feedback.Feedback](r.RemoteService, after, limit, func(cursor client.Optional[string], limit int, into client.CallOption) (string, error) {
		in.Cursor, in.Limit = cursor, client.Value(limit)
		page, err := r.ListApprovedReplies(ctx, in, into)
		return page.Next, err
	})
}

func (r repliesOverAPI) ClaimReply(ctx context.Context, _, feedbackID string, confirmedBy *string) (feedback.ClaimedReply, error) {
	in := client.ClaimFeedbackReplyInput{FeedbackID: feedbackID}
	if confirmedBy != nil {
		in.ConfirmedBy = *confirmedBy
	}
	var response client.Response
	_, err := r.ClaimFeedbackReply(ctx, in, client.Into(&response))
	claimed, err := decodeResponse[feedback.ReplyClaim](r.RemoteService, response, err)
	out := claimedReply(claimed)
	out.ConfirmedBy = confirmedBy
	return out, err
}

func claimedReply(c feedback.ReplyClaim) feedback.ClaimedReply {
	return feedback.ClaimedReply{Feedback: c.Feedback, Claim: claim.Claim{ClaimID: c.ClaimID, ClaimedAt: c.ClaimedAt}}
}

func (r repliesOverAPI) report(ctx context.Context, feedbackID, claimID string, outcome feedback.ReplyOutcome) (feedback.ClaimedReply, error) {
	var response client.Response
	_, err := r.ReportFeedbackReply(ctx, client.ReportFeedbackReplyInput{FeedbackID: feedbackID, ClaimID: optionalText(&claimID), Outcome: string(outcome)}, client.Into(&response))
	record, err := decodeResponse[feedback.Feedback](r.RemoteService, response, err)
	return feedback.ClaimedReply{Feedback: record, Claim: claim.Claim{ClaimID: textOrNil(claimID)}}, err
}

func (r repliesOverAPI) ReportPosted(ctx context.Context, _, feedbackID, claimID string) (feedback.ClaimedReply, error) {
	return r.report(ctx, feedbackID, claimID, feedback.ReplyOutcomePosted)
}

func (r repliesOverAPI) ReportReplyFailed(ctx context.Context, _, feedbackID, claimID string) (feedback.ClaimedReply, error) {
	return r.report(ctx, feedbackID, claimID, feedback.ReplyOutcomeFailed)
}

func (r repliesOverAPI) StuckReplies(ctx context.Context, _, claimedBefore string) ([]feedback.ClaimedReply, error) {
	page, err := readOverAPI[feedback.ReplyClaim](r.RemoteService, "", 0, func(cursor client.Optional[string], limit int, into client.CallOption) (string, error) {
		page, err := r.ListReplyClaims(ctx, client.ListReplyClaimsInput{Cursor: cursor, Limit: client.Value(limit)}, into)
		return page.Next, err
	})
	var claimed []feedback.ClaimedReply
	for _, c := range page.Records {
		claimed = append(claimed, claimedReply(c))
	}
	return claim.FilterStale(claimed, claimedBefore, func(p feedback.ClaimedReply) string { return p.ID }), err
}

// pageMax is the maximum number of records in one page of the API.
const pageMax = 200

// readOverAPI reads a list that starts after a cursor: limit records, or all if limit is 0. list
// requests one page, stores its response, and returns the cursor of the next page.
func readOverAPI[R any](s user.RemoteService, after string, limit int, list func(cursor client.Optional[string], limit int, into client.CallOption) (next string, err error)) (table.Page[R], error) {
	found := table.Page[R]{Next: after}
	for {
		want := pageMax
		if limit > 0 {
			want = min(want, limit-len(found.Records))
		}
		var response client.Response
		next, err := list(optionalText(&found.Next), want, client.Into(&response))
		page, err := decodeResponse[struct{ Items []R }](s, response, err)
		if err != nil {
			return table.Page[R]{}, err
		}
		found.Records, found.Next = append(found.Records, page.Items...), next
		if next == "" || len(found.Records) == limit {
			return found, nil
		}
	}
}

// optionalText returns an optional argument, which is not sent if the text is nil or empty.
func optionalText(text *string) (out client.Optional[string]) {
	if text != nil && *text != "" {
		out = client.Value(*text)
	}
	return out
}

// refusedError is the error of a request that the service has refused. Repeating the request would
// fail, too.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

// decodeResponse decodes a response into a record of the service, or translates the error of the
// call into the error that a store returns.
func decodeResponse[T any](s user.RemoteService, response client.Response, err error) (out T, _ error) {
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && refused.Code == client.CodeConflict:
		return out, &fault.Error{Code: fault.Conflict, Messages: refused.Messages}
	case errors.As(err, &refused) && refused.Code == client.CodeNotFound:
		return out, fault.ErrNotFound
	case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests:
		return out, &refusedError{s.Explain(err)}
	case err != nil:
		return out, s.Explain(err)
	}
	if err := json.Unmarshal(response.Body, &out); err != nil {
		return out, fmt.Errorf("decode the response to %s: %w", response.RequestID(), err)
	}
	return out, nil
}
