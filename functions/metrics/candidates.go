package metrics

import "slices"

// candidatePoints are the points found so far, from which a page is chosen. Each kind of listing
// has its own implementation:
//
//	storedPoints    stored points as they are, for days and for metrics whose days do not combine
//	computedPoints  stored weeks or months, and those computed from the days of their series
//	totalPoints     one series for the whole metric
type candidatePoints interface {
	// countNewest counts the points of the page that are known so far, up to `want`. It also
	// returns the start of the oldest point that it counted. Once `want` points are known, only
	// unread records since that start can still change the page.
	countNewest(want int) (n int, oldest string)

	// page returns the newest points, up to the limit, sorted oldest first. It also returns the
	// position at which the next page continues.
	page(limit int) (points []Point, next Position)

	// withRule is called once the metric's rule for combining days and series is known. It returns
	// the candidates to continue with.
	withRule(rule rollupRule) candidatePoints

	// noPointsError returns the error for a window without points, or nil if that is not an error.
	noPointsError() error
}

// storedPoints are the candidates for a listing that uses only stored points, newest first.
type storedPoints struct {
	points []Point
	limit  int // the maximum number of points that the listing can need; older points are dropped
}

func (s *storedPoints) addStored(points []Point) (added int) {
	added = len(points)
	if len(s.points) > 0 {
		points = append(s.points, points...)
	}
	s.points = newestPoints(points, s.limit)
	return added
}

func (s *storedPoints) countNewest(want int) (n int, oldest string) {
	if n = min(want, len(s.points)); n > 0 {
		oldest = *s.points[n-1].TS
	}
	return n, oldest
}

func (s *storedPoints) page(limit int) (points []Point, next Position) {
	points = s.points
	if len(points) > limit {
		points = points[:limit]
		next = positionOf(&points[limit-1])
	}
	slices.Reverse(points)
	return points, next
}

func (s *storedPoints) withRule(rollupRule) candidatePoints { return s }

func (s *storedPoints) noPointsError() error { return nil }

// newestPoints orders points newest first and keeps at most n.
func newestPoints(points []Point, n int) []Point {
	for i := 1; i < len(points); i++ {
		if positionOf(&points[i-1]).compare(positionOf(&points[i])) < 0 { // out of order, which happens only with points of several series
			slices.SortFunc(points, func(a, b Point) int { return positionOf(&b).compare(positionOf(&a)) })
			break
		}
	}
	return points[:min(n, len(points))]
}

// countNewestOf implements countNewest for candidates with the given positions.
func countNewestOf(positions []Position, want int) (n int, oldest string) {
	newest := newestPositions(positions, want)
	if n = len(newest); n > 0 {
		oldest = newest[n-1].ts
	}
	return n, oldest
}

// pageAt implements page for candidates with the given positions. It calls `point` to get the point
// at a position.
func pageAt(positions []Position, limit int, point func(Position) Point) (points []Point, next Position) {
	newest := newestPositions(positions, limit)
	if len(newest) < len(positions) {
		next = newest[limit-1]
	}
	points = make([]Point, 0, len(newest))
	for _, at := range slices.Backward(newest) {
		points = append(points, point(at))
	}
	return points, next
}

// newestPositions orders positions newest first and keeps at most n.
func newestPositions(positions []Position, n int) []Position {
	slices.SortFunc(positions, func(a, b Position) int { return b.compare(a) })
	return positions[:min(n, len(positions))]
}
