package studio_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
)

// Ensure the pages that list names stay within the size limit of a page. There are many records
// with the longest names, and the characters of these names must be escaped.
func TestBytesOfNames(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	name := strings.Repeat("'", 200)
	lines := make([]demo.Line, 0, 200)
	for i := range 150 {
		lines = append(lines, demo.Line{Type: "metric-definition", Record: demo.Record{"id": fmt.Sprintf("mdf_%d", i), "key": fmt.Sprintf("a.%s%d", strings.Repeat("k", 80), i), "name": name, "unit": "count", "aggregation": "sum"}})
	}
	for i := range 50 {
		lines = append(lines, demo.Line{Type: "channel", Record: demo.Record{"id": fmt.Sprintf("chn_%d", i), "platform": "x", "handle": name, "status": "error", "lastError": strings.Repeat(name, 10)}})
	}
	demotest.Load(t, w.Service, lines...)

	changes := make([][5]string, 200)
	for i := range changes {
		changes[i] = [5]string{"feedback", fmt.Sprintf("fbk_%d", i), []string{"created", "updated"}[i%2], "none", "key_long"}
	}
	withFeed(w, changes...)
	feed := w.transport.respond
	w.transport.respondWith(func(r *http.Request) *http.Response {
		var items []string
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/keys"):
			items = []string{fmt.Sprintf(`{"id": "key_long", "name": %q}`, name)}
		case strings.HasSuffix(path, "/sites"), strings.HasSuffix(path, "/goals"):
			for i := range 100 {
				items = append(items, fmt.Sprintf(`{"id": "%s_%026d", "name": %q}`, map[bool]string{true: "sit", false: "sgl"}[strings.HasSuffix(path, "/sites")], i, name))
			}
		default:
			return feed(r)
		}
		recorder := httptest.NewRecorder()
		fmt.Fprintf(recorder, `{"items":[%s]}`, strings.Join(items, ","))
		return recorder.Result()
	})
	for path, text := range map[string]string{
		"/activity": "Review created", "/posts/accounts": "broken", "/brand/goals/new": "The metric that measures it",
	} {
		body := w.page(t, path, text)
		if len(body) > bytesMax {
			t.Errorf("%s: %d bytes, at most %d", path, len(body), bytesMax)
		}
	}
}
