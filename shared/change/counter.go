package change

import (
	"context"
	"errors"

	"growthworkspace/shared/table"
)

// CounterKey returns the key of the head of a company's feed. A company without one has no feed,
// and its changes are dropped.
func CounterKey(companyID string) table.Key {
	return table.Key{PK: table.Partition(companyID, Area), SK: "counter"}
}

// WriteCounter returns the write that creates the counter of a new company. It fails if the counter
// exists.
func WriteCounter(t *table.Client, companyID string) table.Write {
	return t.WriteCreate(table.Keys{Key: CounterKey(companyID)}, struct{}{})
}

// EnsureCounter creates the counter of a company that has none, which an earlier version of this
// program created. created is false if the company has one.
func EnsureCounter(ctx context.Context, t *table.Client, companyID string) (created bool, err error) {
	err = t.Insert(ctx, table.Keys{Key: CounterKey(companyID)}, struct{}{})
	if errors.Is(err, table.ErrExists) {
		return false, nil
	}
	return err == nil, err
}

// RemoveCounter ends the feed of a company. Packets that exist stay. It succeeds if there is no
// counter.
func RemoveCounter(ctx context.Context, t *table.Client, companyID string) error {
	return t.BatchDelete(ctx, []table.Key{CounterKey(companyID)})
}
