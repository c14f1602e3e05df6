package transfer

import (
	"context"
	"errors"
	"fmt"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
)

// recordBytesMax is the maximum size of the JSON of an imported record. DynamoDB accepts 400 KB for
// an item, including its keys and attribute names.
const recordBytesMax = 350_000

// CheckSize is a check for Define. It reports records that are too large for a table item.
func CheckSize[T any](record *T) []string {
	text, err := schema.Encode(record)
	if err != nil {
		return []string{"record: " + err.Error()}
	}
	if size := len(text) + 1; size > recordBytesMax { // includes the newline
		return []string{fmt.Sprintf("record: must have at most %d bytes, has %d", recordBytesMax, size)}
	}
	return nil
}

// CheckID reports a field whose value is not an id with the given prefix. null is valid. So is the
// id of a record that does not exist, because the records of a file may be in any order.
func CheckID(field, prefix string, value *string) []string {
	if value == nil || id.Valid(prefix, *value) {
		return nil
	}
	return []string{fmt.Sprintf("record.%s: must be %s_ and 1 to 40 characters of 0-9 and a-z", field, prefix)}
}

// CheckFormat reports a field whose value does not have the given format, which is a value of
// package schema's format tag. null is valid.
func CheckFormat(field, format string, value *string) []string {
	if value == nil {
		return nil
	}
	if problem := schema.CheckFormat(format, *value); problem != "" {
		return []string{"record." + field + ": " + problem}
	}
	return nil
}

// ExistsByKey returns a function to pass to WithExisting as `exist`. A record exists if the table
// contains one with the same key.
func ExistsByKey[T any](t *table.Client, keyOf func(companyID string, record T) table.Key) func(ctx context.Context, companyID string, records []T) ([]bool, error) {
	return func(ctx context.Context, companyID string, records []T) ([]bool, error) {
		keys := make([]table.Key, len(records))
		for n, r := range records {
			keys[n] = keyOf(companyID, r)
		}
		items, err := table.BatchGetItems(ctx, t, KeepLast(keys, func(k table.Key) table.Key { return k }))
		stored := make(map[table.Key]bool, len(items))
		for _, item := range items {
			stored[table.KeyOf(item)] = true
		}
		out := make([]bool, len(records))
		for n, key := range keys {
			out[n] = stored[key]
		}
		return out, err
	}
}

// KeepLast returns the last record with each identity, in the order of the file.
func KeepLast[T any, K comparable](records []T, identity func(T) K) []T {
	var kept []T
	for _, n := range LastIndexes(records, identity) {
		kept = append(kept, records[n])
	}
	return kept
}

// LastIndexes returns the indexes of the records that KeepLast returns.
func LastIndexes[T any, K comparable](records []T, identity func(T) K) (indexes []int) {
	last := make(map[K]int, len(records))
	for n, r := range records {
		last[identity(r)] = n
	}
	for n, r := range records {
		if last[identity(r)] == n {
			indexes = append(indexes, n)
		}
	}
	return indexes
}

// PutUnits does the work of a write or add function for records that are stored as units. If
// several records have the same key, it stores the last one, subject to the conditions in its unit.
// For each record that was not stored, refusal returns the problem to report, or "". If any problem
// is reported, the error is a RefusedRecords.
func PutUnits[T any](ctx context.Context, t *table.Client, records []T, unitOf func(T) (table.Key, table.Unit),
	refusal func(T, table.Failure) (problem string, err error),
) (skipped int, err error) {
	keys, all := make([]table.Key, len(records)), make([]table.Unit, len(records))
	for n, r := range records {
		keys[n], all[n] = unitOf(r)
	}
	indexes := LastIndexes(keys, func(key table.Key) table.Key { return key })
	units := make([]table.Unit, len(indexes))
	for i, n := range indexes {
		units[i] = all[n]
	}
	failures, err := t.StoreUnits(ctx, units)
	if err != nil {
		return 0, err
	}
	refused := RefusedRecords{}
	for _, f := range failures {
		n := indexes[f.UnitIndex]
		switch problem, err := refusal(records[n], f); {
		case err != nil:
			return skipped, err
		case problem != "":
			refused[n] = problem
		default:
			skipped++
		}
	}
	return skipped, refused.Err()
}

// OrphanCheck returns a function to pass to WithParent as `orphans`. A record is an orphan if there
// is no record with its parent's key.
func OrphanCheck[T any](t *table.Client, parentOf func(companyID string, record T) table.Key) func(ctx context.Context, companyID string, records []T) ([]bool, error) {
	exist := ExistsByKey(t, parentOf)
	return func(ctx context.Context, companyID string, records []T) ([]bool, error) {
		found, err := exist(ctx, companyID, records)
		for n := range found {
			found[n] = !found[n]
		}
		return found, err
	}
}

// PutRecords returns a function to pass to Define as `write`. That function stores each record
// under its keys. The function owner returns a pointer to the field that holds the id of the
// record's company.
func PutRecords[T any](t *table.Client, keysOf func(T) table.Keys, owner func(*T) *string) func(ctx context.Context, companyID string, records []T) error {
	return func(ctx context.Context, companyID string, records []T) error {
		return t.BatchPut(ctx, itemsOf(t, keysOf, owner, companyID, records))
	}
}

// newAddFunc returns a function to pass to WithExisting as `add`. That function stores the records
// whose keys do not exist yet.
func newAddFunc[T any](t *table.Client, keysOf func(T) table.Keys, owner func(*T) *string) func(ctx context.Context, companyID string, records []T, _ FileHasName) (int, error) {
	return func(ctx context.Context, companyID string, records []T, _ FileHasName) (skipped int, err error) {
		return t.InsertMissing(ctx, itemsOf(t, keysOf, owner, companyID, records))
	}
}

func itemsOf[T any](t *table.Client, keysOf func(T) table.Keys, owner func(*T) *string, companyID string, records []T) (items []table.Item) {
	owned := make([]T, len(records))
	for n, r := range records {
		*owner(&r) = companyID
		owned[n] = r
	}
	for _, r := range KeepLast(owned, func(r T) table.Key { return keysOf(r).Key }) {
		items = append(items, t.NewItem(keysOf(r), r))
	}
	return items
}

// DefineStored combines Define, PutRecords and ExistsByKey for records that are identified by their
// table key.
func DefineStored[T any](name, prefix string, check func(*T) []string, t *table.Client, keysOf func(T) table.Keys, owner func(*T) *string,
	forEach func(ctx context.Context, companyID string, visit func(T) error) error,
) Type {
	return WithExisting(Define(name, prefix, check, PutRecords(t, keysOf, owner), forEach), ExistsByKey(t, func(companyID string, r T) table.Key {
		*owner(&r) = companyID
		return keysOf(r).Key
	}), newAddFunc(t, keysOf, owner))
}

// ExportEach returns a function to pass to Define as `forEach`. That function visits every record
// in one of the company's collections. It reads with strong consistency, so that an export includes
// every earlier write.
func ExportEach[T any](t *table.Client, collectionOf func(companyID string) table.Collection) func(ctx context.Context, companyID string, visit func(T) error) error {
	return func(ctx context.Context, companyID string, visit func(T) error) error {
		collection := collectionOf(companyID)
		collection.Consistent = true
		return table.ForEach(ctx, t, collection, visit)
	}
}

// ExportOne returns a function to pass to Define as `forEach`. It is for types with at most one
// record per company.
func ExportOne[T any](get func(ctx context.Context, companyID string) (T, error)) func(ctx context.Context, companyID string, visit func(T) error) error {
	return func(ctx context.Context, companyID string, visit func(T) error) error {
		record, err := get(ctx, companyID)
		if errors.Is(err, fault.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return visit(record)
	}
}
