package table

import (
	"context"
	"slices"
	"sort"
	"strings"
)

// List returns one page and the position for the next one, empty at the end. Only the last page may have fewer than
// Limit records. A record that this program did not write fails every page that it is read with, including the page
// just before it.
func List[T any](ctx context.Context, c *Client, q Query) (records []T, next string, err error) {
	return list(ctx, q, recordsOf[T](c, q.Index.SK()))
}

func list[R any](ctx context.Context, q Query, read fetch[R]) (records []R, next string, err error) {
	found, err := merged(ctx, q, q.Limit+1, read) // the extra record shows whether there is a next page
	if err != nil {
		return nil, "", err
	}
	if len(found.records) > q.Limit {
		found.records = found.records[:q.Limit]
		next = q.position(found.keys[q.Limit-1])
	}
	return found.records, next, nil
}

// firstShare is the part of a page, in percent, that the first wave of a merge requests from each partition. It is more
// than half, so that at most one partition can be short after it. It is not 100, because a merge of seven partitions
// would then read seven pages.
const firstShare = 60

// firstLeast is the least that the first wave requests. So few records cost next to nothing.
const firstLeast = 10

// part has the records that were read from one partition.
type part[R any] struct {
	rows[R]
	partition string
	more      bool // the partition may have records after these
}

// place names a record of a part.
type place struct {
	part, n int
	key     string
}

// merged returns the first want records of the query's partitions in their common order; fewer if there are no more.
//
// One partition takes one round trip. For several, a first wave requests firstShare of a page from each, in parallel.
// If the page needs more than that from a partition, a second wave requests the rest of it. There is never a third. So
// a merge of n partitions reads at most firstShare × n + (100 % − firstShare) of a page, however the records are
// spread.
func merged[R any](ctx context.Context, q Query, want int, read fetch[R]) (rows[R], error) {
	if len(q.Partitions) == 1 {
		return page(ctx, q, q.Partitions[0], want, read)
	}
	ask := make([]int, len(q.Partitions))
	parts := make([]part[R], len(q.Partitions))
	for i, partition := range q.Partitions {
		ask[i], parts[i] = min(want, max(firstLeast, (want*firstShare+99)/100)), part[R]{partition: partition, more: true}
	}
	for {
		if err := extend(ctx, q, parts, ask, read); err != nil {
			return rows[R]{}, err
		}
		places := inOrder(q, parts)
		short := false
		for i, p := range parts {
			ask[i] = p.missing(q, places, want)
			short = short || ask[i] > 0
		}
		if !short {
			return gather(parts, places[:min(want, len(places))]), nil
		}
	}
}

// extend reads ask[i] more records of each part, in parallel.
func extend[R any](ctx context.Context, q Query, parts []part[R], ask []int, read fetch[R]) error {
	return Parallel(len(parts), len(parts), func(i int) error {
		if ask[i] == 0 {
			return nil
		}
		p, after := &parts[i], q
		if len(p.keys) > 0 {
			after.After = q.position(p.keys[len(p.keys)-1])
		}
		found, err := page(ctx, after, p.partition, ask[i], read)
		p.records, p.keys = append(p.records, found.records...), append(p.keys, found.keys...)
		p.more = len(found.records) == ask[i]
		return err
	})
}

// missing returns how many more records of a part may be among the first want. All records that sort up to the last one
// of the part are known, so it is want minus their number.
func (p part[R]) missing(q Query, places []place, want int) int {
	if !p.more || len(p.keys) == 0 {
		return 0
	}
	last := p.keys[len(p.keys)-1]
	known := sort.Search(len(places), func(i int) bool { return q.compare(places[i].key, last) > 0 })
	return max(0, want-known)
}

// inOrder returns the records of all parts in their common order.
func inOrder[R any](q Query, parts []part[R]) []place {
	var places []place
	for i, p := range parts {
		for n, key := range p.keys {
			places = append(places, place{i, n, key})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return q.compare(a.key, b.key) })
	return places
}

func gather[R any](parts []part[R], places []place) rows[R] {
	out := rows[R]{records: make([]R, 0, len(places)), keys: make([]string, 0, len(places))}
	for _, at := range places {
		out.records, out.keys = append(out.records, parts[at.part].records[at.n]), append(out.keys, at.key)
	}
	return out
}

func (q Query) compare(a, b string) int {
	if q.Descending {
		a, b = b, a
	}
	return strings.Compare(a, b)
}
