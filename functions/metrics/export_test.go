package metrics

import (
	"context"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// OperationsWithOneDeleteRound returns the operations of the area, with a delete of points that
// reads and deletes only one round of records per call.
func OperationsWithOneDeleteRound(t *table.Client) []api.Operation {
	return operations(Store{t, time.Hour, listingUnitsMax})
}

// PutRecords stores points like Store.PutPoints, but in batches. It replaces whole records, so it
// must only be used for new series.
func PutRecords(ctx context.Context, s Store, companyID string, points []Point) error {
	updates, err := s.packPoints(companyID, points, nil)
	if err != nil {
		return err
	}
	var items []table.Item
	for _, u := range updates {
		item := s.table.NewItem(table.Keys{Key: table.Key{PK: u.record.PK, SK: u.record.SK}}, u.record)
		for bucket, text := range u.buckets {
			item[bucket] = table.String(text)
		}
		items = append(items, item)
	}
	return s.table.BatchPut(ctx, items)
}

// WithReadLimit returns the store with a different limit for the read units of a page of a total or
// of one series.
func WithReadLimit(s Store, unitsMax float64) Store { s.unitsMax = unitsMax; return s }
