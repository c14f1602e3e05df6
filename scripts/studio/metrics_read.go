package studio

import (
	"growthworkspace/scripts/studio/period"
	"growthworkspace/shared/client"
)

// pointReads are the calls for the points of a metric. Their results are complete after visit.wait.
type pointReads struct {
	total *result[client.Page[client.Point]]   // of the whole metric, in the window and the one before; nil if split
	parts []*result[client.Page[client.Point]] // of every series in the window, in pieces

	// The full days of the unfinished bucket, and as many of the one before; nil for days.
	full, fullBefore *result[client.Page[client.Point]]

	inputs *inputReads // of a derived metric; nil: not read
}

// empty reports whether the whole metric was read and has no points.
func (p pointReads) empty() bool {
	return p.total != nil && p.total.Failure == nil && len(p.total.Value.Items) == 0
}

// piecesMax is the maximum number of pieces in which a split window is read.
const piecesMax = 6

// readPoints starts the calls for the points. A split window is read in pieces in parallel, because
// a page of the API has at most 1,000 points.
func (v *pageRequest) readPoints(q metricQuery) (out pointReads) {
	w := q.rng.Window(q.grain, q.now)
	pieces := 1 // one piece shows the dimensions, and is drawn if currencies cannot be combined
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

// readTotal starts the calls for the points of the whole metric and, with full, of the full days of
// the unfinished bucket.
func (v *pageRequest) readTotal(label string, q metricQuery, full bool) (out pointReads) {
	w := q.rng.Window(q.grain, q.now)
	out.total = v.listPoints(label, q.key, q.grain, w.First(), w.Now[len(w.Now)-1], true)
	if from, to, before, beforeTo, some := w.FullDays(q.now); some && full {
		out.full = v.listPoints("The days of this "+string(q.grain), q.key, period.Day, from, to, true)
		out.fullBefore = v.listPoints("The same days before", q.key, period.Day, before, beforeTo, true)
	}
	return out
}

// everySeries returns the points of every series. cut reports whether some are missing.
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
