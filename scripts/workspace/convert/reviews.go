package convert

import (
	"context"

	"growthworkspace/shared/client"
	"growthworkspace/shared/tabular"
)

// ReviewKinds returns the kinds of files with reviews. They have no flags.
func ReviewKinds() (kinds []Kind) {
	for _, f := range tabular.ReviewFormats() {
		kinds = append(kinds, Kind{Name: f.Name, Summary: f.Summary, Types: []string{"feedback"}, Convert: func(ctx context.Context, in Input, out *Output) error {
			return f.Read(in, reviewOutput{ctx, out})
		}})
	}
	return kinds
}

// reviewOutput emits reviews as records.
type reviewOutput struct {
	ctx context.Context //nolint:containedctx // the readers of reviews do nothing that could wait
	out *Output
}

// Add implements tabular.Reviews. A property without a value is left out, so that an import keeps
// the stored one.
func (o reviewOutput) Add(r tabular.Review) error {
	if err := o.ctx.Err(); err != nil {
		return err
	}
	fields := map[string]any{"source": string(r.Source), "kind": string(r.Kind.Or(client.FeedbackKindReview)), "externalId": r.ExternalID}
	for name, value := range map[string]client.Optional[string]{
		"externalUrl": r.ExternalURL, "authorName": r.AuthorName, "title": r.Title, "body": r.Body, "appVersion": r.AppVersion, "territory": r.Territory, "locale": r.Locale,
	} {
		if text, ok := value.Get(); ok {
			fields[name] = text
		}
	}
	if stars, ok := r.Rating.Get(); ok {
		fields["rating"] = stars
	}
	if at, ok := r.PostedAt.Get(); ok {
		fields["postedAt"] = FormatTime(at)
	}
	if r.Reply != "" { // the platform already shows it
		fields["replyBody"], fields["replyStatus"] = r.Reply, string(client.FeedbackReplyStatusPosted)
	}
	return o.out.Emit(Record{Type: "feedback", Fields: fields, Row: r.Row, Columns: r.Columns, Identity: r.ExternalID, Version: r.Changed})
}

// Report implements tabular.Reviews.
func (o reviewOutput) Report(p tabular.Problem) error { return o.out.Report(p) }

// Skip implements tabular.Reviews.
func (o reviewOutput) Skip(_ int, reason string, count int) error {
	o.out.SkipMany(reason, count)
	return o.ctx.Err()
}
