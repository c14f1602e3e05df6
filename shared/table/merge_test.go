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

	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// readCountingTransport is a transport that counts queries and the records that they read.
type readCountingTransport struct {
	next        http.RoundTripper
	mu          sync.Mutex
	calls       int
	recordsRead int
}

func (r *readCountingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	out, err := r.next.RoundTrip(request)
	if err != nil || request.Header.Get("X-Amz-Target") != "DynamoDB_20120810.Query" {
		return out, err
	}
	text, err := io.ReadAll(out.Body)
	if err != nil {
		return nil, err
	}
	var response struct{ ScannedCount int }
	if err := json.Unmarshal(text, &response); err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.calls, r.recordsRead = r.calls+1, r.recordsRead+response.ScannedCount
	r.mu.Unlock()
	out.Body = io.NopCloser(bytes.NewReader(text))
	return out, nil
}

// Ensure a merge queries each of its three partitions once if none has far more than its share of
// the page. Otherwise it must query one of them a second time. For any distribution, it must read
// no more records than mergePartitions promises.
func TestMergeCalls(t *testing.T) {
	t.Parallel()
	const limit, readMin = 49, 50
	tests := map[string]struct {
		statusCycle []noteStatus // the statuses of successive records, used in rotation
		calls       int
		readMax     int
	}{
		"even":         {[]noteStatus{"draft", "sent", "failed"}, 3, 90},
		"one has half": {[]noteStatus{"draft", "sent", "draft", "failed"}, 3, 90},
		"one has most": {[]noteStatus{"draft", "draft", "draft", "sent", "draft"}, 4, 90 + 20},
		"one has all":  {[]noteStatus{"draft"}, 4, 30 + 20},
	}
	for name, tt := range tests {
		for _, descending := range []bool{false, true} {
			if testing.Short() && descending {
				continue
			}
			t.Run(fmt.Sprintf("%s, descending %t", name, descending), func(t *testing.T) {
				t.Parallel()
				transport := &readCountingTransport{next: apitest.Transport}
				c, _ := newTestClient(t, transport)
				company := c.NewID("co")
				q := table.Query{Index: table.GSI2, Limit: limit, Descending: descending}
				for _, s := range statuses {
					q.Partitions = append(q.Partitions, table.Partition(company, "notes", string(s)))
				}
				var items []table.Item
				var expected []string
				for n := range 200 {
					record := note{ID: fmt.Sprintf("itm_%03d", n), Company: company, Status: tt.statusCycle[n%len(tt.statusCycle)], N: ptr(float64(n))}
					items = append(items, c.NewItem(keysOf(record), record))
				}
				for n := range limit {
					if descending {
						n = 199 - n
					}
					expected = append(expected, fmt.Sprintf("itm_%03d", n))
				}
				if err := c.BatchPut(t.Context(), items); err != nil {
					t.Fatal(err)
				}
				transport.calls, transport.recordsRead = 0, 0
				page, next, err := list[note](t.Context(), c, q)
				if err != nil || next == "" {
					t.Fatalf("next %q, %v", next, err)
				}
				if diff := cmp.Diff(expected, ids(page)); diff != "" {
					t.Errorf("page (-want +got):\n%s", diff)
				}
				if transport.calls != tt.calls || transport.recordsRead > tt.readMax || transport.recordsRead < readMin {
					t.Errorf("%d calls, %d records read; want %d, at most %d", transport.calls, transport.recordsRead, tt.calls, tt.readMax)
				}
			})
		}
	}
}
