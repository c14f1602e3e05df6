package table_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a page of large records ends at table.PageBytes of JSON, the next page continues from
// there, and few records are read beyond a page.
func TestLargePages(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const count, size = 60, 100_000
	for name, statusCycle := range map[string][]noteStatus{
		"one partition": {"draft"}, "even": {"draft", "sent", "failed"}, "one has most": {"draft", "draft", "draft", "sent", "draft"},
		"one has all of three": {"draft"}, "one after the other": slices.Concat(slices.Repeat([]noteStatus{"sent"}, 30), slices.Repeat([]noteStatus{"draft"}, 30)),
	} {
		for _, descending := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, descending %t", name, descending), func(t *testing.T) {
				t.Parallel()
				transport := &readCountingTransport{next: apitest.Transport}
				c, _ := newTestClient(t, transport)
				company := c.NewID("co")
				q := table.Query{Index: table.GSI2, Limit: count, Descending: descending}
				for _, s := range statuses {
					if name != "one partition" || s == "draft" {
						q.Partitions = append(q.Partitions, table.Partition(company, "notes", string(s)))
					}
				}
				var items []table.Item
				var want []string
				for n := range count {
					record := note{ID: fmt.Sprintf("itm_%03d", n), Company: company, Status: statusCycle[n%len(statusCycle)], N: ptr(float64(n)), Text: ptr(strings.Repeat("x", size))}
					items, want = append(items, c.NewItem(keysOf(record), record)), append(want, record.ID)
				}
				if err := c.BatchPut(t.Context(), items); err != nil {
					t.Fatal(err)
				}
				if descending {
					slices.Reverse(want)
				}
				readTexts := func(q table.Query) (table.Page[json.RawMessage], error) {
					return table.ListJSON[listedNote](t.Context(), c, q)
				}
				readRecords := func(q table.Query) (table.Page[listedNote], error) { return table.List[listedNote](t.Context(), c, q) }
				readMax := 2*table.PageBytes/size + len(q.Partitions)*(1<<20/size+1)
				checkLargePages(t, "texts", want, transport, readMax, q, readTexts, func(text json.RawMessage) string {
					var record listedNote
					if err := json.Unmarshal(text, &record); err != nil {
						t.Error(err)
					}
					return record.ID
				})
				checkLargePages(t, "records", want, transport, readMax, q, readRecords, func(l listedNote) string { return l.ID })
			})
		}
	}
}

// checkLargePages reads a list to its end, and checks that each page ends once it holds
// table.PageBytes of records. The parameter readMax is the maximum number of records that may be
// read from the table for one page.
func checkLargePages[R any](t *testing.T, name string, want []string, transport *readCountingTransport, readMax int, q table.Query, read func(table.Query) (table.Page[R], error), id func(R) string) {
	t.Helper()
	var got []string
	for {
		transport.recordsRead = 0
		page, err := read(q)
		if err != nil {
			t.Fatal(err)
		}
		if transport.recordsRead > readMax {
			t.Errorf("%s: %d records were read for one page, want at most %d", name, transport.recordsRead, readMax)
		}
		kept := min(len(page.Records), table.PageBytes/100_000)
		if kept < table.PageBytes/100_000 && (page.Next != "" || len(got)+kept < len(want)) {
			t.Errorf("%s: a page of %d records, next %q", name, len(page.Records), page.Next)
		}
		for _, record := range page.Records[:kept] {
			got = append(got, id(record))
		}
		if q.After = page.Next; kept < len(page.Records) {
			q.After = page.PositionAfter(kept - 1)
		}
		if q.After == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}
