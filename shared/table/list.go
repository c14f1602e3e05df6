package table

import (
	"context"
	"slices"
	"sort"
	"strings"

	"growthworkspace/shared/parallel"
)

// PageBytes bounds the JSON of one page of a list. A function can return about 4.7 MB, whatever
// characters the response contains.
const PageBytes = 4 << 20

// partitionReadBytes is the size of the JSON after which one wave stops reading from a partition;
// see mergePartitions. One call to DynamoDB also returns at most this size.
const partitionReadBytes = 1 << 20

// Page is one page of a list.
type Page[R any] struct {
	Records []R
	Next    string // the cursor of the next page; empty at the end

	// PositionAfter returns the cursor of the next page if this page is shortened to end with the
	// n-th record. It is nil for a list with a single page.
	PositionAfter func(n int) string

	// Backward is set when the next page contains the records before Records. A shortened page then
	// keeps its last records, and PositionAfter returns the cursor for a page that starts with the
	// n-th record.
	Backward bool
}

// MapPage returns a page like p, but with each record replaced with the result of f.
func MapPage[R, T any](p Page[R], f func(R) T) Page[T] {
	records := make([]T, len(p.Records))
	for n, r := range p.Records {
		records[n] = f(r)
	}
	return Page[T]{Records: records, Next: p.Next, PositionAfter: p.PositionAfter, Backward: p.Backward}
}

// List returns one page. Only the last page has fewer than Limit records, with two exceptions: a page
// ends early if its records exceed PageBytes of JSON, and a page of a list with a filter ends where
// reading ends (see listFiltered). List returns an error if the page contains a
// record that this program did not write. Because List reads one record beyond the page, such a
// record at the beginning of the next page may also cause an error.
func List[T any](ctx context.Context, c *Client, q Query) (Page[T], error) {
	return list(ctx, q, recordFetcher[T](c, q.Index.SK()))
}

func list[R any](ctx context.Context, q Query, read fetchFunc[R]) (Page[R], error) {
	if len(q.Filter) > 0 {
		return listFiltered(ctx, q, read)
	}
	found, err := mergePartitions(ctx, q, q.Limit+1, read) // the extra record shows whether there is a next page
	if err != nil {
		return Page[R]{}, err
	}
	out := Page[R]{Records: found.records, PositionAfter: func(n int) string { return q.positionOfSortKey(found.keys[n]) }}
	if last := min(len(found.records), q.Limit) - 1; found.hasMore || last+1 < len(found.records) {
		out.Records, out.Next = found.records[:last+1], out.PositionAfter(last)
	}
	return out, nil
}

// firstWavePercent is the percentage of a page that the first wave of a merge requests from each
// partition. It is more than half, so that at most one partition can have more records on the page
// than that wave has read. It is not 100, because a merge of seven partitions would then read seven
// pages.
const firstWavePercent = 60

// firstWaveMin is the minimum number of records that the first wave requests from each partition.
// Reading this few costs next to nothing.
const firstWaveMin = 10

// partitionRead contains the records that were read from one partition.
type partitionRead[R any] struct {
	rows[R]
	partition string
	last      Item // where the next call of listFiltered starts
}

// recordRef refers to a record in one of several partitionReads.
type recordRef struct {
	partition, index int
	key              string
	size             int
}

// mergePartitions returns the first records of the query's partitions, merged in sort-key order. It
// returns as many records as `wanted` says, or fewer if there are no more.
//
// One partition takes one round trip. For several, a first wave requests firstWavePercent of a page
// from each, in parallel. If the page needs more than that from a partition, a second wave requests
// the rest of the page. That is as much as the page can need, so there is no third wave. For any
// distribution of the records, a merge of n partitions reads at most firstWavePercent × n + (100 %
// − firstWavePercent) of a page.
//
// Large records are an exception: a wave ends after partitionReadBytes from each partition, so
// there may be more waves. The result then has at least PageBytes of JSON, perhaps in fewer records
// than `wanted` says.
func mergePartitions[R any](ctx context.Context, q Query, wanted int, read fetchFunc[R]) (rows[R], error) {
	if len(q.Partitions) == 1 {
		return readPartition(ctx, q, q.Partitions[0], wanted, PageBytes, read)
	}
	requestCounts := make([]int, len(q.Partitions))
	parts := make([]partitionRead[R], len(q.Partitions))
	for i, partition := range q.Partitions {
		requestCounts[i], parts[i] = min(wanted, max(firstWaveMin, (wanted*firstWavePercent+99)/100)), partitionRead[R]{rows: rows[R]{hasMore: true}, partition: partition}
	}
	for {
		if err := readMore(ctx, q, parts, requestCounts, read); err != nil {
			return rows[R]{}, err
		}
		refs := mergeOrder(q, parts)
		needsMore, finalCount := false, len(refs) // refs[:finalCount] are final
		for i, p := range parts {
			knownCount := p.countFinal(q, refs)
			if requestCounts[i] = 0; p.hasMore {
				requestCounts[i] = missingCount(refs[:knownCount], wanted)
			}
			needsMore, finalCount = needsMore || requestCounts[i] > 0, min(finalCount, knownCount)
		}
		if !needsMore {
			found := collectRows(parts, refs[:min(wanted, finalCount)])
			found.hasMore = slices.ContainsFunc(parts, func(p partitionRead[R]) bool { return p.hasMore })
			return found, nil
		}
	}
}

// readMore reads counts[i] more records into parts[i], for all parts in parallel.
func readMore[R any](ctx context.Context, q Query, parts []partitionRead[R], counts []int, read fetchFunc[R]) error {
	return parallel.Do(len(parts), len(parts), func(i int) error {
		if counts[i] == 0 {
			return nil
		}
		p, nextQuery := &parts[i], q
		if len(p.keys) > 0 {
			nextQuery.After = q.positionOfSortKey(p.keys[len(p.keys)-1])
		}
		found, err := readPartition(ctx, nextQuery, p.partition, counts[i], partitionReadBytes, read)
		p.add(found)
		p.hasMore = found.hasMore
		return err
	})
}

// countFinal returns how many records at the beginning of the merged order stay where they are when
// more of p's partition is read. These are the records up to the last one that was read from the
// partition, or all records if the partition has no more.
func (p partitionRead[R]) countFinal(q Query, refs []recordRef) int {
	if !p.hasMore {
		return len(refs)
	}
	return q.countThrough(refs, p.keys[len(p.keys)-1])
}

// countThrough returns how many records at the beginning of the merged order are not after key.
func (q Query) countThrough(refs []recordRef, key string) int {
	return sort.Search(len(refs), func(i int) bool { return q.compare(refs[i].key, key) > 0 })
}

// missingCount returns how many more records are needed to fill a page of `want` records, in
// addition to the known ones. It returns 0 if the known records already fill PageBytes.
func missingCount(known []recordRef, want int) int {
	size := 0
	for _, ref := range known[:min(want, len(known))] {
		size += ref.size
	}
	if size >= PageBytes {
		return 0
	}
	return max(0, want-len(known))
}

// mergeOrder returns the records of all parts, merged in sort-key order.
func mergeOrder[R any](q Query, parts []partitionRead[R]) []recordRef {
	var refs []recordRef
	for i, p := range parts {
		for n, key := range p.keys {
			refs = append(refs, recordRef{i, n, key, p.sizes[n]})
		}
	}
	slices.SortStableFunc(refs, func(a, b recordRef) int { return q.compare(a.key, b.key) })
	return refs
}

func collectRows[R any](parts []partitionRead[R], refs []recordRef) rows[R] {
	out := rows[R]{records: make([]R, 0, len(refs)), keys: make([]string, 0, len(refs))}
	for _, ref := range refs {
		out.records, out.keys = append(out.records, parts[ref.partition].records[ref.index]), append(out.keys, ref.key)
	}
	return out
}

func (q Query) compare(a, b string) int {
	if q.Descending {
		a, b = b, a
	}
	return strings.Compare(a, b)
}
