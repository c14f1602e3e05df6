package table

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"growthworkspace/shared/parallel"
)

// Bounds of what one page of a list with a filter reads, so that a filter that matches few records
// costs no more than another, and responds as fast.
const (
	filteredRecordsMax = 1000
	filteredBytesMax   = 2 << 20
)

// filteredCallRecords is the maximum number of records that a call reads after the first ones have
// not filled the page.
const filteredCallRecords = 500

// listFiltered returns a page of a list with a filter. It reads at most filteredRecordsMax records
// and filteredBytesMax, whichever comes first. The page then ends with what was found, perhaps
// nothing, and the next page continues after the last record that was read.
//
// Each call reads at most partitionReadBytes. The first calls read all partitions in parallel, which
// are therefore at most two. Each later call reads from the partition that is behind, until the page
// is full or another call could exceed a bound.
func listFiltered[R any](ctx context.Context, q Query, read fetchFunc[R]) (Page[R], error) {
	wanted := q.Limit + 1 // the extra record shows whether there is a next page
	parts, behind := make([]partitionRead[R], len(q.Partitions)), make([]int, len(q.Partitions))
	for i, partition := range q.Partitions {
		parts[i], behind[i] = partitionRead[R]{rows: rows[R]{hasMore: true}, partition: partition}, i
	}
	callRecords, total := min(2*wanted, filteredRecordsMax/len(parts)), reach{}
	for {
		err := parallel.Do(len(behind), len(behind), func(i int) error { return parts[behind[i]].readFiltered(ctx, q, callRecords, read) })
		if err != nil {
			return Page[R]{}, err
		}
		for _, i := range behind {
			total.records, total.bytes = total.records+parts[i].reached.records, total.bytes+parts[i].reached.bytes
		}
		refs := mergeOrder(q, parts)
		finalCount := len(refs) // refs[:finalCount] stay where they are when more is read
		behind = behind[:0]
		for i, p := range parts {
			if p.hasMore && (len(behind) == 0 || q.compare(p.reached.key, parts[behind[0]].reached.key) < 0) {
				behind, finalCount = append(behind[:0], i), q.countThrough(refs, p.reached.key)
			}
		}
		callRecords = min(filteredCallRecords, filteredRecordsMax-total.records)
		if len(behind) > 0 && finalCount < wanted && callRecords > 0 && total.bytes <= filteredBytesMax-partitionReadBytes {
			continue
		}
		found := collectRows(parts, refs[:min(q.Limit, finalCount)])
		out := Page[R]{Records: found.records, PositionAfter: func(n int) string { return q.positionOfSortKey(found.keys[n]) }}
		switch {
		case finalCount > q.Limit:
			out.Next = out.PositionAfter(q.Limit - 1)
		case len(behind) > 0:
			out.Next = q.positionOfSortKey(parts[behind[0]].reached.key)
		}
		return out, nil
	}
}

// readFiltered makes one call that reads the next records of a partition, and adds those that match.
func (p *partitionRead[R]) readFiltered(ctx context.Context, q Query, records int, read fetchFunc[R]) error {
	p.reached, p.hasMore = reach{}, false
	if low, high := q.sortKeyBounds(); high != "" && low > high { // DynamoDB rejects such bounds
		return nil
	}
	in := q.request(p.partition)
	in.Limit = aws.Int32(int32(records))
	if p.last != nil {
		in.ExclusiveStartKey = p.last
	}
	more, last, err := read(ctx, in)
	if err != nil {
		return err
	}
	p.reached, p.hasMore, p.last = more.reached, len(last) > 0, last
	if q.After != "" && len(more.keys) > 0 && q.positionOfSortKey(more.keys[0]) == q.After { // a list with bounds reads the record at the cursor again
		more.slice(1, len(more.keys))
	}
	p.add(more)
	return nil
}
