package studio

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// The metric page is built in these steps, each in its own file:
//
//	metrics_query.go   what the address requests
//	metrics_read.go    the API calls
//	metrics_whole.go   the metric as one line, compared with the previous period
//	metrics_parts.go   the metric as one line for each value of a dimension
//	metrics_csv.go     the same values as a CSV file
//
// Package series defines a metric and its comparison with earlier values. The overview and the
// report of a week also use it.

// metricsPage is the data for the metrics template.
type metricsPage struct {
	Menu      []menuGroup // links to the metrics, in groups
	Listed    int         // the number of metrics, whether or not they match the search
	Find      string      // the words to search for; may be empty
	Query     url.Values  // the query parameters of the address, without the search
	MayWrite  bool
	Today     time.Time
	Period    *periodControls // nil if no metric is shown
	Metric    *metricView     // nil if no metric is shown
	Missing   bool            // the address names a metric that does not exist
	Failure   *failure        // why the metrics cannot be read; nil if they can
	Complaint string
}

type menuGroup struct {
	Name  string
	Links []choice
}

// choice is a link in a list of choices, such as a menu group.
type choice struct {
	Name, Path, Note string
	Current          bool
}

// periodControls holds the links to other ranges, and the values of the form for a custom range.
type periodControls struct {
	Range      period.Range
	Ranges     []choice
	From, To   string
	Key, Split string // the metric and the dimension in the address, which the form keeps
}

// metricView is the metric that the page shows. Exactly one of NoPoints, Whole and Parts is set.
type metricView struct {
	metric

	Grains   []choice
	Splits   []choice
	CSV      string   // the address of the CSV file
	Query    string   // the query string of the address
	NoPoints *failure // why the points cannot be read; nil if they can
	Whole    *wholeView
	Parts    *partsView
	Advice   string // says why nothing is drawn, and what to do; empty if something is drawn
	Empty    bool   // nothing is stored for the metric, in any range
	Marks    *marksView
	Pin      *pinForm // nil if the overview cannot show the metric
	Notice   string   // why the metric is not shown as the address requests
}

func (s *Studio) metrics(v *pageRequest) *view {
	page := v.loadMetric(true)
	out := &view{page: "metrics", place: "Metrics", title: "Metrics", data: page}
	switch {
	case page.Failure != nil:
		out.status = page.Failure.status()
	case page.Missing:
		out.status = http.StatusNotFound
	case page.Metric != nil:
		out.title = cmp.Or(page.Metric.Name, out.title)
	}
	return out
}

// loadMetric reads a metric and everything that its page shows. If the address contains no key, it
// reads the first metric. If withMarks is true, it also reads the marks of the chart.
func (pr *pageRequest) loadMetric(withMarks bool) *metricsPage {
	q := pr.metricQuery()
	page := &metricsPage{Complaint: q.rangeProblem, Find: q.searchText, Query: q.values, MayWrite: pr.may("metrics:write"), Today: q.now}
	definitions, goals := pr.listDefinitions(), pr.listGoals()
	var reads pointReads
	var chartMarks *markReads
	if q.key != "" {
		reads = pr.readPoints(q)
		if withMarks && q.leavesRoomForMarks() {
			chartMarks = pr.readMarks(q)
		}
	}
	pr.wait()
	all := metricsOf(definitions.Value.Items, goals.Value.Items)
	if page.Failure = definitions.Failure; page.Failure != nil || len(all) == 0 {
		return page
	}
	if q.key == "" {
		q = q.withKey(all[0].Key)
		reads = pr.readPoints(q)
		reads.inputs = pr.readInputs(all[0], q, all)
		if withMarks {
			chartMarks = pr.readMarks(q)
		}
		pr.wait()
	}
	page.Menu, page.Listed = q.menu(all), len(all)
	at := slices.IndexFunc(all, func(m metric) bool { return m.Key == q.key })
	if at < 0 {
		page.Missing = true
		return page
	}
	if reads.inputs == nil && reads.empty() {
		reads.inputs = pr.readInputs(all[at], q, all)
		if reads.inputs == nil {
			reads.newest = pr.readNewest(q.key)
		}
	}
	if withMarks && chartMarks == nil {
		chartMarks = pr.readMarks(q)
	}
	pr.wait()
	if chartMarks != nil {
		all[at].marks = chartMarks.view(q)
	}
	page.Metric = all[at].view(q, reads)
	if all[at].Kind != client.MetricsKindDerived {
		page.Metric.Pin = pr.pinForm(all[at], q.values.Encode())
	}
	page.Complaint = cmp.Or(page.Metric.Notice, page.Complaint)
	page.Period = q.controls()
	return page
}

// view returns what the page shows for a metric, computed from the metric's points.
func (m metric) view(q metricQuery, reads pointReads) *metricView {
	w := q.dateRange.Window(q.grain, q.now)
	points, cut, failed := reads.everySeries()
	out := &metricView{metric: m, Marks: m.marks, Grains: q.grains(), Splits: q.splits(dimensionsOf(m, points)), CSV: q.pathWith("/metrics.csv"), Query: q.values.Encode()}
	switch {
	case q.split != "" && failed != nil:
		out.NoPoints = failed
	case q.split != "":
		out.Parts = m.parts(points, byDimension(q.split), w)
		if out.Parts.Cut = cut; len(out.Parts.List) == 0 {
			out.Advice = "No point in this range has this dimension. Try another range or grain."
		}
	case series.MoneyOf(points).Mixed:
		out.Parts = m.parts(points, byCurrency, w)
		out.Notice = "The points have several currencies and no value in the base currency, so they stay apart."
	case reads.inputs != nil && reads.empty():
		out.Whole, out.Advice = m.compute(q.dateRange, w, reads.inputs)
		out.metric = out.Whole.metric
	case reads.total.Failure.isTotalRefusal():
		out.Whole = m.wholeView(q.dateRange, w, pointReads{})
		out.Advice = "This metric has values by part only, and its " + m.How() + " cannot be made from parts. Choose a split."
	case reads.total.Failure != nil:
		out.NoPoints = reads.total.Failure
	default:
		out.Whole = m.wholeView(q.dateRange, w, reads)
		if len(reads.total.Value.Items) == 0 {
			out.Advice = m.advice(q.grain)
			if newest, known := reads.newestPointText(); known {
				out.Advice += newest
				if out.Empty = newest == ""; out.Empty {
					out.Advice = "This metric has no values yet."
				}
			}
		}
	}
	return out
}

// advice explains why a metric has no points, and what to do.
func (m metric) advice(grain period.Grain) string {
	if m.Kind == client.MetricsKindDerived {
		return "A derived metric is computed here as a whole, not by part."
	}
	if grain != period.Month {
		return "There are no " + map[period.Grain]string{period.Day: "daily", period.Week: "weekly"}[grain] + " points in this range. Try another grain, or a longer range."
	}
	return "There are no points in this range."
}

// line returns a line chart for the metric. The caller must add the series to the chart.
func (m metric) line(unit units.Unit, w period.Window) chart.Line {
	l := chart.Line{Unit: unit, IncludeZero: m.Total() || m.UnitName == units.Count, OpenIndex: w.OpenIndex}
	if m.marks != nil {
		l.Lanes = m.marks.lanes()
	}
	for _, at := range w.Buckets {
		l.Ticks, l.Names = append(l.Ticks, w.Grain.Tick(at)), append(l.Names, w.Grain.Label(at))
	}
	return l
}

// dayText formats a day as it is written in addresses and files, such as 2026-08-31.
func dayText(t time.Time) string { return t.Format(time.DateOnly) }
