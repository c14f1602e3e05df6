package table_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
)

// list returns the records of a page and the cursor of the next page.
func list[T any](ctx context.Context, c *table.Client, q table.Query) ([]T, string, error) {
	page, err := table.List[T](ctx, c, q)
	return page.Records, page.Next, err
}

func listJSON[T any](ctx context.Context, c *table.Client, q table.Query) ([]json.RawMessage, string, error) {
	page, err := table.ListJSON[T](ctx, c, q)
	return page.Records, page.Next, err
}

func pageOf[T any](records []T, sortKeyOf func(T) string, after string, limit int) ([]T, string) {
	page := table.PageOf(records, sortKeyOf, after, limit)
	return page.Records, page.Next
}

// readAllPages reads a list to its end and calls betweenPages after each page but the last.
func readAllPages(t testing.TB, c *table.Client, q table.Query, betweenPages func()) (all []note) {
	t.Helper()
	for n := 0; ; n++ {
		page, next, err := list[note](t.Context(), c, q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > q.Limit || len(page) < q.Limit && next != "" || n > 500 {
			t.Fatalf("page %d has %d of %d records, next %q", n, len(page), q.Limit, next)
		}
		requireSameAsJSON(t, c, q, next)
		all = append(all, page...)
		if next == "" {
			return all
		}
		q.After = next
		betweenPages()
	}
}

// requireSameAsJSON checks that ListJSON returns the same records as List, encoded as JSON.
func requireSameAsJSON(t testing.TB, c *table.Client, q table.Query, next string) {
	t.Helper()
	texts, textsNext, err := listJSON[listedNote](t.Context(), c, q)
	if err != nil || textsNext != next {
		t.Fatalf("ListJSON: next %q, %v; List: next %q", textsNext, err, next)
	}
	records, _, err := list[listedNote](t.Context(), c, q)
	if err != nil || len(records) != len(texts) {
		t.Fatalf("%d texts of %d records, %v", len(texts), len(records), err)
	}
	for i, record := range records {
		if want, err := schema.Encode(record); err != nil || string(texts[i]) != string(want) {
			t.Fatalf("the text is %s, the record %s, %v", texts[i], want, err)
		}
	}
}

func ids(notes []note) []string {
	out := make([]string, len(notes))
	for i, n := range notes {
		out[i] = n.ID
	}
	return out
}

// listModel computes in memory what a list must return.
type listModel struct {
	notes    map[string]note
	statuses []noteStatus
}

func (m listModel) list(q table.Query, filtered bool) []string {
	var kept []note
	for _, n := range m.notes {
		within := noteSortKey(n) >= q.From && (q.Until == "" || noteSortKey(n) <= q.Until)
		if (len(m.statuses) == 0 || slices.Contains(m.statuses, n.Status)) && (!filtered || n.Count == 1) && within {
			kept = append(kept, n)
		}
	}
	sortKeyOf := noteSortKey
	if q.Index == table.Base {
		sortKeyOf = func(n note) string { return n.ID }
	}
	slices.SortFunc(kept, func(a, b note) int { return strings.Compare(sortKeyOf(a), sortKeyOf(b)) })
	if q.Descending {
		slices.Reverse(kept)
	}
	return ids(kept)
}

var statuses = []noteStatus{"draft", "sent", "failed"}

func noteGen(company string) *rapid.Generator[note] {
	return rapid.Custom(func(t *rapid.T) note {
		return note{
			ID: fmt.Sprintf("itm_%03d", rapid.IntRange(0, 999).Draw(t, "id")), Company: company, Status: rapid.SampledFrom(statuses).Draw(t, "status"),
			N: rapid.Ptr(rapid.SampledFrom([]float64{-1e100, -2, -1, 0, 1, 2, 1e100}), true).Draw(t, "n"), Count: rapid.Int64Range(0, 1).Draw(t, "count"),
		}
	})
}

// queryGen draws any kind of query: base table, index or merge of partitions; either direction;
// with or without a filter and bounds.
func queryGen(company string) *rapid.Generator[table.Query] {
	return rapid.Custom(func(t *rapid.T) table.Query {
		q := table.Query{Descending: rapid.Bool().Draw(t, "descending"), Limit: rapid.IntRange(1, 40).Draw(t, "limit")}
		switch rapid.IntRange(0, 2).Draw(t, "where") {
		case 0:
			q.Partitions, q.Prefix = []string{noteKey(company, "").PK}, "note#"
		case 1:
			q.Index, q.Partitions = table.GSI1, []string{table.Partition(company, "notes", "all")}
		case 2:
			q.Index = table.GSI2
			for _, s := range rapid.SampledFrom([][]noteStatus{statuses, statuses[:2], statuses[1:2]}).Draw(t, "statuses") {
				q.Partitions = append(q.Partitions, table.Partition(company, "notes", string(s)))
			}
		}
		if rapid.Bool().Draw(t, "filter") {
			q.Filter = table.Filter{"count": table.Is[int64](1)}
		}
		bound := rapid.Custom(func(t *rapid.T) string { return noteSortKey(noteGen(company).Draw(t, "bound")) })
		if q.Index != table.Base {
			q.From = rapid.OneOf(rapid.Just(""), bound).Draw(t, "from")
			q.Until = rapid.OneOf(rapid.Just(""), bound).Draw(t, "until") // may be less than q.From; then no record matches
		}
		return q
	})
}

func newListModel(q table.Query, notes map[string]note) listModel {
	m := listModel{notes: notes}
	if q.Index == table.GSI2 {
		for _, p := range q.Partitions {
			m.statuses = append(m.statuses, noteStatus(p[strings.LastIndex(p, "#")+1:]))
		}
	}
	return m
}

func insertNotes(t testing.TB, r *rapid.T, c *table.Client, company string, notesMax int) map[string]note {
	t.Helper()
	notes := map[string]note{}
	items := []table.Item{}
	for _, n := range rapid.SliceOfNDistinct(noteGen(company), 0, notesMax, func(n note) string { return n.ID }).Draw(r, "notes") {
		notes[n.ID] = n
		items = append(items, c.NewItem(keysOf(n), n))
	}
	if err := c.BatchPut(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	return notes
}

// Ensure the pages of a list match sorting and filtering in memory.
func TestListAgainstModel(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	rapid.Check(t, func(r *rapid.T) {
		company := c.NewID("co")
		notes := insertNotes(t, r, c, company, 80)
		for range 4 {
			q := queryGen(company).Draw(r, "query")
			if diff := cmp.Diff(newListModel(q, notes).list(q, q.Filter != nil), ids(readAllPages(t, c, q, func() {}))); diff != "" {
				r.Fatalf("%+v (-want +got):\n%s", q, diff)
			}
		}
	})
}

// Ensure every record that is not deleted appears exactly once and in order, while other records
// are created and deleted between two pages.
func TestListWhileRecordsComeAndGo(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	rapid.Check(t, func(r *rapid.T) {
		company := c.NewID("co")
		before := insertNotes(t, r, c, company, 80)
		q := queryGen(company).Draw(r, "query")
		remaining, known := map[string]note{}, map[string]note{}
		for id, n := range before {
			remaining[id], known[id] = n, n
		}
		all := readAllPages(t, c, q, func() {
			n := noteGen(company).Draw(r, "change")
			if old, ok := known[n.ID]; ok { // this may delete the record that a cursor refers to
				if err := c.BatchDelete(t.Context(), []table.Key{noteKey(company, old.ID)}); err != nil {
					t.Fatal(err)
				}
				delete(remaining, n.ID)
				delete(known, n.ID)
				return
			}
			if before[n.ID].ID == "" {
				known[n.ID] = insert(t, c, n)
			}
		})
		got := slices.DeleteFunc(ids(all), func(id string) bool { _, kept := remaining[id]; return !kept })
		if diff := cmp.Diff(newListModel(q, remaining).list(q, q.Filter != nil), got); diff != "" {
			r.Fatalf("%+v (-want +got):\n%s", q, diff)
		}
	})
}
