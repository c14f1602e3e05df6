package metrics

import "growthworkspace/shared/fault"

// totals is one series for all series of a metric, with the identity of the series without dims. In a bucket in which that
// series has a point, stored or computed from its days, the total is that point. In another one the points of all other series
// combine as days do in a roll-up: a series' stored point of the grain counts like a day, else its days count. See
// scripts/docs/reference/metrics.md.
type totals struct {
	key      string
	grain    Grain
	seriesID string      // of the series without dims
	how      Aggregation // how buckets of days combine
	combines bool        // whether series do
	buckets  map[string]*totalBucket

	others, otherDays bool // whether series with dims have points of the grain, and days
}

// totalBucket is one bucket of the total.
type totalBucket struct {
	own    *Point                 // stored, of the series without dims
	days   map[string]*bucketDays // by series; not of those with a stored point, once all is read
	stored map[string]bool        // the series with a stored point, besides that without dims
	points bucketDays             // their stored points
}

func newTotals(key string, grain Grain) *totals {
	return &totals{key: key, grain: grain, seriesID: seriesID(key, grain, nil), buckets: map[string]*totalBucket{}}
}

// define sets how days and series combine.
func (t *totals) define(how Aggregation) {
	t.how, t.combines = how, how == AggregationSum || how == AggregationMin || how == AggregationMax
}

// bucket returns the bucket that starts at ts. isNew reports whether it is the first time.
func (t *totals) bucket(ts string) (b *totalBucket, isNew bool) {
	b, known := t.buckets[ts]
	if !known {
		b = &totalBucket{days: map[string]*bucketDays{}, stored: map[string]bool{}}
		t.buckets[ts] = b
	}
	return b, !known
}

// addStored adds stored points of the grain, and returns how many buckets they are the first of.
func (t *totals) addStored(points []Point) (found int) {
	for _, p := range points {
		b, isNew := t.bucket(*p.TS)
		if isNew {
			found++
		}
		if p.SeriesID == t.seriesID {
			b.own = &p
			continue
		}
		t.others = true
		b.stored[p.SeriesID] = true
		b.points.add(p)
	}
	return found
}

// addDays is addStored for the days of the grain's buckets.
func (t *totals) addDays(days []Point, r *rollup) (found int) {
	for _, p := range days {
		if p.Value == nil {
			continue
		}
		at := r.position(&p)
		b, isNew := t.bucket(at.ts)
		if isNew {
			found++
		}
		t.otherDays = t.otherDays || at.seriesID != t.seriesID
		if b.days[at.seriesID] == nil {
			b.days[at.seriesID] = &bucketDays{}
		}
		b.days[at.seriesID].add(p)
	}
	return found
}

// entries returns the buckets that have a point.
func (t *totals) entries() []entry {
	entries := make([]entry, 0, len(t.buckets))
	for ts, b := range t.buckets {
		if t.has(b) {
			entries = append(entries, entry{Position: Position{ts, t.seriesID}, total: b})
		}
	}
	return entries
}

func (t *totals) has(b *totalBucket) bool {
	if b.own != nil || b.days[t.seriesID] != nil && t.how != "" || t.combines && b.points.days > 0 {
		return true
	}
	for id := range b.days {
		if t.combines && !b.stored[id] {
			return true
		}
	}
	return false
}

// point returns the point of a bucket that has one.
func (t *totals) point(e entry) Point {
	b := e.total
	if b.own != nil {
		return *b.own
	}
	if own := b.days[t.seriesID]; own != nil {
		return own.point(t.grain, e.Position, t.how)
	}
	all := bucketDays{}
	all.merge(&b.points)
	for id, days := range b.days {
		if !b.stored[id] {
			all.merge(days)
		}
	}
	p := all.point(t.grain, e.Position, t.how)
	p.Dims = nil
	return p
}

// refusal returns the error of a total without a point in the window when other series have some that do not combine.
func (t *totals) refusal(d combining) error {
	switch {
	case t.combines, !t.others && (t.how == "" || !t.otherDays):
		return nil
	case d.derived():
		return fault.Invalid("query.total", "the series of a derived metric do not combine; choose one with seriesId")
	case d.Aggregation == nil:
		return fault.Invalid("query.total", "the aggregation of the metric is not set, so its series do not combine; choose one with seriesId")
	}
	return fault.Invalid("query.total", "the series of a metric with the aggregation %s do not combine; choose one with seriesId", *d.Aggregation)
}
