package table_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure many records are read with one call per hundred keys, and keys without a record are
// ignored.
func TestBatchGet(t *testing.T) {
	t.Parallel()
	p := &faultProxy{}
	c, _ := newTestClient(t, p)
	company := c.NewID("co")
	items, keys := newNotes(c, company, 2*table.BatchGetMax+1, 10, "x")
	if err := c.BatchPut(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	ctx, m := apitest.NewRequest(t)
	found, err := table.BatchGet[note](ctx, c, append(keys, noteKey(company, "itm_none")))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, n := range found {
		ids[n.ID] = true
	}
	if len(found) != len(items) || len(ids) != len(items) || p.count("BatchGetItem") != 3 {
		t.Errorf("%d records, %d of them distinct, in %d calls", len(found), len(ids), p.count("BatchGetItem"))
	}
	if total := m.Usage(); total.Calls != 3 || total.Read < float64(len(items)) || total.Write != 0 {
		t.Errorf("metered %+v", total)
	}
	if none, err := table.BatchGet[note](ctx, c, nil); err != nil || len(none) != 0 || p.count("BatchGetItem") != 3 {
		t.Errorf("nothing to read: %v, %v", none, err)
	}
}

// Ensure unprocessed keys are requested again until they are read. If keys always remain
// unprocessed, the call must fail.
func TestManyUnprocessed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name                string
		processedMax, times int
		ok                  bool
		calls               int
	}{
		{"ten at a time", 10, 99, true, 4},
		{"nothing for a while", 0, 5, true, 6},
		{"nothing for ever", 0, 1 << 30, false, 12},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := partialBatchGetProxy(t, test.processedMax, test.times)
				_, keys := newNotes(newOfflineClient(p), "co", 40, 10, "x")
				found, err := table.BatchGet[note](t.Context(), newOfflineClient(p), keys)
				if (err == nil) != test.ok || p.count("") != test.calls {
					t.Errorf("%v after %d calls", err, p.count(""))
				}
				if test.ok && len(found) != len(keys) {
					t.Errorf("%d of %d were read", len(found), len(keys))
				}
			})
		})
	}
}

// partialBatchGetProxy returns a proxy that processes at most n keys of a batch and leaves the rest
// unprocessed. It does so only for the first `times` batches.
func partialBatchGetProxy(t *testing.T, n, times int) *faultProxy {
	t.Helper()
	var mu sync.Mutex
	return &faultProxy{respond: func(_ string, _ func() (*http.Response, error), r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		var in struct {
			RequestItems map[string]struct{ Keys []map[string]any }
		}
		if err != nil || json.Unmarshal(body, &in) != nil {
			t.Errorf("%v in %s", err, body)
		}
		keys := in.RequestItems["none"].Keys
		limit := len(keys)
		if times--; times >= 0 {
			limit = min(n, limit)
		}
		out := map[string]any{"Responses": map[string]any{"none": keys[:limit]}}
		if limit < len(keys) {
			out["UnprocessedKeys"] = map[string]any{"none": map[string]any{"Keys": slices.Clone(keys[limit:])}}
		}
		return jsonResponse(http.StatusOK, out), nil
	}}
}

// Ensure a refused call returns an error, and not a list without the records.
func TestManyRefused(t *testing.T) {
	t.Parallel()
	p := callRejectingProxy("BatchGetItem", "AccessDeniedException", http.StatusBadRequest, 1)
	found, err := table.BatchGet[note](t.Context(), newOfflineClient(p), []table.Key{noteKey("co", "itm_1")})
	if err == nil || p.count("") != 1 {
		t.Errorf("%v, %v after %d calls", found, err, p.count(""))
	}
}
