package studio

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"growthworkspace/shared/client"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a move sets sortOrders that put the item at its place and keep the order of the other
// items. This must work whether the sortOrders in the column are consecutive, equal, far apart or
// missing.
func TestMoveWrites(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		size, spread := 1+random.IntN(8), 1+random.IntN(12)
		column := make([]client.Item, size)
		for n := range column {
			column[n] = client.Item{ID: fmt.Sprint(n), ColumnID: client.Value("a"), SortOrder: client.Null[int]()}
			if random.IntN(5) > 0 {
				column[n].SortOrder = client.Value(random.IntN(spread))
			}
		}
		sortItems(column)
		from := random.IntN(size)
		m := itemMove{item: column[from], column: "a", from: from, low: client.Null[int](), high: client.Null[int]()}
		m.others = slices.Delete(slices.Clone(column), from, from+1)
		if random.IntN(3) == 0 { // the item comes from a different column
			m.item.ColumnID = client.Value("b")
		}
		m.at = random.IntN(size)
		want := slices.Insert(slices.Clone(m.others), m.at, m.item)
		writes, possible := m.updates()
		if !possible {
			t.Fatalf("not possible: %v", column)
		}
		got := slices.Clone(want)
		slices.SortFunc(got, func(a, b client.Item) int { return cmp.Compare(a.ID, b.ID) })
		for _, w := range writes {
			i := slices.IndexFunc(got, func(i client.Item) bool { return i.ID == w.ItemID })
			if n, ok := w.SortOrder.Get(); ok {
				got[i].SortOrder = client.Value(n)
			}
		}
		sortItems(got)
		if !slices.EqualFunc(got, want, func(a, b client.Item) bool { return a.ID == b.ID }) {
			t.Fatalf("%s to %d of %v: %v writes %v", m.item.ID, m.at, orders(column), orders(got), writes)
		}
	}
}

// sortItems sorts items in the order in which the service lists them. It sorts items with equal
// sortOrders by id, because the ids are in the order of creation.
func sortItems(items []client.Item) {
	slices.SortStableFunc(items, func(a, b client.Item) int {
		x, hasX := a.SortOrder.Get()
		y, hasY := b.SortOrder.Get()
		switch {
		case hasX && hasY && x != y:
			return cmp.Compare(x, y)
		case hasX != hasY:
			if hasX {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
}

func orders(items []client.Item) (out []string) {
	for _, i := range items {
		out = append(out, i.ID+"="+i.SortOrder.String())
	}
	return out
}
