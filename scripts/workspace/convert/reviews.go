package convert

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

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
	posted, hasPosted := r.PostedAt.Get()
	r.PostedAt = client.Optional[time.Time]{}
	fields := map[string]any{}
	text, err := json.Marshal(r.PushFeedbackRecord)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return fmt.Errorf("encode a review: %w", err)
	}
	if hasPosted {
		fields["postedAt"] = FormatTime(posted)
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
