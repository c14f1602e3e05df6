package metrics

import (
	"encoding/json"
	"math"
)

// Roll-up computes the weeks and months of a series from its stored days, using the definition's
// aggregation. A stored week or month takes precedence over the computed one. See
// scripts/docs/reference/metrics.md.

// rollupRule contains the fields of a definition that determine how days and series combine.
type rollupRule struct {
	Aggregation *Aggregation `json:"aggregation"`
	Kind        *Kind        `json:"kind"`
}

// isDerived reports whether the metric's values are computed from other metrics.
func (r rollupRule) isDerived() bool { return r.Kind != nil && *r.Kind == KindDerived }

// effectiveAggregation returns how the days of the metric combine. It returns "" if they do not,
// because the aggregation is none or not set, or the metric is derived. It also returns "" for the
// zero value, which stands for a metric without a definition.
func (r rollupRule) effectiveAggregation() Aggregation {
	if r.Aggregation == nil || *r.Aggregation == AggregationNone || r.isDerived() {
		return ""
	}
	return *r.Aggregation
}

// bucketSums sums up the days of one series that belong to one week or month. The days can be added
// in any order. It collects what any aggregation may need, because the definition, which contains
// the aggregation, is read in parallel with the days.
type bucketSums struct {
	days               int // the number of days whose value is not null; the others are ignored
	values, bases      exactSum
	minValue, maxValue float64
	minBase            float64
	maxBase            float64
	baseDays           int // the number of days with a baseValue
	newestDay          Point
	currency, source   *string
	hasMixedCurrencies bool // whether the days have different currencies, or only some of them have one
	hasMixedSources    bool
	ingestedAt         *string
}

// add adds a day, or does nothing if the day has no value. p.TS must be set.
func (b *bucketSums) add(p Point) {
	if p.Value == nil {
		return
	}
	if b.days == 0 {
		b.currency, b.source, b.newestDay = p.Currency, p.Source, p
		b.minValue, b.maxValue = math.Inf(1), math.Inf(-1)
		b.minBase, b.maxBase = math.Inf(1), math.Inf(-1)
	}
	b.days++
	b.values.add(*p.Value)
	b.minValue, b.maxValue = min(b.minValue, *p.Value), max(b.maxValue, *p.Value)
	if p.BaseValue != nil {
		b.baseDays++
		b.bases.add(*p.BaseValue)
		b.minBase, b.maxBase = min(b.minBase, *p.BaseValue), max(b.maxBase, *p.BaseValue)
	}
	b.hasMixedCurrencies = b.hasMixedCurrencies || !equalText(b.currency, p.Currency)
	b.hasMixedSources = b.hasMixedSources || !equalText(b.source, p.Source)
	if p.IngestedAt != nil && (b.ingestedAt == nil || *p.IngestedAt > *b.ingestedAt) {
		b.ingestedAt = p.IngestedAt
	}
	if *p.TS > *b.newestDay.TS {
		b.newestDay = p
	}
}

// merge adds the days of another series.
func (b *bucketSums) merge(other *bucketSums) {
	if other.days == 0 {
		return
	}
	if b.days == 0 {
		*b = *other
		b.values, b.bases = other.values.clone(), other.bases.clone()
		return
	}
	b.days, b.baseDays = b.days+other.days, b.baseDays+other.baseDays
	b.values.merge(other.values)
	b.bases.merge(other.bases)
	b.minValue, b.maxValue = min(b.minValue, other.minValue), max(b.maxValue, other.maxValue)
	b.minBase, b.maxBase = min(b.minBase, other.minBase), max(b.maxBase, other.maxBase)
	b.hasMixedCurrencies = b.hasMixedCurrencies || other.hasMixedCurrencies || !equalText(b.currency, other.currency)
	b.hasMixedSources = b.hasMixedSources || other.hasMixedSources || !equalText(b.source, other.source)
	if other.ingestedAt != nil && (b.ingestedAt == nil || *other.ingestedAt > *b.ingestedAt) {
		b.ingestedAt = other.ingestedAt
	}
}

func equalText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// point returns the computed point of a bucket that has at least one day.
func (b *bucketSums) point(grain Grain, at Position, aggregation Aggregation) Point {
	p := b.newestDay
	p.Grain, p.TS, p.SeriesID, p.PointKey = &grain, &at.ts, at.seriesID, pointKey(grain, dayOf(at.ts))
	p.IngestedAt = b.ingestedAt
	if aggregation == AggregationLast {
		return p
	}
	p.Value, p.BaseValue, p.Currency, p.Source = nil, nil, nil, nil
	if !b.hasMixedCurrencies {
		p.Value, p.Currency = new(aggregateValues(aggregation, &b.values, b.days, b.minValue, b.maxValue)), b.currency
	}
	if b.baseDays == b.days {
		p.BaseValue = new(aggregateValues(aggregation, &b.bases, b.days, b.minBase, b.maxBase))
	}
	if !b.hasMixedSources {
		p.Source = b.source
	}
	return p
}

func aggregateValues(aggregation Aggregation, sum *exactSum, days int, least, most float64) float64 {
	switch aggregation {
	case AggregationMin:
		return least
	case AggregationMax:
		return most
	case AggregationAvg:
		return sum.dividedBy(days)
	default:
		return sum.dividedBy(1)
	}
}

// computedPoints are the candidates for a listing of weeks or months: stored points, and points
// computed from the days of buckets that are not stored.
type computedPoints struct {
	storedPoints
	days        map[Position]*bucketSums // keyed by the position of the computed point
	finder      bucketFinder
	aggregation Aggregation
}

func newComputedPoints(grain Grain, most int) *computedPoints {
	return &computedPoints{
		storedPoints: storedPoints{limit: most}, days: map[Position]*bucketSums{}, finder: newBucketFinder(grain),
	}
}

// addDays adds days to their buckets and returns how many of the buckets are new.
func (c *computedPoints) addDays(days []Point) (added int) {
	for _, p := range days {
		if p.Value == nil {
			continue
		}
		at := c.finder.bucketPosition(&p)
		b := c.days[at]
		if b == nil {
			b = &bucketSums{}
			c.days[at] = b
			added++
		}
		b.add(p)
	}
	return added
}

func (c *computedPoints) withRule(rule rollupRule) candidatePoints {
	c.aggregation = rule.effectiveAggregation()
	if c.aggregation == "" {
		return &c.storedPoints
	}
	return c
}

func (c *computedPoints) countNewest(want int) (n int, oldest string) {
	return countNewestOf(c.positions(), want)
}

func (c *computedPoints) page(limit int) (points []Point, next Position) {
	stored := make(map[Position]*Point, len(c.points))
	for i := range c.points {
		stored[positionOf(&c.points[i])] = &c.points[i]
	}
	return pageAt(c.positions(), limit, func(at Position) Point {
		if p := stored[at]; p != nil {
			return *p
		}
		return c.days[at].point(c.finder.grain, at, c.aggregation)
	})
}

// positions returns the positions of all candidates, without duplicates.
func (c *computedPoints) positions() []Position {
	positions := make([]Position, 0, len(c.points)+len(c.days))
	for at := range c.days {
		positions = append(positions, at)
	}
	for i := range c.points {
		at := positionOf(&c.points[i])
		if c.days[at] == nil {
			positions = append(positions, at)
		}
	}
	return positions
}

// bucketFinder finds the week or month that a day belongs to. It computes each series id and each
// start only once.
type bucketFinder struct {
	grain  Grain
	series map[string]string // maps the id of a series of days to the id of the corresponding series of this grain
	starts map[string]string // maps a day to the start of its bucket, as a timestamp
}

func newBucketFinder(grain Grain) bucketFinder {
	return bucketFinder{grain, map[string]string{}, map[string]string{}}
}

// bucketPosition returns the position of the bucket that a day belongs to.
func (f bucketFinder) bucketPosition(day *Point) Position {
	id, ok := f.series[day.SeriesID]
	if !ok {
		id = seriesID(day.MetricKey, f.grain, canonicalDims(day.Dims))
		f.series[day.SeriesID] = id
	}
	start, ok := f.starts[*day.TS]
	if !ok {
		start = startOfDay(f.grain.bucketStartFor(dayOf(*day.TS)))
		f.starts[*day.TS] = start
	}
	return Position{start, id}
}

// canonicalDims returns stored dims in canonical form. They are stored in that form, but a database
// engine may return different bytes for the same value.
func canonicalDims(dims json.RawMessage) json.RawMessage {
	canonical, err := canonicalJSON(dims)
	if err != nil {
		return dims
	}
	return canonical
}
