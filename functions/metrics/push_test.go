package metrics_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/testkit/apitest"
)

// push sends a push of points, each given as JSON.
func push(t *testing.T, s *apitest.Service, key string, points ...string) apitest.Response {
	t.Helper()
	return s.Send(t, key, "POST", pointsPath, `{"points":[`+strings.Join(points, ",")+`]}`)
}

// mustPush pushes points that must be accepted, and returns createdKeys.
func mustPush(t *testing.T, s *apitest.Service, key string, points ...string) []string {
	t.Helper()
	r := push(t, s, key, points...)
	var result metrics.PushResult
	if r.Decode(t, &result); r.Status != 200 || int(result.Accepted) != len(points) || result.CreatedKeys == nil {
		t.Fatalf("push: status %d, want 200 and %d accepted: %.500s", r.Status, len(points), r.Body)
	}
	return result.CreatedKeys
}

func pointOnDay(key, day string, value float64) string {
	return fmt.Sprintf(`{"metricKey":%q,"ts":%q,"value":%v}`, key, day, value)
}

// listPoints lists a metric's points as "day value".
func listPoints(t *testing.T, s *apitest.Service, query string) []string {
	t.Helper()
	var out []string
	for _, item := range s.Send(t, s.IssueKey(t), "GET", pointsPath+"?limit=1000&metricKey="+query, "").Items(t) {
		out = append(out, dayAndValue(item))
	}
	return out
}

func requireEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

// Ensure a pushed point is stored with all of its fields, normalised, and returned as specified.
func TestPushOnePoint(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "revenue.mrr", ""))
	key := s.IssueKey(t, auth.MetricsWrite, auth.MetricsRead)
	created := mustPush(t, s, key, `{"metricKey":"revenue.mrr","ts":"2026-08-11T01:30:00+02:00","value":1e2,"grain":"day",`+
		`"dims":{"plan":"pro","country":"a <b> & \u2028"},"currency":"EUR","baseValue":-0.5,"source":"billing"}`)
	requireEqual(t, "created", created, []string{})
	r := s.Send(t, key, "GET", pointsPath+"?metricKey=revenue.mrr", "")
	item := r.Items(t)[0]
	p := metrics.Point{MetricKey: "revenue.mrr", TS: new("2026-08-10T00:00:00.000Z"), Dims: json.RawMessage(`{"country":"a <b> & \u2028","plan":"pro"}`)}
	if err := p.Identify(); err != nil {
		t.Fatal(err)
	}
	requireEqual(t, "point", item, map[string]any{
		"seriesId": p.SeriesID, "pointKey": "day:2026-08-10", "companyId": s.CompanyID, "metricKey": "revenue.mrr", "grain": "day",
		"ts": "2026-08-10T00:00:00.000Z", "dims": map[string]any{"plan": "pro", "country": "a <b> & \u2028"}, "value": 100.0, "currency": "EUR",
		"baseValue": -0.5, "source": "billing", "ingestedAt": "2026-08-11T09:30:00.000Z",
	})
	if code, messages := push(t, s, s.IssueKey(t, auth.MetricsRead), pointOnDay("a", "2026-08-10", 1)).Messages(t); code != "unauthorised" || !strings.Contains(messages[0], "metrics:write") {
		t.Errorf("with metrics:read alone: %s %v", code, messages)
	}
	if limit := push(t, s, key, pointOnDay("a", "2026-08-10", 1)).Header.Get("RateLimit-Policy"); limit != `"push";q=60;w=60` {
		t.Errorf("the rate limit is %s, want 60 pushes a minute", limit)
	}
}

// Ensure a pushed point moves to the start of its bucket (UTC, ISO weeks) and replaces the stored
// point with the same identity. If several points in a batch have the same identity, the last one
// must win.
func TestPushBuckets(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	point := func(ts, grain string, value int, more string) string {
		return fmt.Sprintf(`{"metricKey":"custom.a","ts":%q,"grain":%q,"value":%d%s}`, ts, grain, value, more)
	}
	batch := []string{
		point("2026-01-01", "week", 1, ""),                // the Thursday of a week that starts in the previous year
		point("2026-01-04T23:59:59.999Z", "week", 2, ""),  // the Sunday of the same week
		point("2026-01-05T00:30:00+01:00", "week", 3, ""), // the same Sunday in UTC
		point("2026-01-05", "week", 4, ""),                // the next Monday
		point("2024-02-29T12:00:00Z", "month", 5, ""),
		point("2024-02-01", "month", 6, `,"dims":{}`), // empty dims identify the same series
		point("2026-01-05", "day", 7, `,"dims":{"a":"1"}`),
		point("2026-01-05", "day", 8, `,"dims":{"a":"2"}`),
		point("2026-01-05T08:00:00Z", "day", 9, `,"dims":{}`),
		`{"metricKey":"custom.a","ts":"2026-01-05","value":10}`, // the default grain is day
	}
	requireEqual(t, "created", mustPush(t, s, key, batch...), []string{"custom.a"})
	for range 2 {
		requireEqual(t, "weeks", listPoints(t, s, "custom.a&grain=week"), []string{"2025-12-29 3", "2026-01-05 4"})
		requireEqual(t, "months", listPoints(t, s, "custom.a&grain=month"), []string{"2024-02-01 6"})
		days := listPoints(t, s, "custom.a")
		slices.Sort(days)
		requireEqual(t, "days", days, []string{"2026-01-05 10", "2026-01-05 7", "2026-01-05 8"})
		requireEqual(t, "created again", mustPush(t, s, key, batch...), []string{})
	}
	requireEqual(t, "overwritten", mustPush(t, s, key, point("2026-01-05", "week", 40, "")), []string{})
	requireEqual(t, "weeks", listPoints(t, s, "custom.a&grain=week"), []string{"2025-12-29 3", "2026-01-05 40"})
}

// Ensure points of an undefined key are accepted. They are stored under custom.<key>, with one
// definition that needs review, until somebody defines the key.
func TestPushUnknownKeys(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "web.visits", `,"needsReview":false`))
	key := s.IssueKey(t)
	requireEqual(t, "created", mustPush(t, s, key,
		pointOnDay("web.visits", "2026-01-01", 1), pointOnDay("signups", "2026-01-01", 2), pointOnDay("custom.signups", "2026-01-02", 3),
		pointOnDay("custom.x", "2026-01-01", 4), pointOnDay("custom", "2026-01-01", 5),
	), []string{"custom.signups", "custom.x", "custom.custom"})
	requireEqual(t, "created again", mustPush(t, s, key, pointOnDay("signups", "2026-01-03", 6)), []string{})
	requireEqual(t, "the series", listPoints(t, s, "custom.signups"), []string{"2026-01-01 2", "2026-01-02 3", "2026-01-03 6"})
	requireEqual(t, "the bare key", listPoints(t, s, "signups"), []string{"2026-01-01 2", "2026-01-02 3", "2026-01-03 6"})
	requireEqual(t, "a known key", listPoints(t, s, "web.visits"), []string{"2026-01-01 1"})

	review := s.Send(t, key, "GET", definitionsPath+"?needsReview=true", "").Items(t)
	if len(review) != 3 {
		t.Errorf("%d definitions to review", len(review))
	}
	for _, d := range review {
		requireEqual(t, "a definition to review", []any{d["companyId"], d["kind"], d["createdAt"], d["updatedAt"]}, []any{s.CompanyID, "measured", "2026-08-11T09:30:00.000Z", "2026-08-11T09:30:00.000Z"})
		if !strings.HasPrefix(d["id"].(string), "mdf_") {
			t.Errorf("id %v, want one with mdf_", d["id"])
		}
	}
	longest := strings.Repeat("k", 120)
	requireEqual(t, "longest key", mustPush(t, s, key, pointOnDay(longest, "2026-01-01", 1)), []string{"custom." + longest})
	requireEqual(t, "its points", listPoints(t, s, "custom."+longest), []string{"2026-01-01 1"})
	if _, messages := push(t, s, key, pointOnDay(longest+"k", "2026-01-01", 1)).Messages(t); messages[0] != "body.points[0].metricKey: must have at most 120 characters, or 127 when it begins with custom., has 121" {
		t.Errorf("messages %q, want that the key is longer than 120 characters", messages)
	}
	requireEqual(t, "longest key by its stored name", mustPush(t, s, key, pointOnDay("custom."+longest, "2026-01-02", 2)), []string{})
	requireEqual(t, "its points", listPoints(t, s, longest), []string{"2026-01-01 1", "2026-01-02 2"})
	if _, messages := push(t, s, key, pointOnDay("custom."+longest+"k", "2026-01-01", 1)).Messages(t); messages[0] != "body.points[0].metricKey: must have at most 127 characters, has 128" {
		t.Errorf("messages %q, want that the key is longer than 127 characters", messages)
	}
}

// Ensure K and custom.K are two names of the same metric: in pushes and reads, both refer to the
// name that has a definition.
func TestPushUnderBothNames(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "web.visits", `,"aggregation":"sum"`), definitionJSON(2, "custom.leads", ""))
	key := s.IssueKey(t)
	requireEqual(t, "created", mustPush(t, s, key,
		pointOnDay("web.visits", "2026-01-01", 1), pointOnDay("custom.web.visits", "2026-01-02", 2), pointOnDay("leads", "2026-01-01", 3), pointOnDay("custom.leads", "2026-01-02", 4),
		pointOnDay("new", "2026-01-01", 5), pointOnDay("custom.new", "2026-01-02", 6), pointOnDay("custom.custom.new", "2026-01-01", 7),
	), []string{"custom.new", "custom.custom.new"})
	for stored, want := range map[string][]string{
		"web.visits": {"2026-01-01 1", "2026-01-02 2"}, "custom.leads": {"2026-01-01 3", "2026-01-02 4"}, "custom.new": {"2026-01-01 5", "2026-01-02 6"},
		"web.visits&grain=month": {"2026-01-01 3"},
	} {
		plain := strings.TrimPrefix(stored, "custom.")
		requireEqual(t, plain, listPoints(t, s, plain), want)
		requireEqual(t, "custom."+plain, listPoints(t, s, "custom."+plain), want)
	}
	requireEqual(t, "the prefix twice is no third name", listPoints(t, s, "custom.custom.new"), []string{"2026-01-01 7"})
	for _, item := range s.Send(t, key, "GET", pointsPath+"?metricKey=custom.web.visits", "").Items(t) {
		if item["metricKey"] != "web.visits" {
			t.Errorf("the points of web.visits have the key %v", item["metricKey"])
		}
	}
	for _, stored := range exportRecords(t, s, s.CompanyID, "metric-definition") {
		if strings.Contains(stored, `"custom.web.visits"`) || strings.Contains(stored, `"leads"`) && !strings.Contains(stored, `"custom.leads"`) {
			t.Errorf("a second definition: %s", stored)
		}
	}
}

// Ensure a push with an invalid point stores nothing and reports every invalid point.
func TestPushRejectsAll(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "margin", `,"kind":"derived","formula":"x"`), definitionJSON(2, "custom.ratio", `,"kind":"derived","formula":"x"`), definitionJSON(3, "a", `,"kind":"split","dimensions":["country"]`))
	key := s.IssueKey(t)
	good := pointOnDay("a", "2026-01-01", 1)
	const derived = "must not be a derived metric, whose values are computed from other metrics"
	for _, c := range []struct {
		name   string
		points []string
		want   []string
	}{
		{"fields", []string{
			good, `{"metricKey":"A b","ts":"2026-02-30","value":"1"}`, `5`,
			`{"metricKey":"a","ts":"2026-01-01T00:00:00","value":1e999,"grain":"year","currency":"eur","dims":{"a":1},"tags":[]}`,
			`{"dims":{"k":null}}`, `{"metricKey":"a","ts":null,"value":null}`,
		}, []string{
			"body.points[1].metricKey: must match ^[a-z][a-z0-9_]*(\\.[a-z0-9_]+)*$", "body.points[1].ts: must be a day, for example 2026-08-11", "body.points[1].value: must be a number",
			"body.points[2]: must be an object", "body.points[3].tags: unknown property", "body.points[3].ts: must be a day, for example 2026-08-11", "body.points[3].value: must be 0 or between 1e-129 and 1e125, positive or negative",
			"body.points[3].grain: must be one of day, week, month", "body.points[3].dims.a: must be a string", "body.points[3].currency: must match ^[A-Z]{3}$",
			"body.points[4].metricKey: is required", "body.points[4].ts: is required", "body.points[4].value: is required", "body.points[4].dims.k: must be a string",
			"body.points[5].ts: must not be null", "body.points[5].value: must not be null",
		}},
		{"dims", []string{`{"metricKey":"a","ts":"2026-01-01","value":1,"dims":{"1":"","2":"","3":"","4":"","5":"","6":"","7":"","8":"","9":"","10":"","11":""}}`,
			`{"metricKey":"a","ts":"2026-01-01","value":1,"dims":{"a":"` + strings.Repeat("é", 201) + `"}}`},
			[]string{"body.points[0].dims: must have at most 10 keys, has 11", "body.points[1].dims.a: must have at most 200 characters, has 201"}},
		{"derived", []string{good, pointOnDay("margin", "2026-01-01", 1), pointOnDay("ratio", "2026-01-01", 1), pointOnDay("custom.ratio", "2026-01-01", 1), pointOnDay("new", "2026-01-01", 1)},
			[]string{"body.points[1].metricKey: " + derived, "body.points[2].metricKey: " + derived, "body.points[3].metricKey: " + derived}},
		{"none", nil, []string{"body.points: must have 1 to 500 elements, has 0"}},
		{"too many", slices.Repeat([]string{good}, 501), []string{"body.points: must have 1 to 500 elements, has 501"}},
	} {
		r := push(t, s, key, c.points...)
		if code, messages := r.Messages(t); r.Status != 400 || code != "bad_request" {
			t.Errorf("%s: status %d with the code %s, want 400 bad_request: %.300s", c.name, r.Status, code, r.Body)
		} else {
			requireEqual(t, c.name, messages, c.want)
		}
	}
	if got := exportRecords(t, s, s.CompanyID, "metric-point"); len(got) != 0 {
		t.Errorf("stored: %v", got)
	}
	if got := exportRecords(t, s, s.CompanyID, "metric-definition"); len(got) != 3 {
		t.Errorf("defined: %v", got)
	}
	requireEqual(t, "split", mustPush(t, s, key, good), []string{})
}

// barrierTransport is a transport that holds back calls of a given kind until the expected number
// of them has arrived. If calls that should be concurrent are sequential, they run into the
// handler's deadline. A call that is retried because the engine was busy counts once.
type barrierTransport struct {
	mu             sync.Mutex
	sentBodies     map[string]bool // the bodies sent so far
	callCounts     map[string]int
	expectedCounts map[string]int
	arrived        map[string]chan struct{}
}

func (b *barrierTransport) expect(want map[string]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sentBodies, b.callCounts, b.expectedCounts, b.arrived = map[string]bool{}, map[string]int{}, want, map[string]chan struct{}{}
	for name := range want {
		b.arrived[name] = make(chan struct{})
	}
}

func (b *barrierTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	b.mu.Lock()
	arrived := b.arrived[name]
	if !b.sentBodies[name+string(body)] {
		b.sentBodies[name+string(body)] = true
		if b.callCounts[name]++; b.callCounts[name] == b.expectedCounts[name] {
			close(arrived)
		}
	}
	b.mu.Unlock()
	if arrived != nil {
		select {
		case <-arrived:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return apitest.Transport.RoundTrip(r)
}

// Ensure a push of 500 points takes two round trips and few calls. The first round trip makes one
// call for the API key and one per hundred definitions. The second makes one call per 24 point
// records, each of which holds one period of a series. If a defined metric does not have all of
// these records yet, a third round trip is needed, because the second one finds that they are new.
func TestPushCalls(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	calls := &barrierTransport{}
	s := apitest.NewWithTransport(t, metrics.Operations, calls)
	calls.expect(nil)
	key := s.IssueKey(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "known", ""))
	day := mustDay(t, "2025-01-01")
	batch := func(n int, point func(i int) string) (out []string) {
		for i := range n {
			out = append(out, point(i))
		}
		return out
	}
	for _, c := range []struct {
		name          string
		points        []string
		reads, writes int
		created       int
	}{
		{"500 days of a series", batch(500, func(i int) string { return pointOnDay("known", day.AddDate(0, 0, i).Format("2006-01-02"), 1) }), 1, 1, 0},
		{"25 days of 20 new metrics", batch(500, func(i int) string {
			return pointOnDay(fmt.Sprintf("m%d", i%20), day.AddDate(0, 0, i/20).Format("2006-01-02"), 1)
		}), 1, 1, 20},
		{"a day of 500 series", batch(500, func(i int) string {
			return fmt.Sprintf(`{"metricKey":"known","ts":"2026-01-01","value":1,"dims":{"n":"%d"}}`, i)
		}), 1, 21, 0},
		{"a day of 500 new metrics", batch(500, func(i int) string { return pointOnDay(fmt.Sprintf("n%d", i), "2026-01-01", 1) }), 10, 21, 500},
	} {
		want := map[string]int{"BatchGetItem": c.reads, "TransactWriteItems": c.writes}
		if c.created == 0 {
			calls.expect(nil)
			mustPush(t, s, key, c.points...)
			requireEqual(t, c.name+", the first time", calls.callCounts, map[string]int{"BatchGetItem": c.reads, "TransactWriteItems": 2 * c.writes, "UpdateItem": 1})
		}
		calls.expect(want)
		created := mustPush(t, s, key, c.points...)
		want["UpdateItem"] = 1 // the repeated push also updates the key's rate limit
		requireEqual(t, c.name, calls.callCounts, want)
		if len(created) != c.created {
			t.Errorf("%s: %d keys created, want %d", c.name, len(created), c.created)
		}
	}
	calls.expect(nil)
	mustPush(t, s, key, pointOnDay("known", "2026-01-01", 1))
	requireEqual(t, "one point", calls.callCounts, map[string]int{"BatchGetItem": 1, "UpdateItem": 2})
}

// Ensure concurrent pushes to the same records lose no points. A key that is new in all of the
// pushes must get one definition, and only one response may list it in createdKeys.
func TestPushConcurrently(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	const callers, days = 8, 24
	created := make([][]string, callers)
	var wait sync.WaitGroup
	for n := range callers {
		wait.Go(func() {
			var mine []string // every eighth day of two series; in addition, all callers write the first day
			for i := n; i < days; i += callers {
				mine = append(mine, pointOnDay("a", fmt.Sprintf("2026-01-%02d", i+2), float64(i)), pointOnDay("b", fmt.Sprintf("2026-01-%02d", i+2), float64(i)))
			}
			mine = append(mine, pointOnDay("a", "2026-01-01", float64(100+n)))
			created[n] = mustPush(t, s, key, mine...)
		})
	}
	wait.Wait()
	all := slices.Concat(created...)
	slices.Sort(all)
	requireEqual(t, "created", all, []string{"custom.a", "custom.b"})
	a, b := listPoints(t, s, "custom.a"), listPoints(t, s, "custom.b")
	if len(a) != days+1 || len(b) != days {
		t.Fatalf("%d and %d points, want %d and %d: %q, %q", len(a), len(b), days+1, days, a, b)
	}
	if !strings.HasPrefix(a[0], "2026-01-01 10") {
		t.Errorf("the first point is %s, want a value from 100 to 107", a[0])
	}
	requireEqual(t, "last point", a[days], fmt.Sprintf("2026-01-%02d %d", days+1, days-1))
}

// Ensure a push succeeds after a lost DynamoDB response, and returns the keys that it created.
func TestPushAfterLostResponse(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	s := apitest.NewWithTransport(t, metrics.Operations, apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
		if apitest.IsTransaction(c) && lost.CompareAndSwap(false, true) {
			return c.Lose()
		}
		return c.Send()
	}))
	other, _ := start(t)
	s.CompanyID = other.CompanyID
	key := other.IssueKey(t)
	requireEqual(t, "created", mustPush(t, s, key, pointOnDay("a", "2026-01-01", 1), pointOnDay("b", "2026-01-01", 2)), []string{"custom.a", "custom.b"})
	requireEqual(t, "a", listPoints(t, s, "custom.a"), []string{"2026-01-01 1"})
	requireEqual(t, "b", listPoints(t, s, "custom.b"), []string{"2026-01-01 2"})
}

// Ensure a push that fails returns `internal` and is safe to retry. A push of up to 24 point
// records stores nothing. In a larger push, every stored point has its definition, and a retry
// stores the rest without duplicates.
func TestPushAfterFailure(t *testing.T) {
	t.Parallel()
	var refuseNext atomic.Bool
	s := apitest.NewWithTransport(t, metrics.Operations, apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
		if apitest.IsTransaction(c) && refuseNext.CompareAndSwap(true, false) {
			return c.Refuse()
		}
		return c.Send()
	}))
	key := s.IssueKey(t)
	makePoints := func(n int, prefix string) (out []string) {
		for i := range n {
			out = append(out, pointOnDay(fmt.Sprintf("%s%d", prefix, i), "2026-01-01", float64(i)))
		}
		return out
	}
	for _, records := range []int{24, 60} { // 60 records take transactions of 24, 24 and 12 records; one transaction fails
		prefix := fmt.Sprintf("of%d_", records)
		refuseNext.Store(true)
		if r := push(t, s, key, makePoints(records, prefix)...); r.Status != 500 || !strings.Contains(r.Body, "safe to retry") {
			t.Fatalf("push of %d records: status %d, want 500 that is safe to retry: %s", records, r.Status, r.Body)
		}
		storedRecords := func() (points, definitions []string) {
			withPrefix := func(lines []string) []string {
				return slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, "custom."+prefix) })
			}
			return withPrefix(exportRecords(t, s, s.CompanyID, "metric-point")), withPrefix(exportRecords(t, s, s.CompanyID, "metric-definition"))
		}
		some, defined := storedRecords()
		if len(some) != len(defined) || records == 24 && len(some) > 0 || len(some) >= records {
			t.Errorf("%d records: %d points and %d definitions after the failure", records, len(some), len(defined))
		}
		if created := mustPush(t, s, key, makePoints(records, prefix)...); len(created) != records-len(defined) {
			t.Errorf("%d records: %d definitions created, %d existed before", records, len(created), len(defined))
		}
		if all, definitions := storedRecords(); len(all) != records || len(definitions) != records {
			t.Errorf("%d records: %d points and %d definitions after the retry", records, len(all), len(definitions))
		}
	}
}

// Ensure any point that a push accepts can be exported and imported unchanged.
func TestPushedPointsTransfer(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	label := strings.Repeat("\x01", 200)
	dims := map[string]string{}
	for i := range 10 {
		dims[fmt.Sprint(i)+label[1:]] = label
	}
	text, err := json.Marshal(map[string]any{"metricKey": "a", "ts": "2026-01-01", "value": -1e-129, "dims": dims, "source": label, "currency": "EUR"})
	if err != nil {
		t.Fatal(err)
	}
	mustPush(t, s, s.IssueKey(t), string(text), pointOnDay("b", "0001-01-01", 1), pointOnDay("b", "9999-12-31", 2))
	lines := exportRecords(t, s, s.CompanyID, "metric-point")
	other := s.Table.NewID("co")
	importLines(t, s, other, "metric-point", lines...)
	for i, line := range exportRecords(t, s, other, "metric-point") {
		requireEqual(t, "line", strings.ReplaceAll(line, other, s.CompanyID), lines[i])
	}
	if len(lines) != 3 {
		t.Errorf("%d lines", len(lines))
	}
}

// beforeNamedCallTransport is a transport that calls a function just before the first call of a
// kind. Other calls of that kind wait until the function has returned.
type beforeNamedCallTransport struct {
	mu         sync.Mutex
	callName   string
	beforeCall func()
}

func (b *beforeNamedCallTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	if before := b.beforeCall; before != nil && strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+b.callName) {
		b.beforeCall = nil
		before()
	}
	b.mu.Unlock()
	return apitest.Transport.RoundTrip(r)
}

func (b *beforeNamedCallTransport) arm(call string, before func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.callName, b.beforeCall = call, before
}

// Ensure a push succeeds if another caller defines one of its metrics after the push has read the
// definitions. The push must store that metric's points under the name that the other caller
// defined, which may be either name of the metric. The test covers pushes of one transaction and of
// several.
func TestPushLosesRace(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	transport := &beforeNamedCallTransport{}
	s := apitest.NewWithTransport(t, metrics.Operations, transport)
	otherCaller := apitest.New(t, metrics.Operations)
	otherCaller.CompanyID = s.CompanyID
	key := s.IssueKey(t)
	for i, c := range []struct {
		metrics     int
		definedName string // the name that the other caller defines, with %s for the key of the first metric
	}{
		{1, "%s"}, {1, "custom.%s"}, {60, "%s"}, {60, "custom.%s"},
	} {
		name := func(n int) string { return fmt.Sprintf("o%d_%02d", i, n) }
		var batch, want []string
		for n := range c.metrics {
			batch = append(batch, pointOnDay(name(n), "2026-01-01", float64(n)))
			want = append(want, "custom."+name(n))
		}
		definedKey := fmt.Sprintf(c.definedName, name(0))
		transport.arm("TransactWriteItems", func() {
			importLines(t, otherCaller, s.CompanyID, "metric-definition", definitionJSON(i, definedKey, ""))
		})
		created := mustPush(t, s, key, batch...)
		slices.Sort(created)
		requireEqual(t, "created", created, want[1:len(want):len(want)])
		for n := range c.metrics {
			if got := listPoints(t, s, name(n)); len(got) != 1 || got[0] != fmt.Sprintf("2026-01-01 %d", n) {
				t.Errorf("%d metrics, and another caller defines %s: the points of %s are %v", c.metrics, definedKey, name(n), got)
			}
		}
		if keys := strings.Fields(definedKeys(t, s)); slices.Contains(keys, name(0)) == slices.Contains(keys, "custom."+name(0)) {
			t.Errorf("another caller defines %s: %v", definedKey, keys)
		}
	}
}

// Ensure a push of several transactions returns `internal` if one of them panics, and that a retry
// stores the rest.
func TestPushPanics(t *testing.T) {
	t.Parallel()
	var transactions atomic.Int64
	s := apitest.NewWithTransport(t, metrics.Operations, apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
		if apitest.IsTransaction(c) && transactions.Add(1) == 2 {
			panic("planted")
		}
		return c.Send()
	}))
	key := s.IssueKey(t)
	var points []string
	for i := range 60 {
		points = append(points, pointOnDay(fmt.Sprintf("of_%d", i), "2026-01-01", float64(i)))
	}
	if r := push(t, s, key, points...); r.Status != 500 {
		t.Errorf("push that panics: status %d, want 500: %.300s", r.Status, r.Body)
	}
	mustPush(t, s, key, points...)
	if all := exportRecords(t, s, s.CompanyID, "metric-point"); len(all) != 60 {
		t.Errorf("%d points", len(all))
	}
}
