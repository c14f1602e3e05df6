package metrics

import (
	"context"
	"errors"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// ListPoints returns the newest points of the window, oldest first. It also returns the position of
// the next page, which has older points, or the zero Position if there are no older points. Either
// name of the metric is accepted. Weeks and months that are not stored are computed from days, if
// the metric's definition says how. With Total, ListPoints returns bad_request if the window has
// points of several series that do not combine. With Total or SeriesID, it also returns bad_request
// if the page would have to read too much.
//
// It reads records in rounds, from the newest period backwards, until no unread record can belong
// to the page. It keeps at most one page of points in memory, plus the buckets of the days that it
// has read. The definition and the first records are read in parallel, so a series without gaps
// takes one round trip. There can be more round trips if there are gaps, if several series have
// points in the same periods, or if the metric has no definition under the name that the caller
// sent.
func (s Store) ListPoints(ctx context.Context, companyID string, q PointQuery) (points []Point, next Position, err error) {
	l, err := s.startListing(ctx, companyID, q)
	for err == nil && !l.isComplete() {
		if err = l.checkSize(s.unitsMax); err == nil {
			err = l.readMore(ctx)
		}
	}
	if err != nil {
		return nil, Position{}, err
	}
	points, next = l.candidates.page(q.Limit)
	if len(points) == 0 && q.Before == (Position{}) {
		err = l.candidates.noPointsError()
	}
	return points, next, err
}

// startListing starts the listing under whichever name of the metric has a definition, or under the
// name as sent if neither has a definition.
func (s Store) startListing(ctx context.Context, companyID string, q PointQuery) (*pointListing, error) {
	l, defined, err := s.readFirstRound(ctx, companyID, q)
	other := aliasOf(q.MetricKey)
	if err != nil || defined || other == "" {
		return l, err
	}
	q.MetricKey = other
	second, defined, err := s.readFirstRound(ctx, companyID, q)
	if defined {
		l = second
	}
	return l, err
}

// readFirstRound reads the definition for a key and the first records in parallel. It also reports
// whether there is a definition.
func (s Store) readFirstRound(ctx context.Context, companyID string, q PointQuery) (l *pointListing, defined bool, err error) {
	l = s.newListing(companyID, q)
	var rule rollupRule
	err = parallel.Both(func() (err error) {
		rule, err = table.Get[rollupRule](ctx, s.table, definitionKey(companyID, q.MetricKey))
		if defined = err == nil; errors.Is(err, fault.ErrNotFound) {
			err = nil
		}
		return err
	}, func() error { return l.readMore(ctx) })
	l.setRollupRule(rule)
	return l, defined, err
}

// pointListing is one page of the points of a metric while it is being read.
type pointListing struct {
	table      *table.Client
	q          PointQuery
	sources    []grainSource   // the records of the requested grain, then those of days if points may be computed from them
	candidates candidatePoints // the points found so far
}

// grainSource describes how a listing reads the points of one grain and what it does with them.
type grainSource struct {
	*pointReader
	positionOf func(*Point) Position            // where in the page a point belongs; for a day, this is the position of its bucket
	addPoints  func(points []Point) (found int) // adds points to the candidates and returns how many were not already there
}

// newListing returns a listing that has read nothing yet. A listing of weeks or months also reads
// days, until setRollupRule finds that they do not combine.
func (s Store) newListing(companyID string, q PointQuery) *pointListing {
	l := &pointListing{table: s.table, q: q}
	grainReader := newPointReader(companyID, q.MetricKey, q.Grain, q.window(), q.Grain.recordCountFor(l.wantedCount()))
	dayReader := newPointReader(companyID, q.MetricKey, GrainDay, q.dayWindow(), q.Grain.dayRecordCountFor(l.wantedCount()+1))
	switch {
	case q.Total:
		t := newTotalPoints(q.MetricKey, q.Grain)
		l.candidates = t
		l.sources = []grainSource{{grainReader, t.position, t.addStored}, {dayReader, t.dayPosition, t.addDays}}
	case q.Grain == GrainDay:
		p := &storedPoints{limit: l.wantedCount()}
		l.candidates = p
		l.sources = []grainSource{{grainReader, positionOf, p.addStored}}
	default:
		c := newComputedPoints(q.Grain, l.wantedCount())
		l.candidates = c
		l.sources = []grainSource{{grainReader, positionOf, c.addStored}, {dayReader, c.finder.bucketPosition, c.addDays}}
	}
	if q.Grain == GrainDay { // days are not computed from anything
		l.dropDaySource()
	}
	return l
}

// wantedCount returns one more than the number of points that fit on the page. The extra point
// shows whether there is a next page.
func (l *pointListing) wantedCount() int { return l.q.Limit + 1 }

// setRollupRule sets how days and series combine. If days do not combine, the listing stops reading
// them.
func (l *pointListing) setRollupRule(rule rollupRule) {
	l.candidates = l.candidates.withRule(rule)
	if rule.effectiveAggregation() == "" {
		l.dropDaySource()
	}
}

func (l *pointListing) dropDaySource() { l.sources = l.sources[:1] }

// incompleteSources returns the sources that may still have points for the page. It also returns
// the day from which they must be read completely, or "" as long as the page is not full.
func (l *pointListing) incompleteSources() (open []grainSource, since string) {
	if n, oldest := l.candidates.countNewest(l.wantedCount()); n == l.wantedCount() {
		since = dayOf(oldest)
	}
	for _, s := range l.sources {
		if !s.isComplete(since) {
			open = append(open, s)
		}
	}
	return open, since
}

func (l *pointListing) isComplete() bool {
	open, _ := l.incompleteSources()
	return len(open) == 0
}

// readMore reads more records in parallel, from every source that may still have points for the
// page.
func (l *pointListing) readMore(ctx context.Context) error {
	open, since := l.incompleteSources()
	known, _ := l.candidates.countNewest(l.wantedCount())
	err := parallel.Do(len(open), len(open), func(n int) error {
		return open[n].readRound(ctx, l.table, since, l.wantedCount()-known)
	})
	if err != nil {
		return err
	}
	for _, s := range open {
		err := s.takeRound(func(p *Point) bool { return l.q.matches(s.positionOf(p)) }, s.addPoints)
		if err != nil {
			return err
		}
	}
	return nil
}

// listingUnitsMax is the maximum number of read units for a page of a total or of one series; a
// page that needs more is refused. It corresponds to 10 MB of records. Both kinds of page read the
// records of all series. A page of a year, with one value a day for each of 1,000 series (1,224
// units), was measured at 0.6 s of CPU time and 150 MB of heap. A function with 256 MB has a
// seventh of a processor, so the page takes 4 of the 9 s that a request has, and 200 MB. With one
// value a month the cost is the same.
const listingUnitsMax = 1250

// checkSize returns bad_request if an incomplete listing of a total or of one series has read more
// than unitsMax.
func (l *pointListing) checkSize(unitsMax float64) error {
	var unitsRead float64
	for _, s := range l.sources {
		unitsRead += s.unitsRead
	}
	field := "query.seriesId"
	switch {
	case unitsRead <= unitsMax, !l.q.Total && l.q.SeriesID == "":
		return nil
	case l.q.Total:
		field = "query.total"
	}
	return fault.Invalid(field, "the metric has so many series that this page would read more than 10 MB of points; narrow from and to, or lower limit")
}
