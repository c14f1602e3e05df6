// Package send implements the commands `due` and `approved`, which send the posts that are due and
// post the replies that are approved. They list records that are ready, claim one, run a program on
// it, and report what happened. They call the API with a key of each company.
package send

import (
	"context"
	"fmt"
	"strings"
	"time"

	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/feedback"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/scripts/workspace/user"
	"growthworkspace/shared/client"
)

// queue is a list of records to send. Its fields are what distinguishes `due` from `approved`.
type queue struct {
	noun, nouns, ready string // for messages: "post", "posts", "due"
	sent, givenBack    string // the outcomes that end a claim of a record that was sent, and of one that was not
	target             string // the flag that names what a program can send to
	targets            []string

	readyHeader, stuckHeader string
	readyRow                 func(record) []string
	status                   func(record) string // a sentence about a record, after a report
	claimed                  func(record) string // a text about a record, after a claim

	// format returns what a person confirms before the record is sent. It is nil if nobody has to.
	format func(record) string

	list   func(ctx context.Context, s user.RemoteService, target string) pageFunc
	claims func(ctx context.Context, s user.RemoteService) pageFunc
	claim  func(ctx context.Context, s user.RemoteService, recordID, confirmedBy string, into client.CallOption) error
	report func(ctx context.Context, s user.RemoteService, recordID string, r report, into client.CallOption) error
}

// report is the outcome of the work on a claimed record. Empty fields are not sent.
type report struct {
	claimID, outcome                       string
	externalID, externalURL, failureReason string
	publishedAt                            client.Optional[time.Time]
}

const outcomeFailedWord = "failed"

var duePosts = queue{
	noun: "post", nouns: "posts", ready: "due", sent: "published", givenBack: "retry",
	target: "platform", targets: broadcast.Platform("").Values(),
	readyHeader: "POST\tCOMPANY\tPLATFORM\tSCHEDULED FOR\tTITLE", stuckHeader: "POST\tCOMPANY\tPLATFORM\tCLAIM\tCLAIMED",
	readyRow: func(r record) []string {
		return []string{r.ID, r.CompanyID, cell(r.Platform), cell(r.ScheduledFor), cell(r.Title)}
	},
	status: func(r record) string { return r.ID + " is " + r.Status },
	claimed: func(r record) string {
		return fmt.Sprintf("%s is publishing; the claim is %s\n\nWhen it is sent:", r.ID, r.claimID())
	},
	list: func(ctx context.Context, s user.RemoteService, target string) pageFunc {
		return func(cursor client.Optional[string], limit client.Optional[int], into client.CallOption) (string, error) {
			in := client.ListDuePostsInput{Cursor: cursor, Limit: limit}
			if target != "" {
				in.Platform = client.Value(client.BroadcastPlatform(target))
			}
			page, err := s.ListDuePosts(ctx, in, into)
			return page.Next, err
		}
	},
	claims: func(ctx context.Context, s user.RemoteService) pageFunc {
		return func(cursor client.Optional[string], limit client.Optional[int], into client.CallOption) (string, error) {
			page, err := s.ListPostClaims(ctx, client.ListPostClaimsInput{Cursor: cursor, Limit: limit}, into)
			return page.Next, err
		}
	},
	claim: func(ctx context.Context, s user.RemoteService, postID, _ string, into client.CallOption) error {
		_, err := s.ClaimBroadcastPost(ctx, client.ClaimBroadcastPostInput{PostID: postID}, into)
		return err
	},
	report: func(ctx context.Context, s user.RemoteService, postID string, r report, into client.CallOption) error {
		_, err := s.ReportBroadcastPost(ctx, client.ReportBroadcastPostInput{
			PostID: postID, ClaimID: optionalText(r.claimID), Outcome: r.outcome, ExternalID: optionalText(r.externalID), ExternalURL: optionalText(r.externalURL),
			PublishedAt: r.publishedAt, FailureReason: optionalText(r.failureReason),
		}, into)
		return err
	},
}

var approvedReplies = queue{
	noun: "feedback", nouns: "replies", ready: "approved",
	sent: "posted", givenBack: outcomeFailedWord, // a claimed reply cannot become approved again directly
	target: "source", targets: feedback.Source("").Values(),
	readyHeader: "FEEDBACK\tCOMPANY\tSOURCE\tADDRESS", stuckHeader: "FEEDBACK\tCOMPANY\tSOURCE\tCLAIM\tCLAIMED",
	readyRow: func(r record) []string { return []string{r.ID, r.CompanyID, cell(r.Source), cell(r.ExternalURL)} },
	status:   func(r record) string { return fmt.Sprintf("the reply to %s is %s", r.ID, r.ReplyStatus) },
	claimed: func(r record) string {
		return fmt.Sprintf("the reply to %s is posting; the claim is %s\n\n%s\n\nWhen it is posted:", r.ID, r.claimID(), cell(r.ReplyBody))
	},
	format: formatReply,
	list: func(ctx context.Context, s user.RemoteService, target string) pageFunc {
		return func(cursor client.Optional[string], limit client.Optional[int], into client.CallOption) (string, error) {
			in := client.ListApprovedRepliesInput{Cursor: cursor, Limit: limit}
			if target != "" {
				in.Source = client.Value(client.FeedbackSource(target))
			}
			page, err := s.ListApprovedReplies(ctx, in, into)
			return page.Next, err
		}
	},
	claims: func(ctx context.Context, s user.RemoteService) pageFunc {
		return func(cursor client.Optional[string], limit client.Optional[int], into client.CallOption) (string, error) {
			page, err := s.ListReplyClaims(ctx, client.ListReplyClaimsInput{Cursor: cursor, Limit: limit}, into)
			return page.Next, err
		}
	},
	claim: func(ctx context.Context, s user.RemoteService, feedbackID, confirmedBy string, into client.CallOption) error {
		_, err := s.ClaimFeedbackReply(ctx, client.ClaimFeedbackReplyInput{FeedbackID: feedbackID, ConfirmedBy: confirmedBy}, into)
		return err
	},
	report: func(ctx context.Context, s user.RemoteService, feedbackID string, r report, into client.CallOption) error {
		in := client.ReportFeedbackReplyInput{FeedbackID: feedbackID, ClaimID: optionalText(r.claimID), Outcome: r.outcome}
		_, err := s.ReportFeedbackReply(ctx, in, into)
		return err
	},
}

// formatReply returns a review and the reply to it, for the person who confirms the reply.
func formatReply(r record) string {
	about := []string{cell(r.Source), r.ID}
	if r.Rating != nil {
		about = append(about, fmt.Sprintf("%v of 5", *r.Rating))
	}
	return fmt.Sprintf("%s, by %s\n  %s\n  %s\n\nThe reply:\n  %s", strings.Join(about, ", "), cell(r.AuthorName), cell(r.Title), cell(r.Body), terminal.EscapeControls(r.ReplyBody))
}

// The methods below call the API for the commands.

// listReady returns at most limit records that are ready, and the cursor of the next page.
func (q queue) listReady(ctx context.Context, s user.RemoteService, target, cursor string, limit int) ([]record, string, error) {
	found, next, err := readPages[record](q.list(ctx, s, target), cursor, limit)
	if err != nil {
		return nil, "", fmt.Errorf("list the %s that are %s: %w", q.nouns, q.ready, s.Explain(err))
	}
	return found, next, nil
}

// listStuck returns the records that were claimed at or before a time.
func (q queue) listStuck(ctx context.Context, s user.RemoteService, until string) ([]record, error) {
	claimed, _, err := readPages[claimedRecord](q.claims(ctx, s), "", 0)
	if err != nil {
		return nil, fmt.Errorf("list the %s that are stuck: %w", q.nouns, s.Explain(err))
	}
	return claimedUntil(claimed, until)
}

// claimRecord claims a record. The error is that of the call.
func (q queue) claimRecord(ctx context.Context, s user.RemoteService, recordID, confirmedBy string) (record, error) {
	var response client.Response
	err := q.claim(ctx, s, recordID, confirmedBy, client.Into(&response))
	claimed, err := decode[claimedRecord](response, err)
	if err != nil {
		return record{}, err
	}
	claimed.ConfirmedBy = textOrNil(confirmedBy)
	return claimed.record()
}

// reportRecord reports the outcome of the work on a record. The error is that of the call.
func (q queue) reportRecord(ctx context.Context, s user.RemoteService, recordID string, r report) (record, error) {
	var response client.Response
	err := q.report(ctx, s, recordID, r, client.Into(&response))
	return decode[record](response, err)
}
