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

// PointRange selects the stored points of one grain of a metric in a window of days.
type PointRange struct {
	MetricKey string
	Grain     Grain
	From, To  string // first and last day, inclusive
	SeriesID  string // empty: every series
}

// Bounds of a delete. A round reads and deletes this many records, with this many calls at once. No
// round starts when less than deleteTimeMargin is left before the deadline of the request: a slow
// round takes a second.
const (
	deleteRoundUnits = 100
	deleteWidth      = 16
	deleteTimeMargin = 2 * time.Second
)

// DeletePoints deletes points, the oldest records first, and returns how many. Either name of the
// metric is accepted. more reports whether it ended before the last record, near the deadline of
// ctx; repeating the call continues. It makes at least one round. After an error, the points that
// it deleted are gone; repeating the call continues, too.
//
// Each record is changed under the condition that its points in the range are the ones that are
// counted. So of several deletes only one counts a point, and a push at the same moment comes
// before or after; what it stores outside of the range stays.
func (s Store) DeletePoints(ctx context.Context, companyID string, of PointRange) (deleted int, more bool, err error) {
	known, err := s.DefinitionsByKey(ctx, companyID, namesOf(of.MetricKey))
	if err != nil {
		return 0, false, err
	}
	key, _ := storedKey(of.MetricKey, known)
	prefix := pointPrefix + table.Join(key, string(of.Grain), "")
	first, _ := of.Grain.recordLocation(of.From)
	last, _ := of.Grain.recordLocation(of.To)
	in := pointsRequest(companyID, prefix+first, prefix+last+afterAllKeys)
	in.ConsistentRead, in.Limit = aws.Bool(true), aws.Int32(deleteRoundUnits)
	for {
		out, err := s.table.Query(ctx, in)
		if err != nil {
			return deleted, false, err
		}
		counts := make([]int, len(out.Items))
		err = parallel.Do(len(out.Items), deleteWidth, func(n int) (err error) {
			counts[n], err = s.deleteFrom(ctx, out.Items[n], of)
			return err
		})
		for _, n := range counts {
			deleted += n
		}
		if err != nil || len(out.LastEvaluatedKey) == 0 {
			return deleted, false, err
		}
		if end, limited := ctx.Deadline(); limited && time.Until(end) < s.margin {
			return deleted, true, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// deleteAttemptsMax bounds the attempts to change one record. An attempt fails only when it loses a
// race with a push or another delete of its points.
const deleteAttemptsMax = 50

// deleteTokenAttr is the attribute with the token of the last delete that changed a record, so that
// a retry after a lost response finds its own change.
const deleteTokenAttr = "deletedBy"

// deleteFrom deletes the points of a range from one record, and the record if no other point is
// left, and returns how many. A record that has no points is deleted too: it would prevent the
// deletion of its metric's definition.
func (s Store) deleteFrom(ctx context.Context, item table.Item, of PointRange) (int, error) {
	for range deleteAttemptsMax {
		var record pointRecord
		if err := table.Decode(item, &record); err != nil {
			return 0, err
		}
		if of.SeriesID != "" && record.SeriesID != of.SeriesID {
			return 0, nil
		}
		inside, outside := of.partition(record, item)
		var done bool
		var err error
		switch {
		case outside == "": // also a record that has no points at all
			done, item, err = s.deleteRecord(ctx, record, inside)
		case len(inside) > 0:
			done, item, err = s.removeBuckets(ctx, record, of, inside, outside)
		default:
			return 0, nil
		}
		switch {
		case err != nil:
			return 0, err
		case done:
			return len(inside), nil
		case item == nil:
			return 0, nil // another delete was faster
		}
	}
	return 0, table.ErrTooMuchContention
}

// partition returns the attributes of a record's points that are in the range. outside is one that
// is not in the range, empty if all are.
func (of PointRange) partition(record pointRecord, item table.Item) (inside []string, outside string) {
	for _, name := range record.Grain.attributes(record.periodOfKey()) {
		switch _, stored := item[name]; {
		case !stored:
		case of.contains(record, name):
			inside = append(inside, name)
		default:
			outside = name
		}
	}
	return inside, outside
}

// contains reports whether a bucket of a record is in the range.
func (of PointRange) contains(record pointRecord, name string) bool {
	day, ok := record.Grain.dayOfAttribute(record.periodOfKey(), name)
	return ok && day >= of.From && day <= of.To
}

// exactBucketsCondition returns the condition that, among the given buckets, a record has exactly
// the stored ones.
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

// deleteRecord deletes a record that has points in these buckets and in no other. left is the
// record if that condition fails.
func (s Store) deleteRecord(ctx context.Context, record pointRecord, inside []string) (done bool, left table.Item, err error) {
	condition, names := exactBucketsCondition(record.Grain.attributes(record.periodOfKey()), inside)
	return s.table.DeleteIf(ctx, table.Key{PK: record.PK, SK: record.SK}, condition, names, nil)
}

// removeBuckets removes these points from a record if it has no others in the range and has the one
// outside of it. left is the record if that condition fails. When two deletes together take all
// points of a record, the second finds none outside of its range, so no empty record remains.
func (s Store) removeBuckets(ctx context.Context, record pointRecord, of PointRange, inside []string, outside string) (done bool, left table.Item, err error) {
	buckets := slices.DeleteFunc(slices.Clone(record.Grain.attributes(record.periodOfKey())), func(name string) bool { return !of.contains(record, name) })
	condition, names := exactBucketsCondition(buckets, inside)
	condition += " AND attribute_exists(#" + outside + ")"
	token := s.table.NewID("del")
	names["#by"], names["#"+outside] = deleteTokenAttr, outside
	_, err = s.table.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		Key:                       table.Item{table.Base.PK(): table.String(record.PK), table.Base.SK(): table.String(record.SK)},
		UpdateExpression:          aws.String("SET #by = :by REMOVE #" + strings.Join(inside, ", #")),
		ConditionExpression:       &condition,
		ExpressionAttributeNames:  names,
		ExpressionAttributeValues: table.Item{":by": table.String(token)},

		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return err == nil, nil, err
	}
	by, _ := failed.Item[deleteTokenAttr].(*types.AttributeValueMemberS)
	return by != nil && by.Value == token, failed.Item, nil
}
