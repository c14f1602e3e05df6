package table

import (
	"context"
	"slices"
	"sort"
	"strings"
)

// firstShare is how much of a page the first wave of a merge asks each partition for, in percent. More than half, so
// that at most one partition can be short after it; and not all, because what one partition does not give another
// does: with all, a merge of seven partitions would read a page seven times.
const firstShare = 60

// firstLeast is what the first wave asks for at least. So few records cost next to nothing.
const firstLeast = 10

// part is what was read of one partition.
type part struct {
	partition string
	items     []Item
	more      bool // it may go on after items
}

// merged returns the first want records of the query's partitions in their common order; fewer when there are no more.
//
// One partition is read in one round trip. Of several, all are asked at once for a part of what is wanted, and where
// one of them has more than that of the page, which is when its share of all records is larger than firstShare, its rest
// is asked for in a second wave, of which there never is a third. So a merge of n partitions reads at most
// firstShare × n + (100 % − firstShare) of a page, however the records are spread.
func (c *Client) merged(ctx context.Context, q Query, want int) ([]Item, error) {
	ask := make([]int, len(q.Partitions))
	parts := make([]part, len(q.Partitions))
	for i, partition := range q.Partitions {
		ask[i], parts[i] = want, part{partition: partition, more: true}
		if len(q.Partitions) > 1 {
			ask[i] = min(want, max(firstLeast, (want*firstShare+99)/100))
		}
	}
	for {
		if err := c.extend(ctx, q, parts, ask); err != nil {
			return nil, err
		}
		items := q.inOrder(parts)
		short := false
		for i, p := range parts {
			ask[i] = p.missing(q, items, want)
			short = short || ask[i] > 0
		}
		if !short {
			return items[:min(want, len(items))], nil
		}
	}
}

// extend reads ask[i] more records of each part, all at once.
func (c *Client) extend(ctx context.Context, q Query, parts []part, ask []int) error {
	return Parallel(len(parts), len(parts), func(i int) error {
		if ask[i] == 0 {
			return nil
		}
		p, after := &parts[i], q
		if len(p.items) > 0 {
			after.After = q.position(p.items[len(p.items)-1])
		}
		items, err := c.page(ctx, after, p.partition, ask[i])
		p.items, p.more = append(p.items, items...), len(items) == ask[i]
		return err
	})
}

// missing is how many of a part's records beyond those read may belong to the first want. Whatever sorts up to the last
// one read is known, of every partition, so they are what those leave of want.
func (p part) missing(q Query, items []Item, want int) int {
	if !p.more || len(p.items) == 0 {
		return 0
	}
	last := p.items[len(p.items)-1]
	known := sort.Search(len(items), func(i int) bool { return q.compare(items[i], last) > 0 })
	return max(0, want-known)
}

// inOrder merges what was read.
func (q Query) inOrder(parts []part) []Item {
	var items []Item
	for _, p := range parts {
		items = append(items, p.items...)
	}
	if len(parts) > 1 {
		slices.SortStableFunc(items, q.compare)
	}
	return items
}

func (q Query) compare(a, b Item) int {
	if q.Descending {
		a, b = b, a
	}
	return strings.Compare(q.sortKey(a), q.sortKey(b))
}
