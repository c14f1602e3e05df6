package metrics

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/table"
)

// roundRecordsMax bounds the records of one query. They are about a megabyte, which is where
// DynamoDB ends a page.
const roundRecordsMax = 1000

// pointReader reads the records of one metric and grain, from the newest period backwards. A round
// is plan, read and decode; then the caller sets found.
type pointReader struct {
	grain     Grain
	prefix    string // of the sort keys
	lowest    string // the sort key that the window starts with
	window    *dynamodb.QueryInput
	units     float64         // read units of all rounds
	series    map[string]bool // that have points
	unlimited string          // this period and newer ones have been read completely
	done      bool            // there is nothing left to read

	// The last round:
	started bool
	low     string // the sort key at which it ended
	items   []table.Item
	found   int // how many new candidates they had
}

// newPointReader returns a reader of the window, whose first round reads this many records.
func newPointReader(companyID, metricKey string, grain Grain, w dayWindow, records int) *pointReader {
	r := &pointReader{grain: grain, prefix: pointPrefix + table.Join(metricKey, string(grain), ""), unlimited: afterAllKeys, series: map[string]bool{}}
	lowest, highest := r.prefix, r.prefix
	if w.from != "" {
		period, _ := grain.recordLocation(w.from)
		lowest += period
	}
	if w.to != "" {
		period, _ := grain.recordLocation(w.to)
		highest += period
	}
	highest += afterAllKeys
	r.lowest = lowest
	r.window = pointsRequest(companyID, lowest, highest)
	r.window.ScanIndexForward = aws.Bool(false)
	r.window.Limit = aws.Int32(int32(min(records, roundRecordsMax)))
	r.done = lowest > highest
	return r
}

// complete reports whether all points since a day have been read. An empty day is before all.
func (r *pointReader) complete(since string) bool {
	if r.done || since == "" {
		return r.done
	}
	period, _ := r.grain.recordLocation(since)
	return period >= r.unlimited
}

// plan sets the bounds of the next round: everything since a day, or records for the points that
// are missing and, so that the last of them is complete, for one more period of each series. since
// can be an older day than in the round before, or none after one: an entry of a total is dropped
// when its bucket turns out to be stored without a value.
func (r *pointReader) plan(since string, missing int) {
	r.low = r.lowest
	switch {
	case since != "":
		period, _ := r.grain.recordLocation(since)
		r.low = max(r.prefix+period, r.lowest)
		r.window.Limit = nil
	case r.started:
		r.window.Limit = aws.Int32(int32(min(nextRound(missing, len(r.items), r.found)+len(r.series), roundRecordsMax)))
	}
	r.window.ExpressionAttributeValues[":low"] = table.String(r.low)
}

// read makes one call.
func (r *pointReader) read(ctx context.Context, t *table.Client) error {
	out, err := t.Query(ctx, r.window)
	if err != nil {
		return err
	}
	r.started, r.items, r.window.ExclusiveStartKey = true, out.Items, out.LastEvaluatedKey
	if out.ConsumedCapacity != nil {
		r.units += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	switch {
	case len(out.LastEvaluatedKey) > 0:
		period, err := periodOf(out.LastEvaluatedKey)
		r.unlimited = period + afterAllKeys
		return err
	case r.low == r.lowest:
		r.done = true
	default: // everything since r.low, which is a period: older ones may follow
		r.unlimited = strings.TrimPrefix(r.low, r.prefix)
		r.window.ExpressionAttributeValues[":high"] = table.String(r.low)
	}
	return nil
}

// decode returns the points of the last round for which keep returns true.
func (r *pointReader) decode(keep func(*Point) bool) (points []Point, err error) {
	points = make([]Point, 0, bucketCountMax(r.items))
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

// bucketCountMax returns an upper bound of the number of points in records.
func bucketCountMax(records []table.Item) (n int) {
	for _, item := range records {
		n += len(item)
	}
	return n
}

// nextRound estimates how many records have to be read for the missing points, from what the last
// round found.
func nextRound(missing, records, found int) int {
	if found == 0 {
		return 2*records + 1
	}
	return ceilDiv(missing*records, found) + 1
}

func periodOf(key table.Item) (string, error) {
	var record pointRecord
	err := table.Decode(key, &record)
	return record.periodOfKey(), err
}
