package overview

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"growthworkspace/shared/timestamp"
)

// goal is what the rules read of a brand goal.
type goal struct {
	ID            string
	Name          *string
	MetricKey     *string
	BaselineValue *float64
	TargetValue   *float64
	DueAt         *string
	Status        *string
	Priority      *int64
	CreatedAt     *string
}

func (g goal) isActive() bool { return value(g.Status, "") == "active" }

// Pace is how a goal's metric stands against the straight line from the baseline, when the goal was
// created, to the target at its due date.
type Pace string

// The paces. A goal is ahead when it is at least aheadShare of the way from baseline to target
// beyond the line, or has reached the target.
const (
	PaceAhead  Pace = "ahead"
	PaceOn     Pace = "on"
	PaceBehind Pace = "behind"
)

const aheadShare = 0.05

// Values implements schema.Enum.
func (Pace) Values() []string { return []string{string(PaceAhead), string(PaceOn), string(PaceBehind)} }

// startGoals starts reading the goals. They are sorted by orderGoals.
func (r *reader) startGoals() *records[goal] {
	return startList[goal](r, "list_context_goals", map[string]any{"limit": pageMax}, countMax, nil)
}

// orderGoals sorts goals: the lowest priority number first, then the oldest.
func orderGoals(goals []goal) {
	slices.SortStableFunc(goals, func(a, b goal) int {
		return cmp.Or(cmp.Compare(value(a.Priority, 1e9), value(b.Priority, 1e9)),
			cmp.Compare(value(a.CreatedAt, ""), value(b.CreatedAt, "")), cmp.Compare(a.ID, b.ID))
	})
}

// judgement is how a goal stands.
type judgement struct {
	value   *float64
	pace    Pace // empty if it cannot be judged
	reached bool
	overdue bool // its due day (UTC) is over
}

// monthStart returns the first day of the month that is a number of months away.
func monthStart(day time.Time, months int) time.Time {
	return time.Date(day.Year(), day.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
}

// goalMonths returns the first and the last day of the months that judge needs.
func goalMonths(now time.Time) (from, to time.Time) { return monthStart(now, -1), now }

// judge compares a goal with its metric, which is nil if it was not read. The goal's value is that
// of the last full month (UTC), and it is compared with the line at the end of that month. For a
// metric whose aggregation is last, it is the newest value, compared with the line now.
func (g goal) judge(m *measured, now time.Time) judgement {
	out := judgement{}
	if due, ok := timestamp.Parse(value(g.DueAt, "")); ok {
		out.overdue = !now.Before(due.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1))
	}
	if m == nil || m.months == nil {
		return out
	}
	end := monthStart(now, 0)
	for _, p := range m.months.all {
		switch p.day() {
		case monthStart(now, -1).Format(time.DateOnly):
			out.value = p.Value
		case end.Format(time.DateOnly):
			if value(m.Aggregation, "") == "last" && p.Value != nil {
				out.value, end = p.Value, now
			}
		}
	}
	if out.value == nil || g.BaselineValue == nil || g.TargetValue == nil || *g.BaselineValue == *g.TargetValue {
		return out
	}
	way := *g.TargetValue - *g.BaselineValue
	out.reached = (*out.value-*g.TargetValue)*way >= 0
	out.setPace(g, way, end)
	return out
}

// setPace compares the value with the line at the end of its period.
func (j *judgement) setPace(g goal, way float64, end time.Time) {
	created, hasCreated := timestamp.Parse(value(g.CreatedAt, ""))
	due, hasDue := timestamp.Parse(value(g.DueAt, ""))
	if !hasCreated || !hasDue || !created.Before(end) || !created.Before(due) {
		return
	}
	expected := *g.BaselineValue + min(1, float64(end.Sub(created))/float64(due.Sub(created)))*way
	switch beyond := (*j.value - expected) / way; {
	case j.reached, beyond >= aheadShare:
		j.pace = PaceAhead
	case beyond >= 0:
		j.pace = PaceOn
	default:
		j.pace = PaceBehind
	}
}

// metricOf returns the metric of a goal, or nil if it was not read.
func (g goal) metricOf(metrics []*measured) *measured {
	i := slices.IndexFunc(metrics, func(m *measured) bool {
		return g.MetricKey != nil && bareKey(m.Key) == bareKey(*g.MetricKey)
	})
	if i < 0 {
		return nil
	}
	return metrics[i]
}

// goalsToAttend puts each active goal under at most one kind: reached before overdue, and overdue
// before behind.
func goalsToAttend(goals *records[goal], metrics []*measured, now time.Time) []Attention {
	var behind, reached, overdue []AttentionItem
	for _, g := range goals.all {
		if !g.isActive() {
			continue
		}
		j := g.judge(g.metricOf(metrics), now)
		detail := ""
		if j.value != nil && g.TargetValue != nil {
			detail = fmt.Sprintf("%.6g of %.6g", *j.value, *g.TargetValue)
		}
		entry := item(g.ID, g.Status, g.DueAt, detail, g.Name)
		switch {
		case j.reached:
			reached = append(reached, entry)
		case j.overdue:
			overdue = append(overdue, entry)
		case j.pace == PaceBehind:
			behind = append(behind, entry)
		}
	}
	return []Attention{
		attentionOf(KindGoalBehind, oldestFirst(behind), goals.more),
		attentionOf(KindGoalReached, oldestFirst(reached), goals.more),
		attentionOf(KindGoalOverdue, oldestFirst(overdue), goals.more),
	}
}
