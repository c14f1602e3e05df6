package studio

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/shared/client"
	"growthworkspace/shared/tabular"
)

// pasteData is the data for the page on which people paste reviews.
type pasteData struct {
	Text           string
	Source         string // the platform of reviews that do not name one
	Sources        []client.FeedbackSource
	IdempotencyKey string
	MayWrite       bool

	Previewed bool // whether the page shows a preview of the reviews in Text
	Count     int  // the number of reviews that can be stored
	Rows      []pasteRow
	Rest      int // the number of reviews that the preview leaves out
	Problems  []tabular.Problem
	More      int      // the number of problems that the preview leaves out
	Reading   *reading // asks how the dates are meant; nil if they have one reading
	Kept      []fact   // answers about earlier readings
	Complaint string   // why the text cannot be read; empty if it can
	Failure   *failure
	Stored    int // how many reviews were stored before the failure
}

// pasteRow is a review in the preview.
type pasteRow struct {
	Rating         int
	Text           string
	Author, Source string
	Posted         time.Time
}

const (
	pasteBytesMax  = 48_000 // the maximum size of the pasted text; the page shows the text again and has to stay small
	previewRowsMax = 15     // the maximum number of reviews that the preview shows
	problemsMax    = 10     // the maximum number of problems that the preview shows
	pushBatch      = 100    // the maximum number of reviews in one push
)

func (s *Studio) pasteReviews(v *pageRequest) *view { return v.pastePage(url.Values{}) }

// pastePage shows the form for pasted reviews.
func (pr *pageRequest) pastePage(sent url.Values) *view {
	return &view{page: "paste", place: "Reviews", title: "Paste reviews", data: &pasteData{
		Text: sent.Get("reviews"), Source: sent.Get("source"), IdempotencyKey: newIdempotencyKey(), MayWrite: pr.may("feedback:write"),
		Sources: []client.FeedbackSource{client.FeedbackSourceGooglePlay, client.FeedbackSourceAppStore, client.FeedbackSourceReddit},
	}}
}

// storeReviews shows a preview of the pasted reviews or, if the user has already seen the preview,
// stores the reviews. Sending the form twice stores each review once.
func (s *Studio) storeReviews(v *pageRequest) *view {
	sent := v.r.PostForm
	out := v.pastePage(sent)
	d := out.data.(*pasteData)
	v.readFrame() // days without a time are in the company's time zone
	v.wait()
	withStatus := func(status int) *view {
		out.status = status
		return out
	}
	if len(d.Text) > pasteBytesMax {
		d.Complaint = fmt.Sprintf("This is more than %d KB. Paste it in parts, or use the command: workspace push reviews --from google-play FILE", pasteBytesMax/1000)
		d.Text = ""
		return withStatus(http.StatusBadRequest)
	}
	source := client.FeedbackSource(d.Source)
	if !slices.Contains(d.Sources, source) {
		source = d.Sources[0]
	}
	pasted := tabular.Pasted{Source: source, Zone: v.clock().Location, Answers: answersOf(sent)}
	records, problems, err := pasted.Read(d.Text)
	if c := (&formChanges{sent: sent}); c.ask(err) {
		d.Reading = c.check().Reading
		return withStatus(0)
	}
	d.Kept = keepAnswers(sent, nil)
	if err != nil {
		d.Complaint = upperFirst(err.Error()) + "."
		return withStatus(http.StatusBadRequest)
	}
	d.preview(records, problems)
	if sent.Get("do") != "store" || len(records) == 0 {
		return withStatus(0)
	}
	var total client.PushFeedbackResult
	for i, batch := range slices.Collect(slices.Chunk(records, pushBatch)) {
		pushed := startCall(v, "feedback:write", "Store the reviews", func(ctx context.Context, options ...client.CallOption) (client.PushFeedbackResult, error) {
			return v.api.PushFeedback(ctx, client.PushFeedbackInput{Records: batch}, append(options, client.IdempotencyKey(fmt.Sprintf("%s-%d", sent.Get("once"), i)))...)
		})
		v.wait()
		if d.Failure = pushed.Failure; d.Failure != nil {
			d.Stored = total.Accepted
			d.IdempotencyKey = nextIdempotencyKey(sent, d.Failure)
			return withStatus(d.Failure.status())
		}
		total.Accepted += pushed.Value.Accepted
		total.Created += pushed.Value.Created
	}
	text := fmt.Sprintf("Stored %s", phrase.Plural(total.Accepted, "review", "reviews"))
	if existing := total.Accepted - total.Created; existing > 0 {
		text += fmt.Sprintf(", %d of which were stored before", existing)
	}
	if len(problems) > 0 {
		text += fmt.Sprintf("; %s left out", phrase.Plural(len(problems), "row was", "rows were"))
	}
	return v.finish("/reviews", notice{Text: text + "."})
}

// preview sets the part of the page that shows the reviews found in the pasted text.
func (d *pasteData) preview(records []client.PushFeedbackRecord, problems []tabular.Problem) {
	d.Previewed, d.Count = true, len(records)
	for _, r := range records[:min(len(records), previewRowsMax)] {
		text := r.Body.Or("")
		if title := r.Title.Or(""); title != "" {
			text = title + " · " + text
		}
		d.Rows = append(d.Rows, pasteRow{r.Rating.Or(0), phrase.Excerpt(text, 120), r.AuthorName.Or(""), phrase.Words(r.Source), r.PostedAt.Or(time.Time{})})
	}
	d.Rest = len(records) - len(d.Rows)
	d.Problems = problems[:min(len(problems), problemsMax)]
	d.More = len(problems) - len(d.Problems)
}
