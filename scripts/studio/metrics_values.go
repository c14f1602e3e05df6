package studio

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// valuesData is the data for the page on which people correct and add values of a metric.
type valuesData struct {
	Metric metric
	Grain  period.Grain
	Day    string // the first day of the bucket
	Name   string // the bucket's name, such as Mon, Aug 3
	Rows   []*valueRow
	More   bool   // there are more series than the page shows
	Sum    string // how the values of several series combine into the value of the day; empty if there is only one series
	Add    *form  // nil if the metric is derived, because it then has no values of its own
	Adding bool   // the form for a new value is open

	Previous, Next         string // the addresses of the previous and the next day; empty if the bucket is not a day
	PreviousName, NextName string
	Back                   string
	Query                  string   // the query string of Back
	Failure                *failure // why the metric cannot be read; nil if it can
	Problem                *failure // why a write failed
	Typed                  string   // the value that was typed for a series that the page does not show, or empty
	Conflict               string   // what somebody else has changed, or empty
	MayWrite               bool
}

// valueRow is the stored value of one series in a bucket, with a form to correct it.
type valueRow struct {
	client.Point

	Part    string // the dimensions in words; empty if there are none
	Unit    units.Unit
	Value   *field
	Base    *field // the value in the base currency; nil if the point has none
	Focused bool   // whether the row's form gets the focus, because its write failed or it is the only one
	Reading *reading
	Kept    []fact
}

// seriesShownMax is the maximum number of series that one page shows for correction.
const seriesShownMax = 200

// bucket identifies one day, week or month of a metric. It is read from an address or a form.
type bucket struct {
	key   string
	grain period.Grain
	start time.Time
}

// bucketOf reads a bucket from the parameters of an address or a form. If they contain no valid
// day, it returns the bucket that contains today.
func (pr *pageRequest) bucketOf(q url.Values) bucket {
	b := bucket{key: q.Get("key"), grain: period.Grain(q.Get("grain")), start: pr.Now().UTC()}
	if !b.grain.Valid() {
		b.grain = period.Day
	}
	if day, err := time.Parse(time.DateOnly, q.Get("day")); err == nil {
		b.start = day
	}
	b.start = b.grain.Start(b.start)
	return b
}

// bucketReads holds the API calls that read a bucket.
type bucketReads struct {
	definitions *result[client.Page[client.Definition]]
	points      *result[client.Page[client.Point]]
}

// readBucket reads a bucket. It reads points only if the bucket is a day, because the API does not
// say whether the value of a week or a month is stored or computed. Only a stored value can be
// corrected.
func (pr *pageRequest) readBucket(b bucket) bucketReads {
	out := bucketReads{pr.listDefinitions(), &result[client.Page[client.Point]]{}}
	if b.grain == period.Day {
		out.points = pr.listPoints("The values of the day", b.key, b.grain, b.start, b.start, false)
	}
	pr.wait()
	return out
}

// metric returns the metric of a bucket. It returns false if the metric does not exist.
func (r bucketReads) metric(b bucket) (metric, bool) {
	all := metricsOf(r.definitions.Value.Items, nil)
	at := slices.IndexFunc(all, func(m metric) bool { return m.Key == b.key })
	if at < 0 {
		return metric{}, false
	}
	return all[at], true
}

func (s *Studio) metricValues(v *pageRequest) *view {
	b := v.bucketOf(v.r.URL.Query())
	return v.valuesPage(b, v.readBucket(b), v.r.URL.Query(), nil)
}

// valuesPage shows the values of a bucket. sent contains the parameters of the address or, after a
// failed write, the fields of the form.
func (pr *pageRequest) valuesPage(b bucket, reads bucketReads, sent url.Values, refused *failure) *view {
	d := &valuesData{Grain: b.grain, Day: dayText(b.start), Name: b.grain.Label(b.start), MayWrite: pr.may("metrics:write"), Query: backQuery(sent.Get("back"), b.key).Encode()}
	d.Back = "/metrics?" + d.Query
	out := &view{page: "values", place: "Metrics", title: "Values", data: d}
	if d.Failure = cmp.Or(reads.definitions.Failure, reads.points.Failure); d.Failure != nil {
		out.status = d.Failure.status()
	}
	m, found := reads.metric(b)
	if !found && d.Failure == nil && refused == nil {
		return pr.notFound(pr)
	}
	if d.Metric = m; !found {
		d.Metric = metric{Metric: series.Metric{Key: b.key, Name: b.key}}
	}
	out.title = "Values of " + d.Metric.Name
	points := reads.points.Value.Items
	d.More = reads.points.Value.Next != "" || len(points) > seriesShownMax
	for _, p := range points[:min(len(points), seriesShownMax)] {
		d.Rows = append(d.Rows, newValueRow(m, p))
	}
	d.Sum = m.sumText(points, d.More)
	if b.grain == period.Day {
		before, after := b.start.AddDate(0, 0, -1), b.start.AddDate(0, 0, 1)
		d.Previous, d.PreviousName = valuesPath(b.key, before, d.Query), b.grain.Label(before)
		if !after.After(pr.Now().UTC()) {
			d.Next, d.NextName = valuesPath(b.key, after, d.Query), b.grain.Label(after)
		}
	}
	d.Adding = len(d.Rows) == 0 || refused != nil && sent.Get("series") == ""
	if m.Kind != client.MetricsKindDerived {
		d.Add = newForm("the value", d.Back, "", d.MayWrite, addFields(m, b, points)...)
	}
	switch {
	case refused != nil:
		out.status = refused.status()
		d.restore(sent, refused)
	case len(d.Rows) == 1:
		d.Rows[0].Focused = true
	case d.Adding && d.Add != nil:
		d.Add.field("value").Focused = true
	}
	return out
}

// valuesPath returns the address of the page for the values of a day. back is the query string of
// the metric's page.
func valuesPath(key string, day time.Time, back string) string {
	return "/metrics/values?" + url.Values{"key": {key}, "day": {dayText(day)}, "back": {back}}.Encode()
}

// sumText explains how the values of several series combine into the value of the day that other
// pages show. more is true if there are more series than points.
func (m metric) sumText(points []client.Point, more bool) string {
	if len(points) < 2 {
		return ""
	}
	if whole := slices.IndexFunc(points, func(p client.Point) bool { return len(series.DimsOf(p)) == 0 }); whole >= 0 {
		return "The value of the day is that of the whole. The parts are stored beside it."
	}
	total, unit, ok := m.sum(points)
	switch {
	case !ok:
		return "These are the parts of the day. They have no total."
	case more:
		return "These are parts of the day."
	}
	return fmt.Sprintf("The value of the day, %s, is the %s of these parts. Correct the part that is wrong.", unit.Text(total), m.How())
}

// sum returns the value that the service computes for a day from the values of its parts. It
// returns false if they cannot be combined.
func (m metric) sum(points []client.Point) (total float64, unit units.Unit, ok bool) {
	money := series.MoneyOf(points)
	switch m.Aggregation {
	case client.MetricsAggregationSum, client.MetricsAggregationMin, client.MetricsAggregationMax:
	default:
		return 0, unit, false
	}
	values := make([]chart.Value, len(points))
	for i, p := range points {
		values[i] = money.Value(p)
	}
	value := m.Combine(values)
	return value.V, units.Unit{Name: m.UnitName, Currency: money.Currency}, value.OK && !money.Mixed
}

// backQuery returns the query string for the link back to the metric's page. text is the query
// string of the page from which the user came. The result keeps its range, grain and split.
func backQuery(text, key string) url.Values {
	out := url.Values{"key": {key}}
	for name, values := range parseQuery(text) {
		if slices.Contains([]string{"range", "from", "to", "grain", "split"}, name) {
			out[name] = values[:1]
		}
	}
	return out
}

func newValueRow(m metric, p client.Point) *valueRow {
	r := &valueRow{Point: p, Part: dimsText(series.DimsOf(p)), Unit: units.Unit{Name: m.UnitName, Currency: p.Currency.Or("")}}
	numberField := func(name string, v client.Optional[float64], unit units.Unit) *field {
		f := &field{Name: name}
		if value, ok := v.Get(); ok {
			f.Stored = unit.Typed(value)
		}
		f.Text, f.Was = f.Stored, f.Stored
		return f
	}
	r.Value = numberField("value", p.Value, r.Unit)
	if _, has := p.BaseValue.Get(); has {
		r.Base = numberField("baseValue", p.BaseValue, r.baseUnit())
	}
	return r
}

// baseUnit returns the unit of a value in the company's base currency. Its currency is empty,
// because the service does not say which currency that is.
func (r *valueRow) baseUnit() units.Unit { return units.Unit{Name: r.Unit.Name} }

// SameBase reports whether the value is in the base currency, so that the page need not show it
// twice.
func (r *valueRow) SameBase() bool {
	return r.Point.Value.Or(0) != 0 && r.Point.Value.Or(0) == r.Point.BaseValue.Or(0) && r.Base.Problem == "" && !r.Base.Theirs
}

// dimsText formats dimension values, such as "country de, plan team".
func dimsText(dims map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(dims)) {
		parts = append(parts, phrase.Words(name)+" "+dims[name])
	}
	return strings.Join(parts, ", ")
}

// Imported reports whether an import stored the point's dimensions in a form that a push cannot
// write, so that the studio cannot correct the point.
func (r *valueRow) Imported() bool { _, ok := r.Dims.Or(nil)[""]; return ok }

// addFields returns the form fields for a new value.
func addFields(m metric, b bucket, points []client.Point) []*field {
	hint := (units.Unit{Name: m.UnitName}).TypedIn()
	if hint != "" {
		hint = strings.ToUpper(hint[:1]) + hint[1:] + "."
	}
	fields := []*field{
		{Name: "day", Label: "Day", Kind: "date", Required: true, Stored: dayText(b.start), Hint: "In UTC."},
		{Name: "value", Label: "Value", Kind: "number", Required: true, Hint: hint},
	}
	if m.UnitName == units.Currency {
		fields = append(fields, &field{Name: "currency", Label: "Currency", Kind: "text", Stored: series.MoneyOf(points).Currency, Hint: "Three letters, such as EUR."})
	}
	if len(m.Dimensions) > 0 {
		whole := "Empty for the whole."
		if len(points) > 0 && !slices.ContainsFunc(points, func(p client.Point) bool { return len(series.DimsOf(p)) == 0 }) {
			whole = "This day has values of parts only. Left empty, the value becomes the value of the whole day, in place of what its parts make."
		}
		fields = append(fields, &field{Name: "dims", Label: "Part", Kind: "list", Hint: whole + " For a part, one dimension on each line: " + m.Dimensions[0] + " = …"})
	}
	return append(fields,
		&field{Name: "grain", Label: "For a week or a month", Kind: "choice", Required: true, Rare: true, Stored: string(b.grain), Hint: "The value is that of the day, or of the week or month with this day.",
			Choices: []string{string(period.Day), string(period.Week), string(period.Month)}},
		&field{Name: "source", Label: "Source", Kind: "text", Rare: true, Hint: "Where the value comes from."})
}

// restore puts the typed values back into the form after a failed write.
func (d *valuesData) restore(sent url.Values, refused *failure) {
	series := sent.Get("series")
	if existing := d.storedRow(sent); series == "" && existing != nil && refused.Conflict() {
		existing.Value.Text, existing.Focused, d.Adding = sent.Get("value"), true, false
		d.Conflict = fmt.Sprintf("%s has a value already: %s. You typed %s, and it is not stored. Press Correct to store it in place of the old value.", d.Name, existing.Unit.Text(existing.Point.Value.Or(0)), sent.Get("value"))
		return
	}
	if series == "" && d.Add != nil {
		d.Add.restore(sent, refused, false)
		d.Problem = d.Add.Problem
		return
	}
	for _, r := range d.Rows {
		if r.SeriesID != series {
			continue
		}
		f := &form{Fields: []*field{r.Value}}
		if r.Base != nil {
			f.Fields = append(f.Fields, r.Base)
		}
		f.restore(sent, refused, true)
		r.Focused, r.Reading, r.Kept, d.Problem = true, f.Reading, f.Kept, f.Problem
		if f.Conflict != nil {
			d.Conflict = "Somebody else has stored another value since you opened this page. Nothing of yours was stored: what you typed is still here."
		}
		return
	}
	if d.Typed = sent.Get("value"); refused.Reading == nil {
		d.Problem = refused
	}
	if refused.Conflict() {
		d.Conflict, d.Problem = "This value is not stored any more, so it was not corrected.", nil
	}
}

// storedRow returns the row whose dimensions are those in the form for a new value, or nil if there
// is no such row.
func (d *valuesData) storedRow(sent url.Values) *valueRow {
	at := slices.IndexFunc(d.Rows, func(r *valueRow) bool { return !r.Imported() && maps.Equal(series.DimsOf(r.Point), typedDims(sent)) })
	if at < 0 {
		return nil
	}
	return d.Rows[at]
}

// saveMetricValue corrects or adds a value. A point has no entity tag that could detect a change by
// somebody else. So saveMetricValue reads the stored point right before the write and compares it
// with the value that the form showed.
func (s *Studio) saveMetricValue(v *pageRequest) *view {
	sent := v.r.PostForm
	b := v.bucketOf(sent)
	reads := v.readBucket(b)
	m, found := reads.metric(b)
	refuse := func(refused *failure) *view {
		v.readFrame()
		return v.valuesPage(b, reads, sent, refused)
	}
	switch failed := cmp.Or(reads.definitions.Failure, reads.points.Failure); {
	case failed != nil:
		return refuse(failed)
	case !found:
		return refuse(&failure{Status: http.StatusNotFound, Messages: []string{"there is no such metric"}})
	}
	var old *client.Point
	for i, p := range reads.points.Value.Items {
		if p.SeriesID == sent.Get("series") || sent.Get("series") == "" && maps.Equal(series.DimsOf(p), typedDims(sent)) {
			old = &reads.points.Value.Items[i]
		}
	}
	point, refused := newPoint(m, b, old, sent)
	if refused != nil {
		return refuse(refused)
	}
	back := "/metrics?" + backQuery(sent.Get("back"), b.key).Encode()
	if old != nil && point.Value == old.Value.Or(0) && point.BaseValue == old.BaseValue {
		return v.finish(back, notice{Record: m.Name, Text: "Nothing was changed."})
	}
	res := v.pushPoint("Save the value", point)
	v.wait()
	if res.Failure != nil {
		return refuse(renamePointFields(res.Failure))
	}
	unit := units.Unit{Name: m.UnitName, Currency: point.Currency.Or("")}
	subject := b.grain.Label(b.start)
	if part := dimsText(point.Dims.Or(nil)); part != "" {
		subject += ", " + part + ","
	}
	msg := notice{Record: m.Name, Text: fmt.Sprintf("%s is %s.", subject, unit.Text(point.Value)), Part: "d" + dayText(b.start)}
	switch {
	case old != nil:
		msg.Text = fmt.Sprintf("%s is %s, and was %s.%s A program that sends this day again replaces it.", subject, unit.Text(point.Value), unit.Text(old.Value.Or(0)), m.correctedText(reads.points.Value, *old, point))
		msg.Undo = undoPoint(m, b, point, old)
	case b.grain == period.Day:
		msg.Undo = undoPoint(m, b, point, nil)
	}
	return v.finish(back, msg)
}

// correctedText describes what else a correction has changed: the value in the base currency, and
// the value of the day. It returns "" if nothing else has changed.
func (m metric) correctedText(day client.Page[client.Point], old client.Point, point client.PushMetricPointsPoint) (text string) {
	base := units.Unit{Name: m.UnitName}
	if before, had := old.BaseValue.Get(); had {
		now, has := point.BaseValue.Get()
		switch {
		case !has:
			text = " It has no value in the base currency any more."
		case now != before && (now != point.Value || before != old.Value.Or(0)):
			text = fmt.Sprintf(" In the base currency it is %s, and was %s.", base.Text(now), base.Text(before))
		}
	}
	if len(series.DimsOf(old)) == 0 || day.Next != "" {
		return text
	}
	points := slices.Clone(day.Items)
	for i := range points {
		if points[i].SeriesID == old.SeriesID {
			points[i].Value, points[i].BaseValue = client.Value(point.Value), point.BaseValue
		}
	}
	whole := slices.ContainsFunc(points, func(p client.Point) bool { return len(series.DimsOf(p)) == 0 })
	if total, unit, ok := m.sum(points); ok && !whole && len(points) > 1 {
		text += fmt.Sprintf(" The whole day is %s.", unit.Text(total))
	}
	return text
}

// newPoint returns the point to push. old is the stored point, or nil. newPoint fails if it cannot
// parse the input, if somebody else has changed the value that the user corrects, or if the value
// that the user adds already exists.
func newPoint(m metric, b bucket, old *client.Point, sent url.Values) (client.PushMetricPointsPoint, *failure) {
	correcting := sent.Get("series") != ""
	point := client.PushMetricPointsPoint{
		MetricKey: b.key, TS: dayText(b.start), Grain: client.Value(client.MetricsGrain(b.grain)),
		Currency: optional(strings.ToUpper(typedField(sent, "currency"))), Source: optional(typedField(sent, "source")),
	}
	if dims := typedDims(sent); len(dims) > 0 {
		point.Dims = client.Value(client.Dims(dims))
	}
	c := &formChanges{sent: sent}
	if _, err := time.Parse(time.DateOnly, sent.Get("day")); err != nil {
		c.addProblem("day", "must be a day such as 2026-09-30")
	}
	if slices.ContainsFunc(lines(sent.Get("dims")), func(line string) bool { return !strings.Contains(line, "=") }) {
		c.addProblem("dims", "must be like country = de, one on each line")
	}
	switch {
	case c.problem != nil:
		return point, c.problem
	case correcting && old == nil:
		return point, &failure{Status: http.StatusPreconditionFailed}
	case correcting:
		r := newValueRow(m, *old)
		if r.Value.Stored != renderedField(sent, "value") || r.Base != nil && r.Base.Stored != renderedField(sent, "baseValue") {
			return point, &failure{Status: http.StatusPreconditionFailed}
		}
		point = restoringPoint(*old)
	case old != nil:
		return point, &failure{Status: http.StatusConflict, Code: "conflict", Messages: []string{"there is a value for this day already"}}
	}
	stored := ""
	if correcting {
		stored = newValueRow(m, *old).Value.Stored
	}
	value := c.number("value", units.Unit{Name: m.UnitName, Currency: point.Currency.Or("")}, stored)
	point.Value = value
	if _, has := point.BaseValue.Get(); correcting && has && c.problem == nil {
		point.BaseValue = correctedBase(c, *old, newValueRow(m, *old), value)
	}
	return point, c.check()
}

// correctedBase returns a corrected point's value in the base currency. If the user did not change
// that field, the result is the corrected value converted at the rate of the old values. The result
// is absent if the user emptied the field.
func correctedBase(c *formChanges, old client.Point, r *valueRow, value float64) client.Optional[float64] {
	typed, before := typedField(c.sent, "baseValue"), old.Value.Or(0)
	switch {
	case typed == "":
		return client.Optional[float64]{}
	case typed != r.Base.Stored:
		return client.Value(c.number("baseValue", r.baseUnit(), ""))
	case value == before:
		return old.BaseValue
	case before == 0:
		c.addProblem("baseValue", "cannot follow the corrected value, because the old value was 0: type it, or empty the field")
	}
	base := old.BaseValue.Or(0) * value / before
	if r.Unit.Name == units.Currency {
		base = math.Round(base)
	}
	return client.Value(base)
}

// restoringPoint returns the input of a push that restores an old point.
func restoringPoint(p client.Point) client.PushMetricPointsPoint {
	out := client.PushMetricPointsPoint{
		MetricKey: p.MetricKey, TS: p.TS.Or(time.Time{}).UTC().Format(time.RFC3339), Grain: p.Grain, Value: p.Value.Or(0), Currency: p.Currency, BaseValue: p.BaseValue, Source: p.Source,
	}
	if dims := series.DimsOf(p); len(dims) > 0 {
		out.Dims = client.Value(client.Dims(dims))
	}
	return out
}

// typedDims parses the dimensions that the user typed into a form, one "name = value" on each line.
func typedDims(sent url.Values) map[string]string {
	out := map[string]string{}
	for _, line := range lines(sent.Get("dims")) {
		name, value, _ := strings.Cut(line, "=")
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out
}

func (pr *pageRequest) pushPoint(label string, point client.PushMetricPointsPoint) *result[client.PushResult] {
	return startCall(pr, "metrics:write", label,
		bound(pr.api.PushMetricPoints, client.PushMetricPointsInput{Points: []client.PushMetricPointsPoint{point}}))
}

// renamePointFields replaces the paths in the error messages of a push with the names of the form's
// fields.
func renamePointFields(refused *failure) *failure {
	out := *refused
	out.Messages = nil
	for _, message := range refused.Messages {
		message = strings.Replace(message, "body.points[0].", "body.", 1)
		out.Messages = append(out.Messages, strings.Replace(message, "body.ts:", "body.day:", 1))
	}
	return &out
}

// undoPoint returns an undo that stores the old point again, or deletes the pushed point if there
// was no old one. The undo changes nothing if the stored value is no longer the pushed value.
func undoPoint(m metric, b bucket, pushed client.PushMetricPointsPoint, old *client.Point) undo {
	subject := b.grain.Label(b.start)
	if part := dimsText(pushed.Dims.Or(nil)); part != "" {
		subject += ", " + part + ","
	}
	noticeFor := func(failed *failure) notice {
		out := undoNotice(m.Name, failed)
		switch {
		case failed == nil && old == nil:
			out.Text = fmt.Sprintf("Undone: %s has no value again.", subject)
		case failed == nil:
			unit := units.Unit{Name: m.UnitName, Currency: old.Currency.Or("")}
			out.Text = fmt.Sprintf("Undone: %s is %s again.", subject, unit.Text(old.Value.Or(0)))
		}
		return out
	}
	return func(v *pageRequest) notice {
		reads := v.readBucket(b)
		if reads.points.Failure != nil {
			return noticeFor(reads.points.Failure)
		}
		at := slices.IndexFunc(reads.points.Value.Items, func(p client.Point) bool {
			return maps.Equal(series.DimsOf(p), map[string]string(pushed.Dims.Or(nil)))
		})
		if at < 0 || reads.points.Value.Items[at].Value.Or(0) != pushed.Value {
			out := noticeFor(&failure{Status: http.StatusPreconditionFailed})
			out.retry = true // once the later change is undone, the value is back and this undo can succeed
			return out
		}
		if old != nil {
			res := v.pushPoint("Undo", restoringPoint(*old))
			v.wait()
			return noticeFor(res.Failure)
		}
		res := startCall(v, "metrics:write", "Undo", bound(v.api.DeleteMetricPoints, client.DeleteMetricPointsInput{
			MetricKey: b.key, From: dayText(b.start), To: dayText(b.start), SeriesID: client.Value(reads.points.Value.Items[at].SeriesID),
		}))
		v.wait()
		return noticeFor(res.Failure)
	}
}
