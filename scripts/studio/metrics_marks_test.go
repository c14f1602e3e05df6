package studio_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
	"growthworkspace/shared/auth"
)

// markLabels returns the labels of a chart's marks, as a screen reader reads them. The chart is
// drawn in two sizes; only the labels in the first are returned.
func markLabels(body string) (out []string) {
	_, body, _ = strings.Cut(body, `<svg class="chart wide"`)
	body, _, _ = strings.Cut(body, `<svg class="chart narrow"`)
	for _, lane := range strings.Split(body, `<g class="points events">`)[1:] {
		for _, m := range regexp.MustCompile(`aria-label="([^"]*)"`).FindAllStringSubmatch(lane, -1) {
			out = append(out, m[1])
		}
	}
	return out
}

// Ensure a chart marks the days on which a board was published, posts were sent and audits ended.
// The marks can be read by a screen reader, are listed with links, and can be switched off one kind
// at a time. A kind that is switched off is not read.
func TestMarks(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	demotest.Load(t, w.Service,
		demo.Line{Type: "metric-definition", Record: demo.Record{"id": "mdf_1", "key": "a.b", "name": "Sign-ups", "unit": "count", "aggregation": "sum"}},
		demo.Line{Type: "metric-point", Record: demo.Record{"metricKey": "a.b", "grain": "day", "ts": "2026-08-03T00:00:00Z", "value": 3}},
		demo.Line{Type: "board", Record: demo.Record{"id": "brd_1", "name": "Public roadmap"}},
		demo.Line{Type: "item", Record: demo.Record{"id": "itm_1", "roadmapId": "brd_1", "slug": "one", "title": "One", "status": "published"}},
		demo.Line{Type: "post", Record: demo.Record{"id": "pst_late", "platform": "x", "body": "Sent late", "status": "published", "scheduledFor": "2026-08-05T23:50:00Z", "publishedAt": "2026-08-06T00:10:00Z"}},
		demo.Line{Type: "post", Record: demo.Record{"id": "pst_two", "platform": "push", "body": "On the same day", "status": "published", "scheduledFor": "2026-08-06T09:00:00Z", "publishedAt": "2026-08-06T09:00:00Z"}},
		demo.Line{Type: "post", Record: demo.Record{"id": "pst_draft", "platform": "x", "body": "Not sent", "status": "draft", "scheduledFor": "2026-08-06T09:00:00Z"}},
		demo.Line{Type: "post", Record: demo.Record{"id": "pst_old", "platform": "x", "body": "Before the range", "status": "published", "scheduledFor": "2026-07-30T09:00:00Z", "publishedAt": "2026-07-30T09:00:00Z"}},
		demo.Line{Type: "audit", Record: demo.Record{"id": "aud_1", "rootUrl": "https://a.example", "status": "complete", "scoreSeo": 84, "startedAt": "2026-08-01T08:00:00Z", "finishedAt": "2026-08-01T08:10:00Z"}},
		demo.Line{Type: "audit", Record: demo.Record{"id": "aud_2", "rootUrl": "https://a.example", "status": "complete", "scoreSeo": 65, "startedAt": "2026-08-08T08:00:00Z", "finishedAt": "2026-08-08T08:10:00Z"}},
	)
	w.Send(t, w.key, "POST", "/v1/companies/{companyId}/plan/boards/brd_1/publish", `{}`)
	body := w.page(t, "/metrics?key=a.b", "Roadmap published", "Posts sent", "Audits", "List 5 marks", "/posts/pst_late", "/audits/aud_2", "/roadmap?board=brd_1")
	today := w.Clock.Now().UTC().Format("Mon, Jan 2")
	want := []string{today + ", Public roadmap published, version 1", "Thu, Aug 6, Push: On the same day, X: Sent late", "Sat, Aug 1, Audit: SEO 84", "Sat, Aug 8, Audit: SEO 65 (−19)"}
	if got := markLabels(body); strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("the marks are %q, want %q", got, want)
	}
	checkNotContains(t, "the marks", body, "Not sent", "Before the range")

	body = w.page(t, "/metrics?key=a.b&hide=posts,audits", "List 1 mark", "Show marks: Posts sent", "Hide marks: Roadmap published")
	if got := markLabels(body); len(got) != 1 {
		t.Errorf("the marks are %q, want that of the roadmap", got)
	}
	checkNotContains(t, "a kind that is off", body, "/optimise/audits", "/broadcast/posts")
	for _, address := range []string{"hide=audits&key=a.b", "hide=posts&key=a.b", "hide=releases%2Cposts%2Caudits&key=a.b", "grain=week&hide=posts%2Caudits&key=a.b"} {
		if !strings.Contains(body, `href="/metrics?`+strings.ReplaceAll(address, "&", "&amp;")+`"`) {
			t.Errorf("no link to %s", address)
		}
	}
	if got := markLabels(w.page(t, "/metrics?key=a.b&grain=week&range=90d")); len(got) != 5 {
		t.Errorf("the marks of weeks are %q, want 5", got)
	}
}

// Ensure a chart with many marks draws and lists only the latest ones, and the page says that some
// are left out. A mark for many records names only a few of them.
func TestManyMarks(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	lines := []demo.Line{
		{Type: "metric-definition", Record: demo.Record{"id": "mdf_1", "key": "a.b", "name": "Sign-ups", "unit": "count", "aggregation": "sum"}},
		{Type: "metric-point", Record: demo.Record{"metricKey": "a.b", "grain": "day", "ts": "2026-08-03T00:00:00Z", "value": 3}},
	}
	for i := range 120 {
		at := fmt.Sprintf("2026-07-%02dT%02d:00:00Z", 12+i/6, i%6)
		lines = append(lines, demo.Line{Type: "post", Record: demo.Record{"id": fmt.Sprintf("pst_%d", i), "platform": "x", "body": fmt.Sprintf("Post %d <b>", i), "status": "published", "scheduledFor": at, "publishedAt": at}})
	}
	demotest.Load(t, w.Service, lines...)
	body := w.page(t, "/metrics?key=a.b&range=30d", "List 100 marks", "Only the latest 20 are listed.", "Posts sent: only the latest were read.", "Posts sent: the latest 10 marks are drawn.")
	got := markLabels(body)
	if last := "Fri, Jul 31, X: Post 119 &lt;b&gt;, X: Post 118 &lt;b&gt;, X: Post 117 &lt;b&gt;, and 3 more"; len(got) != 10 || got[9] != last {
		t.Errorf("%d marks, want 10; the last is %q, want %q", len(got), got[len(got)-1], last)
	}
}

// Ensure a chart has no marks of a kind whose scope the key lacks, and says why a kind is missing
// after a failure.
func TestMarksMissing(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t, auth.MetricsRead, auth.PlanRead)
	body := w.page(t, "/metrics?key="+url.QueryEscape("growth.signups"), "Roadmap published")
	checkNotContains(t, "no scope", body, "Posts sent", "Audits <")
	w = newDemoStudio(t)
	w.transport.respondWith(func(r *http.Request) *http.Response {
		if strings.HasSuffix(r.URL.Path, "/broadcast/posts") {
			return refusal(http.StatusForbidden, "forbidden", "the class is frozen")(r)
		}
		return nil
	})
	w.page(t, "/metrics?key=growth.signups", "Posts sent: not read.", "the class is frozen", "Audits")
}
