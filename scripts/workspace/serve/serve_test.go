package serve

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// hangingTransport is a transport that never responds to its first callsToHang requests.
type hangingTransport struct{ callsToHang int }

func (h *hangingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.callsToHang--; h.callsToHang >= 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// Ensure a table operation succeeds within the 9 s of a request if its response is lost twice. If
// it never gets a response, it fails within that time.
func TestCallsFitInARequest(t *testing.T) {
	t.Parallel()
	const requestTimeout = 9 * time.Second
	for _, lost := range []int{2, 1000} {
		o := apitest.Options(t, time.Now, &hangingTransport{lost})
		o.Timeout = callTimeout
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			_, err := table.GetItem(t.Context(), table.New(o), table.Key{PK: "p", SK: "s"})
			if took := time.Since(begin); (err == nil) != (lost == 2) || took >= requestTimeout-time.Second {
				t.Errorf("%d responses lost: %v after %s", lost, err, took)
			}
		})
	}
}
