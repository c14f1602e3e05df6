package change

import (
	"context"

	"growthworkspace/shared/table"
)

// CounterKey returns the key of a company's counter, which is the head of its feed. A company
// without a counter has no feed, and its changes are dropped.
func CounterKey(companyID string) table.Key {
	return table.Key{PK: table.Partition(companyID, Area), SK: "counter"}
}

// WriteCounter returns the write that creates the counter of a new company. The write fails if the
// counter already exists.
func WriteCounter(t *table.Client, companyID string) table.Write {
	return t.WriteCreate(table.Keys{Key: CounterKey(companyID)}, struct{}{})
}

// RemoveCounter ends a company's feed by deleting its counter. Existing packets stay. It does
// nothing if there is no counter.
func RemoveCounter(ctx context.Context, t *table.Client, companyID string) error {
	return t.BatchDelete(ctx, []table.Key{CounterKey(companyID)})
}
