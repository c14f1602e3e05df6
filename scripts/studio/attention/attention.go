// Package attention judges records as the studio's pages and the weekly report show them: how urgent
// a review is, whether a post is overdue, whether a goal is behind. What needs a person in all, the
// operation get_company_overview says. The package uses only the public API, through shared/client.
package attention

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/batch"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/scores"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/shared/client"
)

// Grace is how long after its time an unsent post counts as overdue, and how long a claim may last
// until its record counts as stuck. A dispatcher that runs every few minutes needs some time.
const Grace = 15 * time.Minute

// ListReviews starts a call that lists reviews.
func ListReviews(r *batch.Reader, part string, in client.ListFeedbackInput) *batch.Result[client.Page[client.Feedback]] {
	return batch.Start(r, part, "feedback:read", func(ctx context.Context) (client.Page[client.Feedback], error) { return r.API.ListFeedback(ctx, in) })
}

// ListPosts starts a call that lists posts.
func ListPosts(r *batch.Reader, part string, in client.ListBroadcastPostsInput) *batch.Result[client.Page[client.Post]] {
	return batch.Start(r, part, "broadcast:read", func(ctx context.Context) (client.Page[client.Post], error) {
		return r.API.ListBroadcastPosts(ctx, in)
	})
}

// ListBoards starts a call that lists the first 100 roadmap boards.
func ListBoards(r *batch.Reader, part string) *batch.Result[client.Page[client.Board]] {
	return batch.Start(r, part, "plan:read", func(ctx context.Context) (client.Page[client.Board], error) {
		return r.API.ListPlanBoards(ctx, client.ListPlanBoardsInput{Limit: client.Value(100)})
	})
}

// ListGoals starts a call that lists all brand goals.
func ListGoals(r *batch.Reader, part string) *batch.Result[client.Page[client.Goal]] {
	return batch.Start(r, part, "context:read", func(ctx context.Context) (client.Page[client.Goal], error) {
		return r.API.ListContextGoals(ctx, client.ListContextGoalsInput{Limit: client.Value(200)})
	})
}

// ListDefinitions starts a call that lists the first 200 metrics.
func ListDefinitions(r *batch.Reader, part string) *batch.Result[client.Page[client.Definition]] {
	return batch.Start(r, part, "metrics:read", func(ctx context.Context) (client.Page[client.Definition], error) {
		return r.API.ListMetricDefinitions(ctx, client.ListMetricDefinitionsInput{Limit: client.Value(200)})
	})
}

// ListAudits starts a call that lists the latest audits.
func ListAudits(r *batch.Reader, part string, limit int) *batch.Result[client.Page[client.AuditSummary]] {
	return batch.Start(r, part, "optimise:read", func(ctx context.Context) (client.Page[client.AuditSummary], error) {
		return r.API.ListOptimiseAudits(ctx, client.ListOptimiseAuditsInput{Limit: client.Value(limit)})
	})
}

// JudgeGoals starts the calls that read the goals' metrics. It reads at most limit metrics,
// starting with those of the highest-priority goals. Once the calls have ended, judge returns all
// goals with their states.
func JudgeGoals(r *batch.Reader, part string, goals []client.Goal, definitions []client.Definition, limit int, now time.Time) (judge func() []Judgement) {
	metrics := map[string]*series.Metric{}
	for _, m := range series.Of(definitions, nil) {
		metrics[strings.TrimPrefix(m.Key, "custom.")] = &m
	}
	goals = slices.Clone(goals)
	slices.SortStableFunc(goals, func(a, b client.Goal) int { return cmp.Compare(a.Priority.Or(1e9), b.Priority.Or(1e9)) })
	months := map[string]*batch.Result[client.Page[client.Point]]{} // by the metric's key
	left := 0
	for _, g := range goals {
		key := strings.TrimPrefix(g.MetricKey.Or(""), "custom.")
		m := metrics[key]
		if !NeedsPoints(g) || m == nil || m.Kind == client.MetricsKindDerived || months[key] != nil {
			continue
		}
		if len(months) == limit {
			left++
			continue
		}
		months[key] = startMonths(r, m.Key, now)
	}
	if left > 0 {
		r.AddGap(batch.Gap{Part: part, Reason: fmt.Sprintf("%s of goals with a lower priority were not read", phrase.Plural(left, "metric", "metrics"))})
	}
	return func() (out []Judgement) {
		for _, g := range goals {
			key := strings.TrimPrefix(g.MetricKey.Or(""), "custom.")
			var points []client.Point
			if result := months[key]; result != nil {
				if points = result.Value.Items; result.Err != nil && !IsTotalRefusal(result.Err) {
					r.AddFailure(part, result.Err)
				}
			}
			out = append(out, Judge(g, metrics[key], points, now))
		}
		return out
	}
}

func startMonths(r *batch.Reader, key string, now time.Time) *batch.Result[client.Page[client.Point]] {
	from, to := GoalMonths(now)
	in := client.ListMetricPointsInput{
		MetricKey: key, Grain: client.Value(client.MetricsGrainMonth), From: client.Value(client.Day(from)), To: client.Value(client.Day(to)), Total: client.Value(true),
	}
	return batch.Try(r, func(ctx context.Context) (client.Page[client.Point], error) { return r.API.ListMetricPoints(ctx, in) })
}

// IsTotalRefusal reports whether err is the service's refusal to return the total of a metric
// because its parts, such as the average of each country, do not add up to a total.
func IsTotalRefusal(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status == 400 && strings.Contains(strings.Join(refused.Messages, " "), "seriesId")
}

// ReviewName returns a name for a review: its stars and its first words.
func ReviewName(f client.Feedback) string {
	name := phrase.Words(string(f.Source.Or("")))
	if rating, ok := f.Rating.Get(); ok {
		name = phrase.Stars(rating)
	}
	return name + " " + phrase.Excerpt(cmp.Or(f.Title.Or(""), f.Body.Or(""), "(no text)"), 40)
}

// AuditProblem says which scores of an audit are lower than in the previous audit, or why the audit
// failed. It returns "" if neither applies. older contains the audits before a, newest first.
func AuditProblem(a client.AuditSummary, older []client.AuditSummary) string {
	if a.Status.Or("") == client.OptimiseAuditStatusFailed {
		return "failed: " + phrase.Excerpt(a.Error.Or("no reason is stored"), 50)
	}
	var fell []string
	for _, s := range scores.Of(a, scores.Previous(older, a)) {
		if s.Good == "bad" {
			fell = append(fell, s.Name+" "+s.Text+", "+s.Change)
		}
	}
	return strings.Join(fell, "; ")
}
