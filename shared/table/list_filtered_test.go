package table_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// recordCounter is a transport that counts the records that queries read, whether or not a filter
// drops them.
type recordCounter struct{ records atomic.Int64 }

func (c *recordCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var read struct{ ScannedCount int64 }
	if json.Unmarshal(body, &read) == nil {
		c.records.Add(read.ScannedCount)
	}
	return resp, nil
}

// Ensure a page of a list with a filter reads at most 1,000 records and 2 MB, however few records
// match, and that all pages together contain every match once, in order. This must hold for one
// partition and for two, in either direction, with bounds and without.
func TestFilteredPagesAreBounded(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const seed = 7
	for name, tt := range map[string]struct {
		notes, textBytes int
		percent          float64 // of the notes that match
	}{
		"small, none":    {2600, 10, 0},
		"small, rare":    {2600, 10, 0.3},
		"small, half":    {400, 10, 50},
		"large, rare":    {300, 20_000, 2},
		"large, all":     {150, 20_000, 100},
		"exactly a page": {1000, 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random, counter := rand.New(rand.NewSource(seed)), &recordCounter{}
			c, _ := newTestClient(t, counter)
			company, notes, items := c.NewID("co"), map[string]note{}, []table.Item{}
			for i := range tt.notes {
				n := note{ID: fmt.Sprintf("itm_%04d", i), Company: company, Status: statuses[random.Intn(2)], N: ptr(float64(random.Intn(50))), Text: ptr(strings.Repeat("x", tt.textBytes))}
				if random.Float64()*100 < tt.percent {
					n.Count = 1
				}
				notes[n.ID] = n
				items = append(items, c.NewItem(keysOf(n), n))
			}
			if err := c.BatchPut(t.Context(), items); err != nil {
				t.Fatal(err)
			}
			draft, sent := table.Partition(company, "notes", "draft"), table.Partition(company, "notes", "sent")
			for _, q := range []table.Query{
				{Partitions: []string{noteKey(company, "").PK}, Prefix: "note#", Limit: 50},
				{Index: table.GSI1, Partitions: []string{table.Partition(company, "notes", "all")}, Limit: 200, Descending: true},
				{Index: table.GSI2, Partitions: []string{draft, sent}, Limit: 7},
				{Index: table.GSI2, Partitions: []string{draft, sent}, Limit: 200, Descending: true},
				{Index: table.GSI2, Partitions: []string{draft, sent}, Limit: 50, From: table.NumberKey(ptr(5.0)), Until: table.NumberKey(ptr(45.0))},
			} {
				q.Filter = table.Filter{"count": table.Is[int64](1)}
				want := newListModel(q, notes).list(q, true)
				var got []string
				for pages := 0; ; pages++ {
					counter.records.Store(0)
					ctx, m := apitest.NewRequest(t)
					page, err := table.List[note](ctx, c, q)
					if err != nil || pages > tt.notes {
						t.Fatalf("%+v: page %d: %v", q, pages, err)
					}
					if records, units := counter.records.Load(), m.Usage().Read; records > 1000 || units > 2<<20/(8<<10)+2 {
						t.Errorf("%+v: page %d read %d records with %.1f units", q, pages, records, units)
					}
					if pages == 0 {
						requireSameAsJSON(t, c, q, page.Next)
					}
					if got = append(got, ids(page.Records)...); page.Next == "" {
						break
					}
					if len(page.Records) > q.Limit || q.After != "" && (page.Next < q.After) != q.Descending {
						t.Fatalf("%+v: page %d has %d records and continues at %q", q, pages, len(page.Records), page.Next)
					}
					q.After = page.Next
				}
				if !slices.Equal(got, want) {
					t.Errorf("%+v:\n got %v\nwant %v", q, got, want)
				}
			}
		})
	}
}

// Ensure tests of a filter compare whole values: a number or a string with any of several, and an
// element of a list.
func TestFilterTests(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, nil)
	company := c.NewID("co")
	for i, n := range []note{
		{Status: "draft", Count: 1, Tags: []string{"a"}}, {Status: "sent", Count: 2, Tags: []string{"a", "b"}}, {Status: "failed", Count: 3, Tags: []string{"ab"}}, {Status: "dr", Count: 12},
	} {
		n.ID, n.Company = fmt.Sprint("itm_", i), company
		insert(t, c, n)
	}
	for name, tt := range map[string]struct {
		filter table.Filter
		want   []string
	}{
		"one number":      {table.Filter{"count": table.Is[int64](1)}, []string{"itm_0"}},
		"several numbers": {table.Filter{"count": table.Is[int64](1, 3, 9)}, []string{"itm_0", "itm_2"}},
		"strings":         {table.Filter{"status": table.Is[noteStatus]("draft", "sent")}, []string{"itm_0", "itm_1"}},
		"an element":      {table.Filter{"tags": table.Has("a")}, []string{"itm_0", "itm_1"}},
		"any element":     {table.Filter{"tags": table.Has("b", "ab")}, []string{"itm_1", "itm_2"}},
		"two attributes":  {table.Filter{"tags": table.Has("a", "ab"), "count": table.Is[int64](2, 3)}, []string{"itm_1", "itm_2"}},
		"nothing":         {table.Filter{"tags": table.Has("c")}, []string{}},
	} {
		q := table.Query{Partitions: []string{noteKey(company, "").PK}, Prefix: "note#", Limit: 10, Filter: tt.filter}
		if got := ids(readAllPages(t, c, q, func() {})); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
