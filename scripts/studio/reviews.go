package studio

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"growthworkspace/shared/client"
)

// reviewFilter is the filter of a list of reviews.
type reviewFilter struct {
	status    client.FeedbackReplyStatus // empty: any
	source    client.FeedbackSource      // empty: any
	sentiment client.FeedbackSentiment   // empty: any
	cursor    string
}

func (v *visit) listReviews(label string, f reviewFilter, limit int) *result[client.Page[client.Feedback]] {
	in := client.ListFeedbackInput{
		Limit: client.Value(limit), ReplyStatus: given(f.status), Source: given(f.source), Sentiment: given(f.sentiment), Cursor: given(f.cursor),
	}
	return read(v, "feedback:read", label, func(ctx context.Context, options ...client.CallOption) (client.Page[client.Feedback], error) {
		return v.api.ListFeedback(ctx, in, options...)
	})
}

func (v *visit) getReview(id string) *result[client.Feedback] {
	return read(v, "feedback:read", "The review", func(ctx context.Context, options ...client.CallOption) (client.Feedback, error) {
		return v.api.GetFeedback(ctx, client.GetFeedbackInput{FeedbackID: id}, options...)
	})
}

// byUrgency merges lists in the order of the API: the lowest priority number first, then the
// newest.
func byUrgency(lists ...[]client.Feedback) []client.Feedback {
	out := slices.Concat(lists...)
	slices.SortStableFunc(out, func(a, b client.Feedback) int {
		const last = math.MaxInt
		return cmp.Or(
			cmp.Compare(a.Priority.Or(last), b.Priority.Or(last)),
			b.PostedAt.Or(time.Time{}).Compare(a.PostedAt.Or(time.Time{})),
			cmp.Compare(a.ID, b.ID))
	})
	return out
}

// tab is a choice of the inbox.
type tab struct {
	ID, Name string
	Statuses []client.FeedbackReplyStatus // empty: any
	Path     string
	Current  bool
}

// tabsOf returns the choices of the inbox, the usual one first.
func tabsOf() []tab {
	one := func(s client.FeedbackReplyStatus, name string) tab {
		return tab{ID: string(s), Name: name, Statuses: []client.FeedbackReplyStatus{s}}
	}
	return []tab{
		{ID: "waiting", Name: "Waiting", Statuses: []client.FeedbackReplyStatus{
			client.FeedbackReplyStatusNeedsReview, client.FeedbackReplyStatusNone, // what the badge counts
		}},
		one(client.FeedbackReplyStatusNeedsReview, "To approve"), one(client.FeedbackReplyStatusDraft, "Drafts"),
		one(client.FeedbackReplyStatusFailed, "Not sent"), one(client.FeedbackReplyStatusApproved, "Approved"),
		one(client.FeedbackReplyStatusPosted, "Posted"), one(client.FeedbackReplyStatusSkipped, "Skipped"), {ID: "all", Name: "All"},
	}
}

// inbox is the list of reviews as an address chooses it.
type inbox struct {
	Query     url.Values // of the address, without the chosen review
	Tabs      []tab
	Tab       tab
	Source    client.FeedbackSource
	Sentiment client.FeedbackSentiment
	Search    string

	lists []*result[client.Page[client.Feedback]]

	Rows    []row
	Loaded  int    // before the search
	Count   string // the number of matching reviews, as far as they are counted
	More    string
	Capped  bool // more exist than are loaded, and no page follows
	Failure *failure
}

// row is a review in the list.
type row struct {
	client.Feedback

	Path    string
	Current bool
}

// locked reports whether the reply can no longer change.
func locked(f client.Feedback) bool {
	status := f.ReplyStatus.Or("")
	return status == client.FeedbackReplyStatusPosting || status == client.FeedbackReplyStatusPosted
}

// Locked is like locked, for the template.
func (r row) Locked() bool { return locked(r.Feedback) }

// Start returns the first words of the text, where the title is not the text already.
func (r row) Start() string {
	if r.Title.Or("") == "" {
		return ""
	}
	return excerpt(r.Body.Or(""), 90)
}

// Waiting returns the number of reviews in the list: all of them, or as many as are counted.
func (b *inbox) Waiting() string {
	if b.Tab.ID == "all" {
		return b.Count + " loaded"
	}
	return b.Count + " " + strings.ToLower(b.Tab.Name)
}

// Urgent reports whether the list puts reviews of several lists in the order of their priority.
func (b *inbox) Urgent() bool { return len(b.lists) > 1 && len(b.Rows) > 1 }

// Tickable reports whether any review of the list can be skipped.
func (b *inbox) Tickable() bool {
	return slices.ContainsFunc(b.Rows, func(r row) bool { return !r.Locked() })
}

// inboxMax is the number of reviews that the list shows.
const inboxMax = 100

// inboxOf reads the choices of an address. Unknown ones mean the usual.
func inboxOf(q url.Values) *inbox {
	b := &inbox{Query: url.Values{}, Tabs: tabsOf()}
	for _, name := range []string{"show", "source", "sentiment", "q", "cursor"} {
		if text := strings.TrimSpace(q.Get(name)); text != "" {
			b.Query.Set(name, text)
		}
	}
	b.Tab = b.Tabs[0]
	for i, t := range b.Tabs {
		if t.ID == q.Get("show") {
			b.Tab = t
		}
		other := copyOf(b.Query)
		other.Del("cursor")
		other.Set("show", t.ID)
		b.Tabs[i].Path = "/reviews?" + other.Encode()
	}
	for i := range b.Tabs {
		b.Tabs[i].Current = b.Tabs[i].ID == b.Tab.ID
	}
	b.Source, b.Sentiment = client.FeedbackSource(q.Get("source")), client.FeedbackSentiment(q.Get("sentiment"))
	b.Search = strings.TrimSpace(q.Get("q"))
	return b
}

// Path returns the address of the list with a review.
func (b *inbox) Path(id string) string {
	q := copyOf(b.Query)
	q.Set("id", id)
	return "/reviews?" + q.Encode()
}

// read starts the calls of the list. It reuses the calls that the frame makes anyway.
func (b *inbox) read(v *visit) {
	statuses := b.Tab.Statuses
	if len(statuses) == 0 {
		statuses = []client.FeedbackReplyStatus{""}
	}
	k := v.frameOf()
	for _, status := range statuses {
		f := reviewFilter{status: status, source: b.Source, sentiment: b.Sentiment}
		if len(statuses) == 1 {
			f.cursor = b.Query.Get("cursor")
		}
		switch usual := (reviewFilter{status: status}) == f && k.company != nil; {
		case usual && status == client.FeedbackReplyStatusNeedsReview:
			b.lists = append(b.lists, k.needsReview)
		case usual && status == client.FeedbackReplyStatusNone:
			b.lists = append(b.lists, k.noReply)
		default:
			b.lists = append(b.lists, v.listReviews("Reviews: "+strings.ToLower(b.Tab.Name), f, inboxMax))
		}
	}
}

// finish makes the rows from the lists.
func (b *inbox) finish(chosen string) {
	var all [][]client.Feedback
	for _, list := range b.lists {
		if list.Failure != nil {
			b.Failure = list.Failure
			return
		}
		all = append(all, list.Value.Items)
		if list.Value.Next == "" {
			continue
		}
		if len(b.lists) > 1 {
			b.Capped = true
			continue
		}
		q := copyOf(b.Query)
		q.Set("cursor", list.Value.Next)
		b.More = "/reviews?" + q.Encode()
	}
	merged, cut := byUrgency(all...), false
	if len(b.lists) == 1 {
		merged = all[0]
	} else if len(merged) > inboxMax { // each list has its most urgent ones, so the start of the merged list is right
		merged, b.Capped, cut = merged[:inboxMax], true, !b.Capped
	}
	b.Loaded = len(merged)
	b.Count = counted(len(slices.Concat(all...)), b.Capped && !cut || b.More != "")
	for _, f := range merged {
		if matches(f, b.Search) {
			b.Rows = append(b.Rows, row{f, b.Path(f.ID), f.ID == chosen})
		}
	}
}

// matches reports whether every word of a search is in the review.
func matches(f client.Feedback, search string) bool {
	text := strings.ToLower(strings.Join([]string{
		f.Title.Or(""), f.Body.Or(""), f.AuthorName.Or(""), words(string(f.Source.Or(""))), f.AppVersion.Or(""), f.Territory.Or(""), f.ReplyBody.Or(""),
	}, " "))
	for word := range strings.FieldsSeq(strings.ToLower(search)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// reviewsData is the data of the inbox template.
type reviewsData struct {
	*inbox

	Chosen     bool // the address names a review, so a phone shows it instead of the list
	Review     *client.Feedback
	ETag       string
	NoReview   *failure
	Previous   string // addresses; empty: none
	Next       string
	NextID     string
	MayWrite   bool
	Locked     bool // the reply can no longer change
	Text       string
	Kit        *client.BrandKit
	NoKit      *failure
	Conflict   *failure // why a write was refused: the stored reply is shown next to the typed text
	Problem    *failure // why a write failed
	Complaint  string   // what is wrong with the typed text
	ActionName string   // of the refused write
}

func (s *Studio) reviews(v *visit) *view { return v.reviewsPage("", nil) }

// typed is typed text that could not be stored.
type typed struct {
	text, action string
	problem      *failure
	complaint    string
}

// reviewsPage shows the inbox. After a failed write it shows the typed text.
func (v *visit) reviewsPage(id string, t *typed) *view {
	q := v.r.URL.Query()
	if t != nil {
		q, _ = url.ParseQuery(v.r.PostForm.Get("back")) // a bad text is an empty query: the usual list
		v.readFrame()
	}
	d := &reviewsData{inbox: inboxOf(q), MayWrite: v.may("feedback:write")}
	if id == "" {
		id = q.Get("id")
	}
	d.Chosen = id != ""
	d.read(v)
	kit := read(v, "context:read", "The brand's voice", v.api.GetContextBrandKit)
	var review *result[client.Feedback]
	if d.Chosen {
		review = v.getReview(id)
	}
	v.wait()
	d.finish(id)
	if !d.Chosen && len(d.Rows) > 0 {
		review = v.getReview(d.Rows[0].ID) // for its entity tag
		d.Rows[0].Current = true
		v.wait()
	}
	d.brand(kit)
	out := &view{page: "reviews", place: "Reviews", title: "Reviews", data: d}
	if review != nil {
		d.choose(review)
		if review.Failure != nil && d.Chosen {
			out.status = review.Failure.status()
		}
	}
	if t != nil {
		d.keep(t, id)
		out.status = http.StatusBadRequest
		if t.problem != nil {
			out.status = t.problem.status()
		}
	}
	return out
}

// brand sets the brand kit, for its voice. A company without a brand kit has none, which is not a
// failure.
func (d *reviewsData) brand(kit *result[client.BrandKit]) {
	switch {
	case kit.Failure == nil:
		d.Kit = &kit.Value
	case kit.Failure.Status != http.StatusNotFound:
		d.NoKit = kit.Failure
	}
}

// choose shows a review and its neighbours in the list.
func (d *reviewsData) choose(r *result[client.Feedback]) {
	if r.Failure != nil {
		d.NoReview = r.Failure
		return
	}
	d.Review, d.ETag, d.Text = &r.Value, r.ETag, r.Value.ReplyBody.Or("")
	d.Locked = locked(r.Value)
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
	if d.Next == "" && d.Previous == "" && len(d.Rows) > 0 && d.Rows[0].ID != r.Value.ID {
		d.Next, d.NextID = d.Rows[0].Path, d.Rows[0].ID // the review has left the list
	}
}

// keep puts typed text back into the form. The form is shown even if the review cannot be read.
func (d *reviewsData) keep(t *typed, id string) {
	if d.Review == nil {
		d.Review = &client.Feedback{ID: id}
	}
	d.Text, d.Complaint, d.ActionName = t.text, t.complaint, t.action
	if t.problem.Conflict() {
		d.Conflict = t.problem
	} else {
		d.Problem = t.problem
	}
}

// reply stores what a person did with one review.
func (s *Studio) reply(v *visit) *view {
	form := v.r.PostForm
	id, text, action := v.r.PathValue("id"), strings.ReplaceAll(form.Get("body"), "\r\n", "\n"), form.Get("action")
	in := client.UpdateFeedbackReplyInput{FeedbackID: id, ReplyBody: client.Null[string]()}
	if strings.TrimSpace(text) != "" {
		in.ReplyBody = client.Value(text)
	}
	var said string
	switch action {
	case "save":
		said = "Saved for review."
		in.ReplyStatus = client.Value(client.FeedbackReplyStatusNeedsReview)
	case "approve":
		said = "Approved. Nothing was posted yet: a posting step of yours sends it."
		in.ReplyStatus = client.Value(client.FeedbackReplyStatusApproved)
	case "withdraw":
		said = "Back to draft: it will not be sent."
		in.ReplyStatus = client.Value(client.FeedbackReplyStatusDraft)
	case "skip":
		said = "Skipped."
		in.ReplyStatus = client.Value(client.FeedbackReplyStatusSkipped)
	default:
		return v.reviewsPage(id, &typed{text: text, action: action, complaint: "Choose what to do: save, approve, take back or skip."})
	}
	if action != "skip" && in.ReplyBody.IsNull() {
		return v.reviewsPage(id, &typed{text: text, action: action, complaint: "There is no reply yet. Type one, or skip the review."})
	}
	stored := read(v, "feedback:write", "The reply", func(ctx context.Context, options ...client.CallOption) (client.Feedback, error) {
		return v.api.UpdateFeedbackReply(ctx, in, append(options, client.IfMatch(form.Get("etag")))...)
	})
	v.wait()
	if stored.Failure != nil {
		return v.reviewsPage(id, &typed{text: text, action: action, problem: stored.Failure})
	}
	back := inboxOf(parsed(form.Get("back"))).Query
	if next := form.Get("next"); next != "" {
		back.Set("id", next)
	}
	return v.done("/reviews", back, notice{Text: said})
}

func parsed(query string) url.Values {
	q, _ := url.ParseQuery(query) // a bad text is an empty query: the usual list
	return q
}

// skipMax bounds how many reviews one click skips: each needs two calls.
const skipMax = 25

// skipReviews skips the ticked reviews. It does not change a review that somebody has changed since
// the list was loaded.
func (s *Studio) skipReviews(v *visit) *view {
	back := inboxOf(parsed(v.r.PostForm.Get("back"))).Query
	chosen := v.r.PostForm["review"]
	if len(chosen) == 0 {
		return v.done("/reviews", back, notice{Text: "No review was ticked.", Bad: true})
	}
	if len(chosen) > skipMax {
		return v.done("/reviews", back, notice{Text: fmt.Sprintf("At most %d reviews are skipped at once; nothing was changed.", skipMax), Bad: true})
	}
	type choice struct {
		now     *result[client.Feedback]
		written *result[client.Feedback]
		seen    string
	}
	choices := make([]choice, len(chosen))
	for i, text := range chosen { // the id, and the time of the change that the list shows
		id, seen, _ := strings.Cut(text, " ")
		choices[i] = choice{now: v.getReview(id), seen: seen}
	}
	v.wait()
	for i := range choices {
		c := &choices[i]
		if c.now.Failure != nil || version(c.now.Value.UpdatedAt) != c.seen {
			continue
		}
		in := client.UpdateFeedbackReplyInput{FeedbackID: c.now.Value.ID, ReplyStatus: client.Value(client.FeedbackReplyStatusSkipped)}
		c.written = read(v, "feedback:write", "Skip a review", func(ctx context.Context, options ...client.CallOption) (client.Feedback, error) {
			return v.api.UpdateFeedbackReply(ctx, in, append(options, client.IfMatch(c.now.ETag))...)
		})
	}
	v.wait()
	skipped, changed := 0, 0
	var failed *failure
	for _, c := range choices {
		switch {
		case c.now.Failure != nil:
			failed = c.now.Failure
		case c.written == nil || c.written.Failure.Conflict():
			changed++
		case c.written.Failure != nil:
			failed = c.written.Failure
		default:
			skipped++
		}
	}
	what := notice{Text: fmt.Sprintf("Skipped %s.", plural(skipped, "review", "reviews"))}
	if changed > 0 {
		what.Bad = true
		what.Text += fmt.Sprintf(" %s changed since the list was loaded, so it stays as it is: look at it again.", plural(changed, "review was", "reviews were"))
	}
	if failed != nil {
		what.Bad = true
		what.Text += " Others could not be skipped: " + failed.Text()
	}
	return v.done("/reviews", back, what)
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

// Version is like version, for the template.
func (r row) Version() string { return version(r.Feedback.UpdatedAt) }

// newReviews returns the ids of the reviews that the list would have now. The page compares them
// with its own.
func (s *Studio) newReviews(v *visit) *view {
	b := inboxOf(v.r.URL.Query())
	b.read(v)
	v.wait()
	b.finish("")
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
