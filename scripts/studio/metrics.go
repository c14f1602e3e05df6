package studio

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// The screen of a metric is made in these steps, each in a file:
//
//	metrics_query.go   what the address requests
//	metrics_read.go    the calls of the API
//	metrics_whole.go   the metric as one line, and the period before
//	metrics_parts.go   the metric as a line for each value of a dimension
//	metrics_csv.go     the same values as a file
//
// series.go defines a metric and its comparison; the overview uses it, too.

// metricsPage is the data of the template.
type metricsPage struct {
	Menu      []menuGroup // the metrics
	Listed    int         // how many
	Find      string      // the search
	Query     url.Values  // of the address, without the search
	MayWrite  bool
	Today     time.Time
	Period    *periodControls // nil without a metric
	Metric    *metricView     // nil: none is shown
	Missing   bool            // the address names a metric that does not exist
	Failure   *failure        // the metrics cannot be read
	Complaint string
}

// menuGroup is a group of metrics in the menu.
type menuGroup struct {
	Name  string
	Links []choice
}

// choice is a link of a group.
type choice struct {
	Name, Path, Note string
	Current          bool
}

// periodControls are the links to other ranges, and the form for a custom range.
type periodControls struct {
	Range      period.Range
	Ranges     []choice
	From, To   string
	Key, Split string // the rest of the address
}

// metricView is one metric. Exactly one of NoPoints, Whole and Parts is set.
type metricView struct {
	metric

	Grains   []choice
	Splits   []choice
	CSV      string   // the address of the file
	Query    string   // of the address
	NoPoints *failure // the points cannot be read
	Whole    *wholeView
	Parts    *partsView
	Advice   string // says why nothing is drawn, and what to do; empty if something is drawn
	Notice   string // why the metric is not shown as the address requests
}

func (s *Studio) metrics(v *pageRequest) *view {
	page := v.loadMetric()
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

// loadMetric reads a metric and everything that its page shows. Without a key in the address, it
// reads the first metric.
func (v *pageRequest) loadMetric() *metricsPage {
	q := v.metricQuery()
	page := &metricsPage{Complaint: q.complaint, Find: q.find, Query: q.values, MayWrite: v.may("metrics:write"), Today: q.now}
	definitions, goals := v.listDefinitions(), v.listGoals()
	var reads pointReads
	if q.key != "" {
		reads = v.readPoints(q)
	}
	v.wait()
	all := metricsOf(definitions.Value.Items, goals.Value.Items)
	if page.Failure = definitions.Failure; page.Failure != nil || len(all) == 0 {
		return page
	}
	if q.key == "" {
		q = q.withKey(all[0].Key)
		reads = v.readPoints(q)
		reads.inputs = v.readInputs(all[0], q, all)
		v.wait()
	}
	page.Menu, page.Listed = q.menu(all), len(all)
	at := slices.IndexFunc(all, func(m metric) bool { return m.Key == q.key })
	if at < 0 {
		page.Missing = true
		return page
	}
	if reads.inputs == nil && reads.empty() {
		reads.inputs = v.readInputs(all[at], q, all)
		v.wait()
	}
	page.Metric = all[at].view(q, reads)
	page.Complaint = cmp.Or(page.Metric.Notice, page.Complaint)
	page.Period = q.controls()
	return page
}

// view computes what the page shows from the points of a metric.
func (m metric) view(q metricQuery, reads pointReads) *metricView {
	w := q.rng.Window(q.grain, q.now)
	every, cut, failed := reads.everySeries()
	out := &metricView{metric: m, Grains: q.grains(), Splits: q.splits(dimensionsOf(m, every)), CSV: q.with("/metrics.csv"), Query: q.values.Encode()}
	switch {
	case q.split != "" && failed != nil:
		out.NoPoints = failed
	case q.split != "":
		out.Parts = m.parts(every, byDimension(q.split), w)
		if out.Parts.Cut = cut; len(out.Parts.List) == 0 {
			out.Advice = "No point in this range has this dimension. Try another range or grain."
		}
	case moneyOf(every).mixed:
		out.Parts = m.parts(every, byCurrency, w)
		out.Notice = "The points have several currencies and no value in the base currency, so they stay apart."
	case reads.inputs != nil && reads.empty():
		out.Whole, out.Advice = m.compute(q.rng, w, reads.inputs)
		out.metric = out.Whole.metric
	case reads.total.Failure.apart():
		out.Whole = m.whole(q.rng, w, pointReads{})
		out.Advice = "This metric has values by part only, and its " + m.How() + " cannot be made from parts. Choose a split."
	case reads.total.Failure != nil:
		out.NoPoints = reads.total.Failure
	default:
		out.Whole = m.whole(q.rng, w, reads)
		if len(reads.total.Value.Items) == 0 {
			out.Advice = m.advice(q.grain)
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

// line returns a chart of the metric without its series.
func (m metric) line(unit units.Unit, w period.Window) chart.Line {
	l := chart.Line{Unit: unit, Zero: m.Total() || m.UnitName == units.Count, Open: w.Open}
	for _, at := range w.Now {
		l.Ticks, l.Names = append(l.Ticks, w.Grain.Tick(at)), append(l.Names, w.Grain.Label(at))
	}
	return l
}

// dayText formats a day as in addresses and files.
func dayText(t time.Time) string { return t.Format(time.DateOnly) }
