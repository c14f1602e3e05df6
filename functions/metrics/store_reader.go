package metrics

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"growthworkspace/shared/table"
)

// roundRecordsMax limits the records of one query. That many records are about a megabyte, at which
// DynamoDB ends a page.
const roundRecordsMax = 1000

// pointReader reads the records of one metric and grain, from the newest period backwards, in
// rounds. A round is a call of readRound and then of takeRound. Several readers can run readRound
// at the same time; takeRound runs one after another, because the readers share their candidates.
type pointReader struct {
	grain         Grain
	prefix        string // the prefix of the sort keys
	lowestSortKey string // the sort key at which the window starts
	query         *dynamodb.QueryInput
	unitsRead     float64         // the read units of all rounds so far
	series        map[string]bool // the series that have points
	completeSince string          // this period and newer ones have been read completely
	done          bool            // there is nothing left to read

	// The last round:
	hasRead       bool
	lowerBound    string // the lower bound of the sort keys in this round
	items         []table.Item
	newCandidates int // how many new candidates the items contained
}

// newPointReader returns a reader for the window. Its first round reads at most the given number of
// records.
func newPointReader(companyID, metricKey string, grain Grain, w dayRange, records int) *pointReader {
	r := &pointReader{grain: grain, prefix: pointPrefix + table.JoinKey(metricKey, string(grain), ""), completeSince: afterAllKeys, series: map[string]bool{}}
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
	r.lowestSortKey = lowest
	r.query = pointsRequest(companyID, lowest, highest)
	r.query.ScanIndexForward = aws.Bool(false)
	r.query.Limit = aws.Int32(int32(min(records, roundRecordsMax)))
	r.done = lowest > highest
	return r
}

// isComplete reports whether all points since a day have been read. If the day is empty, it reports
// whether all points of the window have been read.
func (r *pointReader) isComplete(since string) bool {
	if r.done || since == "" {
		return r.done
	}
	period, _ := r.grain.recordLocation(since)
	return period >= r.completeSince
}

// planRound sets the bounds of the next round. If `since` is set, the round reads everything since
// that day. Otherwise it reads enough records for the missing points, plus one more period of each
// series, so that the last of the points is complete.
//
// From one round to the next, `since` can move to an older day or become empty: a bucket of a total
// that turns out to be stored without a value is dropped, and an older one is read in its place.
func (r *pointReader) planRound(since string, missing int) {
	r.lowerBound = r.lowestSortKey
	switch {
	case since != "":
		period, _ := r.grain.recordLocation(since)
		r.lowerBound = max(r.prefix+period, r.lowestSortKey)
		r.query.Limit = nil
	case r.hasRead:
		r.query.Limit = aws.Int32(int32(min(nextRoundSize(missing, len(r.items), r.newCandidates)+len(r.series), roundRecordsMax)))
	}
	r.query.ExpressionAttributeValues[":low"] = table.String(r.lowerBound)
}

// readRound runs the query of the next round. See planRound.
func (r *pointReader) readRound(ctx context.Context, t *table.Client, since string, missing int) error {
	r.planRound(since, missing)
	out, err := t.Query(ctx, r.query)
	if err != nil {
		return err
	}
	r.hasRead, r.items, r.query.ExclusiveStartKey = true, out.Items, out.LastEvaluatedKey
	if out.ConsumedCapacity != nil {
		r.unitsRead += aws.ToFloat64(out.ConsumedCapacity.CapacityUnits)
	}
	switch {
	case len(out.LastEvaluatedKey) > 0:
		period, err := periodOf(out.LastEvaluatedKey)
		r.completeSince = period + afterAllKeys
		return err
	case r.lowerBound == r.lowestSortKey:
		r.done = true
	default: // everything since r.lowerBound, which is the start of a period, has been read; older periods may follow
		r.completeSince = strings.TrimPrefix(r.lowerBound, r.prefix)
		r.query.ExpressionAttributeValues[":high"] = table.String(r.lowerBound)
	}
	return nil
}

// takeRound passes the points of the last round for which `keep` returns true to `add`, which
// returns how many new candidates they contain.
func (r *pointReader) takeRound(keep func(*Point) bool, add func(points []Point) (found int)) (err error) {
	points := make([]Point, 0, bucketCountMax(r.items))
	for _, item := range r.items {
		if points, err = appendPoints(points, item, keep); err != nil {
			return err
		}
	}
	if !r.done {
		for i := range points {
			r.series[points[i].SeriesID] = true
		}
	}
	r.newCandidates = add(points)
	return nil
}

// bucketCountMax returns an upper bound for the number of points in the given records.
func bucketCountMax(records []table.Item) (n int) {
	for _, item := range records {
		n += len(item)
	}
	return n
}

// nextRoundSize estimates how many records have to be read for the missing points, based on what
// the last round found.
func nextRoundSize(missing, records, found int) int {
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
