package attention_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"growthworkspace/scripts/studio/attention"
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

// read reads the status with a key that has the given scopes. It checks that status.Calls is the
// number of requests sent.
func read(t *testing.T, s *apitest.Service, c *demotest.Counter, scopes ...auth.Scope) (attention.Status, error) {
	t.Helper()
	c.Next = demotest.HandlerTransport{Handler: s.Handler}
	api, err := client.New("https://api.example", s.IssueKey(t, scopes...), client.WithCompany(s.CompanyID), client.WithHTTPClient(&http.Client{Transport: c}),
		client.WithSleep(func(ctx context.Context, d time.Duration) error { s.Clock.Advance(d); return ctx.Err() }))
	if err != nil {
		t.Fatal(err)
	}
	status, err := attention.Read(t.Context(), api, s.Clock.Now())
	if err == nil && c.Refuse == nil && status.Calls != int(c.Calls.Load()) {
		t.Errorf("the status says %d calls, and %d were sent", status.Calls, c.Calls.Load())
	}
	return status, err
}

func lines(s attention.Status) string {
	var out []string
	for _, n := range s.Needs {
		out = append(out, n.Text)
	}
	for _, g := range s.NotChecked {
		out = append(out, "not checked: "+g.Part+": "+g.Reason)
	}
	return strings.Join(out, "\n")
}

// Ensure nothing needs a person in an empty company, and the check sends 13 calls.
func TestEmptyCompany(t *testing.T) {
	t.Parallel()
	status, err := read(t, demotest.NewService(t), &demotest.Counter{})
	if err != nil || lines(status) != "" || status.Calls != 13 || !status.Complete() {
		t.Errorf("%v, %d calls: %s", err, status.Calls, lines(status))
	}
}

// Ensure there is one line for each kind of record that needs a person, and none for records that
// do not.
func TestKinds(t *testing.T) {
	t.Parallel()
	s := demotest.NewService(t)
	at := func(d time.Duration) string { return apitest.Epoch.Add(d).Format(time.RFC3339) }
	day := 24 * time.Hour
	line := func(kind string, r demo.Record) demo.Line { return demo.Line{Type: kind, Record: r} }
	audit := func(id, site string, ago time.Duration, seo float64) demo.Line {
		return line("audit", demo.Record{"id": id, "rootUrl": site, "status": "complete", "scoreSeo": seo, "startedAt": at(-ago), "finishedAt": at(-ago)})
	}
	demotest.Load(t, s,
		line("feedback", demo.Record{"id": "fbk_1", "source": "reddit", "externalId": "1", "title": "Approve me", "replyStatus": "needs_review", "replyBody": "Yes"}),
		line("feedback", demo.Record{"id": "fbk_2", "source": "app_store", "kind": "review", "externalId": "2", "rating": 2, "title": "Answer\x1b[2J me", "replyStatus": "none"}),
		line("feedback", demo.Record{"id": "fbk_3", "source": "reddit", "externalId": "3", "title": "Failed", "replyStatus": "failed", "replyBody": "Yes"}),
		line("feedback", demo.Record{"id": "fbk_4", "source": "reddit", "externalId": "4", "title": "Stuck", "replyStatus": "posting", "replyBody": "Yes", "updatedAt": at(-time.Hour)}),
		line("feedback", demo.Record{"id": "fbk_5", "source": "reddit", "externalId": "5", "title": "On its way", "replyStatus": "posting", "replyBody": "Yes", "updatedAt": at(-time.Minute)}),
		line("feedback", demo.Record{"id": "fbk_6", "source": "reddit", "externalId": "6", "title": "Answered", "replyStatus": "posted", "replyBody": "Yes"}),
		line("post", demo.Record{"id": "pst_1", "platform": "x", "body": "Late words", "status": "scheduled", "scheduledFor": at(-3 * day)}),
		line("post", demo.Record{"id": "pst_2", "platform": "x", "body": "Just due", "status": "scheduled", "scheduledFor": at(-time.Minute)}),
		line("post", demo.Record{"id": "pst_3", "platform": "x", "body": "Next", "status": "scheduled", "scheduledFor": at(day)}),
		line("post", demo.Record{"id": "pst_4", "platform": "reddit", "body": "Refused", "status": "failed", "failureReason": "No such group.", "scheduledFor": at(-day)}),
		line("post", demo.Record{"id": "pst_5", "platform": "reddit", "body": "Stuck", "status": "publishing", "scheduledFor": at(-day), "updatedAt": at(-day)}),
		line("channel", demo.Record{"id": "chn_1", "platform": "x", "handle": "@acme", "status": "error", "lastError": "401", "active": true}),
		line("channel", demo.Record{"id": "chn_2", "platform": "reddit", "handle": "u/acme", "status": "error", "active": false}),
		line("channel", demo.Record{"id": "chn_3", "platform": "facebook", "handle": "acme", "status": "connected", "active": true}),
		line("board", demo.Record{"id": "brd_1", "name": "Roadmap", "active": true}), line("board", demo.Record{"id": "brd_2", "name": "Empty", "active": true}),
		line("item", demo.Record{"id": "itm_1", "roadmapId": "brd_1", "slug": "one", "title": "One", "status": "published"}),
		line("metric-definition", demo.Record{"id": "mdf_1", "key": "a.sales", "name": "Sales", "unit": "count", "aggregation": "sum"}),
		line("metric-point", demo.Record{"metricKey": "a.sales", "grain": "day", "ts": "2026-07-10T00:00:00Z", "value": 40}),
		line("metric-point", demo.Record{"metricKey": "a.sales", "grain": "day", "ts": "2026-08-10T00:00:00Z", "value": 900}),
		line("brand-goal", demo.Record{"id": "bgl_1", "name": "Sell", "metricKey": "a.sales", "baselineValue": 0, "targetValue": 100, "createdAt": "2026-07-01T00:00:00Z", "dueAt": "2026-09-01T00:00:00Z", "status": "active"}),
		line("brand-goal", demo.Record{"id": "bgl_2", "name": "Old", "dueAt": "2026-08-01T00:00:00Z", "status": "active"}),
		line("brand-goal", demo.Record{"id": "bgl_3", "name": "Missed", "dueAt": "2026-08-01T00:00:00Z", "status": "missed"}),
		audit("aud_1", "https://fell.example", 9*day, 90), audit("aud_2", "https://fell.example", day, 80.5), audit("aud_3", "https://rose.example", 9*day, 70), audit("aud_4", "https://rose.example", day, 80),
		line("audit", demo.Record{"id": "aud_5", "rootUrl": "https://rose.example", "status": "running", "startedAt": at(0)}))
	c := &demotest.Counter{}
	status, err := read(t, s, c)
	want := `1 reply to approve, first: Reddit Approve me
1 review without a reply, first: ★★☆☆☆ Answer` + "\x1b" + `[2J me
2 replies failed or stuck in posting, first: Reddit Failed
1 post overdue, the first for 3 days: X, Late words
2 posts failed or stuck in sending: Reddit, Refused (No such group.)
1 channel fails: X @acme (error: 401)
1 board has unpublished changes: Roadmap (1 added, 0 changed, 0 removed)
2 goals are behind or past the due date: Old (was due Aug 1, 2026)
1 site's last audit fell or failed: https://fell.example (SEO 80.5, −9.5)`
	if err != nil || lines(status) != want || status.Calls != 13+2+1 {
		t.Errorf("%v, %d calls:\n%s\nwant\n%s", err, status.Calls, lines(status), want)
	}
	if ids := status.Needs[2].IDs; strings.Join(ids, " ") != "fbk_3 fbk_4" {
		t.Errorf("ids %v", ids)
	}

	// With a key that has few scopes, the check reads only the parts that the key may read.
	for scope, want := range map[string]string{
		"feedback:read": "not checked: audits: the key lacks the scope optimise:read", "broadcast:draft": "1 channel fails", "context:read": "1 goal is behind or past the due date: Old",
		"optimise:read": "SEO 80.5",
	} {
		status, err := read(t, s, &demotest.Counter{}, auth.Scope(scope))
		if err != nil || !strings.Contains(lines(status), want) || !status.Complete() {
			t.Errorf("%s: %v: %s, want %s", scope, err, lines(status), want)
		}
	}
	if _, err := read(t, s, &demotest.Counter{}, auth.Scope("keys:read")); !errors.Is(err, attention.ErrNothingChecked) {
		t.Errorf("no scope of the check: %v", err)
	}

	// The check retries a 429 after the delay in its Retry-After header, and reports a part that
	// fails as a gap.
	refuse := func(status int, header http.Header) *http.Response {
		w := httptest.NewRecorder()
		for name := range header {
			w.Header().Set(name, header.Get(name))
		}
		w.WriteHeader(status)
		fmt.Fprint(w, `{"errors":[{"code":"x","message":"refused"}]}`)
		return w.Result()
	}
	retried, err := read(t, s, &demotest.Counter{Refuse: func(n int64, _ *http.Request) *http.Response {
		if n < 9 {
			return refuse(http.StatusTooManyRequests, http.Header{"Retry-After": {"2"}})
		}
		return nil
	}})
	if err != nil || lines(retried) != lines(status) {
		t.Errorf("after 429: %v: %s", err, lines(retried))
	}
	broken, err := read(t, s, &demotest.Counter{Refuse: func(_ int64, r *http.Request) *http.Response {
		if strings.Contains(r.URL.Path, "/channels") {
			return refuse(http.StatusForbidden, nil)
		}
		return nil
	}})
	if err != nil || broken.Complete() || !strings.Contains(lines(broken), "not checked: channels: refused") {
		t.Errorf("a part that fails: %v: %s", err, lines(broken))
	}
	if _, err := read(t, s, &demotest.Counter{Refuse: func(int64, *http.Request) *http.Response { return refuse(http.StatusUnauthorized, nil) }}); err == nil {
		t.Error("a key that the service rejects is no error")
	}
}

// Ensure the check says which lists were not read to the end, and finds a stuck post among many
// that are being sent.
func TestLongLists(t *testing.T) {
	t.Parallel()
	s := demotest.NewService(t)
	var records []demo.Line
	for i := range 201 {
		if i <= 100 {
			records = append(records, demo.Line{Type: "board", Record: demo.Record{"id": fmt.Sprintf("brd_%d", i), "name": "Board", "active": false}})
		}
		records = append(records, demo.Line{Type: "metric-definition", Record: demo.Record{"id": fmt.Sprintf("mdf_%d", i), "key": fmt.Sprintf("a.m%d", i)}})
	}
	for i := range 51 { // one post is stuck; it was due before the others
		updated := apitest.Epoch
		if i == 0 {
			updated = updated.Add(-time.Hour)
		}
		records = append(records, demo.Line{Type: "post", Record: demo.Record{
			"id": fmt.Sprintf("pst_%d", i), "platform": "x", "body": fmt.Sprint("Post ", i), "status": "publishing",
			"scheduledFor": apitest.Epoch.Add(time.Duration(i-100) * time.Minute).Format(time.RFC3339), "updatedAt": updated.Format(time.RFC3339),
		}})
	}
	demotest.Load(t, s, records...)
	status, err := read(t, s, &demotest.Counter{})
	want := "1+ posts failed or stuck in sending: X, Post 0\nnot checked: boards: only the first 100 were read\nnot checked: metrics of goals: only the first 200 were read"
	if err != nil || lines(status) != want {
		t.Errorf("%v: %s\nwant\n%s", err, lines(status), want)
	}
}

// Ensure the number of calls is limited, no matter how many records there are.
func TestManyRecords(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := demotest.NewService(t)
	var records []demo.Line
	add := func(kind string, r demo.Record) { records = append(records, demo.Line{Type: kind, Record: r}) }
	for i := range 2000 {
		add("feedback", demo.Record{"id": fmt.Sprintf("fbk_%d", i), "source": "reddit", "externalId": fmt.Sprint(i), "title": "A title", "replyStatus": "none"})
	}
	for i := range 300 {
		add("post", demo.Record{"id": fmt.Sprintf("pst_%d", i), "platform": "x", "body": "Words", "status": "scheduled", "scheduledFor": "2026-08-01T08:00:00Z"})
	}
	for i := range 30 {
		add("board", demo.Record{"id": fmt.Sprintf("brd_%d", i), "name": "Board"})
		add("item", demo.Record{"id": fmt.Sprintf("itm_%d", i), "roadmapId": fmt.Sprintf("brd_%d", i), "slug": "one", "title": "One", "status": "published"})
		add("metric-definition", demo.Record{"id": fmt.Sprintf("mdf_%d", i), "key": fmt.Sprintf("a.m%d", i), "aggregation": "sum"})
		add("brand-goal", demo.Record{"id": fmt.Sprintf("bgl_%d", i), "name": "Goal", "metricKey": fmt.Sprintf("a.m%d", i), "baselineValue": 0, "targetValue": 9, "createdAt": "2026-07-01T00:00:00Z", "dueAt": "2026-09-01T00:00:00Z", "status": "active"})
		add("metric-point", demo.Record{"metricKey": fmt.Sprintf("a.m%d", i), "grain": "day", "ts": "2026-07-10T00:00:00Z", "value": 1})
	}
	demotest.Load(t, s, records...)
	status, err := read(t, s, &demotest.Counter{})
	want := `200+ reviews without a reply, first: Reddit A title
50+ posts overdue, the first for 10 days: X, Words
10 boards have unpublished changes: Board (1 added, 0 changed, 0 removed)
10 goals are behind or past the due date: Goal (1 of 9 in July, on pace would be 4.5, due Sep 1, 2026)
not checked: boards: only the 10 that changed last were previewed, of 30
not checked: metrics of goals: 20 metrics of goals with a lower priority were not read`
	if err != nil || lines(status) != want || status.Calls != 33 {
		t.Errorf("%v, %d calls:\n%s\nwant\n%s", err, status.Calls, lines(status), want)
	}
}
