package report_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for the time zones in the tests

	"growthworkspace/scripts/studio/report"
	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/scripts/workspace/demo/demotest"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/client"
	"growthworkspace/shared/localdb"
	"growthworkspace/shared/testkit/apitest"
)

func TestMain(m *testing.M) {
	localdb.Main()
	os.Exit(m.Run())
}

func refusal(status int, retryAfter string) *http.Response {
	w := httptest.NewRecorder()
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(status)
	fmt.Fprint(w, `{"errors":[{"code":"x","message":"refused"}]}`)
	return w.Result()
}

// read reads the report of a week with a key that has the given scopes. It checks that the Calls
// field of the report is the number of requests sent.
func read(t *testing.T, s *apitest.Service, c *demotest.Counter, week string, scopes ...auth.Scope) (report.Report, error) {
	t.Helper()
	c.Next = demotest.HandlerTransport{Handler: s.Handler}
	api, err := client.New("https://api.example", s.IssueKey(t, scopes...), client.WithCompany(s.CompanyID), client.WithHTTPClient(&http.Client{Transport: c}),
		client.WithSleep(func(ctx context.Context, d time.Duration) error { s.Clock.Advance(d); return ctx.Err() }))
	if err != nil {
		t.Fatal(err)
	}
	r, err := report.Read(t.Context(), api, week, s.Clock.Now())
	if err == nil && c.Refuse == nil && r.Calls != int(c.Calls.Load()) {
		t.Errorf("the report says %d calls, and %d were sent", r.Calls, c.Calls.Load())
	}
	return r, err
}

// pages returns the report in each format.
func pages(t *testing.T, r report.Report) map[string]string {
	t.Helper()
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"text": r.Text(), "Markdown": r.Markdown(), "HTML": string(page)}
}

// spaces matches runs of spaces, including non-breaking ones.
var spaces = regexp.MustCompile(`[ \x{a0}]+`)

// checkContains fails the test unless text contains the given strings. It ignores the widths of
// columns. name appears in the test's messages.
func checkContains(t *testing.T, name, text string, want ...string) {
	t.Helper()
	text = spaces.ReplaceAllString(text, " ")
	for _, w := range want {
		if !strings.Contains(text, spaces.ReplaceAllString(w, " ")) {
			t.Errorf("%s: %q is missing in\n%s", name, w, text)
		}
	}
}

func line(kind string, r demo.Record) demo.Line { return demo.Line{Type: kind, Record: r} }

// Ensure the report of an empty company says that there is nothing to report, and takes 12 calls.
func TestEmptyCompany(t *testing.T) {
	t.Parallel()
	r, err := read(t, demotest.NewService(t), &demotest.Counter{}, report.LastWeek)
	want := `Northwind Notes: Week 32, Aug 3 to Aug 9, 2026

Reviews
  0 reviews and mentions, 0 the week before
  Now waiting: 0 replies to approve, 0 reviews without a reply

Roadmap
  nothing was published

Posts
  Sent: none
  Next: none is scheduled

Audits
  none that week

The week is one of the ISO calendar, Monday to Sunday, in UTC: the company has no time zone. Read Tue, Aug 11, 2026, 09:30.
`
	if err != nil || r.Text() != want || r.Calls != 12 || len(r.NotRead) > 0 {
		t.Errorf("%v, %d calls, %v:\n%s", err, r.Calls, r.NotRead, r.Text())
	}
}

// Ensure the report of a week contains what happened in that week, in the company's time zone.
// Auckland is 12 hours ahead of UTC in August, so its week begins on August 2 at noon UTC.
func TestWeekOfCompany(t *testing.T) {
	t.Parallel()
	s := demotest.NewService(t)
	evil := "<script>alert(1)</script> \x1b[2J\u202e | *b* [a](http://x.example) # `c`"
	review := func(id, at string, stars int) demo.Line {
		return line("feedback", demo.Record{"id": "fbk_" + id, "source": "app_store", "kind": "review", "externalId": id, "rating": stars, "title": "Title " + id, "postedAt": at, "replyStatus": "posted", "replyBody": "Thanks"})
	}
	post := func(id, status, at string) demo.Line {
		r := demo.Record{"id": "pst_" + id, "platform": "x", "body": "Post " + id, "status": status, "scheduledFor": at}
		if status == "published" {
			r["publishedAt"] = at
		}
		if status == "failed" {
			r["failureReason"] = "Refused."
		}
		return line("post", r)
	}
	audit := func(id, at string, seo float64) demo.Line {
		return line("audit", demo.Record{"id": "aud_" + id, "rootUrl": "https://a.example", "status": "complete", "scoreSeo": seo, "startedAt": at, "finishedAt": at})
	}
	lines := []demo.Line{
		line("company", demo.Record{"id": s.CompanyID, "name": "Kauri " + evil, "slug": "kauri", "timezone": "Pacific/Auckland"}),
		review("first", "2026-08-02T12:00:00Z", 5), review("last", "2026-08-09T11:59:59Z", 2), review("earlier", "2026-08-02T11:59:59Z", 1), review("later", "2026-08-09T12:00:00Z", 1),
		review("before", "2026-07-26T12:00:00Z", 1), review("longbefore", "2026-07-26T11:59:59Z", 1),
		line("feedback", demo.Record{"id": "fbk_evil", "source": "reddit", "externalId": "evil", "title": evil, "postedAt": "2026-08-05T00:00:00Z", "replyStatus": "needs_review", "replyBody": "Hm"}),
		post("first", "published", "2026-08-02T12:00:00Z"), post("earlier", "published", "2026-08-02T11:59:00Z"), post("later", "published", "2026-08-09T12:00:00Z"),
		post("refused", "failed", "2026-08-09T11:00:00Z"), post("overdue", "scheduled", "2026-08-01T00:00:00Z"), post("justdue", "scheduled", "2026-08-11T09:29:00Z"), post("next", "scheduled", "2026-08-12T20:00:00Z"),
		line("post", demo.Record{"id": "pst_late", "platform": "x", "body": "Sent late", "status": "published", "scheduledFor": "2026-07-31T08:00:00Z", "publishedAt": "2026-08-04T08:00:00Z"}),
		line("metric-definition", demo.Record{"id": "mdf_1", "key": "a.sales", "name": "Sales", "unit": "count", "aggregation": "sum", "polarity": "up_is_good"}),
		line("metric-definition", demo.Record{"id": "mdf_2", "key": "a.visits", "name": "Visits", "unit": "count", "aggregation": "sum"}),
		line("metric-definition", demo.Record{"id": "mdf_3", "key": "a.rate", "name": "Rate", "unit": "ratio", "aggregation": "none", "kind": "derived", "formula": "a.sales / a.visits", "polarity": "up_is_good"}),
		line("metric-definition", demo.Record{"id": "mdf_4", "key": "a.young", "name": "Young", "unit": "count", "aggregation": "sum"}),
		line("metric-definition", demo.Record{"id": "mdf_5", "key": "a.parts", "name": "Parts", "unit": "ratio", "aggregation": "avg"}),
		line("metric-point", demo.Record{"metricKey": "a.parts", "grain": "day", "ts": "2026-08-03T00:00:00Z", "value": 0.5, "dims": demo.Record{"page": "home"}}),
		line("metric-point", demo.Record{"metricKey": "a.parts", "grain": "day", "ts": "2026-08-03T00:00:00Z", "value": 0.1, "dims": demo.Record{"page": "shop"}}),
		line("metric-point", demo.Record{"metricKey": "a.young", "grain": "day", "ts": "2026-08-02T00:00:00Z", "value": 3}),
		line("metric-point", demo.Record{"metricKey": "a.young", "grain": "day", "ts": "2026-08-03T00:00:00Z", "value": 30}),
		line("brand-goal", demo.Record{"id": "bgl_1", "name": "Sell", "metricKey": "a.sales", "baselineValue": 0, "targetValue": 1000, "createdAt": "2026-07-01T00:00:00Z", "dueAt": "2026-09-01T00:00:00Z", "status": "active"}),
		line("brand-goal", demo.Record{"id": "bgl_2", "name": "Done", "status": "achieved"}),
		audit("1", "2026-07-20T00:00:00Z", 90), audit("2", "2026-08-09T11:00:00Z", 80), audit("3", "2026-08-09T12:00:00Z", 20),
	}
	for day := range 30 { // the days from July 13 to August 11; the number of sales grows by one each day
		at := time.Date(2026, 7, 13+day, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
		lines = append(lines, line("metric-point", demo.Record{"metricKey": "a.sales", "grain": "day", "ts": at, "value": day + 1}),
			line("metric-point", demo.Record{"metricKey": "a.visits", "grain": "day", "ts": at, "value": 100}))
	}
	demotest.Load(t, s, lines...)
	r, err := read(t, s, &demotest.Counter{}, report.LastWeek)
	if err != nil {
		t.Fatal(err)
	}
	text := r.Text()
	checkContains(t, "text", text, "Week 32, Aug 3 to Aug 9, 2026", "Pacific/Auckland. Read Tue, Aug 11, 2026, 21:30.",
		"The week  Week before", "Sales   175        126          +39 %", "Visits  700        700          no change", "Rate    25 %       18 %         +7 points", "Young   30         3", "the week before is the first with values", "Parts   –          –", "no total",
		"Sell: behind: 190 of 1,000 in July, on pace would be 500, due Sep 1, 2026",
		"3 reviews and mentions, 2 the week before, 3.5 stars on average, 1 without stars", "1 reply to approve",
		"Sent: 2\n Mon, Aug 3, 00:00 X Post first\n Tue, Aug 4, 20:00 X Sent late", "Failed: 1", "Refused.", "1 post overdue now", "Thu, Aug 13, 08:00", "https://a.example: SEO 80 (−10)", "Metrics are compared with the week before.")
	if strings.Contains(text, "Post earlier") || strings.Contains(text, "Post later") || strings.Contains(text, "SEO 20") || strings.Contains(text, "Done") {
		t.Errorf("the report has more than the week:\n%s", text)
	}
	if r.Reviews.Stars != [5]int{0, 1, 0, 0, 1} || r.Reviews.Before != 2 || r.Calls != 12+4+1 {
		t.Errorf("stars %v, %d before, %d calls", r.Reviews.Stars, r.Reviews.Before, r.Calls)
	}

	// The weekly values must equal those of the API.
	api := s.Call(t, s.IssueKey(t), "list_metric_points", map[string]any{"metricKey": "a.sales", "grain": "week", "from": "2026-08-03", "to": "2026-08-03", "total": true}).Items(t)
	if got := r.Metrics[0].Value; got == nil || len(api) != 1 || *got != api[0]["value"] {
		t.Errorf("the value of the week is %v, and that of the API %v", got, api)
	}

	// Third-party text must not act as markup or control a terminal in any format.
	for name, page := range pages(t, r) {
		if strings.Contains(page, "<script>") && name != "text" || strings.Contains(page, "[a](http") && name == "Markdown" {
			t.Errorf("%s contains markup of a review:\n%s", name, page)
		}
		if strings.ContainsAny(page, "\x1b\u202e") && name != "text" {
			t.Errorf("%s contains a control character of a review:\n%q", name, page)
		}
	}
	requireSelfContained(t, pages(t, r)["HTML"])
	checkContains(t, "HTML", pages(t, r)["HTML"], `<svg class="spark"`, "Sales by week", `<rect class="fill star"`, "&lt;script&gt;")

	// On Tuesday evening in Auckland, Monday is over both there and in UTC.
	thisWeek, err := read(t, s, &demotest.Counter{}, report.ThisWeek)
	checkContains(t, "this week", thisWeek.Text(), "Week 33", "Mon  Same days before  Change", "Sales   29   22                +32 %", "Rate    29 %  22 %", "values are those of Mon, against the same days of the week before", "counted until the same weekday and time")
	if err != nil || thisWeek.Reviews.Count != 1 || thisWeek.Reviews.Before != 1 || thisWeek.Over || thisWeek.Calls != 12+4+4+1 {
		t.Errorf("this week: %v, %d reviews, %d before, over %t, %d calls", err, thisWeek.Reviews.Count, thisWeek.Reviews.Before, thisWeek.Over, thisWeek.Calls)
	}
	if _, err := read(t, s, &demotest.Counter{}, "2026-W34"); !errors.Is(err, report.ErrFuture) {
		t.Errorf("the next week: %v", err)
	}

	// Before the first day of a week is over, nothing of it can be compared. The whole week before must
	// not stand beside it.
	s.Clock.Advance(6 * 24 * time.Hour)
	justBegun, err := read(t, s, &demotest.Counter{}, report.ThisWeek)
	checkContains(t, "a week that has just begun", justBegun.Text(), "Week 34", "The week  Same days before  Change", "Sales   –         –", "The week has just begun")
	if m := justBegun.Metrics[0]; err != nil || m.BeforeValue != nil || m.Before != "" || m.Weeks[len(m.Weeks)-2].Value == nil {
		t.Errorf("a week that has just begun: %v, %+v; want no value before, and the weeks for the sparkline", err, m)
	}
	s.Clock.Advance(-6 * 24 * time.Hour)

	// With a key that has few scopes, the report has only the parts that the key may read.
	for scope, want := range map[auth.Scope]string{
		"feedback:read": "3 reviews and mentions", "broadcast:read": "Sent: 2", "metrics:read": "Sales   175", "context:read": "Sell", "optimise:read": "SEO 80", "plan:read": "nothing was published", "company:read": "Kauri",
	} {
		narrow, err := read(t, s, &demotest.Counter{}, "2026-W32", scope, "company:read")
		checkContains(t, string(scope), narrow.Text(), want)
		if scope != "metrics:read" {
			checkContains(t, string(scope), narrow.Text(), "Not in this report: metrics (the key lacks the scope metrics:read).")
		}
		if err != nil || len(narrow.FailedParts()) > 0 {
			t.Errorf("%s: %v, %v", scope, err, narrow.FailedParts())
		}
	}
	if _, err := read(t, s, &demotest.Counter{}, report.LastWeek, "keys:read"); !errors.Is(err, report.ErrNothingRead) {
		t.Errorf("no scope of the report: %v", err)
	}
	utcReport, err := read(t, s, &demotest.Counter{}, "2026-W32", "feedback:read")
	if err != nil || utcReport.TimeZone != "UTC" || utcReport.Reviews.Count != 3 {
		t.Errorf("without the company: %v, %s, %d reviews", err, utcReport.TimeZone, utcReport.Reviews.Count)
	}

	// The report retries a 429 after the delay in its Retry-After header, and lists a part that
	// fails as a gap.
	retried, err := read(t, s, &demotest.Counter{Refuse: func(n int64, _ *http.Request) *http.Response {
		if n%3 == 0 && n < 30 {
			return refusal(http.StatusTooManyRequests, "1")
		}
		return nil
	}}, "2026-W32")
	if err != nil || len(retried.NotRead) > 0 || retried.Reviews.Count != 3 || len(retried.Metrics) != 5 {
		t.Errorf("after 429: %v, %v", err, retried.NotRead)
	}
	broken, err := read(t, s, &demotest.Counter{Refuse: func(_ int64, r *http.Request) *http.Response {
		if strings.Contains(r.URL.Path, "/posts") || strings.Contains(r.URL.RawQuery, "metricKey=a.visits") {
			return refusal(http.StatusForbidden, "")
		}
		return nil
	}}, "2026-W32")
	checkContains(t, "parts that fail", broken.Text(), "Not in this report: posts (refused).", "Visits – – it could not be read")
	if err != nil || len(broken.FailedParts()) != 2 {
		t.Errorf("parts that fail: %v, %v", err, broken.FailedParts())
	}
	partial, err := read(t, s, &demotest.Counter{Refuse: func(_ int64, r *http.Request) *http.Response {
		if q := r.URL.Query(); q.Get("replyStatus") != "" || q.Get("status") == "scheduled" {
			return refusal(http.StatusForbidden, "")
		}
		return nil
	}}, "2026-W32")
	checkContains(t, "half of a part", partial.Text(), "3 reviews and mentions", "Now waiting: not known", "Sent: 2")
	if err != nil || strings.Contains(partial.Text(), "none is scheduled") {
		t.Errorf("half of a part: %v\n%s", err, partial.Text())
	}
}

// Ensure the report lists the items that were created or edited in the week, for a board that was
// published in that week.
func TestRoadmap(t *testing.T) {
	t.Parallel()
	s := demotest.NewService(t)
	item := func(id, created string) demo.Line {
		return line("item", demo.Record{"id": "itm_" + id, "roadmapId": "brd_1", "slug": id, "title": "Item " + id, "status": "published", "createdAt": created, "updatedAt": created})
	}
	demotest.Load(t, s, line("board", demo.Record{"id": "brd_1", "name": "Public"}), line("board", demo.Record{"id": "brd_2", "name": "Never published"}),
		item("old", "2026-07-01T00:00:00Z"), item("edited", "2026-07-01T00:00:00Z"), item("new", "2026-08-10T08:00:00Z"))
	key := s.IssueKey(t)
	s.Send(t, key, "PATCH", "/v1/companies/{companyId}/plan/items/itm_edited", `{"summary":"Better"}`)
	s.Send(t, key, "POST", "/v1/companies/{companyId}/plan/boards/brd_1/publish", `{}`)
	s.Clock.Advance(time.Minute)
	s.Send(t, key, "PATCH", "/v1/companies/{companyId}/plan/items/itm_old", `{"summary":"Changed after the publish"}`)
	r, err := read(t, s, &demotest.Counter{}, report.ThisWeek)
	if err != nil || r.Calls != 12+2 {
		t.Errorf("%v, %d calls", err, r.Calls)
	}
	checkContains(t, "text", r.Text(), "Public: version 1, published Tue, Aug 11, 09:30\n    created this week: Item new\n    edited this week: Item edited\n    3 items live")
	before, err := read(t, s, &demotest.Counter{}, report.LastWeek)
	if err != nil {
		t.Error(err)
	}
	checkContains(t, "the week before", before.Text(), "Public: version 1, published Tue, Aug 11, 09:30, after this week (earlier versions are not listed here)")
}

var resourcePattern = regexp.MustCompile(`(?i)<(script|link|img|iframe|object|embed|form)\b|\b(src|href|action|background)\s*=|url\(|@import|\son[a-z]+\s*=`)

// styleBytesMax and pageBytesMax are the sizes above which Gmail ignores a style sheet and
// truncates a message.
const (
	styleBytesMax = 8192
	pageBytesMax  = 102_000
)

// requireSelfContained fails the test if a page loads or runs anything, or is too large for mail
// programs.
func requireSelfContained(t *testing.T, page string) {
	t.Helper()
	if found := resourcePattern.FindString(page); found != "" {
		t.Errorf("the page contains %q", found)
	}
	_, style, _ := strings.Cut(page, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	if len(style) > styleBytesMax || len(style) < 1000 || len(page) > pageBytesMax {
		t.Errorf("%d bytes of style, %d bytes in all", len(style), len(page))
	}
}

// Ensure the number of calls and the size of the page are limited, no matter how many records there
// are.
func TestManyRecords(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := demotest.NewService(t)
	words := strings.Repeat("Rindfleischetikettierung ", 12)
	var lines []demo.Line
	for i := range 1100 {
		lines = append(lines, line("feedback", demo.Record{"id": fmt.Sprintf("fbk_%d", i), "source": "app_store", "kind": "review", "externalId": fmt.Sprint(i), "rating": 1 + i%5, "title": words, "body": words, "postedAt": "2026-08-10T08:00:00Z", "replyStatus": "none"}))
	}
	for i := range 210 {
		lines = append(lines, line("post", demo.Record{"id": fmt.Sprintf("pst_%d", i), "platform": "x", "body": words, "status": "failed", "failureReason": words, "scheduledFor": "2026-08-10T08:00:00Z"}))
	}
	for i := range 14 {
		key := fmt.Sprintf("a.m%02d", i)
		lines = append(lines, line("metric-definition", demo.Record{"id": fmt.Sprintf("mdf_%d", i), "key": key, "name": words[:150], "unit": "count", "aggregation": "sum"}),
			line("brand-goal", demo.Record{"id": fmt.Sprintf("bgl_x%d", i), "name": words[:150], "status": "active"}),
			line("brand-goal", demo.Record{"id": fmt.Sprintf("bgl_%d", i), "name": words[:150], "metricKey": key, "baselineValue": 0, "targetValue": 9, "createdAt": "2026-07-01T00:00:00Z", "dueAt": "2026-09-01T00:00:00Z", "status": "active"}))
		for day := range 45 {
			lines = append(lines, line("metric-point", demo.Record{"metricKey": key, "grain": "day", "ts": apitest.Epoch.AddDate(0, 0, -day).Format(time.DateOnly) + "T00:00:00Z", "value": day}))
		}
	}
	for i := range 5 {
		lines = append(lines, line("board", demo.Record{"id": fmt.Sprintf("brd_%d", i), "name": words[:150]}))
		for n := range 12 {
			lines = append(lines, line("item", demo.Record{"id": fmt.Sprintf("itm_%dx%d", i, n), "roadmapId": fmt.Sprintf("brd_%d", i), "slug": fmt.Sprintf("s%d", n), "title": words[:190], "status": "published", "createdAt": "2026-08-10T08:00:00Z", "updatedAt": "2026-08-10T08:00:00Z"}))
		}
	}
	demotest.Load(t, s, lines...)
	for i := range 5 {
		s.Send(t, s.IssueKey(t), "POST", fmt.Sprintf("/v1/companies/{companyId}/plan/boards/brd_%d/publish", i), `{}`)
	}
	for week, calls := range map[string]int{report.ThisWeek: 48, report.LastWeek: 33} { // the boards were published this week
		r, err := read(t, s, &demotest.Counter{}, week)
		if err != nil || r.Calls > calls {
			t.Errorf("%s: %v, %d calls, at most %d", week, err, r.Calls, calls)
		}
		page := pages(t, r)["HTML"]
		requireSelfContained(t, page)
		t.Logf("%s: %d calls, %d bytes of HTML", week, r.Calls, len(page))
		if text, err := json.Marshal(r); err != nil || len(text) == 0 {
			t.Error(err)
		}
		if week == report.ThisWeek {
			checkContains(t, week, r.Text(), "1000+ reviews and mentions", "200+ reviews without a reply", "4 metrics are left out", "Not in this report: reviews (only the 1000 latest of both weeks were read).", "posts (only the 200 latest of the week were read)", "and 4 more", "its items were not read")
		}
	}
}
