package studio

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// metric is a metric's definition, prepared for the pages. Name is the key if the metric has no
// name.
type metric struct {
	ID, Key, Name, Description string
	Version                    string // the version of the definition; see the function version
	Aggregation                client.MetricsAggregation
	Polarity                   client.MetricsPolarity
	Kind                       client.MetricsKind
	UnitName                   string
	Formula                    string
	Dimensions                 []string
	NeedsReview                bool
	Computed                   bool          // the metric has a formula, from which the studio computes its values
	Goals                      []client.Goal // active goals come first
}

// metricsOf joins definitions with their goals. It sorts the metrics by metricOrder, then by key.
func metricsOf(definitions []client.Definition, goals []client.Goal) []metric {
	byKey := map[string][]client.Goal{}
	for _, g := range goals {
		if key, ok := g.MetricKey.Get(); ok && g.Status.Or("") != client.ContextGoalStatusArchived {
			key = strings.TrimPrefix(key, "custom.")
			byKey[key] = append(byKey[key], g)
		}
	}
	out := make([]metric, 0, len(definitions))
	for _, d := range definitions {
		m := metric{
			ID: d.ID, Version: version(d.UpdatedAt), Key: d.Key, Name: d.Name.Or(d.Key), Description: d.Description.Or(""), Aggregation: d.Aggregation.Or(client.MetricsAggregationNone),
			Polarity: d.Polarity.Or(client.MetricsPolarityNeutral), Kind: d.Kind.Or(client.MetricsKindMeasured), UnitName: string(d.Unit.Or("")),
			Formula: d.Formula.Or(""), Dimensions: d.Dimensions.Or(nil), NeedsReview: d.NeedsReview.Or(false),
			Goals: byKey[strings.TrimPrefix(d.Key, "custom.")],
		}
		slices.SortStableFunc(m.Goals, func(a, b client.Goal) int {
			return cmp.Or(cmp.Compare(goalOrder(a), goalOrder(b)), cmp.Compare(a.Priority.Or(1e9), b.Priority.Or(1e9)))
		})
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b metric) int {
		return cmp.Or(cmp.Compare(metricOrder(a), metricOrder(b)), cmp.Compare(a.Key, b.Key))
	})
	return out
}

func goalOrder(g client.Goal) int {
	if g.Status.Or("") == client.ContextGoalStatusActive {
		return 0
	}
	return 1
}

// metricOrder returns the sort key of a metric. Metrics with an active goal come first, then
// metrics with only inactive goals, then metrics without a goal. Unconfirmed metrics come last.
func metricOrder(m metric) int {
	switch {
	case m.NeedsReview:
		return 3
	case len(m.Goals) == 0:
		return 2
	}
	return goalOrder(m.Goals[0])
}

// Total reports whether the value of a period is the sum of the values of its buckets.
func (m metric) Total() bool { return m.Aggregation == client.MetricsAggregationSum }

// How returns a word for how a period's value is computed from its buckets, such as "total".
func (m metric) How() string {
	if m.Computed {
		return "computed"
	}
	return cmp.Or(aggregationWords[string(m.Aggregation)], "latest")
}

// aggregationWords are the words for how a period's value follows from its buckets.
var aggregationWords = map[string]string{
	string(client.MetricsAggregationSum): "total", string(client.MetricsAggregationAvg): "average", string(client.MetricsAggregationLast): "latest",
	string(client.MetricsAggregationMin): "lowest", string(client.MetricsAggregationMax): "highest",
}

// combine computes the value of a period from the values of its buckets, as the service does for
// weeks and months.
func (m metric) combine(values []chart.Value) chart.Value {
	var out chart.Value
	n := 0.0
	for _, v := range values {
		if !v.OK {
			continue
		}
		n++
		switch {
		case !out.OK:
			out = v
		case m.Aggregation == client.MetricsAggregationSum, m.Aggregation == client.MetricsAggregationAvg:
			out.V += v.V
		case m.Aggregation == client.MetricsAggregationMin:
			out.V = min(out.V, v.V)
		case m.Aggregation == client.MetricsAggregationMax:
			out.V = max(out.V, v.V)
		default:
			out.V = v.V
		}
	}
	if m.Aggregation == client.MetricsAggregationAvg && n > 0 {
		out.V /= n
	}
	return out
}

// listPoints starts the call that lists a metric's points in a range of days. If total is true, the
// points are totals over all series. Otherwise, the call lists the points of every series. The
// service refuses a total that cannot be computed from the series, such as an average.
func (v *pageRequest) listPoints(label, key string, grain period.Grain, from, to time.Time, total bool) *result[client.Page[client.Point]] {
	in := client.ListMetricPointsInput{
		MetricKey: key, Grain: client.Value(client.MetricsGrain(grain)), From: client.Value(client.Day(from)), To: client.Value(client.Day(to)),
		Limit: client.Value(pointsMax),
	}
	if total {
		in.Total = client.Value(true)
	}
	return startCall(v, "metrics:read", label, func(ctx context.Context, options ...client.CallOption) (client.Page[client.Point], error) {
		return v.api.ListMetricPoints(ctx, in, options...)
	})
}

// pointsMax is the maximum number of points on one page of the API.
const pointsMax = 1000

// money is the currency in which a series is drawn.
type money struct {
	currency string
	Base     bool // draw each point's baseValue instead of its value
	mixed    bool // the currencies differ and some points have no baseValue, so the points cannot be combined
}

// moneyOf decides in which currency points are drawn together: in the currency that they share, or
// in the base currency if every point has a value in it.
func moneyOf(points []client.Point) money {
	currencies := map[string]bool{}
	every, some, base := true, false, ""
	for _, p := range points {
		v, ok := p.Value.Get()
		b, hasBase := p.BaseValue.Get()
		every = every && hasBase
		some = some || !ok && hasBase // this point has a value only in the base currency
		if ok {
			currencies[p.Currency.Or("")] = true
		}
		if ok && hasBase && v == b && v != 0 {
			base = p.Currency.Or("") // equal values mean that the point's currency is the base currency
		}
	}
	switch {
	case len(points) == 0:
		return money{}
	case len(currencies) == 1 && !some:
		for c := range currencies {
			return money{currency: c}
		}
	case every:
		return money{currency: base, Base: true}
	}
	return money{mixed: len(currencies) > 1}
}

func (m money) value(p client.Point) chart.Value {
	v, ok := p.Value.Get()
	if m.Base {
		v, ok = p.BaseValue.Get()
	}
	return chart.Value{V: v, OK: ok}
}

// bucketValues returns the value of each bucket, given the starts of the buckets. It ignores points
// outside these buckets.
func (m money) bucketValues(points []client.Point, starts []time.Time) []chart.Value {
	index := map[int64]int{}
	for i, at := range starts {
		index[at.Unix()] = i
	}
	out := make([]chart.Value, len(starts))
	for _, p := range points {
		at, ok := p.TS.Get()
		if i, inside := index[at.Unix()]; ok && inside {
			out[i] = m.value(p)
		}
	}
	return out
}

// comparison holds a metric's values in a window of days, and the earlier values with which they
// are compared.
type comparison struct {
	Unit   units.Unit
	Money  money
	Window period.Window
	Now    []chart.Value
	Before []chart.Value

	against []chart.Value // the values of the buckets in Window.Against

	Value       chart.Value // the value of the period until now, including the unfinished bucket
	BeforeValue chart.Value // the earlier value with which SoFar is compared
	SoFar       chart.Value // the value of the period's finished buckets
	Change      string      // the change from BeforeValue to SoFar; empty if unknown
	Good        string      // "good", "bad" or "even": what the change means for this metric
}

// compare compares a metric's values in a window with the earlier ones. An unfinished bucket, such
// as today, counts in Value, but not in Change.
func (m metric) compare(points []client.Point, w period.Window) comparison {
	d := comparison{Money: moneyOf(points), Window: w}
	d.Unit = units.Unit{Name: m.UnitName, Currency: d.Money.currency}
	d.Now, d.Before, d.against = d.Money.bucketValues(points, w.Now), d.Money.bucketValues(points, w.Before), d.Money.bucketValues(points, w.Against)
	d.Value = m.combine(d.Now[:w.Future])
	d.SoFar, d.BeforeValue = m.combine(d.Now[:w.Open]), m.combine(d.against)
	d.setChange(m)
	return d
}

// setChange computes Change and Good from SoFar and BeforeValue.
func (d *comparison) setChange(m metric) {
	if d.SoFar.OK && d.BeforeValue.OK && d.hasEnoughValues() {
		var sign int
		d.Change, sign, _ = d.Unit.Change(d.SoFar.V, d.BeforeValue.V)
		d.Good = m.changeQuality(sign)
	}
}

// hasEnoughValues reports whether the earlier period has enough values for a comparison. Otherwise,
// a metric that began in the middle of that period would seem to have grown.
func (d comparison) hasEnoughValues() bool {
	return 2*present(d.against) >= present(d.Now[:d.Window.Open])
}

func present(values []chart.Value) (n int) {
	for _, v := range values {
		if v.OK {
			n++
		}
	}
	return n
}

// HasBefore reports whether the chart shows the earlier values. It does not if there are so few
// that they would appear as isolated dots.
func (d comparison) HasBefore() bool {
	n := present(d.Before)
	return n > 0 && 2*n >= present(d.Now)
}

// changeQuality returns "good", "bad" or "even" for a change with the given sign. Whether an
// increase is good depends on the metric's polarity.
func (m metric) changeQuality(sign int) string {
	switch {
	case sign == 0 || m.Polarity == client.MetricsPolarityNeutral:
		return "even"
	case (sign > 0) == (m.Polarity == client.MetricsPolarityUpIsGood):
		return "good"
	}
	return "bad"
}

// Spark draws the period as a sparkline.
func (d comparison) Spark(title string) any {
	return chart.Spark(title, d.Now[:d.Window.Future], d.Window.Open)
}

// dimsOf returns a point's dimension values.
func dimsOf(p client.Point) map[string]string {
	dims := p.Dims.Or(nil)
	if _, other := dims[""]; other {
		return nil // an import may have stored JSON that is not a map of dimensions
	}
	return dims
}
