package overview

import (
	"testing"
	"time"
)

// Ensure a goal is judged by its due day and by the straight line from its baseline to its target.
// The value is compared with the line at the end of the value's period.
func TestJudge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC)
	// The line from 0 on May 1 to 184 on November 1 is at 92 on August 1 and at 102.4 now.
	base := goal{
		Status: new("active"), CreatedAt: new("2026-05-01T00:00:00.000Z"), DueAt: new("2026-11-01T00:00:00.000Z"), BaselineValue: new(0.0), TargetValue: new(184.0),
	}
	with := func(change func(*goal)) goal {
		g := base
		change(&g)
		return g
	}
	metric := func(aggregation string, july, august float64) *measured {
		m := &measured{definition: definition{Aggregation: &aggregation}, months: &records[point]{}}
		if july >= 0 {
			m.months.all = append(m.months.all, point{TS: "2026-07-01T00:00:00.000Z", Value: &july})
		}
		if august >= 0 {
			m.months.all = append(m.months.all, point{TS: "2026-08-01T00:00:00.000Z", Value: &august})
		}
		return m
	}
	falling := with(func(g *goal) { g.BaselineValue, g.TargetValue = new(184.0), new(0.0) })
	for name, c := range map[string]struct {
		goal             goal
		metric           *measured
		pace             Pace
		reached, overdue bool
	}{
		"on the line":                  {base, metric("sum", 92, 3), PaceOn, false, false},
		"a little beyond the line":     {base, metric("sum", 101, 3), PaceOn, false, false},
		"far beyond the line":          {base, metric("sum", 102, 3), PaceAhead, false, false},
		"below the line":               {base, metric("sum", 91, 3), PaceBehind, false, false},
		"the newest value":             {base, metric("last", 91, 103), PaceOn, false, false},
		"the newest value is low":      {base, metric("last", 99, 102), PaceBehind, false, false},
		"no newer value":               {base, metric("last", 99, -1), PaceOn, false, false},
		"falling, above the line":      {falling, metric("sum", 93, 3), PaceBehind, false, false},
		"falling, below the line":      {falling, metric("sum", 91, 3), PaceOn, false, false},
		"reached":                      {base, metric("sum", 184, 3), PaceAhead, true, false},
		"falling, reached":             {falling, metric("sum", 0, 3), PaceAhead, true, false},
		"no value in the last month":   {base, metric("sum", -1, 91), "", false, false},
		"no metric":                    {base, nil, "", false, false},
		"no baseline":                  {with(func(g *goal) { g.BaselineValue = nil }), metric("sum", 91, 3), "", false, false},
		"no date":                      {with(func(g *goal) { g.DueAt = nil }), metric("sum", 91, 3), "", false, false},
		"created after the last month": {with(func(g *goal) { g.CreatedAt = new("2026-08-02T00:00:00.000Z") }), metric("sum", 91, 3), "", false, false},
		"due today":                    {with(func(g *goal) { g.DueAt = new("2026-08-11T00:00:00.000Z") }), nil, "", false, false},
		"due yesterday":                {with(func(g *goal) { g.DueAt = new("2026-08-10T23:59:59.000Z") }), nil, "", false, true},
	} {
		got := c.goal.judge(c.metric, now)
		if got.pace != c.pace || got.reached != c.reached || got.overdue != c.overdue {
			t.Errorf("%s: pace %q, reached %t, overdue %t; want %q, %t, %t", name, got.pace, got.reached, got.overdue, c.pace, c.reached, c.overdue)
		}
	}
}
