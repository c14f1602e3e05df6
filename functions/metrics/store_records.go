package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/parallel"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/timestamp"
)

// pointRecord contains the fields that all points of one series and period share. In addition, the
// stored record has one attribute per point, named by Grain.recordLocation, whose value is the
// string returned by encodePoint. So listing 365 days reads 13 records of about two kilobytes; one
// record per point would cost six times as much to read.
type pointRecord struct {
	PK        string          `json:"pk"`
	SK        string          `json:"sk"`
	MetricKey string          `json:"metricKey"`
	Grain     Grain           `json:"grain"`
	SeriesID  string          `json:"seriesId"`
	Dims      json.RawMessage `json:"dims"`
}

func newPointRecord(companyID string, p Point) (r pointRecord, bucket string, err error) {
	if p.TS == nil || p.Grain == nil || p.SeriesID == "" {
		return r, "", fmt.Errorf("a point of %s is not identified", p.MetricKey)
	}
	period, bucket := p.Grain.recordLocation(dayOf(*p.TS))
	return pointRecord{
		PK: partition(companyID), SK: pointPrefix + table.JoinKey(p.MetricKey, string(*p.Grain), period, p.SeriesID),
		MetricKey: p.MetricKey, Grain: *p.Grain, SeriesID: p.SeriesID, Dims: p.Dims,
	}, bucket, nil
}

// periodOfKey returns the period, which is the second to last part of the sort key.
func (r pointRecord) periodOfKey() string {
	parts := strings.Split(r.SK, "#")
	return parts[max(0, len(parts)-2)]
}

// encodePoint returns the fields that differ between the points of a record, as a JSON array
// without trailing nulls: value, ingestedAt in milliseconds after the bucket's start, currency,
// baseValue, source. The string is short because a list may read 365 such strings. The JSON numbers
// decode to exactly the same float64.
func encodePoint(p Point) (string, error) {
	var ingested *int64
	if p.IngestedAt != nil {
		at, ok := timestamp.Parse(*p.IngestedAt)
		start, okStart := timestamp.Parse(*p.TS)
		if !ok || !okStart {
			return "", fmt.Errorf("a point of %s has no valid ingestedAt or ts", p.MetricKey)
		}
		ingested = new(at.UnixMilli() - start.UnixMilli())
	}
	text, err := schema.Encode([]any{p.Value, ingested, p.Currency, p.BaseValue, p.Source})
	if err != nil {
		return "", fmt.Errorf("encode a point of %s: %w", p.MetricKey, err)
	}
	trimmed := strings.TrimSuffix(string(text), "]")
	for strings.HasSuffix(trimmed, ",null") {
		trimmed = strings.TrimSuffix(trimmed, ",null")
	}
	return trimmed + "]", nil
}

// appendPoints appends the points of a record for which `keep` returns true, newest first. When it
// calls `keep`, the point has only its identity and ts.
func appendPoints(points []Point, item table.Item, keep func(*Point) bool) ([]Point, error) {
	var record pointRecord
	if err := table.Decode(item, &record); err != nil {
		return nil, err
	}
	companyID, _, _ := strings.Cut(record.PK, "#")
	period := record.periodOfKey()
	names := record.Grain.attributes(period)
	if names == nil {
		return nil, fmt.Errorf("the record %s has no period", record.SK)
	}
	values := make([]pointValues, 0, min(len(names), len(item)))
	var month monthCache
	for _, name := range slices.Backward(names) {
		value, ok := item[name]
		if !ok {
			continue
		}
		day, _ := record.Grain.dayOfAttribute(period, name)
		values = append(values, pointValues{})                                        // stays within the capacity of values, so pointers to its elements stay valid
		c, key := &values[len(values)-1], string(record.Grain)+":"+day+midnightSuffix // pointKey and ts are both substrings of this string
		c.ts = key[len(record.Grain)+1:]
		points = append(points, Point{
			SeriesID: record.SeriesID, PointKey: key[:len(key)-len(midnightSuffix)], CompanyID: companyID,
			MetricKey: record.MetricKey, Grain: &record.Grain, TS: &c.ts, Dims: record.Dims,
		})
		p := &points[len(points)-1]
		if !keep(p) {
			points = points[:len(points)-1]
			continue
		}
		text, ok := value.(*types.AttributeValueMemberS)
		if !ok {
			return nil, fmt.Errorf("the point %s of %s has an unexpected type", p.PointKey, p.MetricKey)
		}
		if err := c.read(text.Value, p, &month); err != nil {
			return nil, fmt.Errorf("decode the point %s of %s: %w", p.PointKey, p.MetricKey, err)
		}
	}
	return points, nil
}

// pointWriteConcurrency limits the concurrent writes of one PutPoints call.
const pointWriteConcurrency = 8

// definitionIDAttr is the attribute of a point record with the id of the metric's definition. The
// feed of changes needs it.
const definitionIDAttr = "definitionId"

// pushTokenPrefix is the prefix of the write tokens of pushes and imports.
const pushTokenPrefix = "psh"

// pointUpdate sets buckets in one record.
type pointUpdate struct {
	record       pointRecord
	definitionID string // the id of the metric's definition, for the feed of changes
	mark         string // the write token to store; see packPoints
	buckets      map[string]string
	isNew        bool       // the record must be created
	keepExisting bool       // buckets that already have a point keep it
	oldValues    table.Item // with keepExisting: the previous values of the attributes that were set
}

// The conditions that a push puts on a record.
const (
	recordExistsCondition = "attribute_exists(pk)"
	recordAbsentCondition = "attribute_not_exists(pk)"
)

// PutPoints stores points with identities (see Point.Identify). It replaces a stored point with the
// same seriesId and pointKey. If several of the given points have the same identity, the last one
// is stored. All points of one series and period are one update, so 500 points of a few series take
// only a few calls.
//
// The updates are unconditional and set only the buckets of their points. So nothing has to be read
// first, other callers' points in the same record are kept, and a call that failed half-way can be
// repeated. definitionIDs maps the keys of the points to the ids of their definitions.
func (s Store) PutPoints(ctx context.Context, companyID string, points []Point, definitionIDs map[string]string) error {
	updates, err := s.packPoints(companyID, points, definitionIDs)
	if err != nil {
		return err
	}
	return parallel.Do(len(updates), pointWriteConcurrency, func(n int) error {
		_, err := s.updatePoints(ctx, updates[n], "")
		return err
	})
}

// AddPoints is PutPoints, except that it keeps stored points. It returns how many points it skipped
// because a point with the same seriesId and pointKey is already stored.
func (s Store) AddPoints(ctx context.Context, companyID string, points []Point, definitionIDs map[string]string) (skipped int, err error) {
	updates, err := s.packPoints(companyID, points, definitionIDs)
	if err != nil {
		return 0, err
	}
	var found atomic.Int64
	err = parallel.Do(len(updates), pointWriteConcurrency, func(n int) error {
		u := updates[n]
		u.keepExisting = true
		_, err := s.updatePoints(ctx, u, "")
		for bucket, text := range u.buckets {
			if stored := u.oldValues[bucket]; stored != nil && !reflect.DeepEqual(stored, table.String(text)) { // an equal value may come from this same update, if its first response was lost
				found.Add(1)
			}
		}
		return err
	})
	return int(found.Load()), err
}

// packPoints groups points by record, in the order in which the records first occur. Only the first
// record of each metric gets a new write token, so that the feed of changes has one change for each
// metric, however many records there are. A push of several transactions needs more tokens; see
// markRecords.
func (s Store) packPoints(companyID string, points []Point, definitionIDs map[string]string) ([]*pointUpdate, error) {
	var updates []*pointUpdate
	updateBySortKey := map[string]*pointUpdate{}
	token, marked := s.table.NewID(pushTokenPrefix), map[string]bool{}
	for _, p := range points {
		record, bucket, err := newPointRecord(companyID, p)
		if err != nil {
			return nil, err
		}
		text, err := encodePoint(p)
		if err != nil {
			return nil, err
		}
		u := updateBySortKey[record.SK]
		if u == nil {
			u = &pointUpdate{definitionID: definitionIDs[p.MetricKey], buckets: map[string]string{}}
			if !marked[p.MetricKey] {
				u.mark, marked[p.MetricKey] = token, true
			}
			updateBySortKey[record.SK] = u
			updates = append(updates, u)
		}
		u.record = record // the same for all points, except that empty dims may be {} or null
		u.buckets[bucket] = text
	}
	return updates, nil
}

// updatePoints makes an update if the condition is met, and reports whether it was met. An empty
// condition is always met.
func (s Store) updatePoints(ctx context.Context, u *pointUpdate, condition string) (met bool, err error) {
	key, update, names, values := u.expression()
	in := &dynamodb.UpdateItemInput{
		Key:              table.Item{table.Base.PK(): table.String(key.PK), table.Base.SK(): table.String(key.SK)},
		UpdateExpression: &update, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}
	if condition != "" {
		in.ConditionExpression = &condition
	}
	if u.keepExisting {
		in.ReturnValues = types.ReturnValueUpdatedOld
	}
	out, err := s.table.UpdateItem(ctx, in)
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	u.oldValues = out.Attributes
	return true, nil
}

// writePoints is updatePoints as part of a transaction. It requires that the record exists or, if
// the record has to be created, that it does not exist.
func (s Store) writePoints(u *pointUpdate) table.Write {
	key, update, names, values := u.expression()
	condition := recordExistsCondition
	if u.isNew {
		condition = recordAbsentCondition
	}
	return s.table.WriteUpdate(key, update, condition, names, values)
}

// expression returns the arguments of the DynamoDB update. The update is correct whatever the
// stored record contains.
func (u *pointUpdate) expression() (key table.Key, update string, names map[string]string, values table.Item) {
	attributes := table.Encode(u.record)
	delete(attributes, table.Base.PK())
	delete(attributes, table.Base.SK())
	for bucket, text := range u.buckets {
		attributes[bucket] = table.String(text)
	}
	if u.definitionID != "" {
		attributes[definitionIDAttr] = table.String(u.definitionID)
	}
	if u.mark != "" {
		attributes[table.WriteIDAttr] = table.String(u.mark)
	}
	var sets []string
	names, values = map[string]string{}, table.Item{}
	for name, value := range attributes {
		names["#"+name], values[":"+name] = name, value
		set := ":" + name
		if _, isBucket := u.buckets[name]; isBucket && u.keepExisting {
			set = "if_not_exists(#" + name + ", :" + name + ")"
		}
		sets = append(sets, "#"+name+" = "+set)
	}
	slices.Sort(sets)
	update = "SET " + strings.Join(sets, ", ")
	if u.record.Dims == nil {
		names["#dims"] = "dims"
		update += " REMOVE #dims"
	}
	return table.Key{PK: u.record.PK, SK: u.record.SK}, update, names, values
}
