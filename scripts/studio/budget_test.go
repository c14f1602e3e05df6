package studio_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
	"growthworkspace/shared/testkit/apitest"
)

// Limits for one screen.
const (
	callsMax = 17
	tripsMax = 2
	bytesMax = 110_000
)

// screens lists an address for each screen, with the parameters that make the screen large.
var screens = map[string]string{
	"Overview": "/", "Metrics": "/metrics", "Metrics, split": "/metrics?key=growth.signups&split=country&range=90d&grain=day", "Metrics, 12 months": "/metrics?key=revenue.mrr&range=12m",
	"Metrics, 40 parts": "/metrics?key=growth.activations&split=city&range=30d",
	"Reviews":           "/reviews", "Reviews, all": "/reviews?show=all", "Reviews, to approve": "/reviews?show=needs_review", "Reviews, one": "/reviews?id=fbk_bulk7&source=google_play", "Company": "/company", "Keys": "/keys", "Roadmap": "/roadmap", "Roadmap, live": "/roadmap?view=live",
	"Posts": "/posts", "Posts, full": "/posts?month=2026-09", "Posts, list": "/posts/list", "Ideas": "/ideas", "Post": "/posts/pst_bulk7", "Posts, overdue": "/posts/list?status=overdue", "Posts, fill": "/posts/fill", "Plan, new": "/ideas/plans/new", "Idea, new": "/ideas/edit/new", "Post, new": "/posts/new?day=2026-09-01",
	"Activity": "/activity?since=month", "Accounts": "/posts/accounts", "Brand goal, new": "/brand/goals/new",
	"Reference": "/reference",
	"Sites":     "/sites", "Brand": "/brand", "Audit": "/audits/aud_01kdvdna03ryc3zbszzr9pwf48", "Audit, by page": "/audits/aud_01kdvdna03ryc3zbszzr9pwf48?by=page",
}

// Ensure each screen stays within its limits when there are 5,000 records. There are limits on the
// number of calls that a screen makes, on how many of them run one after another, and on the size
// of its page in bytes.
func TestBudget(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	w := newTestStudio(t)
	demotest.LoadDemo(t, w.Service)
	statuses := []string{"none", "needs_review", "draft", "posted", "skipped"}
	lines := make([]demo.Line, 1000)
	for i := range lines {
		lines[i] = demo.Line{Type: "feedback", Record: demo.Record{
			"id": fmt.Sprintf("fbk_bulk%d", i), "source": "google_play", "kind": "review", "externalId": fmt.Sprint(i), "rating": 1 + i%5,
			"title": "Donaudampfschifffahrtsgesellschaft " + fmt.Sprint(i), "body": strings.Repeat("Rindfleischetikettierung ist wichtig. ", 12), "authorName": "Somebody",
			"priority": i % 9, "postedAt": "2026-07-01T08:00:00Z", "replyStatus": statuses[i%len(statuses)], "replyBody": strings.Repeat("Danke für die Rückmeldung! ", 12), "flags": []string{"money"},
		}}
	}
	for city := range 40 {
		for day := range 62 {
			lines = append(lines, demo.Line{Type: "metric-point", Record: demo.Record{
				"metricKey": "growth.activations", "grain": "day", "ts": apitest.Epoch.AddDate(0, 0, -day).Format(time.DateOnly) + "T00:00:00Z", "value": city * day,
				"dims": demo.Record{"city": fmt.Sprintf("Oberammergauer Vorstadt %d", city)},
			}})
		}
	}
	for i := range 420 {
		lines = append(lines, demo.Line{Type: "post", Record: demo.Record{
			"id": fmt.Sprintf("pst_bulk%d", i), "platform": "x", "body": strings.Repeat("Rindfleischetikettierung ist wichtig. ", 20), "status": "failed",
			"failureReason": strings.Repeat("The platform refused it. ", 20), "scheduledFor": fmt.Sprintf("2026-09-%02dT%02d:00:00Z", 1+i/15, i%15),
		}})
	}
	demotest.Load(t, w.Service, lines...)
	if n := len(lines) + len(demo.Lines(apitest.Epoch)); n < 5000 {
		t.Fatalf("only %d records", n)
	}
	counter := &apitest.RoundTripCounter{}
	counted := startStudio(t, w.Service, w.key, func(next http.RoundTripper) http.RoundTripper { counter.Transport = next; return counter })
	counted.browser.Transport = demotest.HandlerTransport{Handler: counted.server.Handler()}
	for name, path := range screens {
		w.Clock.Advance(time.Minute) // start each page with a full quota, which refills every minute
		var body string
		trips, calls := counter.Count(t, func(t *testing.T) { body = counted.page(t, path) })
		if calls > callsMax || trips > tripsMax {
			t.Errorf("%s: %d calls, at most %d; %d one after another, at most %d", name, calls, callsMax, trips, tripsMax)
		}
		t.Logf("%s: %d calls, %d bytes", name, calls, len(body))
		if len(body) > bytesMax {
			t.Errorf("%s: %d bytes, at most %d", name, len(body), bytesMax)
		}
	}
	if body := w.page(t, "/"); !strings.Contains(visibleText(body), "Reviews 200+ waiting") {
		t.Error("what waits is counted to 200")
	}
}
