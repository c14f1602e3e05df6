package studio

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"growthworkspace/shared/client"
)

// reviewActions are the actions that people can choose for the ticked reviews.
var reviewActions = map[string]struct {
	verb, done string
	status     client.FeedbackReplyStatus
}{
	"skip":    {"Skip", "Skipped", client.FeedbackReplyStatusSkipped},
	"approve": {"Approve", "Approved", client.FeedbackReplyStatusApproved},
	"review":  {"Hand over", "Handed over for review:", client.FeedbackReplyStatusNeedsReview},
}

// bulkReviews changes the ticked reviews, except those that somebody has changed since the list was
// loaded.
func (s *Studio) bulkReviews(v *pageRequest) *view {
	back := inboxOf(parsed(v.r.PostForm.Get("back")))
	address := "/reviews?" + back.Query.Encode()
	chosen := v.r.PostForm["review"]
	action, known := reviewActions[v.r.PostForm.Get("action")]
	switch {
	case !known:
		return v.finish(address, notice{Text: "Choose what to do with the ticked reviews.", Bad: true})
	case len(chosen) == 0:
		return v.finish(address, notice{Text: "No review was ticked.", Bad: true})
	case len(chosen) > bulkMax:
		return v.finish(address, notice{Text: fmt.Sprintf("At most %d reviews are changed at once; nothing was changed.", bulkMax), Bad: true})
	}
	a := &bulk{Verb: action.verb, Done: action.done, Noun: "review", Nouns: "reviews", Place: "Reviews", Back: address}
	for _, text := range chosen { // each text consists of the id, the version that the list shows, and the title
		id, rest, _ := strings.Cut(text, " ")
		seen, name, _ := strings.Cut(rest, " ")
		a.items = append(a.items, &bulkItem{Name: name, Path: "/reviews?" + url.Values{"show": {"all"}, "id": {id}}.Encode(), run: reviewStep(id, seen, action.status)})
	}
	return v.start(a)
}

// reviewStep returns a step that sets the status of a reply, unless the review has changed. seen is
// the version of the review in the list. The step first reads the review to get its entity tag,
// because lists contain no entity tags.
func reviewStep(id, seen string, status client.FeedbackReplyStatus) step {
	return func(v *pageRequest) (step, *failure) {
		now := v.getReview(id)
		v.wait()
		old := now.Value.ReplyStatus.Or(client.FeedbackReplyStatusNone)
		switch {
		case now.Failure != nil:
			return nil, now.Failure
		case version(now.Value.UpdatedAt) != seen:
			return nil, &failure{Status: http.StatusPreconditionFailed}
		case status == client.FeedbackReplyStatusApproved && strings.TrimSpace(now.Value.ReplyBody.Or("")) == "":
			return nil, &failure{Messages: []string{"it has no reply to approve"}}
		}
		stored := v.setReply(client.UpdateFeedbackReplyInput{FeedbackID: id, ReplyStatus: client.Value(status)}, now.ETag)
		v.wait()
		if stored.Failure != nil {
			return nil, stored.Failure
		}
		return replyBack(client.UpdateFeedbackReplyInput{FeedbackID: id, ReplyStatus: client.Value(old)}, stored.ETag), nil
	}
}

// setReply starts the call that changes a reply. The call fails if the review's entity tag is no
// longer tag.
func (v *pageRequest) setReply(in client.UpdateFeedbackReplyInput, tag string) *result[client.Feedback] {
	return startCall(v, "feedback:write", "The reply", func(ctx context.Context, options ...client.CallOption) (client.Feedback, error) {
		return v.api.UpdateFeedbackReply(ctx, in, append(options, client.IfMatch(tag))...)
	})
}

// replyBack returns a step that restores an earlier reply. It returns nil if the earlier status is
// one that only the worker that posts replies can set.
func replyBack(old client.UpdateFeedbackReplyInput, tag string) step {
	switch old.ReplyStatus.Or("") {
	case client.FeedbackReplyStatusFailed, client.FeedbackReplyStatusPosting, client.FeedbackReplyStatusPosted:
		return nil
	}
	return func(v *pageRequest) (step, *failure) {
		stored := v.setReply(old, tag)
		v.wait()
		return nil, stored.Failure
	}
}
