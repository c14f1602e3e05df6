package metrics

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// PointQuery selects the newest points of a metric in a window of days.
type PointQuery struct {
	MetricKey string
	Grain     Grain
	From, To  string   // first and last day, inclusive; empty: open
	Before    Position // the position of the oldest point on the previous page; zero for the first page
	Limit     int
}

// Position is the position of a point in the order of a metric's points: by ts, then by series. No point has the zero
// value.
type Position struct{ ts, seriesID string }

func positionOf(p Point) Position { return Position{*p.TS, p.SeriesID} }

func (p Position) compare(q Position) int {
	if c := strings.Compare(p.ts, q.ts); c != 0 {
		return c
	}
	return strings.Compare(p.seriesID, q.seriesID)
}

// String returns the position as it appears in a cursor, "" for the zero value.
func (p Position) String() string {
	if p == (Position{}) {
		return ""
	}
	return table.Join(p.ts, p.seriesID)
}

// parsePosition parses a text that String returned. ok is false for any other text, which only a forged cursor contains.
func parsePosition(text string) (p Position, ok bool) {
	if text == "" {
		return Position{}, true
	}
	p.ts, p.seriesID, ok = strings.Cut(text, "#")
	t, isTime := timestamp.Parse(p.ts)
	return p, ok && isTime && timestamp.Format(t) == p.ts
}

// afterAll, appended to a prefix, sorts after every key with that prefix.
const afterAll = "~"

// roundRecordsMax bounds the records of one query. They are about a megabyte, which is where DynamoDB ends a page.
const roundRecordsMax = 1000

// ListPoints returns the newest points of the window, oldest first. next is the position of the following page, with
// older points; zero when there are none.
//
// It reads records from the newest period backwards until no unread record can belong to the page, and keeps at most one
// page of points in memory. A series without gaps takes one round trip. Gaps, and several series in the same periods, can
// take more.
func (s Store) ListPoints(ctx context.Context, companyID string, q PointQuery) (points []Point, next Position, err error) {
	lowest, highest := q.bounds()
	if lowest > highest {
		return nil, Position{}, nil
	}
	want := q.Limit + 1 // one more shows whether there is a next page
	in := pointsRequest(companyID, lowest, highest)
	in.ScanIndexForward = aws.Bool(false)
	in.Limit = aws.Int32(int32(q.Grain.records(want)))
	for {
		out, err := s.table.Query(ctx, in)
		if err != nil {
			return nil, Position{}, err
		}
		before := len(points)
		points = slices.Grow(points, bucketsMost(out.Items))
		for _, item := range out.Items {
			if points, err = appendPoints(points, item, q.matches); err != nil {
				return nil, Position{}, err
			}
		}
		found := len(points) - before
		points = newest(points, want)
		if len(out.LastEvaluatedKey) == 0 {
			break
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
		last := q.periodOf(out.LastEvaluatedKey) // may have unread records; all newer periods are complete
		if len(points) < want {
			in.Limit = aws.Int32(int32(nextRound(want-len(points), len(out.Items), found)))
			continue
		}
		if period, _ := q.Grain.split(dayOf(*points[want-1].TS)); period > last {
			break
		}
		in.ExpressionAttributeValues[":low"] = table.String(q.prefix() + last)
		in.Limit = nil
	}
	if len(points) > q.Limit {
		points = points[:q.Limit]
		next = positionOf(points[q.Limit-1])
	}
	slices.Reverse(points)
	return points, next, nil
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
		return min(2*records+1, roundRecordsMax)
	}
	return min(ceiling(missing*records, found)+1, roundRecordsMax)
}

// newest orders points newest first and keeps at most n.
func newest(points []Point, n int) []Point {
	order := func(a, b Point) int { return positionOf(b).compare(positionOf(a)) }
	if !slices.IsSortedFunc(points, order) { // points of a single series are already sorted
		slices.SortFunc(points, order)
	}
	return points[:min(n, len(points))]
}

func (q PointQuery) prefix() string {
	return pointPrefix + table.Join(q.MetricKey, string(q.Grain), "")
}

// bounds returns the lowest and the highest sort key of the window's records.
func (q PointQuery) bounds() (lowest, highest string) {
	lowest, highest = q.prefix(), q.prefix()
	if q.From != "" {
		period, _ := q.Grain.split(q.From)
		lowest += period
	}
	last := q.To
	if before := q.Before.ts; before != "" && (last == "" || dayOf(before) < last) {
		last = dayOf(before)
	}
	if last != "" {
		period, _ := q.Grain.split(last)
		highest += period
	}
	return lowest, highest + afterAll
}

// matches reports whether a point is in the window and older than the previous page.
func (q PointQuery) matches(p Point) bool {
	day := dayOf(*p.TS)
	return day >= q.From && (q.To == "" || day <= q.To) &&
		(q.Before == Position{} || positionOf(p).compare(q.Before) < 0)
}

func (q PointQuery) periodOf(key table.Item) string {
	var record pointRecord
	if table.Decode(key, &record) != nil {
		return ""
	}
	return record.period()
}

// EachPoint calls visit for every point of the company, period by period and within a period series by series. It holds
// one page of records in memory.
func (s Store) EachPoint(ctx context.Context, companyID string, visit func(Point) error) error {
	in := pointsRequest(companyID, pointPrefix, pointPrefix+afterAll)
	in.ConsistentRead = aws.Bool(true)
	for {
		out, err := s.table.Query(ctx, in)
		if err != nil {
			return err
		}
		for _, item := range out.Items {
			points, err := appendPoints(nil, item, func(Point) bool { return true })
			if err != nil {
				return err
			}
			slices.SortFunc(points, func(a, b Point) int { return positionOf(a).compare(positionOf(b)) })
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

func pointsRequest(companyID, lowest, highest string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: table.Item{
			":pk": table.String(partition(companyID)), ":low": table.String(lowest), ":high": table.String(highest),
		},
	}
}
