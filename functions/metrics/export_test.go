package metrics

import (
	"context"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
)

// OperationsWithOneDeleteRound returns the operations of an area whose deletes of points make one
// round in each call.
func OperationsWithOneDeleteRound(t *table.Client) []api.Operation {
	return operations(Store{t, time.Hour, listingUnitsMax})
}

// PutRecords stores points as Store.PutPoints does, in batches. It replaces whole records, so it is
// for new series.
func PutRecords(ctx context.Context, s Store, companyID string, points []Point) error {
	updates, err := packPoints(companyID, points)
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

// WithReadLimit returns the store with another bound for the units that a page of a total, or of
// one series, reads.
func WithReadLimit(s Store, units float64) Store { s.units = units; return s }
