package functions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/testkit/apitest"
)

// companyWithHistory returns a service whose company has 210 reviews and a metric with daily points
// for one year.
func companyWithHistory(t testing.TB, transport http.RoundTripper) *apitest.Service {
	t.Helper()
	s := start(t, transport)
	day := time.Date(2025, 8, 1, 0, 0, 0, 0, time.UTC)
	var points []json.RawMessage
	for n := range 365 {
		points = append(points, marshal(t, map[string]any{
			"metricKey": "growth.visits", "grain": "day", "ts": day.AddDate(0, 0, n), "value": 1000.5 + float64(n*n), "source": "import", "ingestedAt": day.AddDate(0, 0, n+1),
		}))
	}
	importLines(t, s, "metric-point", points...)
	importLines(t, s, "feedback", reviewLines(t, day, 210)...)
	return s
}

// reviewLines returns n reviews in the format of imports, one for each day from the given one.
func reviewLines(t testing.TB, day time.Time, n int) (reviews []json.RawMessage) {
	t.Helper()
	for i := range n {
		reviews = append(reviews, marshal(t, map[string]any{
			"id": fmt.Sprintf("fbk_%026d", i), "source": "app_store", "kind": "review", "externalId": fmt.Sprint("app_store-", i), "authorName": "trailrunner_42",
			"title": "Who can see my locations?", "body": strings.Repeat("A sentence of some forty characters here", 10), "rating": 2, "appVersion": "4.1.0", "territory": "PT", "locale": "pt-PT",
			"postedAt": day.AddDate(0, 0, i), "fetchedAt": day.AddDate(0, 0, i), "flags": []string{"legal", "safety"}, "priority": i % 5, "sentiment": "negative",
			"replyBody": strings.Repeat("An answer to it of forty characters, too", 4), "replyStatus": "needs_review", "createdAt": day, "updatedAt": day,
		}))
	}
	return reviews
}

// hotRequests returns requests that clients send often, and the service to send them to. Recorded
// responses answer the service's table calls, so only the service's own allocations are counted.
func hotRequests(t *testing.T) (*apitest.Service, map[string]*http.Request) {
	t.Helper()
	replay := &apitest.ReplayTransport{}
	s := companyWithHistory(t, replay)
	key := s.IssueKey(t)
	replay.StartRecording()
	company := "/v1/companies/" + s.CompanyID
	requests := map[string]*http.Request{}
	for name, path := range map[string]string{
		"an item": "/plan/items/itm_1", "a board's items": "/plan/boards/brd_1/items", "365 points": "/metrics/points?metricKey=growth.visits", "200 feedback": "/feedback?limit=200",
	} {
		r := httptest.NewRequest(http.MethodGet, company+path, nil)
		r.Header.Set("Authorization", "Bearer "+key)
		requests[name] = r
		if w := serveRequest(s, r); w.Code != http.StatusOK {
			t.Fatalf("%s: status %d, want 200: %s", name, w.Code, w.Body)
		}
	}
	return s, requests
}

func serveRequest(s *apitest.Service, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	return w
}

// Ensure the hot paths stay within their allocation budgets, because garbage collection is
// expensive with 128 MB of memory. If a change needs more allocations, raise its budget here and
// explain why.
func TestAllocations(t *testing.T) {
	apitest.SkipIfShort(t)
	most := map[string]float64{"an item": 1200, "a board's items": 1650, "365 points": 4800, "200 feedback": 1400}
	s, requests := hotRequests(t)
	for name, r := range requests {
		got := testing.AllocsPerRun(20, func() { serveRequest(s, r) })
		if got > most[name] {
			t.Errorf("%s: %.0f allocations, want at most %.0f", name, got, most[name])
		}
	}
}
