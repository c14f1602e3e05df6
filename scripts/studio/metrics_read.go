package studio

import (
	"growthworkspace/scripts/studio/period"
	"growthworkspace/shared/client"
)

// pointReads holds the API calls for the points of a metric. Their results are complete after
// pageRequest.wait returns.
type pointReads struct {
	total *result[client.Page[client.Point]]   // points of the whole metric, in the window and in the earlier buckets that it is compared with; nil if the metric is split
	parts []*result[client.Page[client.Point]] // points of every series in the window, which is read in pieces

	// Points of the full days of the unfinished bucket, and of the same number of days of the
	// bucket that it is compared with. Both are nil if there are no such days, for example if the
	// buckets are days.
	full, fullBefore *result[client.Page[client.Point]]

	inputs *inputReads // the inputs of a derived metric; nil if they are not read
}

// empty reports whether the whole metric was read and has no points.
func (p pointReads) empty() bool {
	return p.total != nil && p.total.Failure == nil && len(p.total.Value.Items) == 0
}

// piecesMax is the maximum number of pieces in which the window of a split metric is read.
const piecesMax = 6

// readPoints starts the calls for the points of a metric. If the metric is split, the window is
// read as several pieces in parallel, because the API returns at most 1,000 points per page.
func (v *pageRequest) readPoints(q metricQuery) (out pointReads) {
	w := q.rng.Window(q.grain, q.now)
	pieces := 1 // without a split, one piece shows which dimensions exist, and is drawn if the currencies cannot be combined
	if q.split != "" {
		pieces = min(piecesMax, len(w.Now))
	} else {
		out = v.readTotal("The points", q, true)
	}
	for i := range pieces {
		from, to := w.Now[len(w.Now)*i/pieces], w.Now[len(w.Now)*(i+1)/pieces-1]
		out.parts = append(out.parts, v.listPoints("The points of every series", q.key, q.grain, from, to, false))
	}
	return out
}

// readTotal starts the calls for the points of the whole metric. If full is true, it also starts
// the calls for the full days of the unfinished bucket and for the days that they are compared
// with.
func (v *pageRequest) readTotal(label string, q metricQuery, full bool) (out pointReads) {
	w := q.rng.Window(q.grain, q.now)
	out.total = v.listPoints(label, q.key, q.grain, w.First(), w.Now[len(w.Now)-1], true)
	if from, to, before, beforeTo, some := w.FullDays(q.now); some && full {
		out.full = v.listPoints("The days of this "+string(q.grain), q.key, period.Day, from, to, true)
		out.fullBefore = v.listPoints("The same days before", q.key, period.Day, before, beforeTo, true)
	}
	return out
}

// everySeries returns the points of every series. cut is true if there are more points than were
// read.
func (p pointReads) everySeries() (points []client.Point, cut bool, failed *failure) {
	for _, r := range p.parts {
		if r.Failure != nil {
			return nil, false, r.Failure
		}
		points = append(points, r.Value.Items...)
		cut = cut || r.Value.Next != ""
	}
	return points, cut, nil
}
