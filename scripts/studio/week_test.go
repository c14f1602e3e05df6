package studio_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure the page of a week shows what the command "workspace report" prints, and links to the
// pages behind each part and to the weeks before and after.
func TestWeek(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t)
	body := w.page(t, "/week", "Week 32, Aug 3 to Aug 9, 2026", "Metrics", "Previous week", "Week before", "Sign-ups", "Goals", "stars on average", "Now waiting:", "Roadmap", "Audits", "Sent: ", "Monday to Sunday",
		"/week?week=2026-W31", "/week?week=2026-W33", "workspace report --week 2026-W32 --html week.html", `aria-current="page">Week`, "https://api.example/v1/companies/"+w.CompanyID+"/feedback?")
	for _, address := range []string{"/metrics?key=growth.signups", "/brand", "/reviews", "/roadmap", "/sites", "/posts"} {
		if !strings.Contains(body, `<a href="`+address+`">`) {
			t.Errorf("no link to %s", address)
		}
	}
	for _, address := range []string{`/reviews\?show=all&amp;id=fbk_`, `/reviews\?show=all&amp;since=2026-08-03..2026-08-09"`, `/reviews\?show=all&amp;since=2026-08-03..2026-08-09&amp;stars=[1-5]"`, `/reviews\?show=needs_review"`, `/reviews\?show=waiting"`, `/reviews\?id=fbk_`, `/posts/pst_`, `/brand#bgl_`} {
		if !regexp.MustCompile(`<a href="` + address).MatchString(body) {
			t.Errorf("no link to %s", address)
		}
	}
	if strings.Contains(body, "<style") || strings.Contains(body, "style=") {
		t.Error("the page has an inline style, which the policy blocks")
	}
	body = w.page(t, "/week?week=this", "Week 33", "is not over", "This week, Aug 10 to Aug 16, 2026")
	checkNotContains(t, "the current week", body, "Next week")
	w.page(t, "/week?week=2025-W01", "Week 1, Dec 30, 2024 to Jan 5, 2025", "/week?week=2024-W52") // far outside of the list
	for _, week := range []string{"2026-W60", "2027-W01", `"><script>`} {
		status, body := w.get(t, "/week?week="+url.QueryEscape(week))
		if status != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", week, status)
		}
		checkContains(t, week, body, "No such week", "Last week, Aug 3 to Aug 9, 2026")
		checkNotContains(t, week, strings.ReplaceAll(body, "&#34;&gt;&lt;script&gt;", ""), `"><script>`)
	}
}

// Ensure each count of the week's reviews links to a list with that many reviews. The days must be
// those of the company's time zone.
func TestWeekReviews(t *testing.T) {
	t.Parallel()
	w := newTestStudio(t)
	w.Send(t, w.key, "PATCH", "/v1/companies/{companyId}", `{"timezone": "Pacific/Auckland"}`)
	for name, at := range map[string]string{"sunday": "2026-08-02T11:59:00Z", "monday": "2026-08-02T12:00:00Z", "late": "2026-08-09T11:59:00Z", "next": "2026-08-09T12:00:00Z"} { // midnight in the company's time zone is 12:00 UTC
		w.addReview(t, name, demo.Record{"postedAt": at, "rating": 2})
	}
	w.addReview(t, "worst", demo.Record{"postedAt": "2026-08-05T08:00:00Z", "rating": 1, "title": "Lost my notes", "body": "All of them & more."})
	body := w.page(t, "/week?week=2026-W32", "3 reviews and mentions", "Worst of the week", "Lost my notes", "<blockquote>All of them")
	link := regexp.MustCompile(`<a href="([^"]*stars=2)">2<`).FindStringSubmatch(body)
	if link == nil {
		t.Fatal("no link from the number of reviews with two stars")
	}
	body = w.page(t, html.UnescapeString(link[1]), `<option value="2026-08-03..2026-08-09" selected>Aug 3 to Aug 9, 2026</option>`, "Title monday", "Title late", "2 loaded")
	checkNotContains(t, "other days or stars", body, "Title sunday", "Title next", "Lost my notes")
}

// Ensure the report can be saved as one HTML file and as Markdown. Both are downloads, so that the
// policy of the studio's pages does not apply to them.
func TestWeekFiles(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t)
	for path, text := range map[string]string{"/week.html": "<style>", "/week.md": "## Metrics"} {
		r, err := w.browser.Get(w.base + path + "?week=2026-W32")
		if err != nil {
			t.Fatal(err)
		}
		body := read(t, r)
		if got := r.Header.Get("Content-Disposition"); r.StatusCode != http.StatusOK || got != `attachment; filename="week-2026-W32`+strings.TrimPrefix(path, "/week")+`"` {
			t.Errorf("%s: status %d, %q", path, r.StatusCode, got)
		}
		checkContains(t, path, body, "Week 32, Aug 3 to Aug 9, 2026", text)
	}
	w.page(t, "/week?week=2026-W32", "Download as HTML</a>", "Download as Markdown</a>")
	if status, body := w.get(t, "/week.md?week=2026-W60"); status != http.StatusBadGateway || !strings.Contains(body, "2026-W60") {
		t.Errorf("status %d: %s", status, body)
	}
}

// Ensure the page names the parts that are missing because of the key's scopes. If the service
// refuses the key, or the key may read nothing, the page must say why there is no report.
func TestWeekWithoutScopes(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t, auth.FeedbackRead, auth.CompanyRead)
	w.page(t, "/week", "stars on average", "Not in this report: metrics (the key lacks the scope metrics:read).")
	w.transport.respondWith(refusal(http.StatusForbidden, "forbidden", "the company is suspended"))
	_, body := w.get(t, "/week")
	checkContains(t, "refused", body, "403 Forbidden", "the company is suspended", "req_seen")
	w = newDemoStudio(t, auth.KeysRead)
	status, body := w.get(t, "/week")
	if checkContains(t, "no scope", body, "There is nothing to show"); status != http.StatusForbidden {
		t.Errorf("status %d, want 403", status)
	}
}

// Limits for the page of a week. Package report has its own limit of calls, and the frame needs one
// more call.
const (
	weekCallsMax = 49
	weekTripsMax = 3
)

// Ensure the page of a week stays within its limits.
func TestWeekBudget(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := demotest.NewService(t)
	demotest.LoadDemo(t, s)
	demotest.Load(t, s, demo.Line{Type: "feedback", Record: demo.Record{
		"id": "fbk_long", "source": "google_play", "kind": "review", "externalId": "long", "title": strings.Repeat("Rindfleischetikettierung ", 11), "body": "b", "rating": 1, "priority": 1, "postedAt": "2026-08-05T08:00:00Z", "replyStatus": "none",
	}})
	counter := &apitest.RoundTripCounter{}
	w := startStudio(t, s, s.IssueKey(t), func(next http.RoundTripper) http.RoundTripper { counter.Transport = next; return counter })
	w.browser.Transport = demotest.HandlerTransport{Handler: w.server.Handler()}
	for _, path := range []string{"/week", "/week?week=this"} {
		s.Clock.Advance(60e9) // start each page with a full quota
		var body string
		trips, calls := counter.Count(t, func(t *testing.T) { body = w.page(t, path) })
		t.Logf("%s: %d calls, %d one after another, %d bytes", path, calls, trips, len(body))
		if calls > weekCallsMax || trips > weekTripsMax || len(body) > bytesMax {
			t.Errorf("%s: %d calls, at most %d; %d one after another, at most %d; %d bytes, at most %d", path, calls, weekCallsMax, trips, weekTripsMax, len(body), bytesMax)
		}
	}
}
