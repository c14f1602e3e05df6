package studio

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/shared/client"
)

func (pr *pageRequest) getReview(id string) *result[client.Feedback] {
	return startCall(pr, "feedback:read", "The review",
		bound(pr.api.GetFeedback, client.GetFeedbackInput{FeedbackID: id}))
}

// isLocked reports whether the reply can no longer change.
func isLocked(f client.Feedback) bool {
	status := f.ReplyStatus.Or("")
	return status == client.FeedbackReplyStatusPosting || status == client.FeedbackReplyStatusPosted
}

// reviewsData is the data of the inbox template.
type reviewsData struct {
	*inbox

	Chosen     bool // the address contains the id of a review, so a phone shows that review instead of the list
	Review     *client.Feedback
	ETag       string
	NoReview   *failure
	Previous   string // the address of the previous review in the list, or empty
	Next       string
	NextID     string
	Stayed     bool // the page shows the review again after an action, so it links to the next one
	MayWrite   bool
	Locked     bool // the reply can no longer change
	Text       string
	Kept       bool // whether Text is what the user typed and is not stored
	Kit        *client.BrandKit
	NoKit      *failure
	Conflict   *failure // set if somebody else has changed the reply; the page then shows the stored reply next to the typed one
	Problem    *failure // why a write failed
	Complaint  string   // what is wrong with the typed text
	ActionName string   // the action that was refused
	Was        string   // the stored text of the reply
	WasStatus  client.FeedbackReplyStatus
	Last       *lastChange
	Limit      int // the maximum number of characters that the app store accepts; 0 if unknown
}

func (s *Studio) reviews(v *pageRequest) *view { return v.reviewsPage("", nil) }

// unsavedReply is the text of a reply that could not be stored.
type unsavedReply struct {
	text, action string
	etag         string // the entity tag of the review that the user saw
	problem      *failure
	complaint    string
}

// reviewsPage shows the inbox. After a failed write, it shows the typed text again.
func (pr *pageRequest) reviewsPage(id string, t *unsavedReply) *view {
	q := pr.r.URL.Query()
	if t != nil {
		q, _ = url.ParseQuery(pr.r.PostForm.Get("back")) // ignore the error: an invalid query string shows the default list
		pr.readFrame()
	}
	d := &reviewsData{inbox: inboxOf(q), MayWrite: pr.may("feedback:write")}
	if id == "" {
		id = q.Get("id")
	}
	d.Chosen = id != ""
	d.inbox.read(pr)
	kit := startCall(pr, "context:read", "The brand's voice", pr.api.GetContextBrandKit)
	var review *result[client.Feedback]
	if d.Chosen {
		review = pr.getReview(id)
	}
	pr.wait()
	d.readMore(pr)
	d.buildRows(id, pr.clock())
	last := func() *lastChange { return nil }
	if d.Chosen && review.Failure == nil {
		last = pr.startLastChange(changedReview(review.Value))
		pr.wait()
	}
	if !d.Chosen && len(d.Rows) > 0 {
		last = pr.startLastChange(changedReview(d.Rows[0].Feedback))
		review = pr.getReview(d.Rows[0].ID) // read the review itself, because the list does not contain its entity tag
		d.Rows[0].Current = true
		pr.wait()
	}
	d.Last = last()
	d.setBrandKit(kit)
	out := &view{page: "reviews", place: "Reviews", title: "Reviews", data: d}
	if review != nil {
		d.choose(review, q.Get("next"))
		d.Stayed = q.Has("next")
		d.restoreUndoneReply(pr.notices.get(q.Get("done")))
		if review.Failure != nil && d.Chosen {
			out.status = review.Failure.status()
		}
	}
	if t != nil {
		d.restore(t, id)
		out.status = http.StatusBadRequest
		if t.problem != nil {
			out.status = t.problem.status()
		}
	}
	return out
}

func changedReview(f client.Feedback) changedRecord {
	return changedRecord{client.ChangeTypeFeedback, f.ID, string(f.ReplyStatus.Or("")), f.UpdatedAt}
}

// setBrandKit sets the brand kit. The page shows the brand's voice to the person who writes a
// reply. A company without a brand kit is not a failure.
func (d *reviewsData) setBrandKit(kit *result[client.BrandKit]) {
	switch {
	case kit.Failure == nil:
		d.Kit = &kit.Value
	case kit.Failure.Status != http.StatusNotFound:
		d.NoKit = kit.Failure
	}
}

// choose selects the review that the page shows next to the list, and finds its neighbours in the
// list. next is the id of the review that came after it. choose needs next if the list no longer
// contains the review.
func (d *reviewsData) choose(r *result[client.Feedback], next string) {
	if r.Failure != nil {
		d.NoReview = r.Failure
		return
	}
	d.Review, d.ETag, d.Text = &r.Value, r.ETag, r.Value.ReplyBody.Or("")
	d.Locked, d.Limit = isLocked(r.Value), replyLimits[r.Value.Source.Or("")]
	d.Was, d.WasStatus = d.Text, r.Value.ReplyStatus.Or(client.FeedbackReplyStatusNone)
	for i, row := range d.Rows {
		if row.ID != r.Value.ID {
			continue
		}
		if i > 0 {
			d.Previous = d.Rows[i-1].Path
		}
		if i+1 < len(d.Rows) {
			d.Next, d.NextID = d.Rows[i+1].Path, d.Rows[i+1].ID
		}
	}
	if d.Next == "" && d.Previous == "" && len(d.Rows) > 0 && d.Rows[0].ID != r.Value.ID { // the review is no longer in the list
		at := max(0, slices.IndexFunc(d.Rows, func(r reviewRow) bool { return r.ID == next }))
		d.Next, d.NextID = d.Rows[at].Path, d.Rows[at].ID
	}
}

// restoreUndoneReply fills the form with the reply that an undo has removed from the stored review.
func (d *reviewsData) restoreUndoneReply(undone *notice) {
	if undone != nil && d.Review != nil && !d.Locked && undone.review == d.Review.ID {
		d.Text, d.Kept = undone.typed, true
	}
}

// replyLimits holds the maximum number of characters that each app store accepts in a reply.
var replyLimits = map[client.FeedbackSource]int{client.FeedbackSourceGooglePlay: 350, client.FeedbackSourceAppStore: 5970}

// Characters counts the characters of the reply.
func (d *reviewsData) Characters() int { return utf8.RuneCountInString(d.Text) }

// Heading returns the title of the review, or a replacement if it has none.
func (d *reviewsData) Heading() string {
	kind := "Review"
	if d.Review.Rating.IsNull() {
		kind = "Mention"
	}
	return cmp.Or(d.Review.Title.Or(""), kind+" by "+d.Review.AuthorName.Or("somebody"))
}

// StatusWords makes the function statusWords available to templates.
func (d *reviewsData) StatusWords() string { return statusWords(*d.Review) }

// statusWords formats the status of a review's reply for users. A review without a reply can have
// the status needs_review, because programs can set the status alone.
func statusWords(f client.Feedback) string {
	status := f.ReplyStatus.Or(client.FeedbackReplyStatusNone)
	if status == client.FeedbackReplyStatusNeedsReview {
		status = waitingStatus(f.ReplyBody.Or(""))
	}
	return replyWords(status)
}

// Long reports whether the review is so long that it needs its own scroll area.
func (d *reviewsData) Long() bool { return len(d.Review.Body.Or("")) > longReviewBytes }

// longReviewBytes is the length of a review, in bytes, above which it gets its own scroll area.
const longReviewBytes = 3000

// restore puts the text that the user typed back into the form. The page shows the form even if the
// review cannot be read.
func (d *reviewsData) restore(t *unsavedReply, id string) {
	if d.Review == nil {
		d.Review = &client.Feedback{ID: id}
	}
	d.Text, d.Complaint, d.ActionName = t.text, t.complaint, t.action
	if t.problem.Conflict() {
		d.Conflict = t.problem
	} else { // keep the old ETag: the page shows no changes by somebody else, so the next save must detect them
		d.Problem, d.ETag = t.problem, t.etag
	}
}

// replyActions are the buttons of a reply's form. After an action that stores a reply, the page
// shows the same review again. So the user sees what was stored and can change it, and a second
// click at the same place does not approve a different reply. After any other action, the page
// shows the next review.
var replyActions = map[string]struct {
	noticeText string
	status     client.FeedbackReplyStatus // the new status; if empty, waitingStatus determines it
	keepOpen   bool
}{
	"save":     {"Saved for review. It waits under To approve.", client.FeedbackReplyStatusNeedsReview, true},
	"approve":  {"Approved. Nothing was posted yet.", client.FeedbackReplyStatusApproved, true},
	"withdraw": {"Back to draft: it will not be sent. The review still needs an answer, and is under Drafts, not under Waiting.", client.FeedbackReplyStatusDraft, true},
	"skip":     {"Skipped. It is under Skipped now.", client.FeedbackReplyStatusSkipped, false},
	"unskip":   {"Put back: it is under Waiting again.", "", false},
}

// waitingStatus returns the status of a review that waits for a person. It depends on whether there
// is a reply.
func waitingStatus(reply string) client.FeedbackReplyStatus {
	if strings.TrimSpace(reply) == "" {
		return client.FeedbackReplyStatusNone
	}
	return client.FeedbackReplyStatusNeedsReview
}

// reply stores the reply to one review, or the status that the pressed button stands for.
func (s *Studio) reply(v *pageRequest) *view {
	form := v.r.PostForm
	id, text, name := v.r.PathValue("id"), strings.ReplaceAll(form.Get("body"), "\r\n", "\n"), form.Get("action")
	in := client.UpdateFeedbackReplyInput{FeedbackID: id, ReplyBody: client.Null[string]()}
	if strings.TrimSpace(text) != "" {
		in.ReplyBody = client.Value(text)
	}
	action, known := replyActions[name]
	if !known {
		return v.reviewsPage(id, &unsavedReply{text: text, action: name, etag: form.Get("etag"), complaint: "Choose what to do: save, approve, take back or skip."})
	}
	in.ReplyStatus = client.Value(cmp.Or(action.status, waitingStatus(text)))
	if name != "skip" && name != "unskip" && in.ReplyBody.IsNull() {
		return v.reviewsPage(id, &unsavedReply{text: text, action: name, etag: form.Get("etag"), complaint: "There is no reply yet. Type one, or skip the review."})
	}
	res := v.setReply(in, form.Get("etag"))
	v.wait()
	if res.Failure != nil {
		return v.reviewsPage(id, &unsavedReply{text: text, action: name, etag: form.Get("etag"), problem: res.Failure})
	}
	back := inboxOf(parseQuery(form.Get("back")))
	msg := notice{Record: reviewName(res.Value), Text: action.noticeText, Undo: undoReply(res, form), back: back.Path(id), By: res.Value.AuthorName.Or("")}
	if action.keepOpen {
		return v.finish(back.pathWith("id", id, "next", form.Get("next")), msg)
	}
	msg.More, msg.Link = reviewPath(res.Value), "Show it"
	return v.finish(back.Path(form.Get("next")), msg)
}

// reviewPath returns the address of a review in the list that contains it now.
func reviewPath(f client.Feedback) string {
	show := string(f.ReplyStatus.Or(""))
	if !slices.ContainsFunc(inboxTabs(), func(t tab) bool { return t.ID == show }) {
		show = "" // the default list contains the review
	}
	return inboxOf(url.Values{"show": {show}}).Path(f.ID)
}

// reviewName returns the title of a review or, if it has none, its first words.
func reviewName(f client.Feedback) string {
	return cmp.Or(f.Title.Or(""), phrase.Excerpt(f.Body.Or(""), 60), "The review")
}

// undoReply returns an undo that restores the reply that the form showed when it was rendered. It
// returns nil if the studio cannot set the status that this reply had.
func undoReply(stored *result[client.Feedback], form url.Values) undo {
	old := client.UpdateFeedbackReplyInput{
		FeedbackID: stored.Value.ID, ReplyBody: client.Null[string](), ReplyStatus: client.Value(client.FeedbackReplyStatus(form.Get("was.status"))),
	}
	if text := renderedField(form, "body"); text != "" {
		old.ReplyBody = client.Value(text)
	}
	revert := restoreReplyStep(old, stored.ETag)
	if revert == nil || !form.Has("was.status") {
		return nil
	}
	typed := strings.ReplaceAll(form.Get("body"), "\r\n", "\n")
	return func(v *pageRequest) notice {
		_, failed := revert(v)
		out := undoNotice(reviewName(stored.Value), failed)
		out.By = stored.Value.AuthorName.Or("")
		if failed == nil && strings.TrimSpace(typed) != "" && typed != renderedField(form, "body") {
			out.Text = "Undone. Your text is in the box again, but it is not stored."
			out.review, out.typed = stored.Value.ID, typed
		}
		return out
	}
}

func parseQuery(query string) url.Values {
	q, _ := url.ParseQuery(query) // ignore the error: an invalid query string shows the default list
	return q
}

// Text formats a failure on one line.
func (f *failure) Text() string {
	switch {
	case f.Lacks != "":
		return "this key lacks the scope " + f.Lacks + "."
	case f.Status == 0:
		return strings.Join(f.Messages, "; ") + "."
	}
	text := fmt.Sprintf("%d %s: %s.", f.Status, f.Code, strings.Join(f.Messages, "; "))
	if f.RequestID != "" {
		text += " Request " + f.RequestID + "."
	}
	return text
}

// newReviews responds with the ids of the reviews that the list contains now. A page that was
// loaded earlier compares them with its own list and offers the new reviews.
func (s *Studio) newReviews(v *pageRequest) *view {
	b := inboxOf(v.r.URL.Query())
	if _, _, ranged := parseDayRange(b.Since); ranged {
		v.readFrame() // the filter by days needs the company's time zone
	}
	b.read(v)
	v.wait()
	b.readMore(v)
	b.buildRows("", v.clock())
	if b.Failure != nil {
		http.Error(v.w, b.Failure.Text(), b.Failure.status())
		return nil
	}
	ids := make([]string, 0, len(b.Rows))
	for _, r := range b.Rows {
		ids = append(ids, r.ID)
	}
	v.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(v.w).Encode(map[string][]string{"ids": ids}) // ignore the error: the client disconnected
	return nil
}
