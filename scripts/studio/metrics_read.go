package studio

import (
	"time"

	"growthworkspace/scripts/studio/period"
	"growthworkspace/shared/client"
)

// pointReads holds the API calls that read the points of a metric. Their results are complete once
// pageRequest.wait has returned.
type pointReads struct {
	total  *result[client.Page[client.Point]]   // totals over all series, in the window and in the earlier buckets for comparison; nil if the metric is split
	pieces []*result[client.Page[client.Point]] // the points of every series in the window; each call reads a piece of the window

	// full reads the days of the current week or month that have ended. fullBefore reads the same
	// number of days of the earlier week or month with which it is compared. Both are nil if no day
	// has ended, or if each bucket is a day.
	full, fullBefore *result[client.Page[client.Point]]

	inputs *inputReads // the calls for the inputs of a derived metric; nil if they are not read

	newest []*result[client.Page[client.Point]] // the newest point of each grain; read only if the range has no points
}

// readNewest starts the calls for the newest point of each grain.
func (pr *pageRequest) readNewest(key string) (out []*result[client.Page[client.Point]]) {
	for _, grain := range []period.Grain{period.Day, period.Week, period.Month} {
		in := client.ListMetricPointsInput{MetricKey: key, Grain: client.Value(client.MetricsGrain(grain)), Limit: client.Value(1)}
		out = append(out, startCall(pr, "metrics:read", "The newest point by "+string(grain),
			bound(pr.api.ListMetricPoints, in)))
	}
	return out
}

// newestPointText names the newest point of the metric in a sentence. It returns an empty string if
// nothing is stored. known is false if the points were not read.
func (p pointReads) newestPointText() (text string, known bool) {
	var newest time.Time
	for _, r := range p.newest {
		if r.Failure != nil {
			return "", false
		}
		for _, point := range r.Value.Items {
			if at := point.TS.Or(time.Time{}); at.After(newest) {
				newest = at
			}
		}
	}
	if !newest.IsZero() {
		text = " The newest value is that of " + newest.UTC().Format("January 2, 2006") + "."
	}
	return text, len(p.newest) > 0
}

// empty reports whether the metric's totals were read and there are none.
func (p pointReads) empty() bool {
	return p.total != nil && p.total.Failure == nil && len(p.total.Value.Items) == 0
}

// listPoints starts the call that lists a metric's points in a range of days. If total is true, the
// points are totals over all series. Otherwise, the call lists the points of every series. The
// service refuses a total that cannot be computed from the series, such as an average.
func (pr *pageRequest) listPoints(label, key string, grain period.Grain, from, to time.Time, total bool) *result[client.Page[client.Point]] {
	in := client.ListMetricPointsInput{
		MetricKey: key, Grain: client.Value(client.MetricsGrain(grain)), From: client.Value(client.Day(from)), To: client.Value(client.Day(to)),
		Limit: client.Value(pointsMax),
	}
	if total {
		in.Total = client.Value(true)
	}
	return startCall(pr, "metrics:read", label, bound(pr.api.ListMetricPoints, in))
}

// pointsMax is the maximum number of points on one page of the API.
const pointsMax = 1000

// piecesMax is the maximum number of pieces into which readPoints divides the window of a split
// metric.
const piecesMax = 6

// readPoints starts the calls for the points of a metric. If the metric is split by a dimension,
// readPoints reads the window in several pieces in parallel, because a page of the API contains at
// most 1,000 points.
func (pr *pageRequest) readPoints(q metricQuery) (out pointReads) {
	w := q.dateRange.Window(q.grain, q.now)
	pieces := 1 // without a split, one piece is enough to find the metric's dimensions and currencies
	if q.split != "" {
		pieces = min(piecesMax, len(w.Buckets))
	} else {
		out = pr.readTotal("The points", q, true)
	}
	for i := range pieces {
		from, to := w.Buckets[len(w.Buckets)*i/pieces], w.Buckets[len(w.Buckets)*(i+1)/pieces-1]
		out.pieces = append(out.pieces, pr.listPoints("The points of every series", q.key, q.grain, from, to, false))
	}
	return out
}

// readTotal starts the calls for the metric's totals over all series. If full is true, it also
// starts the calls for pointReads.full and fullBefore.
func (pr *pageRequest) readTotal(label string, q metricQuery, full bool) (out pointReads) {
	w := q.dateRange.Window(q.grain, q.now)
	out.total = pr.listPoints(label, q.key, q.grain, w.First(), w.Buckets[len(w.Buckets)-1], true)
	if from, to, before, beforeTo, ok := w.FullDays(q.now); ok && full {
		out.full = pr.listPoints("The days of this "+string(q.grain), q.key, period.Day, from, to, true)
		out.fullBefore = pr.listPoints("The same days before", q.key, period.Day, before, beforeTo, true)
	}
	return out
}

// everySeries returns the points of every series. cut is true if the service has more points than
// were read.
func (p pointReads) everySeries() (points []client.Point, cut bool, failed *failure) {
	for _, r := range p.pieces {
		if r.Failure != nil {
			return nil, false, r.Failure
		}
		points = append(points, r.Value.Items...)
		cut = cut || r.Value.Next != ""
	}
	return points, cut, nil
}
