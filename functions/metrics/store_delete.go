package metrics

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// PointRange selects the stored points of one grain of a metric in a range of days.
type PointRange struct {
	MetricKey string
	Grain     Grain
	From, To  string // first and last day, inclusive
	SeriesID  string // empty: every series
}

// Limits of a delete. A round reads and deletes up to deleteRoundUnits records, with up to
// deleteConcurrency concurrent calls. No new round starts when less than deleteTimeMargin is left
// before the deadline of the request, because a slow round takes a second.
const (
	deleteRoundUnits  = 100
	deleteConcurrency = 16
	deleteTimeMargin  = 2 * time.Second
)

// DeletePoints deletes points, oldest records first, and returns how many it deleted. It accepts
// either name of the metric, and makes at least one round. If it stops before the last record
// because the deadline of ctx is near, it returns `more` as true. After an error, the points that
// it already deleted stay deleted. In both cases, repeating the call deletes the rest.
//
// Each update is conditional: it fails if the record's points in the range have changed since they
// were counted. So concurrent deletes never count a point twice, and a concurrent push takes effect
// entirely before or after. Points that the push stores outside of the range stay.
func (s Store) DeletePoints(ctx context.Context, companyID string, r PointRange) (deleted int, more bool, err error) {
	known, err := s.DefinitionsByKey(ctx, companyID, namesOf(r.MetricKey))
	if err != nil {
		return 0, false, err
	}
	key, _ := storedKey(r.MetricKey, known)
	prefix := pointPrefix + table.JoinKey(key, string(r.Grain), "")
	first, _ := r.Grain.recordLocation(r.From)
	last, _ := r.Grain.recordLocation(r.To)
	in := pointsRequest(companyID, prefix+first, prefix+last+afterAllKeys)
	in.ConsistentRead, in.Limit = aws.Bool(true), aws.Int32(deleteRoundUnits)
	for {
		out, err := s.table.Query(ctx, in)
		if err != nil {
			return deleted, false, err
		}
		counts := make([]int, len(out.Items))
		err = parallel.Do(len(out.Items), deleteConcurrency, func(n int) (err error) {
			counts[n], err = s.deletePointsOfItem(ctx, out.Items[n], r)
			return err
		})
		for _, n := range counts {
			deleted += n
		}
		if err != nil || len(out.LastEvaluatedKey) == 0 {
			return deleted, false, err
		}
		if end, limited := ctx.Deadline(); limited && time.Until(end) < s.deleteMargin {
			return deleted, true, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// deleteAttemptsMax limits the attempts to change one record. An attempt fails only if it loses a
// race with a push or with another delete of the record's points.
const deleteAttemptsMax = 50

// deleteTokenAttr is the attribute that holds the token of the last delete that changed a record,
// so that a retry after a lost response recognises its own change.
const deleteTokenAttr = "deletedBy"

// deletePointsOfItem deletes the points of a range from one record and returns how many it deleted.
// It deletes the record itself if no other points are left.
func (s Store) deletePointsOfItem(ctx context.Context, item table.Item, r PointRange) (int, error) {
	for range deleteAttemptsMax {
		var record pointRecord
		if err := table.Decode(item, &record); err != nil {
			return 0, err
		}
		if r.SeriesID != "" && record.SeriesID != r.SeriesID {
			return 0, nil
		}
		inside, outside := r.splitBuckets(record, item)
		var done bool
		var err error
		switch {
		case outside == "":
			done, item, err = s.deleteRecord(ctx, record, inside)
		case len(inside) > 0:
			done, item, err = s.removeBuckets(ctx, record, r, inside, outside)
		default:
			return 0, nil
		}
		switch {
		case err != nil:
			return 0, err
		case done:
			return len(inside), nil
		case item == nil:
			return 0, nil // a concurrent delete was faster
		}
	}
	return 0, table.ErrTooMuchContention
}

// splitBuckets returns the attribute names of a record's points that are in the range, and of one
// point that is not. The latter is empty if all points are in the range.
func (r PointRange) splitBuckets(record pointRecord, item table.Item) (inside []string, outside string) {
	for _, name := range record.Grain.attributes(record.periodOfKey()) {
		switch _, stored := item[name]; {
		case !stored:
		case r.contains(record, name):
			inside = append(inside, name)
		default:
			outside = name
		}
	}
	return inside, outside
}

// contains reports whether a bucket of a record is in the range.
func (r PointRange) contains(record pointRecord, name string) bool {
	day, ok := record.Grain.dayOfAttribute(record.periodOfKey(), name)
	return ok && day >= r.From && day <= r.To
}

// exactBucketsCondition returns a condition that holds if, of the given buckets of a record,
// exactly those in `stored` have points.
func exactBucketsCondition(buckets, stored []string) (condition string, names map[string]string) {
	names = make(map[string]string, len(buckets))
	parts := make([]string, len(buckets))
	for n, name := range buckets {
		names["#"+name], parts[n] = name, "attribute_not_exists(#"+name+")"
		if slices.Contains(stored, name) {
			parts[n] = "attribute_exists(#" + name + ")"
		}
	}
	return strings.Join(parts, " AND "), names
}

// deleteRecord deletes a record if it has points in exactly the buckets listed in `inside`.
// Otherwise, it returns the stored record in `current`.
func (s Store) deleteRecord(ctx context.Context, record pointRecord, inside []string) (done bool, current table.Item, err error) {
	condition, names := exactBucketsCondition(record.Grain.attributes(record.periodOfKey()), inside)
	return s.table.DeleteIf(ctx, table.Key{PK: record.PK, SK: record.SK}, condition, names, nil)
}

// removeBuckets removes the points listed in `inside` from a record. It does so only if the record
// has no other points in the range and still has the point named by `outside`, which is not in the
// range. If that condition fails, it returns the stored record in `current`. If two deletes
// together cover all points of a record, the second one finds no point outside of its range, so no
// empty record remains.
func (s Store) removeBuckets(ctx context.Context, record pointRecord, r PointRange, inside []string, outside string) (done bool, current table.Item, err error) {
	buckets := slices.DeleteFunc(slices.Clone(record.Grain.attributes(record.periodOfKey())), func(name string) bool { return !r.contains(record, name) })
	condition, names := exactBucketsCondition(buckets, inside)
	condition += " AND attribute_exists(#" + outside + ")"
	token := s.table.NewID("del")
	names["#by"], names["#write"], names["#"+outside] = deleteTokenAttr, table.WriteIDAttr, outside
	_, err = s.table.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		Key:                       table.Item{table.Base.PK(): table.String(record.PK), table.Base.SK(): table.String(record.SK)},
		UpdateExpression:          aws.String("SET #by = :by, #write = :by REMOVE #" + strings.Join(inside, ", #")),
		ConditionExpression:       &condition,
		ExpressionAttributeNames:  names,
		ExpressionAttributeValues: table.Item{":by": table.String(token)},

		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return err == nil, nil, err
	}
	lastToken, _ := failed.Item[deleteTokenAttr].(*types.AttributeValueMemberS)
	return lastToken != nil && lastToken.Value == token, failed.Item, nil
}
