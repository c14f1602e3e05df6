package studio

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/measure"
	"growthworkspace/shared/client"
)

// metricsData is what the template of a metric shows.
type metricsData struct {
	metric
	development

	All       []choice // the metrics
	Ranges    []choice
	Grains    []choice
	Splits    []choice
	Range     measure.Range
	From, To  string // of a range of one's own
	Complaint string

	Failure  *failure // the metrics cannot be read
	NoPoints *failure // the points cannot be read
	NoGoals  *failure
	Missing  bool // the address names a metric that does not exist
	Empty    bool
	Advice   string // what to do when nothing is drawn
	Split    string // the dimension
	Parts    []part
	Left     int  // parts that are not drawn
	Cut      bool // some points were not read

	Chart   template.HTML
	Rows    []measured
	CSV     string
	GoalSay string
}

// choice is a link of a group.
type choice struct {
	Name, Path, Note string
	Current          bool
}

// part is one value of a dimension.
type part struct {
	Name   string
	Values []chart.Value
	Value  chart.Value
	Text   string
	Share  float64
	Class  string
	Drawn  bool
}

// measured is a row of the table beside the chart.
type measured struct {
	Name, Now, Before, Change, Good string
	Open                            bool
	Part                            string // the value of the full days of a bucket that is not over
}

// partsDrawn is how many parts have a line of their own.
const partsDrawn = 6

// metricQuery is what an address asks for.
type metricQuery struct {
	key, split string
	grain      measure.Grain
	rng        measure.Range
	now        time.Time
	complaint  string
	values     url.Values
}

func (v *visit) metricQuery() metricQuery {
	q := v.r.URL.Query()
	out := metricQuery{key: q.Get("key"), split: q.Get("split"), now: v.Now().UTC(), values: url.Values{}}
	var err error
	if out.rng, err = measure.ParseRange(q.Get("range"), q.Get("from"), q.Get("to"), out.now); err != nil {
		out.complaint = err.Error()
	}
	out.grain = measure.Grain(q.Get("grain"))
	if !out.grain.Valid() || !out.rng.Allows(out.grain) {
		out.grain = out.rng.Default()
	}
	for _, name := range []string{"key", "range", "from", "to", "grain", "split"} {
		if text := q.Get(name); text != "" {
			out.values.Set(name, text)
		}
	}
	return out
}

// with returns the address with other choices: names and values in turn; an empty value removes.
func (q metricQuery) with(path string, pairs ...string) string {
	values := copyOf(q.values)
	for i := 0; i+1 < len(pairs); i += 2 {
		if values.Del(pairs[i]); pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return path + "?" + values.Encode()
}

// pointReads are the calls for the points of a metric.
type pointReads struct {
	total *result[client.Page[client.Point]]   // of the whole metric, in the window and the one before; nil when split
	parts []*result[client.Page[client.Point]] // of every series in the window, in pieces

	// The full days of the bucket that is not over, and as many of the one before; nil for days.
	full, fullBefore *result[client.Page[client.Point]]
}

// piecesMax is in how many pieces a split window is read.
const piecesMax = 6

// readPoints starts the calls for the points. A split window is read in pieces side by side, because a page of the API has at most
// 1,000 points.
func (v *visit) readPoints(q metricQuery, key string) pointReads {
	w := q.rng.Window(q.grain, q.now)
	last := w.Now[len(w.Now)-1]
	if q.split == "" {
		out := pointReads{total: v.listPoints("The points", key, q.grain, w.Before[0], last, true)}
		// They tell the dimensions, and are drawn where currencies must stay apart.
		out.parts = append(out.parts, v.listPoints("The points of every series", key, q.grain, w.Now[0], last, false))
		if from, to, before, beforeTo, some := w.FullDays(q.now); some {
			out.full = v.listPoints("The days of this "+string(q.grain), key, measure.Day, from, to, true)
			out.fullBefore = v.listPoints("The same days before", key, measure.Day, before, beforeTo, true)
		}
		return out
	}
	out := pointReads{}
	pieces := min(piecesMax, len(w.Now))
	for i := range pieces {
		from, to := w.Now[len(w.Now)*i/pieces], w.Now[len(w.Now)*(i+1)/pieces-1]
		out.parts = append(out.parts, v.listPoints("The points of every series", key, q.grain, from, to, false))
	}
	return out
}

// series returns the points of every series, and whether some are missing.
func (p pointReads) series() (all []client.Point, cut bool, failed *failure) {
	for _, r := range p.parts {
		if r.Failure != nil {
			return nil, false, r.Failure
		}
		all = append(all, r.Value.Items...)
		cut = cut || r.Value.Next != ""
	}
	return all, cut, nil
}

func (s *Studio) metrics(v *visit) *view {
	d, _ := v.loadMetric()
	out := &view{page: "metrics", place: "Metrics", title: cmp.Or(d.Name, "Metrics"), data: d}
	switch {
	case d.Failure != nil:
		out.status = d.Failure.status()
	case d.Missing:
		out.status = http.StatusNotFound
	}
	return out
}

// loadMetric reads a metric and everything that its page shows. Without a key in the address it is the first one.
func (v *visit) loadMetric() (*metricsData, metricQuery) {
	q := v.metricQuery()
	d := &metricsData{Range: q.rng, Complaint: q.complaint, Split: q.split}
	definitions, goals := v.listDefinitions(), v.listGoals()
	var reads *pointReads
	if q.key != "" {
		r := v.readPoints(q, q.key)
		reads = &r
	}
	v.wait()
	d.Failure, d.NoGoals = definitions.Failure, goals.Failure
	all := metricsOf(definitions.Value.Items, goals.Value.Items)
	if len(all) == 0 || d.Failure != nil {
		return d, q
	}
	at := 0
	if q.key != "" {
		at = slices.IndexFunc(all, func(m metric) bool { return m.Key == q.key })
	}
	d.list(all, q, at)
	if at < 0 {
		d.Missing = true
		return d, q
	}
	d.metric = all[at]
	if reads == nil {
		q.key = d.Key
		q.values.Set("key", d.Key)
		r := v.readPoints(q, d.Key)
		reads = &r
		v.wait()
	}
	d.controls(q)
	d.draw(q, *reads)
	return d, q
}

// list makes the links to the metrics.
func (d *metricsData) list(all []metric, q metricQuery, at int) {
	for i, m := range all {
		note := ""
		if m.NeedsReview {
			note = "new"
		}
		d.All = append(d.All, choice{m.Name, q.with("/metrics", "key", m.Key, "split", "", "grain", ""), note, i == at})
	}
}

// controls makes the links to other ranges and grains.
func (d *metricsData) controls(q metricQuery) {
	for _, r := range measure.Ranges(q.now) {
		d.Ranges = append(d.Ranges, choice{r.Name, q.with("/metrics", "range", r.ID, "from", "", "to", "", "grain", ""), "", q.rng.ID == r.ID})
	}
	for _, g := range []measure.Grain{measure.Day, measure.Week, measure.Month} {
		if q.rng.Allows(g) {
			d.Grains = append(d.Grains, choice{capital(g), q.with("/metrics", "grain", string(g)), "", q.grain == g})
		}
	}
	d.From, d.To = q.rng.From.Format(time.DateOnly), q.rng.To.Format(time.DateOnly)
	d.CSV = q.with("/metrics.csv")
}

func capital(g measure.Grain) string { return strings.ToUpper(string(g[:1])) + string(g[1:]) }

// draw makes the chart and the table.
func (d *metricsData) draw(q metricQuery, reads pointReads) {
	w := q.rng.Window(q.grain, q.now)
	every, cut, failed := reads.series()
	d.splits(q, every)
	if q.split != "" {
		if d.NoPoints = failed; failed == nil {
			d.Cut = cut
			d.drawParts(every, w, func(p client.Point) (string, bool) {
				name, ok := dimsOf(p)[q.split]
				return name, ok
			})
		}
		return
	}
	points := reads.total.Value.Items
	switch {
	case moneyOf(every).mixed:
		d.Split = "currency"
		d.drawParts(every, w, func(p client.Point) (string, bool) { return p.Currency.Or("no currency"), true })
		d.Complaint = "The points have several currencies and no value in the base currency, so they stay apart."
		return
	case reads.total.Failure.apart():
		d.Empty, d.Window = true, w
		d.Advice = "This metric has values by part only, and its " + d.How() + " cannot be made from parts. Choose a split."
		return
	case reads.total.Failure != nil:
		d.NoPoints = reads.total.Failure
		return
	}
	d.development = d.metric.develop(points, w)
	if d.Empty = len(points) == 0; d.Empty {
		d.Advice = d.advice(q)
		return
	}
	d.goalSay()
	d.Chart = d.line(w).SVG()
	d.rows(w)
	d.compareFullDays(reads)
}

// compareFullDays compares the bucket that is not over with the same part of the one before: its full days with as many days.
func (d *metricsData) compareFullDays(reads pointReads) {
	if reads.full == nil || reads.full.Failure != nil || reads.fullBefore.Failure != nil || len(d.Rows) == 0 || !d.Rows[0].Open {
		return
	}
	part := func(points []client.Point) chart.Value {
		values := make([]chart.Value, len(points))
		for i, p := range points {
			values[i] = d.Money.value(p)
		}
		return d.combine(values)
	}
	now, before := part(reads.full.Value.Items), part(reads.fullBefore.Value.Items)
	if !now.OK || !before.OK {
		return
	}
	r := &d.Rows[0]
	var sign int
	r.Before, r.Part = d.Unit.Text(before.V), d.Unit.Text(now.V)
	r.Change, sign, _ = d.Unit.Change(now.V, before.V)
	r.Good = d.judge(sign)
}

// splits offers the dimensions that the points have.
func (d *metricsData) splits(q metricQuery, every []client.Point) {
	dims := map[string]bool{}
	for _, name := range d.Dimensions {
		dims[name] = true
	}
	for _, p := range every {
		for name := range dimsOf(p) {
			dims[name] = true
		}
	}
	if len(dims) == 0 && q.split == "" {
		return
	}
	d.Splits = append(d.Splits, choice{"All", q.with("/metrics", "split", ""), "", q.split == ""})
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range dims {
			if !yield(name) {
				return
			}
		}
	}) {
		d.Splits = append(d.Splits, choice{"by " + words(name), q.with("/metrics", "split", name), "", q.split == name})
	}
}

// advice says why nothing is drawn, and what to do.
func (d *metricsData) advice(q metricQuery) string {
	if d.Kind == client.MetricsKindDerived {
		return "Not computed: the service stores a formula and does not evaluate it. Import its points to see them here."
	}
	if q.grain != measure.Month {
		return "There are no " + map[measure.Grain]string{measure.Day: "daily", measure.Week: "weekly"}[q.grain] + " points in this range. Try another grain, or a longer range."
	}
	return "There are no points in this range."
}

// title describes the chart for people who do not see it.
func (d *metricsData) title() string {
	text := d.Name + " by " + string(d.Window.Grain) + ", " + d.Window.Text(d.Window.Now, d.Window.Future) + ", UTC."
	if d.Value.OK {
		text += " " + d.How() + " " + d.Unit.Text(d.Value.V) + "."
	}
	if d.Change != "" {
		text += " " + d.Change + " to the period before."
	}
	return text + " The table below has the values."
}

// line describes the chart of the whole metric.
func (d *metricsData) line(w measure.Window) chart.Line {
	l := chart.Line{
		Title: d.title(), Unit: d.Unit, Zero: d.Total() || d.UnitName == measure.Count, Series: []chart.Series{{Values: d.Now}}, Before: d.Before[:len(d.Now)],
		Open: w.Open, Goal: d.goalLine(w),
	}
	l.Ticks, l.Names = labels(w)
	return l
}

func labels(w measure.Window) (ticks, names []string) {
	for _, at := range w.Now {
		ticks, names = append(ticks, w.Grain.Tick(at)), append(names, w.Grain.Label(at))
	}
	return ticks, names
}

// goalLine returns the line of the first active goal, where its value and the buckets belong together. A value that adds up, such
// as sign-ups, is that of the month in which the goal is due, so only that month of a monthly chart has a line; a level, such as a
// rating, has one until it is due.
func (d *metricsData) goalLine(w measure.Window) *chart.Goal {
	target, ok := d.target()
	if !ok {
		return nil
	}
	due, hasDue := d.Goals[0].DueAt.Get()
	g := &chart.Goal{Text: "goal " + d.Unit.Short(target), Value: target, To: len(w.Now) - 1}
	if d.Total() {
		if w.Grain != measure.Month || !hasDue {
			return nil
		}
		g.From = slices.IndexFunc(w.Now, func(at time.Time) bool { return at.Equal(measure.Month.Start(due)) })
		g.To = g.From
		if g.From < 0 {
			return nil
		}
		return g
	}
	if hasDue {
		for g.To >= 0 && w.Now[g.To].After(due) {
			g.To--
		}
		if g.To < 0 {
			return nil
		}
	}
	return g
}

// goalSay describes the goal in words, and how far the metric is where that can be said.
func (d *metricsData) goalSay() {
	if len(d.Goals) == 0 {
		return
	}
	goal := d.Goals[0]
	d.GoalSay = goal.Name.Or("Goal")
	if target, ok := goal.TargetValue.Get(); ok {
		d.GoalSay += ": " + d.Unit.Short(target)
	}
	if due, ok := goal.DueAt.Get(); ok {
		d.GoalSay += " by " + due.UTC().Format("January 2, 2006")
	}
	if status := goal.Status.Or(""); status != client.ContextGoalStatusActive && status != "" {
		d.GoalSay += " (" + words(string(status)) + ")"
	}
}

// rows makes the table, the newest bucket first.
func (d *metricsData) rows(w measure.Window) {
	for i := w.Future - 1; i >= 0; i-- {
		r := measured{Name: w.Grain.Label(w.Now[i]), Open: i >= w.Open}
		now, before := d.Now[i], d.Before[i]
		if now.OK {
			r.Now = d.Unit.Text(now.V)
		}
		if before.OK {
			r.Before = d.Unit.Text(before.V)
		}
		if now.OK && before.OK && !r.Open { // a part is not compared with a whole
			var sign int
			r.Change, sign, _ = d.Unit.Change(now.V, before.V)
			if r.Good = "even"; w.Grain != measure.Day { // a Sunday beside a Friday is neither good nor bad
				r.Good = d.judge(sign)
			}
		}
		d.Rows = append(d.Rows, r)
	}
}

// drawParts draws a line for each value of a dimension.
func (d *metricsData) drawParts(points []client.Point, w measure.Window, name func(client.Point) (string, bool)) {
	groups := grouped(points, d.Split, name)
	m := moneyOf(points)
	d.Money, d.Window = m, w
	d.Unit = measure.Unit{Name: d.UnitName, Currency: m.currency}
	for n, group := range groups {
		if m.mixed && d.Split == "currency" {
			m = moneyOf(group)
		}
		p := part{Name: n, Values: make([]chart.Value, len(w.Now))}
		for _, points := range bySeries(group) { // series with more dimensions add up, as far as the metric can
			for i, v := range m.place(points, w.Now) {
				if v.OK {
					p.Values[i] = d.combine([]chart.Value{p.Values[i], v})
				}
			}
		}
		p.Value = d.combine(p.Values[:w.Future])
		d.Parts = append(d.Parts, p)
	}
	slices.SortFunc(d.Parts, func(a, b part) int { return cmp.Or(cmp.Compare(b.Value.V, a.Value.V), cmp.Compare(a.Name, b.Name)) })
	if d.Empty = len(d.Parts) == 0; d.Empty {
		d.Advice = "No point in this range has this dimension. Try another range or grain."
		return
	}
	d.finishParts(w)
}

func bySeries(points []client.Point) map[string][]client.Point {
	out := map[string][]client.Point{}
	for _, p := range points {
		out[p.SeriesID] = append(out[p.SeriesID], p)
	}
	return out
}

// grouped sorts points by a dimension's values. When some series have this dimension alone, those with more are left out: they
// would count twice.
func grouped(points []client.Point, dimension string, name func(client.Point) (string, bool)) map[string][]client.Point {
	alone := dimension != "currency" && slices.ContainsFunc(points, func(p client.Point) bool {
		_, has := name(p)
		return has && len(dimsOf(p)) == 1
	})
	out := map[string][]client.Point{}
	for _, p := range points {
		if n, has := name(p); has && (!alone || len(dimsOf(p)) == 1) {
			out[n] = append(out[n], p)
		}
	}
	return out
}

// finishParts draws the largest parts and lists all of them.
func (d *metricsData) finishParts(w measure.Window) {
	l := chart.Line{Unit: d.Unit, Zero: d.Total() || d.UnitName == measure.Count, Open: w.Open}
	l.Ticks, l.Names = labels(w)
	whole, largest := 0.0, 0.0
	for _, p := range d.Parts {
		whole += math.Abs(p.Value.V)
		largest = max(largest, math.Abs(p.Value.V))
	}
	if !d.Total() {
		whole = largest // shares of levels mean nothing; the bar shows the size
	}
	for i := range d.Parts {
		p := &d.Parts[i]
		unit := d.Unit
		if d.Split == "currency" {
			unit.Currency = p.Name
		}
		p.Class, p.Drawn = fmt.Sprintf("s%d", i), i < partsDrawn
		if p.Value.OK {
			p.Text = unit.Text(p.Value.V)
		}
		if whole > 0 {
			p.Share = math.Abs(p.Value.V) / whole
		}
		if p.Drawn {
			l.Series = append(l.Series, chart.Series{Name: p.Name, Values: p.Values})
		}
	}
	d.Left = max(0, len(d.Parts)-partsDrawn)
	l.Title = fmt.Sprintf("%s by %s, %s, UTC. %s. The table below has the values.", d.Name, d.Split, w.Text(w.Now, w.Future), plural(len(d.Parts), "line", "lines"))
	d.Chart = l.SVG()
}

// Percent writes a share.
func (p part) Percent() string { return measure.Number(p.Share*100, 0, 0) + " %" }

// Period names what the headline counts. Weeks of a month may have days of the months beside it.
func (d *metricsData) Period() string {
	if d.Window.Beyond(d.Range) {
		name := d.Range.Name
		if d.Range.ID != "" { // not the name of a month
			name = strings.ToLower(name[:1]) + name[1:]
		}
		return capital(d.Window.Grain) + "s that touch " + name + ", " + d.Window.Text(d.Window.Now, d.Window.Future)
	}
	return d.Range.Name
}

// Partial reports whether the chart has an unfinished bucket.
func (d *metricsData) Partial() bool { return d.Window.Open < d.Window.Future }

// metricsCSV writes what the chart shows as a file.
func (s *Studio) metricsCSV(v *visit) *view {
	d, q := v.loadMetric()
	for _, f := range []*failure{d.Failure, d.NoPoints} {
		if f != nil {
			http.Error(v.w, f.Text(), f.status())
			return nil
		}
	}
	if d.Missing || d.Key == "" {
		http.Error(v.w, "There is no such metric.", http.StatusNotFound)
		return nil
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+filename(d.Key)+`.csv"`)
	out := csv.NewWriter(v.w)
	if d.Split == "" {
		_ = out.Write([]string{string(q.grain), "value", "before", "unit"})
		for i := range d.Window.Future {
			_ = out.Write([]string{d.Window.Now[i].Format(time.DateOnly), d.cell(d.Now[i], ""), d.cell(d.Before[i], ""), d.unitCell("")})
		}
	} else {
		_ = out.Write([]string{string(q.grain), safe(d.Split), "value", "unit"})
		for _, p := range d.Parts {
			for i := range d.Window.Future {
				_ = out.Write([]string{d.Window.Now[i].Format(time.DateOnly), safe(p.Name), d.cell(p.Values[i], p.Name), d.unitCell(p.Name)})
			}
		}
	}
	out.Flush() // a browser that has gone needs no answer
	return nil
}

// cell writes a value for a spreadsheet: money in whole units of its currency.
func (d *metricsData) cell(v chart.Value, part string) string {
	if !v.OK {
		return ""
	}
	unit := d.partUnit(part)
	if d.UnitName == measure.Currency {
		return strconv.FormatFloat(v.V/math.Pow10(unit.Exponent()), 'f', unit.Exponent(), 64)
	}
	return strconv.FormatFloat(v.V, 'f', -1, 64)
}

func (d *metricsData) partUnit(part string) measure.Unit {
	unit := d.Unit
	if d.Split == "currency" {
		unit.Currency = part
	}
	return unit
}

func (d *metricsData) unitCell(part string) string {
	if d.UnitName == measure.Currency {
		return safe(d.partUnit(part).Currency)
	}
	return d.UnitName
}

// safe keeps a spreadsheet from running a text as a formula.
func safe(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// filename keeps what every system allows in a file's name.
func filename(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, text)
}
