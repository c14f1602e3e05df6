package report

import (
	"context"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/attention"
	"growthworkspace/scripts/studio/batch"
	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/formula"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// Metric is a metric of the report.
type Metric struct {
	Key    string `json:"key"`
	Name   string `json:"name"`
	How    string `json:"how"`    // how the values of a week's days are combined, such as "total"
	Now    string `json:"now"`    // the value of the days that Report.Days names; empty if there is none
	Before string `json:"before"` // the value of the same weekdays of the week before
	Change string `json:"change"` // empty if Now and Before cannot be compared
	Good   string `json:"good"`   // "good", "bad" or "even"; empty if Change is empty
	Note   string `json:"note"`   // why a value or the change is missing

	Value       *float64 `json:"value"`       // Now as a number, in the unit of the metric
	BeforeValue *float64 `json:"beforeValue"` // Before as a number
	Weeks       []Bucket `json:"weeks"`       // the service's weekly values, up to the week of the report

	values []chart.Value // the values of Weeks
	over   bool          // whether the last of Weeks is over
}

// Bucket is the value of one week.
type Bucket struct {
	Monday string   `json:"monday"`
	Value  *float64 `json:"value"`
}

// weeksMax is how many weeks a sparkline shows, including the week of the report.
const weeksMax = 13

// metricCalls are the calls for one metric.
type metricCalls struct {
	series.Metric

	weeks *batch.Result[client.Page[client.Point]]
	days  *batch.Result[client.Page[client.Point]] // the days of both weeks; nil if the week is over
}

// startMetrics starts the calls for the first metrics. Those with an active goal come first. A
// derived metric needs no call, because it is computed from other metrics.
func (build *builder) startMetrics() {
	for _, m := range series.Of(build.definitions.Value.Items, build.goals.Value.Items) {
		calls := &metricCalls{Metric: m}
		if build.metrics = append(build.metrics, calls); m.Kind == client.MetricsKindDerived || build.measuredCount() > metricsMax {
			continue
		}
		calls.weeks = build.startPoints(m.Key, period.Week, build.monday.AddDate(0, 0, 7*(1-weeksMax)), build.monday)
		if build.daysOver > 0 && build.daysOver < 7 && build.rollsUp(m) {
			calls.days = build.startPoints(m.Key, period.Day, build.monday.AddDate(0, 0, -7), build.monday.AddDate(0, 0, 6))
		}
	}
}

// measuredCount returns how many of the metrics are not derived.
func (build *builder) measuredCount() (n int) {
	for _, m := range build.metrics {
		if m.Kind != client.MetricsKindDerived {
			n++
		}
	}
	return n
}

// rollsUp reports whether the daily values of a metric can be combined into weekly ones.
func (build *builder) rollsUp(m series.Metric) bool {
	return m.Aggregation != client.MetricsAggregationNone
}

func (build *builder) startPoints(key string, grain period.Grain, from, to time.Time) *batch.Result[client.Page[client.Point]] {
	in := client.ListMetricPointsInput{
		MetricKey: key, Grain: client.Value(client.MetricsGrain(grain)), From: client.Value(client.Day(from)), To: client.Value(client.Day(to)), Total: client.Value(true),
	}
	return batch.Try(build.Reader, func(ctx context.Context) (client.Page[client.Point], error) {
		return build.API.ListMetricPoints(ctx, in)
	})
}

// metricValues are the values of a metric in the report.
type metricValues struct {
	unit        units.Unit
	weeks       []chart.Value // the last value is that of the report's week
	now, before chart.Value
	note        string
}

// metricRows returns the rows of the metrics. omitted is the number of metrics that have no row. A
// derived metric has no row if its formula contains a metric without values.
func (build *builder) metricRows() (rows []Metric, omitted int) {
	rows = []Metric{}
	values := map[string]metricValues{}
	for _, m := range build.metrics {
		if m.weeks != nil {
			values[bareKey(m.Key)] = build.values(m)
		}
	}
	for _, m := range build.metrics {
		v, known := values[bareKey(m.Key)]
		if m.Kind == client.MetricsKindDerived && len(rows) < metricsMax+2 {
			v, known = derive(m.Metric, values)
			m.Computed = true
		}
		if !known {
			omitted++
			continue
		}
		rows = append(rows, build.row(m.Metric, v))
	}
	if build.definitions.Value.Next != "" {
		build.AddGap(batch.Gap{Part: partMetrics, Reason: "only the first 200 definitions were read"})
	}
	return rows, omitted
}

func bareKey(key string) string { return strings.TrimPrefix(key, "custom.") }

// values returns the values of a metric that was read. If the week is over, they are the service's
// roll-ups of both weeks. Otherwise, the finished days of both weeks are combined as the service
// combines them.
func (build *builder) values(m *metricCalls) (out metricValues) {
	for _, result := range []*batch.Result[client.Page[client.Point]]{m.weeks, m.days} {
		switch {
		case result == nil || result.Known:
		case attention.IsTotalRefusal(result.Err):
			return metricValues{note: "it has values by part only, and no total"}
		default:
			build.AddFailure(partMetrics, result.Err)
			return metricValues{note: "it could not be read"}
		}
	}
	points := m.weeks.Value.Items
	if m.days != nil {
		points = slices.Concat(points, m.days.Value.Items)
	}
	money := series.MoneyOf(points)
	out.unit = units.Unit{Name: m.UnitName, Currency: money.Currency}
	if money.Mixed {
		return metricValues{note: "it has several currencies and no value in the base currency"}
	}
	var starts []time.Time
	for i := range weeksMax {
		starts = append(starts, build.monday.AddDate(0, 0, 7*(i+1-weeksMax)))
	}
	out.weeks = money.BucketValues(m.weeks.Value.Items, starts)
	switch {
	case build.daysOver == 7:
		out.now, out.before = out.weeks[weeksMax-1], out.weeks[weeksMax-2]
		out.note = comparisonProblem(out.weeks)
	case build.daysOver == 0: // no day can be compared yet, and the whole week before is not the same days
	case m.days == nil:
		out.note = "its days do not combine, and the week is not over"
	default:
		out.setDays(build.span, m.Metric, money.BucketValues(m.days.Value.Items, build.daysOfTwoWeeks()))
	}
	return out
}

// comparisonProblem says why the last two weeks cannot be compared, or returns "". The service does
// not say how many days of a week have values. So the first week with a value is not compared: its
// values may start in the middle of the week, and the metric would seem to have grown.
func comparisonProblem(weeks []chart.Value) string {
	first := slices.IndexFunc(weeks, func(v chart.Value) bool { return v.OK })
	switch {
	case first < 0 || !weeks[weeksMax-1].OK:
		return "no value for the week"
	case !weeks[weeksMax-2].OK:
		return "no value for the week before"
	case first == weeksMax-2:
		return "the week before is the first with values, so it may be a part of a week"
	}
	return ""
}

// daysOfTwoWeeks returns the days of the previous week, followed by those of the report's week.
func (build *builder) daysOfTwoWeeks() (out []time.Time) {
	for i := range 14 {
		out = append(out, build.monday.AddDate(0, 0, i-7))
	}
	return out
}

// setDays combines the values of the finished days of the week, and those of the same weekdays of
// the week before.
func (v *metricValues) setDays(s span, m series.Metric, days []chart.Value) {
	now, before := days[7:7+s.daysOver], days[:s.daysOver]
	v.now, v.before = m.Combine(now), m.Combine(before)
	switch {
	case !v.now.OK:
		v.note = "no daily values"
	case !v.before.OK:
		v.note = "no value for the same days before"
	case series.CountKnown(before) < series.CountKnown(now):
		v.note = "the same days before have fewer values"
	case m.Total() && series.CountKnown(now) < series.CountKnown(before): // the values of a day may not have been pushed yet
		v.note = "the same days before have more values"
	}
}

// derive computes a derived metric from the values of other metrics. known is false if it cannot be
// computed.
func derive(m series.Metric, values map[string]metricValues) (out metricValues, known bool) {
	parsed, err := formula.Parse(m.Formula)
	if err != nil {
		return out, false
	}
	for _, key := range parsed.Keys() {
		v, ok := values[bareKey(key)]
		if !ok || len(v.weeks) == 0 {
			return out, false
		}
		if v.note != "" {
			out.note = "one of its metrics cannot be compared"
		}
	}
	compute := func(valueOf func(metricValues) chart.Value) chart.Value {
		v, ok := parsed.Value(func(key string) (float64, bool) { v := valueOf(values[bareKey(key)]); return v.V, v.OK })
		return chart.Value{V: v, OK: ok}
	}
	out.unit = units.Unit{Name: m.UnitName}
	for i := range weeksMax {
		out.weeks = append(out.weeks, compute(func(v metricValues) chart.Value { return v.weeks[i] }))
	}
	out.now = compute(func(v metricValues) chart.Value { return v.now })
	out.before = compute(func(v metricValues) chart.Value { return v.before })
	return out, true
}

func (build *builder) row(m series.Metric, v metricValues) Metric {
	out := Metric{Key: m.Key, Name: phrase.Excerpt(m.Name, 60), How: m.How(), Note: v.note, values: v.weeks, over: build.daysOver == 7, Weeks: []Bucket{}}
	for i, week := range v.weeks {
		out.Weeks = append(out.Weeks, Bucket{client.Day(build.monday.AddDate(0, 0, 7*(i+1-weeksMax))), number(week)})
	}
	out.Value, out.BeforeValue = number(v.now), number(v.before)
	if v.now.OK {
		out.Now = v.unit.Short(v.now.V)
	}
	if v.before.OK {
		out.Before = v.unit.Short(v.before.V)
	}
	if v.now.OK && v.before.OK && v.note == "" {
		var sign int
		out.Change, sign, _ = v.unit.Change(v.now.V, v.before.V)
		out.Good = m.ChangeQuality(sign)
	}
	return out
}

func number(v chart.Value) *float64 {
	if !v.OK {
		return nil
	}
	return &v.V
}
