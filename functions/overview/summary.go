package overview

import (
	"context"
	"slices"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/timestamp"
)

// CompanyOverview is what needs a person, and how the metrics are.
type CompanyOverview struct {
	AsOf      string           `json:"asOf" format:"date-time" doc:"when it was read"`
	Missing   []auth.Scope     `json:"missing" null:"never" doc:"the scopes that the key lacks; what they would show is left out"`
	Attention []Attention      `json:"attention" doc:"what needs a person, the most urgent kind first"`
	Metrics   []OverviewMetric `json:"metrics" doc:"up to 12: those of active goals, then those changed last"`
}

// The sizes of an overview, in bytes of JSON.
const (
	overviewBytesMax = 8_000
	toolBytesMax     = 3_900
)

// overviewReads lists the operations that get_company_overview calls.
var overviewReads = []string{
	"get_company", "list_feedback", "list_broadcast_posts", "list_broadcast_channels", "list_metric_definitions",
	"list_metric_points", "list_context_goals", "list_optimise_audits", "list_plan_boards", "preview_plan_publish",
	"list_keys",
}

type getOverviewInput struct{}

func (s service) getOverview(ctx context.Context, caller api.Caller, _ getOverviewInput) (CompanyOverview, error) {
	r := s.store.reader(ctx, caller)
	company, definitions, goals := r.startCompany(), r.startDefinitions(), r.startGoals()
	reviews, posts, channels := r.startReviewReads(), r.startPostReads(), r.startChannels()
	audits, boards, keys := r.startAudits(), r.startBoards(), r.startKeys()
	if err := r.wait(); err != nil {
		return CompanyOverview{}, err
	}
	orderGoals(goals.all)
	zone, _ := zoneOf(company)
	yesterday := lastWholeDay(r.now(), zone)
	previews, metrics := r.startPreviews(boards), r.startMetrics(definitions, goals, yesterday)
	if err := r.wait(); err != nil {
		return CompanyOverview{}, err
	}
	out := CompanyOverview{AsOf: timestamp.Format(r.now()), Attention: []Attention{}, Metrics: []OverviewMetric{}}
	for _, a := range slices.Concat(
		r.reviewsToAttend(reviews), r.postsToAttend(posts), []Attention{r.channelsToAttend(channels)},
		metricsToAttend(definitions, metrics, yesterday), goalsToAttend(goals, metrics, r.now()),
		[]Attention{auditsToAttend(audits), boardsToAttend(previews, len(boards.all) > boardsMax), keysToAttend(keys)},
	) {
		if a.Count > 0 {
			out.Attention = append(out.Attention, a)
		}
	}
	for _, m := range metrics {
		out.Metrics = append(out.Metrics, m.sevenDays(yesterday))
	}
	out.Missing = r.missingScopes()
	return out.fit(itemsMax, overviewBytesMax), nil
}

// startMetrics starts reading the points that an overview needs: the days of each metric, and the
// months of those with a goal.
func (r *reader) startMetrics(definitions *records[definition], goals *records[goal], yesterday time.Time) []*measured {
	metrics := chooseMetrics(definitions.all, goals.all, overviewMetricsMax)
	for _, m := range metrics {
		m.days = r.startPoints(m.Key, "day", yesterday.AddDate(0, 0, 1-pointDays), yesterday)
		r.startMonths(m)
	}
	return metrics
}

// startMonths starts reading the months that the goals of a metric are judged by.
func (r *reader) startMonths(m *measured) {
	if len(m.goals) > 0 {
		from, to := goalMonths(r.now())
		m.months = r.startPoints(m.Key, "month", from, to)
	}
}

// ForTool implements api.ToolShortener: one record of each kind.
func (o CompanyOverview) ForTool() any { return o.fit(1, toolBytesMax) }

// fit returns the overview with at most a number of records of each kind, in at most a number of
// bytes. What does not fit is left out, the least urgent first: records beyond the first of each
// kind, then metrics, then details, then the other records. Counts are never left out.
func (o CompanyOverview) fit(items, bytesMax int) CompanyOverview {
	o.Attention, o.Metrics = slices.Clone(o.Attention), slices.Clone(o.Metrics)
	for i, a := range o.Attention {
		o.Attention[i].Items = slices.Clone(a.Items[:min(len(a.Items), items)])
	}
	size := sizeOf(o)
	for keep := items - 1; keep >= 1; keep-- {
		for i := len(o.Attention) - 1; i >= 0 && size > bytesMax; i-- {
			if a := &o.Attention[i]; len(a.Items) > keep {
				a.Items = a.Items[:keep]
				size = sizeOf(o)
			}
		}
	}
	for ; len(o.Metrics) > 0 && size > bytesMax; size = sizeOf(o) {
		o.Metrics = o.Metrics[:len(o.Metrics)-1]
	}
	for i := len(o.Attention) - 1; i >= 0 && size > bytesMax; i-- {
		for n := range o.Attention[i].Items {
			o.Attention[i].Items[n].Detail = nil
		}
		size = sizeOf(o)
	}
	for i := len(o.Attention) - 1; i >= 0 && size > bytesMax; i-- {
		o.Attention[i].Items = []AttentionItem{}
		size = sizeOf(o)
	}
	return o
}

// sizeOf returns the size of a record as JSON.
func sizeOf(record any) int {
	text, err := schema.Encode(record)
	if err != nil {
		panic("overview: encode a response: " + err.Error()) // it contains only texts, numbers and times
	}
	return len(text)
}
