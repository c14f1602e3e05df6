package overview

import (
	"context"
	"math"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/timestamp"
)

// CompanyWeek is a company's week, compared with the week before.
type CompanyWeek struct {
	Week      string         `json:"week" doc:"such as 2026-W47"`
	From      string         `json:"from" doc:"its Monday"`
	To        string         `json:"to" doc:"its Sunday"`
	Through   *string        `json:"through" doc:"the last day that is over, up to which metrics count; null when none is"`
	TimeZone  string         `json:"timeZone" doc:"the zone of the days: the company's, or UTC"`
	Complete  bool           `json:"complete" doc:"whether all its days are over"`
	Missing   []auth.Scope   `json:"missing" null:"never" doc:"the scopes that the key lacks; what they would show is left out or null"`
	Metrics   []WeekMetric   `json:"metrics" doc:"up to 20: those of active goals, then those changed last"`
	Reviews   *WeekReviews   `json:"reviews" doc:"the reviews of the week"`
	Posts     *WeekPosts     `json:"posts" doc:"the posts of the week, and the next ones"`
	Publishes *[]WeekPublish `json:"publishes" doc:"up to five publishes and rollbacks of boards in the week, newest first"`
	Audits    *[]WeekAudit   `json:"audits" doc:"up to five audits that were completed in the week, newest first"`
}

// WeekMetric is a metric's value of the week.
type WeekMetric struct {
	Key  string  `json:"key" doc:"the metric's key"`
	Name string  `json:"name" doc:"its name, or its key; at most 80 characters"`
	Unit *string `json:"unit" doc:"the unit of the values"`
	Comparison
	Goal *MetricGoal `json:"goal" doc:"its first active goal with a target"`
}

// MetricGoal is the goal of a metric.
type MetricGoal struct {
	ID     string  `json:"id"`
	Target float64 `json:"target" doc:"the value to reach"`
	DueAt  *string `json:"dueAt" format:"date-time" doc:"the deadline"`
	Pace   *Pace   `json:"pace" doc:"how it stands now against the line from baseline to target; null when that is unknown"`
}

// WeekReviews counts the reviews and mentions of the week.
type WeekReviews struct {
	Count         int64    `json:"count" doc:"reviews and mentions posted in the week"`
	PreviousCount int64    `json:"previousCount" doc:"as many days of the week before"`
	More          bool     `json:"more" doc:"a count stopped at 1,000"`
	Stars         []int64  `json:"stars" null:"never" doc:"how many have 1, 2, 3, 4 and 5 stars"`
	Average       *float64 `json:"average" doc:"of the stars, to two decimals; null when none has stars"`
	Waiting       int64    `json:"waiting" doc:"replies to approve and reviews without a reply, now"`
}

// WeekPosts counts the posts of the week.
type WeekPosts struct {
	Published int64      `json:"published" doc:"posts that were published in the week"`
	Failed    int64      `json:"failed" doc:"posts of the week that failed"`
	Next      []NextPost `json:"next" doc:"up to five scheduled posts, the earliest first"`
}

// NextPost is a scheduled post.
type NextPost struct {
	ID           string  `json:"id"`
	Platform     *string `json:"platform" doc:"where it will be published"`
	Title        string  `json:"title" doc:"its title or first words, at most 80 characters"`
	ScheduledFor string  `json:"scheduledFor" format:"date-time" doc:"when it will be sent"`
}

// WeekAudit is an audit, with the scores of the complete audit of its site before it.
type WeekAudit struct {
	ID          string   `json:"id"`
	RootURL     *string  `json:"rootUrl" doc:"the page at which it began"`
	ScoreSeo    *float64 `json:"scoreSeo" doc:"from 0 to 100"`
	ScoreAeo    *float64 `json:"scoreAeo" doc:"from 0 to 100"`
	ScoreGeo    *float64 `json:"scoreGeo" doc:"from 0 to 100"`
	PreviousSeo *float64 `json:"previousSeo" doc:"scoreSeo of the audit before; null when there is none"`
	PreviousAeo *float64 `json:"previousAeo" doc:"scoreAeo of the audit before"`
	PreviousGeo *float64 `json:"previousGeo" doc:"scoreGeo of the audit before"`
}

// Limits of a week.
const (
	weekMetricsMax   = 20
	weekRecordsMax   = 5 // of each kind that is listed
	weekToolBytesMax = 7_900
)

// weekReads lists the operations that get_company_week calls.
var weekReads = []string{
	"get_company", "list_feedback", "list_broadcast_posts", "list_metric_definitions", "list_metric_points",
	"list_context_goals", "list_optimise_audits", "list_plan_boards", "list_plan_versions",
}

type getWeekInput struct {
	Week *string `query:"week" doc:"an ISO week such as 2026-W47, or this; default: the last whole one" tool:"2026-W47, or this; default: last whole one"`
}

// Check implements api.Checker.
func (in getWeekInput) Check() []string {
	if in.Week == nil || *in.Week == thisWeek {
		return nil
	}
	if _, err := parseWeek(*in.Week); err != nil {
		return []string{"query.week: " + err.Error()}
	}
	return nil
}

// span returns the week of the request. Check has accepted its name.
func (in getWeekInput) span(zone *time.Location, zoneName string, now time.Time) (span, error) {
	week := weekOf(dateOf(now, zone).AddDate(0, 0, -weekDays))
	if in.Week != nil && *in.Week == thisWeek {
		week = weekOf(dateOf(now, zone))
	} else if in.Week != nil {
		week, _ = parseWeek(*in.Week)
	}
	s := newSpan(week, zone, now)
	if now.Before(s.start) {
		return s, fault.Invalid("query.week", "%s has not begun in %s", week, zoneName)
	}
	return s, nil
}

func (s service) getWeek(ctx context.Context, caller api.Caller, in getWeekInput) (CompanyWeek, error) {
	r := s.store.reader(ctx, caller)
	company, definitions, goals := r.startCompany(), r.startDefinitions(), r.startGoals()
	toApprove, unanswered := r.startReviews("needs_review"), r.startReviews("none")
	audits, boards := r.startAudits(), r.startBoards()
	if err := r.wait(); err != nil {
		return CompanyWeek{}, err
	}
	orderGoals(goals.all)
	zone, name := zoneOf(company)
	week, err := in.span(zone, name, r.now())
	if err != nil {
		return CompanyWeek{}, err
	}
	reviews, posts, publishes := r.startWeekReviews(week), r.startWeekPosts(week), r.startPublishes(week, boards)
	metrics := r.startWeekMetrics(week, definitions, goals)
	if err := r.wait(); err != nil {
		return CompanyWeek{}, err
	}
	out := week.describe(name)
	out.Metrics = weekMetrics(week, metrics)
	out.Reviews = weekReviews(week, reviews, len(toApprove.all)+len(unanswered.all), toApprove.more || unanswered.more)
	out.Posts, out.Publishes = weekPosts(week, posts), weekPublishes(week, publishes, boards)
	out.Audits = weekAudits(week, audits)
	out.Missing = r.missingScopes()
	return out, nil
}

// describe returns the response with the week itself.
func (s span) describe(zoneName string) CompanyWeek {
	out := CompanyWeek{
		Week: s.String(), From: s.first.Format(time.DateOnly), To: s.date(weekDays - 1).Format(time.DateOnly),
		TimeZone: zoneName, Complete: s.daysOver == weekDays,
	}
	if s.daysOver > 0 {
		out.Through = new(s.date(s.daysOver - 1).Format(time.DateOnly))
	}
	return out
}

// ForTool implements api.ToolShortener: as many metrics as fit, the first ones.
func (w CompanyWeek) ForTool() any {
	for len(w.Metrics) > 0 && sizeOf(w) > weekToolBytesMax {
		w.Metrics = w.Metrics[:len(w.Metrics)-1]
	}
	return w
}

// startWeekMetrics starts reading the points of the week and of the week before. The service rolls
// up the weeks if all days are over.
func (r *reader) startWeekMetrics(s span, definitions *records[definition], goals *records[goal]) []*measured {
	metrics := chooseMetrics(definitions.all, goals.all, weekMetricsMax)
	for _, m := range metrics {
		r.startMonths(m)
		if s.daysOver == weekDays {
			m.weeks = r.startPoints(m.Key, "week", s.date(-weekDays), s.first)
		} else if s.daysOver > 0 {
			m.days = r.startPoints(m.Key, "day", s.date(-weekDays), s.date(s.daysOver-1))
		}
	}
	return metrics
}

func weekMetrics(s span, metrics []*measured) []WeekMetric {
	out := []WeekMetric{}
	for _, m := range metrics {
		row := WeekMetric{Key: m.Key, Name: excerpt(value(m.Name, m.Key), titleCharsMax), Unit: m.Unit}
		var now, before *float64
		switch {
		case m.weeks != nil:
			now, before = valueOn(m.weeks.all, s.first), valueOn(m.weeks.all, s.date(-weekDays))
		case m.days != nil:
			now = m.valueOf(between(m.days.all, s.first, s.date(s.daysOver-1)))
			before = m.valueOf(between(m.days.all, s.date(-weekDays), s.date(s.daysOver-1-weekDays)))
		}
		row.Comparison = m.compare(now, before)
		for _, g := range m.goals {
			if g.TargetValue == nil {
				continue
			}
			row.Goal = &MetricGoal{ID: g.ID, Target: *g.TargetValue, DueAt: g.DueAt}
			if j := g.judge(m, s.now); j.pace != "" {
				row.Goal.Pace = &j.pace
			}
			break
		}
		out = append(out, row)
	}
	return out
}

// valueOn returns the value of the point that starts on a date.
func valueOn(points []point, date time.Time) *float64 {
	for _, p := range between(points, date, date) {
		return p.Value
	}
	return nil
}

// weekReviewReads are the reviews of a week and of the week before.
type weekReviewReads struct{ now, before *records[review] }

func (r *reader) startWeekReviews(s span) weekReviewReads {
	start := func(from, to time.Time, in func(time.Time) bool) *records[review] {
		return startList(r, "list_feedback", map[string]any{
			"postedFrom": from.Format(time.DateOnly), "postedTo": to.Format(time.DateOnly), "limit": pageMax,
		}, countMax, func(f review) bool { return isIn(f.PostedAt, in) })
	}
	return weekReviewReads{
		start(s.date(-1), s.date(weekDays), s.contains), start(s.date(-weekDays-1), s.first, s.beforeContains),
	}
}

// isIn reports whether a timestamp is set and in a period.
func isIn(at *string, in func(time.Time) bool) bool {
	t, ok := timestamp.Parse(value(at, ""))
	return ok && in(t)
}

func weekReviews(s span, reads weekReviewReads, waiting int, moreWaiting bool) *WeekReviews {
	if !reads.now.read {
		return nil
	}
	out := &WeekReviews{
		Count: int64(len(reads.now.all)), PreviousCount: int64(len(reads.before.all)),
		Stars: make([]int64, 5), Waiting: int64(min(waiting, countMax)),
		More: reads.now.more || reads.before.more || moreWaiting || waiting > countMax,
	}
	sum, rated := int64(0), int64(0)
	for _, f := range reads.now.all {
		if stars := value(f.Rating, 0); stars >= 1 && stars <= 5 {
			out.Stars[stars-1]++
			sum, rated = sum+stars, rated+1
		}
	}
	if rated > 0 {
		out.Average = new(math.Round(float64(sum)/float64(rated)*100) / 100)
	}
	return out
}

// weekPostReads are the posts of a week, and the next ones.
type weekPostReads struct{ published, failed, next *records[post] }

// publishedDays is how many days after its time a post may be sent and still be found.
const publishedDays = 7

func (r *reader) startWeekPosts(s span) weekPostReads {
	days := func(status string) map[string]any {
		return map[string]any{"status": status, "from": s.date(-publishedDays).Format(time.DateOnly),
			"to": s.date(weekDays).Format(time.DateOnly)}
	}
	return weekPostReads{
		r.startPosts(days("published"), countMax, func(p post) bool {
			return isIn(first(p.PublishedAt, p.ScheduledFor), s.contains)
		}),
		r.startPosts(days("failed"), countMax, func(p post) bool {
			return isIn(first(p.ScheduledFor, p.UpdatedAt), s.contains)
		}),
		r.startPosts(map[string]any{"status": "scheduled", "order": "asc", "from": s.now.Format(time.DateOnly)},
			weekRecordsMax, func(p post) bool {
				return p.ScheduledFor != nil && !isBefore(p.ScheduledFor, s.now)
			}),
	}
}

func weekPosts(s span, reads weekPostReads) *WeekPosts {
	if !reads.published.read {
		return nil
	}
	out := &WeekPosts{Published: int64(len(reads.published.all)), Failed: int64(len(reads.failed.all)),
		Next: []NextPost{}}
	for _, p := range reads.next.all {
		out.Next = append(out.Next, NextPost{p.ID, p.Platform, titleOf(p.ID, p.Title, p.Body), *p.ScheduledFor})
	}
	return out
}

func weekAudits(s span, audits *records[audit]) *[]WeekAudit {
	if !audits.read {
		return nil
	}
	out := []WeekAudit{}
	for i, a := range audits.all {
		if value(a.Status, "") == "complete" && isIn(first(a.FinishedAt, a.StartedAt), s.contains) &&
			len(out) < weekRecordsMax {
			before := previousOf(a, audits.all[i+1:])
			out = append(out, WeekAudit{a.ID, a.RootURL, a.ScoreSeo, a.ScoreAeo, a.ScoreGeo, before.ScoreSeo,
				before.ScoreAeo, before.ScoreGeo})
		}
	}
	return &out
}
