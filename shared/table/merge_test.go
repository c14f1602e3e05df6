package table_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/apitest"
	"growthworkspace/shared/table"
)

// readings is a transport that counts the records that queries read.
type readings struct {
	next http.RoundTripper
	mu   sync.Mutex
	read int
}

func (r *readings) RoundTrip(request *http.Request) (*http.Response, error) {
	out, err := r.next.RoundTrip(request)
	if err != nil || request.Header.Get("X-Amz-Target") != "DynamoDB_20120810.Query" {
		return out, err
	}
	text, err := io.ReadAll(out.Body)
	if err != nil {
		return nil, err
	}
	var answer struct{ ScannedCount int }
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.read += answer.ScannedCount
	r.mu.Unlock()
	out.Body = io.NopCloser(bytes.NewReader(text))
	return out, nil
}

// Ensure a merge takes one round trip while no partition has far more than its part of the page, two otherwise and
// never three, and reads no more of its partitions than it says, however the records are spread.
func TestMergeRoundTrips(t *testing.T) {
	t.Parallel()
	const limit, want = 49, 50
	tests := map[string]struct {
		spread []status // of the records one after the other, over and over
		waves  int
		most   int
	}{
		"even":         {[]status{"draft", "sent", "failed"}, 1, 90},
		"one has half": {[]status{"draft", "sent", "draft", "failed"}, 1, 90},
		"one has most": {[]status{"draft", "draft", "draft", "sent", "draft"}, 2, 90 + 20},
		"one has all":  {[]status{"draft"}, 2, 30 + 20},
	}
	for name, tt := range tests {
		for _, descending := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, descending %t", name, descending), func(t *testing.T) {
				t.Parallel()
				waves := &apitest.Waves{}
				seen := &readings{next: waves}
				c, _ := client(t, seen)
				company := c.NewID("co")
				q := table.Query{Index: table.GSI2, Limit: limit, Descending: descending}
				for _, s := range statuses {
					q.Partitions = append(q.Partitions, table.Partition(company, "notes", string(s)))
				}
				var items []table.Item
				var expected []string
				for n := range 200 {
					record := note{ID: fmt.Sprintf("itm_%03d", n), Company: company, Status: tt.spread[n%len(tt.spread)], N: ptr(float64(n))}
					items = append(items, c.NewItem(keysOf(record), record))
				}
				for n := range limit {
					if descending {
						n = 199 - n
					}
					expected = append(expected, fmt.Sprintf("itm_%03d", n))
				}
				if err := c.Put(t.Context(), items); err != nil {
					t.Fatal(err)
				}
				waves.Reset()
				page, next, err := table.List[note](t.Context(), c, q)
				if err != nil || next == "" {
					t.Fatalf("next %q, %v", next, err)
				}
				if diff := cmp.Diff(expected, ids(page)); diff != "" {
					t.Error(diff)
				}
				if waves.Count() != tt.waves || seen.read > tt.most || seen.read < want {
					t.Errorf("%d round trips, %d records read; want %d, at most %d", waves.Count(), seen.read, tt.waves, tt.most)
				}
			})
		}
	}
}
