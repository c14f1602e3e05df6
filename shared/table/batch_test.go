package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// newNotes returns count items of one partition, each with size bytes of text, and their keys.
func newNotes(c *table.Client, company string, count, size int, letter string) (items []table.Item, keys []table.Key) {
	for i := range count {
		n := note{ID: fmt.Sprintf("itm_%03d", i), Company: company, Text: ptr(strings.Repeat(letter, size))}
		items, keys = append(items, c.NewItem(keysOf(n), n)), append(keys, keysOf(n).Key)
	}
	return items, keys
}

// Ensure all items are written and deleted, even if there are too many for one batch.
func TestPutAndDeleteManyBatches(t *testing.T) {
	t.Parallel()
	p := &faultProxy{}
	c, _ := newTestClient(t, p)
	company := c.NewID("co")
	items, keys := newNotes(c, company, 2*table.BatchMax+1, 10, "x")
	ctx, m := apitest.NewRequest(t)
	if err := c.BatchPut(ctx, items); err != nil {
		t.Fatal(err)
	}
	if got := countRecords(t, c, company); got != len(items) || p.count("BatchWriteItem") != 3 {
		t.Errorf("%d written with %d calls", got, p.count("BatchWriteItem"))
	}
	if total := m.Usage(); total.Calls != 3 || total.Write < float64(len(items)) {
		t.Errorf("metered %+v", total)
	}
	if err := c.BatchDelete(ctx, append(keys, table.Key{PK: company, SK: "nothing here"})); err != nil {
		t.Fatal(err)
	}
	if got := countRecords(t, c, company); got != 0 || p.count("BatchWriteItem") != 6 {
		t.Errorf("%d left after %d calls", got, p.count("BatchWriteItem"))
	}
	if err := c.BatchPut(ctx, nil); err != nil || c.BatchDelete(ctx, nil) != nil || p.count("BatchWriteItem") != 6 {
		t.Error("an empty batch cost a call")
	}
}

func countRecords(t *testing.T, c *table.Client, company string) int {
	t.Helper()
	all, err := table.ReadAll[note](t.Context(), c, table.Collection{Partition: noteKey(company, "").PK, Consistent: true})
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Ensure a request stays far below 16 MB of JSON, even if its strings need escapes, and all large
// records are stored.
func TestPutLargeItems(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, letter := range []string{"x", "\x01"} {
		var mu sync.Mutex
		largest, batches := int64(0), 0
		p := &faultProxy{respond: func(call string, pass func() (*http.Response, error), r *http.Request) (*http.Response, error) {
			if call == "BatchWriteItem" {
				mu.Lock()
				largest, batches = max(largest, r.ContentLength), batches+1
				mu.Unlock()
			}
			return pass()
		}}
		c, _ := newTestClient(t, p)
		company := c.NewID("co")
		items, _ := newNotes(c, company, 12, 300_000, letter)
		for _, item := range items { // without index keys, which would double the engine's work
			delete(item, "gsi1pk")
			delete(item, "gsi1sk")
		}
		if err := c.BatchPut(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		if got := countRecords(t, c, company); got != 12 || largest > 4<<20 || batches < 2 {
			t.Errorf("%q: %d written in %d batches of up to %d bytes", letter, got, batches, largest)
		}
	}
}

// partialBatchWriteProxy returns a proxy that processes at most n requests of a batch and leaves
// the rest unprocessed. It does so only for the first `times` batches. If n is -1, it throttles
// these batches as a whole. In processCounts, it counts how often each request was processed.
func partialBatchWriteProxy(t *testing.T, n, times int, processCounts map[string]int) *faultProxy {
	t.Helper()
	var mu sync.Mutex
	return &faultProxy{respond: func(_ string, _ func() (*http.Response, error), r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		var in struct{ RequestItems map[string][]map[string]any }
		if err != nil || json.Unmarshal(body, &in) != nil {
			t.Errorf("%v in %s", err, body)
		}
		requests := in.RequestItems["none"]
		limit := len(requests)
		if times--; times >= 0 {
			if n < 0 {
				return jsonResponse(http.StatusBadRequest, map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}), nil
			}
			limit = min(n, limit)
		}
		for _, r := range requests[:limit] {
			text, err := json.Marshal(r)
			if err != nil {
				t.Error(err)
			}
			processCounts[string(text)]++
		}
		out := map[string]any{"UnprocessedItems": map[string]any{}}
		if limit < len(requests) {
			out["UnprocessedItems"] = map[string]any{"none": requests[limit:]}
		}
		return jsonResponse(http.StatusOK, out), nil
	}}
}

// Ensure unprocessed items and throttled batches are retried until each item is written exactly
// once.
func TestPutUnprocessed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                string
		processedMax, times int
		ok                  bool
		calls               int
	}{
		{"three at a time", 3, 99, true, 19}, // 9, 9 and 1 calls for the batches of 25, 25 and 1 items
		{"nothing for a while", 0, 5, true, 8},
		{"throttled whole for a while", -1, 4, true, 7},
		{"nothing for ever", 0, 1 << 30, false, 12},
		{"throttled whole for ever", -1, 1 << 30, false, 36},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				processCounts := map[string]int{}
				p := partialBatchWriteProxy(t, test.processedMax, test.times, processCounts)
				c := newOfflineClient(p)
				items, _ := newNotes(c, "co", 51, 10, "x")
				err := c.BatchPut(t.Context(), items)
				if (err == nil) != test.ok || p.count("") != test.calls {
					t.Errorf("%v after %d calls", err, p.count(""))
				}
				if !test.ok && !errors.Is(err, fault.ErrUnavailable) {
					t.Errorf("got %v", err)
				}
				if test.ok && len(processCounts) != 51 {
					t.Errorf("%d of 51 arrived", len(processCounts))
				}
				for request, n := range processCounts {
					if n != 1 {
						t.Errorf("%d times: %s", n, request)
					}
				}
			})
		})
	}
}

// Ensure BatchPut stops when its context is cancelled.
func TestPutStopsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := partialBatchWriteProxy(t, 0, 1<<30, map[string]int{})
		c := newOfflineClient(p)
		items, _ := newNotes(c, "co", 1, 10, "x")
		done := make(chan error, 1)
		go func() { done <- c.BatchPut(ctx, items) }()
		synctest.Wait() // until BatchPut pauses
		cancel()
		if err := <-done; err == nil || p.count("") != 1 {
			t.Errorf("%v after %d calls", err, p.count(""))
		}
	})
}

// Ensure a batch that is throttled as a whole also counts as a call.
func TestThrottledBatchCounts(t *testing.T) {
	t.Parallel()
	p := callRejectingProxy("BatchWriteItem", "ProvisionedThroughputExceededException", http.StatusBadRequest, 4)
	c, _ := newTestClient(t, p)
	ctx, m := apitest.NewRequest(t)
	n := newNote(c)
	if err := c.BatchPut(ctx, []table.Item{c.NewItem(keysOf(n), n)}); err != nil {
		t.Fatal(err)
	}
	if units := m.Usage(); p.count("BatchWriteItem") != 5 || units.Calls < 2 || units.Write == 0 {
		t.Errorf("%+v after %d calls", units, p.count("BatchWriteItem"))
	}
}
