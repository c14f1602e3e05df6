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

// CheckSize reports a record that is too large for a table item.
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

// Stored implements Kind for records that are identified by their table key, and stored as one item
// each. A kind with other rules embeds it and replaces methods.
type Stored[T any] struct {
	Table *table.Client

	// KeysOf sets the company of a record, and returns its keys.
	KeysOf func(companyID string, record *T) table.Keys

	// Extra returns the problems with a record, except for its size; nil if there are none.
	Extra func(record *T) []string

	// Each is Export. See ExportEach and ExportOne.
	Each func(ctx context.Context, companyID string, visit func(T) error) error
}

// Check implements Kind.
func (s Stored[T]) Check(record *T) (problems []string) {
	if s.Extra != nil {
		problems = s.Extra(record)
	}
	return append(problems, CheckSize(record)...)
}

// Exist implements Kind. A record exists if the table contains one with the same key.
func (s Stored[T]) Exist(ctx context.Context, companyID string, records []T) ([]bool, error) {
	return ExistByKey(ctx, s.Table, records, func(r T) table.Key { return s.KeysOf(companyID, &r).Key })
}

// Import implements Kind.
func (s Stored[T]) Import(ctx context.Context, companyID string, records []T, m Mode) (skipped int, err error) {
	keys := make([]table.Keys, len(records))
	for n := range records {
		keys[n] = s.KeysOf(companyID, &records[n])
	}
	var items []table.Item
	for _, n := range LastIndexes(keys, func(k table.Keys) table.Key { return k.Key }) {
		items = append(items, s.Table.NewItem(keys[n], records[n]))
	}
	if m.OnlyNew {
		return s.Table.InsertMissing(ctx, items)
	}
	return 0, s.Table.BatchPut(ctx, items)
}

// Export implements Kind.
func (s Stored[T]) Export(ctx context.Context, companyID string, visit func(T) error) error {
	return s.Each(ctx, companyID, visit)
}

// ExistByKey reports, for each record, whether the table contains one with the same key.
func ExistByKey[T any](ctx context.Context, t *table.Client, records []T, keyOf func(T) table.Key) ([]bool, error) {
	keys := make([]table.Key, len(records))
	for n, r := range records {
		keys[n] = keyOf(r)
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

// Orphans returns the problems of the records without a stored parent. parentOf returns the key of
// the parent, its name in a file, and the problem if it does not exist. A problem is void if the
// file contains the parent.
func Orphans[T any](ctx context.Context, t *table.Client, records []T, parentOf func(T) (key table.Key, name, problem string)) (out []Problem, err error) {
	found, err := ExistByKey(ctx, t, records, func(r T) table.Key { key, _, _ := parentOf(r); return key })
	for n, exists := range found {
		if _, name, problem := parentOf(records[n]); !exists {
			out = append(out, Problem{n, problem + ", neither stored nor in the file", name})
		}
	}
	return out, err
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

// PutUnits is Import for records that are stored as units. If
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

// ExportEach returns a function for Stored.Each that visits every record
// in one of the company's collections. It reads with strong consistency, so that an export includes
// every earlier write.
func ExportEach[T any](t *table.Client, collectionOf func(companyID string) table.Collection) func(ctx context.Context, companyID string, visit func(T) error) error {
	return func(ctx context.Context, companyID string, visit func(T) error) error {
		collection := collectionOf(companyID)
		collection.Consistent = true
		return table.ForEach(ctx, t, collection, visit)
	}
}

// ExportOne returns a function for Stored.Each, for types with at most one record per company.
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
