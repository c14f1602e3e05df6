// Package series prepares a company's metrics for people. It joins definitions with brand goals,
// combines the values of days as the service does, and compares a period with an earlier one.
package series

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// Metric is a metric's definition with its brand goals. Name is the key if the metric has no name.
type Metric struct {
	ID, Key, Name, Description string
	UpdatedAt                  client.Optional[time.Time]
	Aggregation                client.MetricsAggregation
	Polarity                   client.MetricsPolarity
	Kind                       client.MetricsKind
	UnitName                   string
	Formula                    string
	Dimensions                 []string
	NeedsReview                bool
	Computed                   bool          // the metric has a formula, from which the studio computes its values
	Goals                      []client.Goal // active goals come first, then those with the lowest priority number, then the newest
}

// Of joins definitions with their goals. It sorts the metrics by sortRank, then by key.
func Of(definitions []client.Definition, goals []client.Goal) []Metric {
	byKey := map[string][]client.Goal{}
	for _, g := range goals {
		if key, ok := g.MetricKey.Get(); ok && g.Status.Or("") != client.ContextGoalStatusArchived {
			key = strings.TrimPrefix(key, "custom.")
			byKey[key] = append(byKey[key], g)
		}
	}
	out := make([]Metric, 0, len(definitions))
	for _, d := range definitions {
		m := Metric{
			ID: d.ID, UpdatedAt: d.UpdatedAt, Key: d.Key, Name: d.Name.Or(d.Key), Description: d.Description.Or(""), Aggregation: d.Aggregation.Or(client.MetricsAggregationNone),
			Polarity: d.Polarity.Or(client.MetricsPolarityNeutral), Kind: d.Kind.Or(client.MetricsKindMeasured), UnitName: string(d.Unit.Or("")),
			Formula: d.Formula.Or(""), Dimensions: d.Dimensions.Or(nil), NeedsReview: d.NeedsReview.Or(false),
			Goals: byKey[strings.TrimPrefix(d.Key, "custom.")],
		}
		slices.SortStableFunc(m.Goals, func(a, b client.Goal) int {
			return cmp.Or(cmp.Compare(goalOrder(a), goalOrder(b)), cmp.Compare(a.Priority.Or(1e9), b.Priority.Or(1e9)), b.CreatedAt.Or(time.Time{}).Compare(a.CreatedAt.Or(time.Time{})))
		})
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b Metric) int {
		return cmp.Or(cmp.Compare(sortRank(a), sortRank(b)), cmp.Compare(a.Key, b.Key))
	})
	return out
}

func goalOrder(g client.Goal) int {
	if g.Status.Or("") == client.ContextGoalStatusActive {
		return 0
	}
	return 1
}

// sortRank returns the sort key of a metric. Metrics with an active goal come first, then metrics
// with only inactive goals, then metrics without a goal. Unconfirmed metrics come last.
func sortRank(m Metric) int {
	switch {
	case m.NeedsReview:
		return 3
	case len(m.Goals) == 0:
		return 2
	}
	return goalOrder(m.Goals[0])
}

// Target returns the value of the metric's first active goal.
func (m Metric) Target() (float64, bool) {
	if len(m.Goals) == 0 || goalOrder(m.Goals[0]) != 0 {
		return 0, false
	}
	return m.Goals[0].TargetValue.Get()
}

// Total reports whether the value of a period is the sum of the values of its buckets.
func (m Metric) Total() bool { return m.Aggregation == client.MetricsAggregationSum }

// How returns a word for how a period's value is computed from its buckets, such as "total".
func (m Metric) How() string {
	if m.Computed {
		return "computed"
	}
	return cmp.Or(AggregationWords[string(m.Aggregation)], "latest")
}

// AggregationWords are the words for how a period's value follows from its buckets.
var AggregationWords = map[string]string{
	string(client.MetricsAggregationSum): "total", string(client.MetricsAggregationAvg): "average", string(client.MetricsAggregationLast): "latest",
	string(client.MetricsAggregationMin): "lowest", string(client.MetricsAggregationMax): "highest",
}

// Combine computes the value of a period from the values of its buckets, as the service does for
// weeks and months.
func (m Metric) Combine(values []chart.Value) chart.Value {
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

// CombinePoints is like Combine, for points.
func (m Metric) CombinePoints(points []client.Point, money Money) chart.Value {
	values := make([]chart.Value, len(points))
	for i, p := range points {
		values[i] = money.Value(p)
	}
	return m.Combine(values)
}

// Money is the currency in which a series is drawn.
type Money struct {
	Currency string
	Base     bool // whether to draw each point's baseValue instead of its value
	Mixed    bool // the currencies differ and some points have no baseValue, so the points cannot be combined
}

// MoneyOf decides in which currency points are drawn together: in the currency that they share, or
// in the base currency if every point has a value in it.
func MoneyOf(points []client.Point) Money {
	currencies := map[string]bool{}
	allHaveBase, someOnlyBase, base := true, false, ""
	for _, p := range points {
		v, ok := p.Value.Get()
		b, hasBase := p.BaseValue.Get()
		allHaveBase = allHaveBase && hasBase
		someOnlyBase = someOnlyBase || !ok && hasBase // this point has a value only in the base currency
		if ok {
			currencies[p.Currency.Or("")] = true
		}
		if ok && hasBase && v == b && v != 0 {
			base = p.Currency.Or("") // the values are equal, so the point's currency is the base currency
		}
	}
	switch {
	case len(points) == 0:
		return Money{}
	case len(currencies) == 1 && !someOnlyBase:
		for c := range currencies {
			return Money{Currency: c}
		}
	case allHaveBase:
		return Money{Currency: base, Base: true}
	}
	return Money{Mixed: len(currencies) > 1}
}

// Value returns the value of a point in this currency.
func (m Money) Value(p client.Point) chart.Value {
	v, ok := p.Value.Get()
	if m.Base {
		v, ok = p.BaseValue.Get()
	}
	return chart.Value{V: v, OK: ok}
}

// BucketValues returns the value of each bucket, given the starts of the buckets. It ignores points
// outside these buckets.
func (m Money) BucketValues(points []client.Point, starts []time.Time) []chart.Value {
	index := map[int64]int{}
	for i, at := range starts {
		index[at.Unix()] = i
	}
	out := make([]chart.Value, len(starts))
	for _, p := range points {
		at, ok := p.TS.Get()
		if i, inside := index[at.Unix()]; ok && inside {
			out[i] = m.Value(p)
		}
	}
	return out
}

// Comparison holds a metric's values in a window of days, and the earlier values with which they
// are compared.
type Comparison struct {
	Unit   units.Unit
	Money  Money
	Window period.Window
	Now    []chart.Value
	Before []chart.Value

	Against []chart.Value // the values of the buckets in Window.Against

	Value         chart.Value // the value of the period until now, including the unfinished bucket
	BeforeValue   chart.Value // the earlier value with which FinishedValue is compared
	FinishedValue chart.Value // the value of the period's finished buckets
	Change        string      // the change from BeforeValue to FinishedValue; empty if unknown
	Good          string      // "good", "bad" or "even": what the change means for this metric
}

// Compare compares a metric's values in a window with the earlier ones. Value includes an
// unfinished bucket, such as today, but Change does not.
func (m Metric) Compare(points []client.Point, w period.Window) Comparison {
	d := Comparison{Money: MoneyOf(points), Window: w}
	d.Unit = units.Unit{Name: m.UnitName, Currency: d.Money.Currency}
	d.Now, d.Before, d.Against = d.Money.BucketValues(points, w.Buckets), d.Money.BucketValues(points, w.Before), d.Money.BucketValues(points, w.Against)
	d.Value = m.Combine(d.Now[:w.FutureIndex])
	d.FinishedValue, d.BeforeValue = m.Combine(d.Now[:w.OpenIndex]), m.Combine(d.Against)
	d.SetChange(m)
	return d
}

// SetChange computes Change and Good from FinishedValue and BeforeValue.
func (c *Comparison) SetChange(m Metric) {
	if c.FinishedValue.OK && c.BeforeValue.OK && c.hasEnoughValues() {
		var sign int
		c.Change, sign, _ = c.Unit.Change(c.FinishedValue.V, c.BeforeValue.V)
		c.Good = m.ChangeQuality(sign)
	}
}

// hasEnoughValues reports whether the earlier period has enough values for a comparison. Otherwise,
// a metric that began in the middle of that period would seem to have grown.
func (c Comparison) hasEnoughValues() bool {
	return 2*CountKnown(c.Against) >= CountKnown(c.Now[:c.Window.OpenIndex])
}

// CountKnown returns how many of the values are known.
func CountKnown(values []chart.Value) (n int) {
	for _, v := range values {
		if v.OK {
			n++
		}
	}
	return n
}

// HasBefore reports whether the chart shows the earlier values. It does not if there are so few
// that they would appear as isolated dots.
func (c Comparison) HasBefore() bool {
	n := CountKnown(c.Before)
	return n > 0 && 2*n >= CountKnown(c.Now)
}

// ChangeQuality returns "good", "bad" or "even" for a change with the given sign. Whether an
// increase is good depends on the metric's polarity.
func (m Metric) ChangeQuality(sign int) string {
	switch {
	case sign == 0 || m.Polarity == client.MetricsPolarityNeutral:
		return "even"
	case (sign > 0) == (m.Polarity == client.MetricsPolarityUpIsGood):
		return "good"
	}
	return "bad"
}

// Spark draws the period as a sparkline.
func (c Comparison) Spark(title string) any {
	return chart.Spark(title, c.Now[:c.Window.FutureIndex], c.Window.OpenIndex)
}

// DimsOf returns a point's dimension values.
func DimsOf(p client.Point) map[string]string {
	dims := p.Dims.Or(nil)
	if _, malformed := dims[""]; malformed {
		return nil // an import may have stored JSON that is not a map of dimensions
	}
	return dims
}
