package attention

import (
	"fmt"
	"math"
	"strings"
	"time"

	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// GoalState is the state of a brand goal, judged by its due date and its value.
type GoalState string

// The states of a goal. A goal that cannot be judged, such as one without a date, has no state.
const (
	GoalPast   GoalState = "past"   // its due day is over but it is still active, so a person has to close it
	GoalBehind GoalState = "behind" // its value is short of the straight line from baseline to target
	GoalOnPace GoalState = "on_pace"
)

// Judgement is a goal with its state and the values that determine the state.
type Judgement struct {
	client.Goal

	State    GoalState
	Unit     units.Unit
	Value    float64 // the metric's value; valid if HasValue is set
	HasValue bool
	Period   string  // the period of the value, such as "in October"
	Expected float64 // the value on the straight line at the end of Period; set if State is GoalBehind or GoalOnPace
}

// GoalMonths returns the first and the last day of the period whose monthly points Judge needs.
func GoalMonths(now time.Time) (from, to time.Time) {
	today := period.Day.Start(now.UTC())
	return period.Month.Next(period.Month.Start(today), -1), today
}

// NeedsPoints reports whether the state or the text of a goal depends on its metric.
func NeedsPoints(g client.Goal) bool {
	_, hasTarget := g.TargetValue.Get()
	_, hasDue := g.DueAt.Get()
	return isActive(g) && hasTarget && hasDue && g.MetricKey.Or("") != ""
}

func isActive(g client.Goal) bool { return g.Status.Or("") == client.ContextGoalStatusActive }

// Judge says how a goal stands. A goal is past when its due day (UTC) is over. It is behind when its
// metric's value is short of a straight line from the baseline, when the goal was created, to the
// target at the due date. The value is that of the last full month (UTC), compared with the line at
// the end of that month; of a metric whose aggregation is last, it is the newest value. A goal that
// was created after the last full month is not judged yet.
//
// m is the goal's metric, or nil if it is unknown. months are the metric's monthly totals between the
// days that GoalMonths returns.
func Judge(g client.Goal, m *series.Metric, months []client.Point, now time.Time) Judgement {
	out := Judgement{Goal: g}
	var end time.Time // the end of the value's period
	if m != nil {
		end = out.setValue(m, months, now.UTC())
	}
	due, hasDue := g.DueAt.Get()
	switch {
	case !isActive(g) || !hasDue:
	case !now.Before(period.Day.Start(due.UTC()).AddDate(0, 0, 1)):
		out.State = GoalPast
	default:
		out.setPace(end, due)
	}
	return out
}

// setValue sets the value that is compared with the goal. It returns the end of the value's period.
func (j *Judgement) setValue(m *series.Metric, months []client.Point, now time.Time) (end time.Time) {
	money := series.MoneyOf(months)
	j.Unit = units.Unit{Name: m.UnitName, Currency: money.Currency}
	thisMonth := period.Month.Start(now)
	starts := []time.Time{period.Month.Next(thisMonth, -1), thisMonth}
	values := money.BucketValues(months, starts)
	i := 0
	if m.Aggregation == client.MetricsAggregationLast && values[1].OK {
		i = 1
	}
	if j.HasValue = values[i].OK && !money.Mixed; !j.HasValue {
		return time.Time{}
	}
	j.Value, j.Period, end = values[i].V, "in "+starts[i].Format("January"), thisMonth
	if i == 1 {
		j.Period, end = "so far this month", now
	}
	return end
}

// setPace compares the value with the straight line from the baseline to the target.
func (j *Judgement) setPace(end, due time.Time) {
	baseline, hasBaseline := j.BaselineValue.Get()
	target, hasTarget := j.TargetValue.Get()
	created, hasCreated := j.CreatedAt.Get()
	if !j.HasValue || !hasBaseline || !hasTarget || !hasCreated || baseline == target || !created.Before(end) || !created.Before(due) {
		return
	}
	share := min(1, float64(end.Sub(created))/float64(due.Sub(created)))
	j.Expected = baseline + share*(target-baseline)
	if j.State = GoalOnPace; (j.Value-j.Expected)*(target-baseline) < 0 {
		j.State = GoalBehind
	}
}

// Name returns the goal's name.
func (j Judgement) Name() string { return j.Goal.Name.Or("a goal without a name") }

// Due formats the goal's due day, or returns "" if it has none.
func (j Judgement) Due() string {
	if due, ok := j.DueAt.Get(); ok {
		return due.UTC().Format("Jan 2, 2006")
	}
	return ""
}

// Text says where the goal stands, without its name.
func (j Judgement) Text() string {
	var parts []string
	target, hasTarget := j.TargetValue.Get()
	switch {
	case j.HasValue && hasTarget:
		parts = append(parts, fmt.Sprintf("%s of %s %s", j.Unit.Text(j.Value), j.Unit.Text(target), j.Period))
	case hasTarget:
		parts = append(parts, "target "+j.Unit.Text(target))
	}
	switch due := j.Due(); {
	case j.State == GoalPast:
		parts = append(parts, "was due "+due)
	case j.State == GoalBehind, j.State == GoalOnPace:
		parts = append(parts, "on pace would be "+j.Unit.Text(threeDigits(j.Expected)), "due "+due)
	case due != "":
		parts = append(parts, "due "+due)
	}
	return strings.Join(parts, ", ")
}

// threeDigits rounds a value to about three digits, because more digits would suggest an exact
// prediction.
func threeDigits(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow10(2 - int(math.Floor(math.Log10(math.Abs(v)))))
	return math.Round(v*scale) / scale
}
