package metrics

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// PointQuery selects the newest points of a metric in a window of days.
type PointQuery struct {
	MetricKey string
	Grain     Grain
	From, To  string   // first and last day, inclusive; empty means unbounded
	Before    Position // the position of the oldest point on the previous page; zero for the first page
	Limit     int

	SeriesID string // only this series; empty means all
	Total    bool   // one series for the whole metric (see totalPoints); cannot be combined with SeriesID
}

// dayRange is a range of days, both ends inclusive. An empty bound means unbounded.
type dayRange struct{ from, to string }

// window returns the range of days on which the buckets of the page can start.
func (q PointQuery) window() dayRange {
	w := dayRange{q.From, q.To}
	if before := q.Before.ts; before != "" && (w.to == "" || dayOf(before) < w.to) {
		w.to = dayOf(before)
	}
	return w
}

// dayWindow returns the days of all buckets that start in the range returned by window.
func (q PointQuery) dayWindow() dayRange {
	w := q.window()
	if w.from != "" && q.Grain.bucketStartFor(w.from) != w.from { // the bucket that contains the day w.from starts before the window
		w.from = dayAfter(q.Grain.lastDayOf(q.Grain.bucketStartFor(w.from)))
	}
	if w.to != "" {
		w.to = q.Grain.lastDayOf(q.Grain.bucketStartFor(w.to))
	}
	return w
}

// matches reports whether a point at this position is in the window, belongs to the right series
// and is older than the points on the previous page.
func (q PointQuery) matches(at Position) bool {
	day := dayOf(at.ts)
	return day >= q.From && (q.To == "" || day <= q.To) && (q.SeriesID == "" || at.seriesID == q.SeriesID) &&
		(q.Before == Position{} || at.compare(q.Before) < 0)
}

// Position is the position of a point in the order of a metric's points: by ts, then by series. No
// point has the zero Position.
type Position struct{ ts, seriesID string }

func positionOf(p *Point) Position { return Position{*p.TS, p.SeriesID} }

func (p Position) compare(q Position) int {
	if c := strings.Compare(p.ts, q.ts); c != 0 {
		return c
	}
	return strings.Compare(p.seriesID, q.seriesID)
}

// String returns the position in the form used in a cursor, or "" for the zero Position.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	return table.JoinKey(p.ts, p.seriesID)
}

// parsePosition parses a string returned by Position.String. ok is false for any other string,
// which can only come from a forged cursor.
func parsePosition(text string) (p Position, ok bool) {
	if text == "" {
		return Position{}, true
	}
	p.ts, p.seriesID, ok = strings.Cut(text, "#")
	t, isTime := timestamp.Parse(p.ts)
	return p, ok && isTime && timestamp.Format(t) == p.ts
}

// afterAllKeys, appended to a prefix, sorts after every key with that prefix.
const afterAllKeys = "~"

// EachPoint calls visit for every point of the company, period by period and, within a period,
// series by series. It holds one page of records in memory.
func (s Store) EachPoint(ctx context.Context, companyID string, visit func(Point) error) error {
	in := pointsRequest(companyID, pointPrefix, pointPrefix+afterAllKeys)
	in.ConsistentRead = aws.Bool(true)
	for {
		out, err := s.table.Query(ctx, in)
		if err != nil {
			return err
		}
		for _, item := range out.Items {
			points, err := appendPoints(nil, item, func(*Point) bool { return true })
			if err != nil {
				return err
			}
			slices.SortFunc(points, func(a, b Point) int { return positionOf(&a).compare(positionOf(&b)) })
			for _, p := range points {
				if err := visit(p); err != nil {
					return err
				}
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// DaySpan contains the first and the last day on which buckets of a metric start.
type DaySpan struct{ First, Last string }

// Coverage returns the span of each grain for which a metric has stored points. It reads the oldest
// and the newest record of each grain.
func (s Store) Coverage(ctx context.Context, companyID, metricKey string) (map[Grain]DaySpan, error) {
	grains := GrainDay.Values()
	ends := make([]string, 2*len(grains)) // the first and the last day of each grain; empty if the grain has no points
	err := parallel.Do(len(ends), len(ends), func(n int) error {
		prefix := pointPrefix + table.JoinKey(metricKey, grains[n/2], "")
		in := pointsRequest(companyID, prefix, prefix+afterAllKeys)
		in.ScanIndexForward, in.Limit = aws.Bool(n%2 == 0), aws.Int32(1)
		out, err := s.table.Query(ctx, in)
		if err != nil {
			return err
		}
		for _, item := range out.Items {
			points, err := appendPoints(nil, item, func(*Point) bool { return true })
			if err != nil {
				return err
			}
			if len(points) > 0 { // newest first
				ends[n] = dayOf(*points[[]int{len(points) - 1, 0}[n%2]].TS)
			}
		}
		return nil
	})
	spans := map[Grain]DaySpan{}
	for i, grain := range grains {
		if ends[2*i] != "" {
			spans[Grain(grain)] = DaySpan{ends[2*i], ends[2*i+1]}
		}
	}
	return spans, err
}

func pointsRequest(companyID, lowest, highest string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: table.Item{
			":pk": table.String(partition(companyID)), ":low": table.String(lowest), ":high": table.String(highest),
		},
	}
}
