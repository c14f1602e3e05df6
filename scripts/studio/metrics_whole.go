package studio

import (
	"html/template"
	"slices"
	"time"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// wholeView is a metric drawn as one line, compared with the previous period.
type wholeView struct {
	metric
	series.Comparison

	Range period.Range
	Chart template.HTML
	Rows  []bucketRow
	Goal  string // the goal in words, or empty
	From  string // the names of the metrics from which the values are computed; empty if the values are stored
}

// bucketRow is a row of the table below the chart.
type bucketRow struct {
	Name, Now, Before, Change, Good string
	Day                             string // the day as it is written in addresses; empty if the bucket is a week or a month
	Open                            bool
	Part                            string // the value for those days of the current week or month that have ended
}

// wholeView returns the view of a metric as one line. If there are no points, the view has no
// chart.
func (m metric) wholeView(rng period.Range, w period.Window, reads pointReads) *wholeView {
	var points []client.Point
	if reads.total != nil {
		points = reads.total.Value.Items
	}
	d := &wholeView{metric: m, Comparison: m.Compare(points, w), Range: rng}
	if len(points) == 0 {
		return d
	}
	d.draw()
	if now, before, ok := reads.fullDays(m, d.Money); ok {
		d.compareFullDays(now, before)
	}
	return d
}

// draw makes the chart and the table.
func (view *wholeView) draw() {
	view.Goal = view.goalText(view.Unit)
	l := view.line(view.Unit, view.Window)
	l.Title, l.Goal = view.title(), view.goalLine(view.Unit, view.Window)
	l.Series = []chart.Series{{Values: view.Now}}
	if view.HasBefore() {
		l.Before = view.Before
	}
	view.Chart = l.SVG()
	view.Rows = view.rows()
}

// Dashed reports whether the chart has a dashed part, from the last full bucket to the unfinished
// one.
func (view *wholeView) Dashed() bool { return hasDashedPart(view.Window, view.Now) }

func hasDashedPart(w period.Window, values []chart.Value) bool {
	return w.Partial() && w.OpenIndex > 0 && values[w.OpenIndex-1].OK && values[w.OpenIndex].OK
}

// Earlier is the heading of the table's column of earlier values, such as "4 weeks before".
func (view *wholeView) Earlier() string {
	if view.Window.Grain != period.Day {
		return "before"
	}
	return phrase.Plural(view.Window.WeeksBack(), "week", "weeks") + " before"
}

// title describes the chart for people who cannot see it.
func (view *wholeView) title() string {
	text := view.Name + " by " + string(view.Window.Grain) + ", " + view.Window.Text(view.Window.Buckets, view.Window.FutureIndex) + ", UTC."
	if view.Value.OK {
		text += " " + view.How() + " " + view.Unit.Text(view.Value.V) + "."
	}
	if view.Change != "" {
		text += " " + view.Change + " to the period before."
	}
	return text + " The table below has the values."
}

// Period returns the period's name for the headline. If the weeks of a month include days of the
// months before or after, Period also names the first and the last day.
func (view *wholeView) Period() string {
	if !view.Window.ExceedsRange(view.Range) {
		return view.Range.Name
	}
	return view.Range.Name + " in whole " + string(view.Window.Grain) + "s, " + view.Window.Text(view.Window.Buckets, view.Window.FutureIndex)
}

// rows returns the rows of the table, newest bucket first.
func (view *wholeView) rows() (rows []bucketRow) {
	w := view.Window
	for i := w.FutureIndex - 1; i >= 0; i-- {
		r := bucketRow{Name: w.Grain.Label(w.Buckets[i]), Open: i >= w.OpenIndex}
		if w.Grain == period.Day {
			r.Day = dayText(w.Buckets[i])
		}
		now, before := view.Now[i], view.Before[i]
		if now.OK {
			r.Now = view.Unit.Text(now.V)
		}
		if before.OK {
			r.Before = view.Unit.Text(before.V)
		}
		if now.OK && before.OK && !r.Open { // a bucket that has not ended is not compared with a whole one
			var sign int
			r.Change, sign, _ = view.Unit.Change(now.V, before.V)
			r.Good = view.ChangeQuality(sign)
		}
		rows = append(rows, r)
	}
	return rows
}

// fullDays returns two values: one for the days of the current week or month that have ended,
// computed from full, and one for the same number of earlier days, computed from fullBefore. ok is
// false if either value is missing.
func (p pointReads) fullDays(m metric, money series.Money) (now, before chart.Value, ok bool) {
	if p.full == nil || p.full.Failure != nil || p.fullBefore.Failure != nil {
		return now, before, false
	}
	now, before = m.CombinePoints(p.full.Value.Items, money), m.CombinePoints(p.fullBefore.Value.Items, money)
	return now, before, now.OK && before.OK
}

// compareFullDays adds the results of fullDays, and the change between them, to the row of the
// current week or month, the first in the table.
func (view *wholeView) compareFullDays(now, before chart.Value) {
	if len(view.Rows) == 0 || !view.Rows[0].Open {
		return
	}
	r := &view.Rows[0]
	var sign int
	r.Before, r.Part = view.Unit.Text(before.V), view.Unit.Text(now.V)
	r.Change, sign, _ = view.Unit.Change(now.V, before.V)
	r.Good = view.ChangeQuality(sign)
}

// goalLine returns the line for the first active goal, over the buckets whose values can be
// compared with the goal. A goal for a value that is summed over time, such as sign-ups, is a goal
// for the month in which it is due. So its line is drawn only in a monthly chart, over that month.
// A goal for any other value, such as a rating, has a line until its due date.
func (m metric) goalLine(unit units.Unit, w period.Window) *chart.Goal {
	target, ok := m.Target()
	if !ok {
		return nil
	}
	due, hasDue := m.Goals[0].DueAt.Get()
	g := &chart.Goal{Text: "goal " + unit.Short(target), Value: target, To: len(w.Buckets) - 1}
	switch {
	case m.Total():
		if w.Grain != period.Month || !hasDue {
			return nil
		}
		g.From = slices.IndexFunc(w.Buckets, func(at time.Time) bool { return at.Equal(period.Month.Start(due)) })
		g.To = g.From
	case hasDue:
		for g.To >= 0 && w.Buckets[g.To].After(due) {
			g.To--
		}
	}
	if g.To < 0 {
		return nil
	}
	return g
}

// goalText describes the first goal in words.
func (m metric) goalText(unit units.Unit) string {
	if len(m.Goals) == 0 {
		return ""
	}
	goal := m.Goals[0]
	text := goal.Name.Or("Goal")
	if target, ok := goal.TargetValue.Get(); ok {
		text += ": " + unit.Short(target)
	}
	if due, ok := goal.DueAt.Get(); ok {
		text += " by " + due.UTC().Format("January 2, 2006")
	}
	if status := goal.Status.Or(""); status != client.ContextGoalStatusActive && status != "" {
		text += " (" + phrase.Words(string(status)) + ")"
	}
	return text
}
