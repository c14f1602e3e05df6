package metrics

import "growthworkspace/shared/fault"

// totalPoints are the candidates for a listing of one series for the whole metric. The total has
// the identity of the series without dims. If that series has a point in a bucket, stored or
// computed from its days, that point is the total. Otherwise the points of all other series combine
// as days do in a roll-up: if a series has a stored point of the grain, that point is used like a
// day, and otherwise the days of the series are used. See scripts/docs/reference/metrics.md.
type totalPoints struct {
	seriesID string // the id of the series without dims
	buckets  map[string]*totalBucket
	finder   bucketFinder
	rule     rollupRule

	hasOtherPoints, hasOtherDays bool // whether series with dims have points of the grain, and whether they have days
}

type totalBucket struct {
	totalPoint   *Point                 // the stored point of the series without dims
	days         map[string]*bucketSums // by series; once everything has been read, days of series with a stored point are ignored
	storedSeries map[string]bool        // the series that have a stored point, except the series without dims
	storedSums   bucketSums             // the stored points of those series
}

func newTotalPoints(metricKey string, grain Grain) *totalPoints {
	return &totalPoints{seriesID: seriesID(metricKey, grain, nil), buckets: map[string]*totalBucket{}, finder: newBucketFinder(grain)}
}

// position returns the position of the total that a stored point belongs to.
func (t *totalPoints) position(p *Point) Position { return Position{*p.TS, t.seriesID} }

// dayPosition returns the position of the total that a day belongs to.
func (t *totalPoints) dayPosition(day *Point) Position {
	return Position{t.finder.bucketPosition(day).ts, t.seriesID}
}

// bucket returns the bucket that starts at ts. It creates the bucket if there is none yet, and
// reports whether it did.
func (t *totalPoints) bucket(ts string) (b *totalBucket, isNew bool) {
	b, known := t.buckets[ts]
	if !known {
		b = &totalBucket{days: map[string]*bucketSums{}, storedSeries: map[string]bool{}}
		t.buckets[ts] = b
	}
	return b, !known
}

// addStored adds stored points of the grain, and returns how many of their buckets are new.
func (t *totalPoints) addStored(points []Point) (added int) {
	for _, p := range points {
		b, isNew := t.bucket(*p.TS)
		if isNew {
			added++
		}
		if p.SeriesID == t.seriesID {
			b.totalPoint = &p
			continue
		}
		t.hasOtherPoints = true
		b.storedSeries[p.SeriesID] = true
		b.storedSums.add(p)
	}
	return added
}

// addDays adds days, and returns how many of their buckets are new.
func (t *totalPoints) addDays(days []Point) (added int) {
	for _, p := range days {
		if p.Value == nil {
			continue
		}
		at := t.finder.bucketPosition(&p)
		b, isNew := t.bucket(at.ts)
		if isNew {
			added++
		}
		t.hasOtherDays = t.hasOtherDays || at.seriesID != t.seriesID
		if b.days[at.seriesID] == nil {
			b.days[at.seriesID] = &bucketSums{}
		}
		b.days[at.seriesID].add(p)
	}
	return added
}

func (t *totalPoints) withRule(rule rollupRule) candidatePoints {
	t.rule = rule
	return t
}

// canCombineSeries reports whether the points of several series can be combined into one.
func (t *totalPoints) canCombineSeries() bool {
	aggregation := t.rule.effectiveAggregation()
	return aggregation == AggregationSum || aggregation == AggregationMin || aggregation == AggregationMax
}

func (t *totalPoints) canCombineDays() bool { return t.rule.effectiveAggregation() != "" }

func (t *totalPoints) countNewest(want int) (n int, oldest string) {
	return countNewestOf(t.positions(), want)
}

func (t *totalPoints) page(limit int) (points []Point, next Position) {
	return pageAt(t.positions(), limit, t.point)
}

// positions returns the positions of the buckets that have a point.
func (t *totalPoints) positions() []Position {
	positions := make([]Position, 0, len(t.buckets))
	for ts, b := range t.buckets {
		if t.hasPoint(b) {
			positions = append(positions, Position{ts, t.seriesID})
		}
	}
	return positions
}

func (t *totalPoints) hasPoint(b *totalBucket) bool {
	switch {
	case b.totalPoint != nil, b.days[t.seriesID] != nil && t.canCombineDays():
		return true
	case !t.canCombineSeries():
		return false
	case b.storedSums.days > 0:
		return true
	}
	for id := range b.days {
		if !b.storedSeries[id] {
			return true
		}
	}
	return false
}

// point returns the point of a bucket that has one.
func (t *totalPoints) point(at Position) Point {
	b, grain, aggregation := t.buckets[at.ts], t.finder.grain, t.rule.effectiveAggregation()
	if b.totalPoint != nil {
		return *b.totalPoint
	}
	if own := b.days[t.seriesID]; own != nil {
		return own.point(grain, at, aggregation)
	}
	all := bucketSums{}
	all.merge(&b.storedSums)
	for id, days := range b.days {
		if !b.storedSeries[id] {
			all.merge(days)
		}
	}
	p := all.point(grain, at, aggregation)
	p.Dims = nil
	return p
}

// noPointsError returns the error for a total without any point if other series have points that do
// not combine.
func (t *totalPoints) noPointsError() error {
	aggregation := t.rule.Aggregation
	switch {
	case t.canCombineSeries(), !t.hasOtherPoints && !(t.hasOtherDays && t.canCombineDays()):
		return nil
	case t.rule.isDerived():
		return fault.Invalid("query.total", "the series of a derived metric do not combine; choose one with seriesId")
	case aggregation == nil:
		return fault.Invalid("query.total", "the aggregation of the metric is not set, so its series do not combine; choose one with seriesId")
	}
	return fault.Invalid("query.total", "the series of a metric with the aggregation %s do not combine; choose one with seriesId", *aggregation)
}
