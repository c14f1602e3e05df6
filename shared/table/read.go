package table

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"growthworkspace/shared/fault"
)

// Get reads one record with strong consistency. It returns fault.ErrNotFound if the record does not
// exist.
func Get[T any](ctx context.Context, c *Client, key Key) (T, error) {
	var record T
	item, err := c.get(ctx, key)
	if err != nil {
		return record, err
	}
	err = Decode(item, &record)
	return record, err
}

// GetItem reads the attributes of one record with strong consistency. It returns an empty Item if
// the record does not exist.
func GetItem(ctx context.Context, c *Client, key Key) (Item, error) {
	out, err := c.GetItem(ctx, &dynamodb.GetItemInput{Key: key.item()})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

func (c *Client) get(ctx context.Context, key Key) (Item, error) {
	item, err := GetItem(ctx, c, key)
	if err == nil && len(item) == 0 {
		err = fault.ErrNotFound
	}
	return item, err
}

// Filter keeps the records whose attributes pass all of its tests, by the name of the attribute.
// DynamoDB applies it after reading, so it saves no read units: prefer index keys. A list with a
// filter reads a bounded number of records; see listFiltered.
type Filter map[string]Test

// Test is a condition on one attribute.
type Test struct {
	values    []types.AttributeValue
	isElement bool
}

// Is returns a test that passes if the attribute equals one of the values.
func Is[T ~string | ~int64](values ...T) Test { return newTest(false, values) }

// Has returns a test that passes if the attribute is a list that contains one of the values.
func Has[T ~string | ~int64](values ...T) Test { return newTest(true, values) }

func newTest[T ~string | ~int64](isElement bool, values []T) Test {
	out := Test{isElement: isElement}
	for _, value := range values {
		if v := reflect.ValueOf(value); v.Kind() == reflect.String {
			out.values = append(out.values, String(v.String()))
		} else {
			out.values = append(out.values, Number(v.Int()))
		}
	}
	return out
}

// Query requests one page of a list, in the order of the sort key. The sort key of every index ends
// with the record's id, so the order is unambiguous. A cursor is the sort key of the last record of
// a page, so it stays valid while records are created and deleted.
type Query struct {
	Index      Index
	Partitions []string // if there are several, they are read in parallel and merged; see mergePartitions
	Prefix     string   // prefix of the sort key, for a partition of the base table with several kinds of records
	From       string   // minimum sort key; empty: no bound. Not to be used with Prefix
	Until      string   // maximum sort key; empty: no bound. With Prefix, it must start with Prefix, and After must be empty
	Descending bool
	After      string // the cursor returned with the previous page; empty for the first page
	Limit      int
	Filter     Filter // with a filter, at most two Partitions
}

// positionOfSortKey returns the cursor for a record with this sort key: the sort key without
// q.Prefix.
func (q Query) positionOfSortKey(sortKey string) string { return strings.TrimPrefix(sortKey, q.Prefix) }

// rows are records, or records as JSON, with their sort keys in the queried index.
type rows[R any] struct {
	records []R
	keys    []string
	sizes   []int // minimum size of each record's JSON in bytes; set only for a page
	hasMore bool  // whether there may be records after these; set only for a page
	reached reach // set only by a fetchFunc
}

// reach is how far one Query call has read.
type reach struct {
	key     string // the sort key of the last record that was read, even if a filter dropped it; empty at the end
	records int    // number of records that were read
	bytes   int    // their size, rounded up to a read unit
}

func newReach(out *dynamodb.QueryOutput, sortKey string) reach {
	key := sortKeys([]Item{out.LastEvaluatedKey}, sortKey)[0]
	return reach{key, int(out.ScannedCount), int(capacityUnits(out.ConsumedCapacity) * bytesPerReadUnit)}
}

// bytesPerReadUnit is how much an eventually consistent Query reads for one read unit.
const bytesPerReadUnit = 8 << 10

func (r *rows[R]) add(more rows[R]) {
	r.records, r.keys, r.sizes = append(r.records, more.records...), append(r.keys, more.keys...), append(r.sizes, more.sizes...)
}

// slice keeps the records in the range [begin, end).
func (r *rows[R]) slice(begin, end int) {
	r.records, r.keys, r.sizes = r.records[begin:end], r.keys[begin:end], r.sizes[begin:end]
}

func (r *rows[R]) size() (bytes int) {
	for _, size := range r.sizes {
		bytes += size
	}
	return bytes
}

// fetchFunc makes one Query call. last is where the next call starts; it is empty at the end of the
// partition.
type fetchFunc[R any] func(ctx context.Context, in *dynamodb.QueryInput) (found rows[R], last Item, err error)

// recordFetcher returns a fetch function for records of type T.
func recordFetcher[T any](c *Client, sortKey string) fetchFunc[T] {
	return func(ctx context.Context, in *dynamodb.QueryInput) (rows[T], Item, error) {
		rt := recordTypeOf(reflect.TypeFor[T]())
		rt.projectQuery(in, sortKey)
		out, err := c.Query(ctx, in)
		if err != nil {
			return rows[T]{}, nil, err
		}
		records, err := decodeAll[T](out.Items)
		return rows[T]{records: records, keys: sortKeys(out.Items, sortKey), sizes: rt.jsonSizes(out.Items), reached: newReach(out, sortKey)}, out.LastEvaluatedKey, err
	}
}

func sortKeys(items []Item, attribute string) []string {
	keys := make([]string, len(items))
	for i, item := range items {
		if key, ok := item[attribute].(*types.AttributeValueMemberS); ok {
			keys[i] = key.Value
		}
	}
	return keys
}

// readPartition reads at most `want` records of one partition. It stops early once their JSON
// exceeds bytesMax. found.hasMore reports whether the partition may have further records.
func readPartition[R any](ctx context.Context, q Query, partition string, want, bytesMax int, read fetchFunc[R]) (found rows[R], err error) {
	in := q.request(partition)
	found.records = []R{}
	if low, high := q.sortKeyBounds(); high != "" && low > high { // DynamoDB rejects such bounds
		return found, nil
	}
	rereadMax := 0 // how many records of the previous page may be read again
	if q.hasOwnBounds() && q.After != "" {
		rereadMax = 1
	}
	for {
		in.Limit = aws.Int32(int32(want + rereadMax - len(found.records)))
		more, last, err := read(ctx, in)
		if err != nil {
			return found, err
		}
		if rereadMax > 0 && len(more.keys) > 0 && more.keys[0] == q.After {
			more.slice(1, len(more.records))
		}
		rereadMax = 0
		found.add(more)
		if len(found.records) >= want {
			found.slice(0, want)
			found.hasMore = true
			return found, nil
		}
		if found.hasMore = len(last) > 0; !found.hasMore || found.size() >= bytesMax {
			return found, nil
		}
		in.ExclusiveStartKey = last
	}
}

func (q Query) request(partition string) *dynamodb.QueryInput {
	condition := "#pk = :pk"
	names := map[string]string{"#pk": q.Index.PK()}
	values := Item{":pk": String(partition)}
	in := &dynamodb.QueryInput{ScanIndexForward: aws.Bool(!q.Descending)}
	if q.Index != Base {
		in.IndexName = aws.String(q.Index.Name())
	}
	low, high := q.sortKeyBounds()
	switch {
	case q.hasOwnBounds():
		if low != "" && high != "" {
			condition += " AND #sk BETWEEN :low AND :high"
		} else if low != "" {
			condition += " AND #sk >= :low"
		} else {
			condition += " AND #sk <= :high"
		}
	case q.Prefix != "":
		condition += " AND begins_with(#sk, :low)"
		if q.After != "" { // always within the prefix, so a forged cursor cannot reach another kind of record
			in.ExclusiveStartKey = Key{partition, q.Prefix + q.After}.item()
		}
	case low != "":
		condition += " AND #sk > :low"
	case high != "":
		condition += " AND #sk < :high"
	}
	for placeholder, bound := range map[string]string{":low": low, ":high": high} {
		if bound != "" {
			names["#sk"], values[placeholder] = q.Index.SK(), String(bound)
		}
	}
	in.FilterExpression = q.Filter.expression(names, values)
	in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = &condition, names, values
	return in
}

// hasOwnBounds reports whether the list has bounds of its own: From or Until. The key condition
// then combines these with the cursor.
func (q Query) hasOwnBounds() bool { return q.From != "" || q.Until != "" }

// sortKeyBounds returns the minimum and the maximum sort key of a page; each is empty if there is
// no such bound. They come from the list's bounds or from the cursor of the previous page.
func (q Query) sortKeyBounds() (low, high string) {
	low, high = max(q.From, q.Prefix), q.Until
	switch {
	case q.After == "" || q.Prefix != "":
	case !q.Descending:
		low = max(low, q.After)
	case high == "" || q.After < high:
		high = q.After
	}
	return low, high
}

func (f Filter) expression(names map[string]string, values Item) *string {
	if len(f) == 0 {
		return nil
	}
	var terms []string
	for i, name := range slices.Sorted(maps.Keys(f)) {
		attribute, test := fmt.Sprintf("#f%d", i), f[name]
		names[attribute] = name
		var alternatives []string
		for n, value := range test.values {
			placeholder := fmt.Sprintf(":f%d_%d", i, n)
			values[placeholder] = value
			if test.isElement {
				alternatives = append(alternatives, "contains("+attribute+", "+placeholder+")")
			} else {
				alternatives = append(alternatives, attribute+" = "+placeholder)
			}
		}
		terms = append(terms, "("+strings.Join(alternatives, " OR ")+")")
	}
	return aws.String(strings.Join(terms, " AND "))
}

// Collection is a set of records of one partition that is read as a whole: a bounded collection
// that is sorted in memory, the items of a board when it is published, or everything in an export.
type Collection struct {
	Index      Index
	Partition  string
	Prefix     string
	From       string // see Query
	Until      string // see Query
	Filter     Filter
	Consistent bool // read with strong consistency; base table only
}

// ReadAll returns all records of a collection.
func ReadAll[T any](ctx context.Context, c *Client, from Collection) ([]T, error) {
	records := []T{}
	err := ForEach(ctx, c, from, func(record T) error {
		records = append(records, record)
		return nil
	})
	return records, err
}

// ForEach calls visit with every record of a collection until visit returns an error. It reads
// pages of at most 1 MB, so memory use stays flat.
func ForEach[T any](ctx context.Context, c *Client, from Collection, visit func(T) error) error {
	return c.forEachPage(ctx, from, reflect.TypeFor[T](), func(items []Item) error {
		records, err := decodeAll[T](items)
		if err != nil {
			return err
		}
		for _, record := range records {
			if err := visit(record); err != nil {
				return err
			}
		}
		return nil
	})
}

// ForEachItem is like ForEach but calls visit with all attributes of each record.
func ForEachItem(ctx context.Context, c *Client, from Collection, visit func(Item) error) error {
	return c.forEachPage(ctx, from, nil, func(items []Item) error {
		for _, item := range items {
			if err := visit(item); err != nil {
				return err
			}
		}
		return nil
	})
}

// forEachPage calls visit with each page of a collection. The items have only the attributes of the
// record type, or all attributes if record is nil.
func (c *Client) forEachPage(ctx context.Context, collection Collection, record reflect.Type, visit func([]Item) error) error {
	in := Query{Index: collection.Index, Prefix: collection.Prefix, From: collection.From, Until: collection.Until, Filter: collection.Filter}.request(collection.Partition)
	in.ConsistentRead = aws.Bool(collection.Consistent)
	if record != nil {
		recordTypeOf(record).projectQuery(in, "")
	}
	for {
		out, err := c.Query(ctx, in)
		if err != nil {
			return err
		}
		if err := visit(out.Items); err != nil || len(out.LastEvaluatedKey) == 0 {
			return err
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// PageOf sorts a bounded collection in memory and returns one page of it. Cursors work as in List.
func PageOf[T any](records []T, sortKeyOf func(T) string, after string, limit int) Page[T] {
	all := make([]position, len(records))
	for i, r := range records {
		all[i] = position{sortKeyOf(r), i}
	}
	positions, next := pageOf(all, after, limit)
	page := Page[T]{Records: make([]T, len(positions)), Next: next, PositionAfter: func(n int) string { return positions[n].key }}
	for n, p := range positions {
		page.Records[n] = records[p.index]
	}
	return page
}

// position is the position of a record in a list, and its index in the collection.
type position struct {
	key   string
	index int
}

func pageOf(all []position, after string, limit int) (page []position, next string) {
	slices.SortFunc(all, func(a, b position) int { return strings.Compare(a.key, b.key) })
	page = all[sort.Search(len(all), func(i int) bool { return all[i].key > after }):]
	if len(page) > limit {
		page, next = page[:limit], page[limit-1].key
	}
	return page, next
}
