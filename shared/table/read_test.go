package table_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a list continues after its cursor even if the record that the cursor refers to was
// deleted.
func TestListAfterADeletedPosition(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	company := c.NewID("co")
	for i := range 9 {
		insert(t, c, note{ID: fmt.Sprintf("itm_%d", i), Company: company, N: ptr(float64(i)), Status: "draft"})
	}
	for _, q := range []table.Query{
		{Partitions: []string{noteKey(company, "").PK}, Prefix: "note#", Limit: 3},
		{Index: table.GSI1, Partitions: []string{table.Partition(company, "notes", "all")}, Limit: 3, Descending: true},
	} {
		page, next, err := list[note](t.Context(), c, q)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.BatchDelete(t.Context(), []table.Key{noteKey(company, page[2].ID)}); err != nil {
			t.Fatal(err)
		}
		rest, err := table.ReadAll[note](t.Context(), c, table.Collection{Partition: noteKey(company, "").PK, Consistent: true})
		if err != nil {
			t.Fatal(err)
		}
		q.After = next
		if got := readAllPages(t, c, q, func() {}); len(got) != len(rest)-2 || got[0].ID == page[1].ID {
			t.Errorf("after %s: %v", next, ids(got))
		}
	}
}

// Ensure Limit counts matching records, so that only the last page is short, even if many records
// do not match.
func TestFilterBehindManyOthers(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	company := c.NewID("co")
	var items []table.Item
	for i := range 150 {
		n := note{ID: fmt.Sprintf("itm_%03d", i), Company: company}
		if i%50 == 49 {
			n.Count = 1
		}
		items = append(items, c.NewItem(keysOf(n), n))
	}
	if err := c.BatchPut(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	q := table.Query{Partitions: []string{noteKey(company, "").PK}, Prefix: "note#", Limit: 2, Filter: table.Filter{"count": table.Is[int64](1)}}
	if diff := cmp.Diff([]string{"itm_049", "itm_099", "itm_149"}, ids(readAllPages(t, c, q, func() {}))); diff != "" {
		t.Errorf("records on all pages (-want +got):\n%s", diff)
	}
}

// Ensure a forged cursor finds no record outside the prefix and causes no error.
func TestForgedPositions(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	company := c.NewID("co")
	partition := noteKey(company, "").PK
	n := insert(t, c, note{ID: "itm_5", Company: company})
	for _, sk := range []string{"a", "note", "note$", "notes", "zebra", "~"} {
		other := c.NewItem(table.Keys{Key: table.Key{PK: partition, SK: sk}}, note{ID: "other"})
		if err := c.BatchPut(t.Context(), []table.Item{other}); err != nil {
			t.Fatal(err)
		}
	}
	forged := []string{"~", " ", "\x00", "#", "itm_4", "itm_5", "itm_6", "note#itm_4", "../", "🎉", "\uffff", strings.Repeat("z", 1000), strings.Repeat("\x00", 1000)}
	for _, descending := range []bool{false, true} {
		for _, after := range forged {
			q := table.Query{Partitions: []string{partition}, Prefix: "note#", Descending: descending, After: after, Limit: 10}
			got, next, err := list[note](t.Context(), c, q)
			if err != nil || next != "" {
				t.Errorf("after %.20q: next %q, want none: %v", after, next, err)
			}
			want := []string{}
			if descending && after > n.ID || !descending && after < n.ID {
				want = []string{n.ID}
			}
			if !slices.Equal(ids(got), want) {
				t.Errorf("%.20q, descending %v: %v", after, descending, ids(got))
			}
			indexQuery := table.Query{Index: table.GSI1, Partitions: []string{table.Partition(company, "notes", "all")}, Descending: descending, After: after, Limit: 10}
			if got, _, err := list[note](t.Context(), c, indexQuery); err != nil || len(got) > 1 {
				t.Errorf("index, %.20q: %v, %v", after, ids(got), err)
			}
			sortKey := noteSortKey(n)
			isAfterCursor := descending && after > sortKey || !descending && after < sortKey
			for _, bounds := range [][2]string{{sortKey, ""}, {"", sortKey}, {sortKey, sortKey}, {sortKey + "!", ""}, {"", sortKey[:1]}, {sortKey, sortKey[:1]}} {
				indexQuery.From, indexQuery.Until = bounds[0], bounds[1]
				inBounds := sortKey >= indexQuery.From && (indexQuery.Until == "" || sortKey <= indexQuery.Until)
				if got, next, err := list[note](t.Context(), c, indexQuery); err != nil || next != "" || (len(got) == 1) != (inBounds && isAfterCursor) {
					t.Errorf("bounds %q, %.20q, descending %v: %v, next %q, %v", bounds, after, descending, ids(got), next, err)
				}
			}
		}
	}
}

// Ensure sorting a bounded collection in memory gives the same pages as an index.
func TestPaginateAgainstList(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	c, _ := newTestClient(t, nil)
	rapid.Check(t, func(r *rapid.T) {
		company := c.NewID("co")
		insertNotes(t, r, c, company, 25)
		limit := rapid.IntRange(1, 9).Draw(r, "limit")
		q := table.Query{Index: table.GSI1, Partitions: []string{table.Partition(company, "notes", "all")}, Limit: limit}
		after := ""
		for {
			all, err := table.ReadAll[note](t.Context(), c, table.Collection{Partition: noteKey(company, "").PK, Prefix: "note#"})
			if err != nil {
				r.Fatal(err)
			}
			q.After = after
			want, wantNext, err := list[note](t.Context(), c, q)
			if err != nil {
				r.Fatal(err)
			}
			got, next := pageOf(all, noteSortKey, after, limit)
			if !slices.Equal(ids(got), ids(want)) || next != wantNext {
				r.Fatalf("%v and %q, want %v and %q", ids(got), next, ids(want), wantNext)
			}
			if after = next; next == "" {
				return
			}
		}
	})
	if page, next := pageOf([]note{}, noteSortKey, "", 0); len(page) != 0 || next != "" {
		t.Error("an empty collection has a page")
	}
}

// Ensure a collection that exceeds DynamoDB's limit of 1 MB per page is read to its end.
func TestReadAllBeyondOnePage(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	counter := &apitest.RoundTripCounter{}
	c, _ := newTestClient(t, counter)
	company := c.NewID("co")
	var items []table.Item
	for i := range 15 {
		n := note{ID: fmt.Sprintf("itm_%02d", i), Company: company, Text: ptr(strings.Repeat("x", 150<<10)), Status: "draft"}
		items = append(items, c.NewItem(keysOf(n), n))
	}
	if err := c.BatchPut(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	for _, from := range []table.Collection{
		{Partition: noteKey(company, "").PK, Prefix: "note#", Consistent: true},
		{Partition: noteKey(company, "").PK, Filter: table.Filter{"status": table.Is("draft")}},
		{Index: table.GSI1, Partition: table.Partition(company, "notes", "all")},
	} {
		var seen int
		var err error
		pages, _ := counter.Count(t, func(t *testing.T) {
			err = table.ForEach(t.Context(), c, from, func(note) error { seen++; return nil })
		})
		whole, err2 := table.ReadAll[note](t.Context(), c, from)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if pages < 3 || seen != 15 {
			t.Errorf("ForEach: %d records on %d pages, want 15 on 3 at least", seen, pages)
		}
		if len(whole) != 15 || whole[14].ID != "itm_14" {
			t.Errorf("ReadAll: %q, want 15 records of which itm_14 is the last", ids(whole))
		}
	}
	// A page has Limit records, even though the engine stops at 1 MB.
	q := table.Query{Partitions: []string{noteKey(company, "").PK}, Prefix: "note#", Limit: 14}
	if page, next, err := list[note](t.Context(), c, q); err != nil || len(page) != 14 || next != "itm_13" {
		t.Errorf("%d records, next %q; want 14 and itm_13: %v", len(page), next, err)
	}
	requireSameAsJSON(t, c, q, "itm_13")
	errStop := errors.New("stop")
	if err := table.ForEach(t.Context(), c, table.Collection{Partition: noteKey(company, "").PK}, func(note) error { return errStop }); !errors.Is(err, errStop) {
		t.Errorf("the visitor's error: %v", err)
	}
}

// Ensure an empty list is not null, and reading a missing record returns fault.ErrNotFound.
func TestReadMissing(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	partition := c.NewID("co")
	list, next, err := list[note](t.Context(), c, table.Query{Partitions: []string{partition, partition + "#b"}, Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	if list == nil || len(list) != 0 || next != "" {
		t.Errorf("List: %#v, next %q; want an empty list and no next", list, next)
	}
	texts, next, err := listJSON[listedNote](t.Context(), c, table.Query{Partitions: []string{partition}, Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	if texts == nil || len(texts) != 0 || next != "" {
		t.Errorf("ListJSON: %#v, next %q; want an empty list and no next", texts, next)
	}
	whole, err := table.ReadAll[note](t.Context(), c, table.Collection{Partition: partition})
	if whole == nil || len(whole) != 0 || err != nil {
		t.Errorf("ReadAll: %v, %v", whole, err)
	}
	if _, err := table.Get[note](t.Context(), c, table.Key{PK: partition, SK: "x"}); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("Get: %v", err)
	}
	if item, err := table.GetItem(t.Context(), c, table.Key{PK: partition, SK: "x"}); len(item) != 0 || err != nil {
		t.Errorf("GetItem: %v, %v", item, err)
	}
}

// Ensure a list reads only the records that it returns and one more, however many the partition
// contains. A page with bounds must read no record outside them.
func TestListReadsWhatItReturns(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	c, _ := newTestClient(t, nil)
	sortKeyOf := func(n int) string { return noteSortKey(note{ID: fmt.Sprintf("itm_%04d", n), N: ptr(float64(n))}) }
	units := func(size int, q table.Query) float64 {
		company := c.NewID("co")
		var items []table.Item
		for i := range size {
			n := note{ID: fmt.Sprintf("itm_%04d", i), Company: company, N: ptr(float64(i)), Text: ptr(strings.Repeat("x", 1000))}
			items = append(items, c.NewItem(keysOf(n), n))
		}
		if err := c.BatchPut(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		ctx, m := apitest.NewRequest(t)
		q.Index, q.Partitions, q.Limit = table.GSI1, []string{table.Partition(company, "notes", "all")}, 10
		if _, _, err := list[note](ctx, c, q); err != nil {
			t.Fatal(err)
		}
		if total := m.Usage(); total.Calls != 1 || total.Read == 0 || total.Write != 0 {
			t.Errorf("units %+v, want a call that reads", total)
		}
		return m.Usage().Read
	}
	for name, q := range map[string]table.Query{
		"first page":             {},
		"within bounds":          {From: sortKeyOf(3), Until: sortKeyOf(6)},
		"within, descending":     {From: sortKeyOf(3), Until: sortKeyOf(6), Descending: true},
		"last page":              {From: sortKeyOf(2), Until: sortKeyOf(6), After: sortKeyOf(4)},
		"last page, descending":  {From: sortKeyOf(2), Until: sortKeyOf(6), After: sortKeyOf(4), Descending: true},
		"until, descending":      {Until: sortKeyOf(6), After: sortKeyOf(4), Descending: true},
		"until, next page of it": {Until: sortKeyOf(6), After: sortKeyOf(4)},
	} {
		if few, many := units(11, q), units(400, q); few != many {
			t.Errorf("%s: %v read units, %v for a longer list", name, few, many)
		}
	}
}
