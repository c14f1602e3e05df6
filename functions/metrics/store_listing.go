package metrics

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// ListPoints returns the newest points of the window, oldest first. next is the position of the following page, with
// older points; zero when there are none. The metric may be named by either of its names. Weeks and months that are not
// stored are computed from days, if the metric's definition says how. With Total it returns bad_request when the window has
// points of several series that do not combine, and with Total or SeriesID when the page would have to read too much.
//
// It reads records from the newest period backwards until no unread record can belong to the page, and keeps at most one
// page of points in memory, and the buckets of the days that it has read. The definition and the first records are read in
// parallel, so a series without gaps takes one round trip. Gaps, several series in the same periods, and a metric that has no
// definition under the name as sent can take more.
func (s Store) ListPoints(ctx context.Context, companyID string, q PointQuery) (points []Point, next Position, err error) {
	l, defined, err := s.startListing(ctx, companyID, q)
	if other := otherName(q.MetricKey); err == nil && !defined && other != "" {
		q.MetricKey = other
		var second *listing
		if second, defined, err = s.startListing(ctx, companyID, q); defined {
			l = second
		}
	}
	if err != nil {
		return nil, Position{}, err
	}
	for !l.complete() {
		if err := l.checkSize(s.units); err != nil {
			return nil, Position{}, err
		}
		if err := l.round(ctx); err != nil {
			return nil, Position{}, err
		}
	}
	points, next = l.page()
	if l.total != nil && len(points) == 0 && q.Before == (Position{}) {
		err = l.total.refusal(l.definition)
	}
	return points, next, err
}

// listingUnitsMax is how many read units a page of a total, or of one series, takes before it is refused: 10 MB of records. Both
// read the records of all series. Measured with a day's value of 1,000 series for a year (1,224 units): 0.6 s of CPU and 150 MB of
// heap, of which a function of 256 MB has a seventh of a processor, so 4 of its 9 s, and 200 MB. A value a month costs as much.
const listingUnitsMax = 1250

// checkSize returns bad_request when the page has read more than that many units and is not complete.
func (l *listing) checkSize(units float64) error {
	read := l.stored.units
	if l.days != nil {
		read += l.days.units
	}
	field := "query.seriesId"
	switch {
	case read <= units, l.total == nil && l.q.SeriesID == "":
		return nil
	case l.total != nil:
		field = "query.total"
	}
	return fault.Invalid(field, "the metric has so many series that this page would read more than 10 MB of points; narrow from and to, or lower limit")
}

// startListing reads the definition of a key and the first records in parallel. defined reports whether there is one.
func (s Store) startListing(ctx context.Context, companyID string, q PointQuery) (l *listing, defined bool, err error) {
	l = s.newListing(companyID, q)
	var d combining
	err = parallel.Both(func() (err error) {
		d, err = table.Get[combining](ctx, s.table, definitionKey(companyID, q.MetricKey))
		if defined = err == nil; errors.Is(err, fault.ErrNotFound) {
			err = nil
		}
		return err
	}, func() error { return l.round(ctx) })
	l.define(d)
	return l, defined, err
}

// listing is one page of the points of a metric while it is being read.
type listing struct {
	table  *table.Client
	q      PointQuery
	want   int // one more than the page has; it shows whether there is a next page
	how    Aggregation
	stored *pointReader
	days   *pointReader // nil: nothing is computed
	points []Point      // stored points of the grain, newest first, at most want
	rollup *rollup
	total  *totals // of one series for all; nil: points and rollup have the series

	definition combining
}

func (s Store) newListing(companyID string, q PointQuery) *listing {
	l := &listing{table: s.table, q: q, want: q.Limit + 1}
	l.stored = newPointReader(companyID, q.MetricKey, q.Grain, q.window(), q.Grain.records(l.want))
	l.rollup = newRollup(q.Grain, q.matches)
	if q.Grain != GrainDay {
		l.days = newPointReader(companyID, q.MetricKey, GrainDay, q.dayWindow(), q.Grain.dayRecords(l.want+1))
	}
	if q.Total {
		l.total = newTotals(q.MetricKey, q.Grain)
	}
	return l
}

// define sets how days and series combine. Without a way to combine them the days are dropped.
func (l *listing) define(d combining) {
	l.definition = d
	if l.how = d.rollsUp(); l.how == "" {
		l.days, l.rollup = nil, newRollup(l.q.Grain, l.q.matches)
	}
	if l.total != nil {
		l.total.define(l.how)
	}
}

// entry is a point that the page may have: a stored one, or the days of a bucket that is not stored, or those of all series.
type entry struct {
	Position
	point *Point
	days  *bucketDays
	total *totalBucket
}

// plain reports whether points has all that is known so far.
func (l *listing) plain() bool { return l.total == nil && len(l.rollup.buckets) == 0 }

// known returns how many entries of the page are known so far, at most want, and the start of the oldest one.
func (l *listing) known() (n int, oldest string) {
	if l.plain() {
		if n = min(l.want, len(l.points)); n > 0 {
			oldest = *l.points[n-1].TS
		}
		return n, oldest
	}
	entries := l.newest()
	if n = len(entries); n > 0 {
		oldest = entries[n-1].ts
	}
	return n, oldest
}

// newest returns the newest entries known so far, newest first, at most want. Records that are not yet read can only add
// newer ones, or add days to those there are.
func (l *listing) newest() []entry {
	if l.total != nil {
		return newestEntries(l.total.entries(), l.want)
	}
	entries := make([]entry, 0, len(l.points)+len(l.rollup.buckets))
	isStored := make(map[Position]bool, len(l.rollup.buckets))
	for i := range l.points {
		e := entry{Position: positionOf(&l.points[i]), point: &l.points[i]}
		entries = append(entries, e)
		if len(l.rollup.buckets) > 0 {
			isStored[e.Position] = true
		}
	}
	for at, days := range l.rollup.buckets {
		if !isStored[at] {
			entries = append(entries, entry{Position: at, days: days})
		}
	}
	return newestEntries(entries, l.want)
}

func newestEntries(entries []entry, n int) []entry {
	slices.SortFunc(entries, func(a, b entry) int { return b.compare(a.Position) })
	return entries[:min(n, len(entries))]
}

func (l *listing) readers() []*pointReader {
	if l.days == nil {
		return []*pointReader{l.stored}
	}
	return []*pointReader{l.stored, l.days}
}

// missing returns the readers that may still find something that belongs to the page, and the day from which on they have to
// be complete; "" as long as the page is not full.
func (l *listing) missing() (open []*pointReader, since string) {
	if n, oldest := l.known(); n == l.want {
		since = dayOf(oldest)
	}
	for _, r := range l.readers() {
		if !r.complete(since) {
			open = append(open, r)
		}
	}
	return open, since
}

func (l *listing) complete() bool {
	open, _ := l.missing()
	return len(open) == 0
}

// round reads more records with every reader that needs them, in parallel.
func (l *listing) round(ctx context.Context) error {
	open, since := l.missing()
	known, _ := l.known()
	err := parallel.Do(len(open), len(open), func(n int) error {
		open[n].plan(since, l.want-known)
		return open[n].read(ctx, l.table)
	})
	if err != nil {
		return err
	}
	for _, r := range open {
		points, err := r.decode(l.accepts(r))
		if err != nil {
			return err
		}
		switch {
		case l.total != nil && r == l.days:
			r.found = l.total.addDays(points, l.rollup)
			continue
		case l.total != nil:
			r.found = l.total.addStored(points)
			continue
		case r == l.days:
			r.found = l.rollup.add(points)
			continue
		}
		r.found = len(points)
		if len(l.points) > 0 {
			points = append(l.points, points...)
		}
		l.points = newest(points, l.want)
	}
	return nil
}

// accepts returns whether a point of a reader belongs to the window, and is older than the previous page.
func (l *listing) accepts(r *pointReader) func(*Point) bool {
	return func(p *Point) bool {
		position := positionOf(p)
		if r == l.days {
			position = l.rollup.position(p)
		}
		if l.q.SeriesID != "" && position.seriesID != l.q.SeriesID {
			return false
		}
		if l.total != nil {
			position.seriesID = l.total.seriesID
		}
		return l.q.matches(position)
	}
}

// page returns the points, oldest first, and the position of the next page.
func (l *listing) page() (points []Point, next Position) {
	if l.plain() {
		points = l.points
		if len(points) > l.q.Limit {
			points = points[:l.q.Limit]
			next = positionOf(&points[l.q.Limit-1])
		}
		slices.Reverse(points)
		return points, next
	}
	entries := l.newest()
	if len(entries) > l.q.Limit {
		entries = entries[:l.q.Limit]
		next = entries[l.q.Limit-1].Position
	}
	points = make([]Point, 0, len(entries))
	for _, e := range slices.Backward(entries) {
		if e.point != nil {
			points = append(points, *e.point)
			continue
		}
		if e.total != nil {
			points = append(points, l.total.point(e))
			continue
		}
		points = append(points, e.days.point(l.q.Grain, e.Position, l.how))
	}
	return points, next
}

// newest orders points newest first and keeps at most n.
func newest(points []Point, n int) []Point {
	for i := 1; i < len(points); i++ {
		if positionOf(&points[i-1]).compare(positionOf(&points[i])) < 0 { // never for points of a single series
			slices.SortFunc(points, func(a, b Point) int { return positionOf(&b).compare(positionOf(&a)) })
			break
		}
	}
	return points[:min(n, len(points))]
}

// window is a range of days, both inclusive. An empty bound is open.
type window struct{ from, to string }

// window returns the days on which the buckets of the page can start.
func (q PointQuery) window() window {
	w := window{q.From, q.To}
	if before := q.Before.ts; before != "" && (w.to == "" || dayOf(before) < w.to) {
		w.to = dayOf(before)
	}
	return w
}

// dayWindow returns the days of the buckets that window has.
func (q PointQuery) dayWindow() window {
	w := q.window()
	if w.from != "" && q.Grain.of(w.from) != w.from { // the bucket of from starts before it
		w.from = dayAfter(q.Grain.end(q.Grain.of(w.from)))
	}
	if w.to != "" {
		w.to = q.Grain.end(q.Grain.of(w.to))
	}
	return w
}

// matches reports whether a point at this position is in the window and older than the previous page.
func (q PointQuery) matches(at Position) bool {
	day := dayOf(at.ts)
	return day >= q.From && (q.To == "" || day <= q.To) && (q.Before == Position{} || at.compare(q.Before) < 0)
}

// roundRecordsMax bounds the records of one query. They are about a megabyte, which is where DynamoDB ends a page.
const roundRecordsMax = 1000

// pointReader reads the records of one metric and grain, from the newest period backwards.
type pointReader struct {
	grain  Grain
	prefix string
	lowest string // the sort key that the window starts with
	low    string // that of the last round
	in     *dynamodb.QueryInput
	items  []table.Item // of the last round
	units  float64      // read units of all rounds
	found  int          // how many points or buckets of the page they have
	series map[string]bool
	begun  bool
	whole  string // this period and newer ones are complete
	done   bool   // there is nothing left to read
}

// newPointReader returns a reader of the window, whose first round reads this many records.
func newPointReader(companyID, metricKey string, grain Grain, w window, records int) *pointReader {
	r := &pointReader{grain: grain, prefix: pointPrefix + table.Join(metricKey, string(grain), ""), whole: afterAll, series: map[string]bool{}}
	lowest, highest := r.prefix, r.prefix
	if w.from != "" {
		period, _ := grain.split(w.from)
		lowest += period
	}
	if w.to != "" {
		period, _ := grain.split(w.to)
		highest += period
	}
	highest += afterAll
	r.lowest = lowest
	r.in = pointsRequest(companyID, lowest, highest)
	r.in.ScanIndexForward = aws.Bool(false)
	r.in.Limit = aws.Int32(int32(min(records, roundRecordsMax)))
	r.done = lowest > highest
	return r
}

// complete reports whether all points since a day have been read. An empty day is before all.
func (r *pointReader) complete(since string) bool {
	if r.done || since == "" {
		return r.done
	}
	period, _ := r.grain.split(since)
	return period >= r.whole
}

// plan sets the bounds of the next round: everything since a day, or records for the points that are missing and, so that the
// last of them is complete, for one more period of each series. since can be an older day than in the round before, or none
// after one: an entry of a total goes when its bucket turns out to be stored without a value.
func (r *pointReader) plan(since string, missing int) {
	r.low = r.lowest
	switch {
	case since != "":
		period, _ := r.grain.split(since)
		r.low = max(r.prefix+period, r.lowest)
		r.in.Limit = nil
	case r.begun:
		r.in.Limit = aws.Int32(int32(min(nextRound(missing, len(r.items), r.found)+len(r.series), roundRecordsMax)))
	}
	r.in.ExpressionAttributeValues[":low"] = table.String(r.low)
}

// read makes one call.
func (r *pointReader) read(ctx context.Context, t *table.Client) error {
	out, err := t.Query(ctx, r.in)
	if err != nil {
		return err
	}
	r.begun, r.items, r.in.ExclusiveStartKey = true, out.Items, out.LastEvaluatedKey
	if out.ConsumedCapacity != nil {
		r.units += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	switch {
	case len(out.LastEvaluatedKey) > 0:
		period, err := periodOf(out.LastEvaluatedKey)
		r.whole = period + afterAll
		return err
	case r.low == r.lowest:
		r.done = true
	default: // everything since r.low, which is a period: older ones may follow
		r.whole = strings.TrimPrefix(r.low, r.prefix)
		r.in.ExpressionAttributeValues[":high"] = table.String(r.low)
	}
	return nil
}

// decode returns the points of the last round for which keep returns true.
func (r *pointReader) decode(keep func(*Point) bool) (points []Point, err error) {
	points = make([]Point, 0, bucketsMost(r.items))
	for _, item := range r.items {
		if points, err = appendPoints(points, item, keep); err != nil {
			return nil, err
		}
	}
	if !r.done {
		for i := range points {
			r.series[points[i].SeriesID] = true
		}
	}
	return points, nil
}

// bucketsMost returns an upper bound of the number of points in records.
func bucketsMost(records []table.Item) (n int) {
	for _, item := range records {
		n += len(item)
	}
	return n
}

// nextRound estimates how many records have to be read for the missing points, from what the last round found.
func nextRound(missing, records, found int) int {
	if found == 0 {
		return 2*records + 1
	}
	return ceiling(missing*records, found) + 1
}

func periodOf(key table.Item) (string, error) {
	var record pointRecord
	err := table.Decode(key, &record)
	return record.period(), err
}
