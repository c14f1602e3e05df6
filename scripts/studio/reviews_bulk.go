package studio

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"growthworkspace/shared/client"
)

// reviewAction is an action that people can choose for the ticked reviews.
type reviewAction struct {
	ID, Label  string
	verb, done string
	already    string                     // the words for a review that needs no change
	status     client.FeedbackReplyStatus // the new status; if empty, waitingStatus determines it
}

// reviewActions lists the actions. The inbox offers those that its tab allows.
var reviewActions = []reviewAction{
	{"skip", "Skip", "Skip", "Skipped", "skipped already", client.FeedbackReplyStatusSkipped},
	{"unskip", "Put back", "Put back", "Put back under Waiting:", "waiting already", ""},
	{"withdraw", "Back to draft", "Move to Drafts", "Moved to Drafts:", "a draft already", client.FeedbackReplyStatusDraft},
	{"approve", "Approve drafts", "Approve", "Approved", "approved already", client.FeedbackReplyStatusApproved},
	{"review", "Move to To approve", "Move", "Moved to To approve:", "under To approve already", client.FeedbackReplyStatusNeedsReview},
}

// tabActions lists the actions by tab. A tab that it does not contain has the default actions:
// skip, approve and review.
var tabActions = map[string][]string{
	"waiting": {"skip", "approve"},
	string(client.FeedbackReplyStatusNeedsReview): {"skip", "approve"},
	string(client.FeedbackReplyStatusApproved):    {"skip", "withdraw"},
	string(client.FeedbackReplyStatusSkipped):     {"unskip"},
}

// Actions returns the actions that the list offers for the ticked reviews.
func (box *inbox) Actions() (out []reviewAction) {
	offered, special := tabActions[box.Tab.ID]
	if !special {
		offered = []string{"skip", "approve", "review"}
	}
	for _, action := range reviewActions {
		if slices.Contains(offered, action.ID) {
			out = append(out, action)
		}
	}
	return out
}

// bulkReviews changes the ticked reviews, except those that somebody has changed since the list was
// loaded.
func (s *Studio) bulkReviews(v *pageRequest) *view {
	back := inboxOf(parseQuery(v.r.PostForm.Get("back")))
	address := "/reviews?" + back.Query.Encode()
	chosen := v.r.PostForm["review"]
	at := slices.IndexFunc(reviewActions, func(a reviewAction) bool { return a.ID == v.r.PostForm.Get("action") })
	switch {
	case at < 0:
		return v.finish(address, notice{Text: "Choose what to do with the ticked reviews.", Bad: true})
	case len(chosen) == 0:
		return v.finish(address, notice{Text: "No review was ticked.", Bad: true})
	case len(chosen) > bulkRecordsMax:
		return v.finish(address, notice{Text: fmt.Sprintf("At most %d reviews are changed at once; nothing was changed.", bulkRecordsMax), Bad: true})
	}
	action := reviewActions[at]
	a := &bulk{Verb: action.verb, Done: action.done, Already: action.already, Noun: "review", Nouns: "reviews", Place: "Reviews", Back: address}
	for _, text := range chosen { // each string consists of the id, the version that the list shows, and the title
		id, rest, _ := strings.Cut(text, " ")
		seen, name, _ := strings.Cut(rest, " ")
		a.items = append(a.items, &bulkItem{Name: name, Path: "/reviews?" + url.Values{"show": {"all"}, "id": {id}}.Encode(), run: reviewStep(id, seen, action)})
	}
	return v.startBulk(a)
}

// reviewStep returns a step that applies an action to a reply, unless the review has changed. seen
// is the version of the review in the list. The step first reads the review to get its entity tag,
// because lists contain no entity tags.
func reviewStep(id, seen string, action reviewAction) step {
	return func(v *pageRequest) (step, *failure) {
		got := v.getReview(id)
		v.wait()
		old, reply := got.Value.ReplyStatus.Or(client.FeedbackReplyStatusNone), got.Value.ReplyBody.Or("")
		status := cmp.Or(action.status, waitingStatus(reply))
		switch {
		case got.Failure != nil:
			return nil, got.Failure
		case version(got.Value.UpdatedAt) != seen:
			return nil, &failure{Status: http.StatusPreconditionFailed}
		case old == status:
			return nil, nothingToDo
		case status == client.FeedbackReplyStatusApproved && strings.TrimSpace(reply) == "":
			return nil, &failure{Final: true, Messages: []string{"it has no reply to approve"}}
		case status == client.FeedbackReplyStatusApproved && utf8.RuneCountInString(reply) > draftShownMax:
			return nil, &failure{Final: true, Messages: []string{"its reply is longer than the list shows: open it, and read it to the end"}}
		case status == client.FeedbackReplyStatusApproved && old == client.FeedbackReplyStatusSkipped: // the list does not show the replies of skipped reviews
			return nil, &failure{Final: true, Messages: []string{"it was skipped: put it back, and read its reply"}}
		case action.status == client.FeedbackReplyStatusNeedsReview && strings.TrimSpace(reply) == "":
			return nil, &failure{Final: true, Messages: []string{"it has no reply yet, so there is nothing to approve"}}
		}
		res := v.setReply(client.UpdateFeedbackReplyInput{FeedbackID: id, ReplyStatus: client.Value(status)}, got.ETag)
		v.wait()
		if res.Failure != nil {
			return nil, res.Failure
		}
		return restoreReplyStep(client.UpdateFeedbackReplyInput{FeedbackID: id, ReplyStatus: client.Value(old)}, res.ETag), nil
	}
}

// setReply starts the call that changes a reply. The call fails if the review's entity tag no
// longer equals the parameter tag.
func (pr *pageRequest) setReply(in client.UpdateFeedbackReplyInput, tag string) *result[client.Feedback] {
	return startCall(pr, "feedback:write", "The reply", bound(pr.api.UpdateFeedbackReply, in), client.IfMatch(tag))
}

// restoreReplyStep returns a step that restores an earlier reply. It returns nil if the earlier
// status is one that only the worker that posts replies can set.
func restoreReplyStep(old client.UpdateFeedbackReplyInput, tag string) step {
	switch old.ReplyStatus.Or("") {
	case client.FeedbackReplyStatusFailed, client.FeedbackReplyStatusPosting, client.FeedbackReplyStatusPosted:
		return nil
	}
	return func(v *pageRequest) (step, *failure) {
		res := v.setReply(old, tag)
		v.wait()
		return nil, res.Failure
	}
}
