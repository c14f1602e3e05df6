package attention

import (
	"testing"
	"time"

	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// Ensure a goal is judged by its due day and by the straight line from its baseline to its target.
// The value is compared with the line at the end of the value's period.
func TestJudge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC)
	day := func(month time.Month, day int) client.Optional[time.Time] {
		return client.Value(time.Date(2026, month, day, 0, 0, 0, 0, time.UTC))
	}
	// The line from 0 on May 1 to 184 on November 1 is at 92 on August 1 and at 102.4 now.
	goal := client.Goal{
		Name: client.Value("Sign-ups"), Status: client.Value(client.ContextGoalStatusActive), CreatedAt: day(5, 1), DueAt: day(11, 1),
		BaselineValue: client.Value(0.0), TargetValue: client.Value(184.0),
	}
	with := func(change func(*client.Goal)) client.Goal {
		g := goal
		change(&g)
		return g
	}
	metric := func(a client.MetricsAggregation) *series.Metric {
		return &series.Metric{UnitName: units.Count, Aggregation: a}
	}
	months := func(july, august float64) []client.Point {
		return []client.Point{{TS: day(7, 1), Value: client.Value(july)}, {TS: day(8, 1), Value: client.Value(august)}}
	}
	sum, last := metric(client.MetricsAggregationSum), metric(client.MetricsAggregationLast)
	falling := with(func(g *client.Goal) { g.BaselineValue, g.TargetValue = client.Value(184.0), client.Value(0.0) })
	for name, c := range map[string]struct {
		goal   client.Goal
		metric *series.Metric
		months []client.Point
		want   GoalState
		text   string
	}{
		"on the line":                  {goal, sum, months(92, 3), GoalOnPace, "92 of 184 in July, on pace would be 92, due Nov 1, 2026"},
		"below the line":               {goal, sum, months(91, 3), GoalBehind, "91 of 184 in July, on pace would be 92, due Nov 1, 2026"},
		"the newest value":             {goal, last, months(91, 103), GoalOnPace, "103 of 184 so far this month, on pace would be 102, due Nov 1, 2026"},
		"the newest value is low":      {goal, last, months(99, 102), GoalBehind, "102 of 184 so far this month, on pace would be 102, due Nov 1, 2026"},
		"no newer value":               {goal, last, months(99, 102)[:1], GoalOnPace, "99 of 184 in July, on pace would be 92, due Nov 1, 2026"},
		"falling, above the line":      {falling, sum, months(93, 3), GoalBehind, "93 of 0 in July, on pace would be 92, due Nov 1, 2026"},
		"falling, below the line":      {falling, sum, months(91, 3), GoalOnPace, "91 of 0 in July, on pace would be 92, due Nov 1, 2026"},
		"no value in the last month":   {goal, sum, months(91, 3)[1:], "", "target 184, due Nov 1, 2026"},
		"no metric":                    {goal, nil, nil, "", "target 184, due Nov 1, 2026"},
		"no baseline":                  {with(func(g *client.Goal) { g.BaselineValue = client.Optional[float64]{} }), sum, months(91, 3), "", "91 of 184 in July, due Nov 1, 2026"},
		"no date":                      {with(func(g *client.Goal) { g.DueAt = client.Optional[time.Time]{} }), sum, months(91, 3), "", "91 of 184 in July"},
		"created after the last month": {with(func(g *client.Goal) { g.CreatedAt = day(8, 2) }), sum, months(91, 3), "", "91 of 184 in July, due Nov 1, 2026"},
		"due today":                    {with(func(g *client.Goal) { g.DueAt = day(8, 11) }), nil, nil, "", "target 184, due Aug 11, 2026"},
		"due yesterday":                {with(func(g *client.Goal) { g.DueAt = day(8, 10) }), nil, nil, GoalPast, "target 184, was due Aug 10, 2026"},
		"reached and due yesterday":    {with(func(g *client.Goal) { g.DueAt = day(8, 10) }), sum, months(200, 3), GoalPast, "200 of 184 in July, was due Aug 10, 2026"},
		"achieved":                     {with(func(g *client.Goal) { g.DueAt, g.Status = day(8, 10), client.Value(client.ContextGoalStatusAchieved) }), sum, months(91, 3), "", "91 of 184 in July, due Aug 10, 2026"},
		"two currencies": {goal, sum, []client.Point{
			{TS: day(7, 1), Value: client.Value(1.0), Currency: client.Value("EUR")}, {TS: day(8, 1), Value: client.Value(1.0), Currency: client.Value("USD")},
		}, "", "target 184, due Nov 1, 2026"},
	} {
		got := Judge(c.goal, c.metric, c.months, now)
		if got.State != c.want || got.Text() != c.text {
			t.Errorf("%s: %q, %q; want %q, %q", name, got.State, got.Text(), c.want, c.text)
		}
	}
	if from, to := GoalMonths(now); client.Day(from) != "2026-07-01" || client.Day(to) != "2026-08-11" {
		t.Errorf("months from %s to %s", from, to)
	}
}
