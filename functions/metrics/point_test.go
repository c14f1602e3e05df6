package metrics_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/testkit/apitest"
)

func mustDay(t testing.TB, day string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// consecutivePoints returns n points in consecutive buckets with the values 0, 1, 2, …
func consecutivePoints(t testing.TB, key string, grain metrics.Grain, dims json.RawMessage, from string, n int) []metrics.Point {
	t.Helper()
	points := make([]metrics.Point, n)
	at := mustDay(t, from)
	for i := range points {
		p := metrics.Point{MetricKey: key, Grain: &grain, TS: new(at.Format(time.RFC3339)), Dims: dims, Value: new(float64(i))}
		p.IngestedAt = new(at.Add(26*time.Hour + 123*time.Millisecond).Format("2006-01-02T15:04:05.000Z"))
		if err := p.Identify(); err != nil {
			t.Fatal(err)
		}
		points[i] = p
		switch grain {
		case metrics.GrainDay:
			at = at.AddDate(0, 0, 1)
		case metrics.GrainWeek:
			at = at.AddDate(0, 0, 7)
		case metrics.GrainMonth:
			at = at.AddDate(0, 1, 0)
		}
	}
	return points
}

func dayAndValue(item map[string]any) string {
	return fmt.Sprintf("%s %v", item["ts"].(string)[:10], item["value"])
}

func TestListPoints(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	putDays(t, store, s.CompanyID, "web.visits", nil, "2026-01-30", 4)
	for _, points := range [][]metrics.Point{
		consecutivePoints(t, "web.visits", metrics.GrainWeek, nil, "2025-12-29", 3),
		consecutivePoints(t, "web.visits", metrics.GrainMonth, nil, "2025-12-01", 3),
		consecutivePoints(t, "web", metrics.GrainDay, nil, "2026-02-01", 1),
		consecutivePoints(t, "web.visits.day", metrics.GrainDay, nil, "2026-02-01", 1),
	} {
		if err := store.PutPoints(t.Context(), s.CompanyID, points, nil); err != nil {
			t.Fatal(err)
		}
	}
	list := func(name, want string, arguments ...any) apitest.Scenario {
		args := map[string]any{"metricKey": "web.visits"}
		for i := 0; i < len(arguments); i += 2 {
			args[arguments[i].(string)] = arguments[i+1]
		}
		return apitest.Scenario{Name: name, Op: "list_metric_points", Args: args, Check: func(t *testing.T, r apitest.Response) {
			var got []string
			for _, item := range r.Items(t) {
				got = append(got, dayAndValue(item))
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("got  %v\nwant %v", strings.Join(got, ", "), want)
			}
		}}
	}
	const whole = "2026-01-30 0, 2026-01-31 1, 2026-02-01 2, 2026-02-02 3"
	s.Run(t, []apitest.Scenario{
		list("oldest first, day by default", whole),
		list("the newest of more", "2026-02-01 2, 2026-02-02 3", "limit", 2),
		list("as many as there are", whole, "limit", 4),
		list("most", whole, "limit", 1000),
		list("weeks", "2025-12-29 0, 2026-01-05 1, 2026-01-12 2", "grain", "week"),
		list("months", "2025-12-01 0, 2026-01-01 1, 2026-02-01 2", "grain", "month"),
		list("from is inclusive", "2026-01-31 1, 2026-02-01 2, 2026-02-02 3", "from", "2026-01-31"),
		list("to is inclusive", "2026-01-30 0, 2026-01-31 1", "to", "2026-01-31"),
		list("one day", "2026-01-31 1", "from", "2026-01-31", "to", "2026-01-31"),
		list("within two months", "2026-01-31 1, 2026-02-01 2", "from", "2026-01-31", "to", "2026-02-01"),
		list("the newest of a window", "2026-01-31 1", "from", "2026-01-30", "to", "2026-01-31", "limit", 1),
		list("times are cut to their day, UTC", "2026-01-31 1", "from", "2026-02-01T00:30:00+01:00", "to", "2026-01-31T23:59:59Z"),
		list("before all", "", "to", "2026-01-29"),
		list("after all", "", "from", "2026-02-03"),
		list("a week belongs to its Monday", "2026-01-05 1", "grain", "week", "from", "2025-12-30", "to", "2026-01-11"),
		list("a month belongs to its first day", "2026-01-01 1", "grain", "month", "from", "2025-12-02", "to", "2026-01-31"),
		list("first and last day of the calendar", whole, "from", "0001-01-01", "to", "9999-12-31"),
		list("unknown metric", "", "metricKey", "no.such"),
		list("a key that another begins with", "2026-02-01 0", "metricKey", "web"),
		list("longest key", "", "metricKey", strings.Repeat("k", 120)),
		list("longest key with the prefix", "", "metricKey", "custom."+strings.Repeat("k", 120)),
		{Name: "no key", Op: "list_metric_points", Want: 400, WantMessage: "query.metricKey: is required"},
		{Name: "key too long", Op: "list_metric_points", Args: map[string]any{"metricKey": strings.Repeat("k", 121)}, Want: 400, WantMessage: "query.metricKey: must have at most 120 characters, or 127 when it begins with custom., has 121"},
		{Name: "key with the prefix too long", Op: "list_metric_points", Args: map[string]any{"metricKey": "custom." + strings.Repeat("k", 121)}, Want: 400, WantMessage: "query.metricKey: must have at most 127 characters, has 128"},
		{Name: "from after to", Op: "list_metric_points", Args: map[string]any{"metricKey": "a", "from": "2026-02-02", "to": "2026-02-01"}, Want: 400, WantMessage: "query.from: must not be after to"},
		{Name: "no day", Op: "list_metric_points", Args: map[string]any{"metricKey": "a", "from": "2026-02-30", "to": "today"}, Want: 400, Check: func(t *testing.T, r apitest.Response) {
			if _, messages := r.Messages(t); len(messages) != 2 || !strings.HasPrefix(messages[0], "query.from: ") || !strings.HasPrefix(messages[1], "query.to: ") {
				t.Errorf("messages %q, want one for from and one for to", messages)
			}
		}},
		{Name: "no grain", Op: "list_metric_points", Args: map[string]any{"metricKey": "a", "grain": "year"}, Want: 400, WantMessage: "query.grain: must be one of day, week, month"},
		{Name: "limit above the most", Op: "list_metric_points", Args: map[string]any{"metricKey": "a", "limit": 1001}, Want: 400, WantMessage: "query.limit: must be between 1 and 1000"},
	})
	for _, key := range []string{"", "A", "a..b", ".a", "a.", "a#b", "a-b", "1a", "a b", "é"} {
		r := s.Send(t, s.IssueKey(t), "GET", pointsPath+"?metricKey="+url.QueryEscape(key), "")
		if _, messages := r.Messages(t); r.Status != 400 || !strings.HasPrefix(messages[0], "query.metricKey: ") {
			t.Errorf("key %q: status %d, want 400 for query.metricKey: %s", key, r.Status, r.Body)
		}
	}
}

// Ensure a point replaces the stored point of the same bucket and no other, and that the last of
// several points for one bucket in a batch wins.
func TestOverwritePoint(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	putDays(t, store, s.CompanyID, "a", nil, "2026-01-30", 4)
	again := consecutivePoints(t, "a", metrics.GrainDay, nil, "2026-01-31", 3)
	again = append(again, again[0], again[2])
	again[3].Value, again[4].Value = new(50.0), nil
	again[4].IngestedAt = nil
	if err := store.PutPoints(t.Context(), s.CompanyID, again, nil); err != nil {
		t.Fatal(err)
	}
	got := listAll(t, s, pointsPath+"?metricKey=a", dayAndValue, nil)
	if want := "[[2026-01-30 0 2026-01-31 50 2026-02-01 1 2026-02-02 <nil>]]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Ensure empty and null dims identify the same series, and that the series has the dims that were
// stored last.
func TestPointWithoutDims(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	empty := json.RawMessage(`{}`)
	both := append(consecutivePoints(t, "b", metrics.GrainDay, empty, "2026-01-01", 1), consecutivePoints(t, "b", metrics.GrainDay, nil, "2026-01-02", 1)...)
	putDays(t, store, s.CompanyID, "a", nil, "2026-01-01", 1)
	putDays(t, store, s.CompanyID, "a", empty, "2026-01-01", 1)
	if err := store.PutPoints(t.Context(), s.CompanyID, both, nil); err != nil {
		t.Fatal(err)
	}
	dims := func(item map[string]any) string { return fmt.Sprint(item["dims"]) }
	for key, want := range map[string]string{"a": "[[map[]]]", "b": "[[<nil> <nil>]]"} {
		if got := listAll(t, s, pointsPath+"?metricKey="+key, dims, nil); fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", key, got, want)
		}
	}
	putDays(t, store, s.CompanyID, "a", nil, "2026-01-01", 1)
	if got := listAll(t, s, pointsPath+"?metricKey=a", dims, nil); fmt.Sprint(got) != "[[<nil>]]" {
		t.Errorf("dims %v, want [[<nil>]]", got)
	}
}

// Ensure concurrent writers of different buckets in the same record do not lose each other's
// points.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	points := consecutivePoints(t, "a", metrics.GrainDay, nil, "2026-01-01", 31)
	errs := make(chan error)
	for _, p := range points {
		go func() { errs <- store.PutPoints(t.Context(), s.CompanyID, []metrics.Point{p}, nil) }()
	}
	for range points {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	got := slices.Concat(listAll(t, s, pointsPath+"?metricKey=a", dayAndValue, nil)...)
	if len(got) != 31 || got[30] != "2026-01-31 30" {
		t.Errorf("points %q, want 31 days to 2026-01-31 with the value 30", got)
	}
}

// Ensure PutPoints rejects a batch that contains a point without an identity, and stores none of
// its points.
func TestPutPointWithoutID(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	points := consecutivePoints(t, "a", metrics.GrainDay, nil, "2026-01-01", 3)
	points[2].IngestedAt = new("yesterday")
	for _, wrong := range []metrics.Point{{MetricKey: "a", TS: points[0].TS}, points[2]} {
		if err := store.PutPoints(t.Context(), s.CompanyID, append(points[:2:2], wrong), nil); err == nil {
			t.Error("no error")
		}
		if _, err := store.AddPoints(t.Context(), s.CompanyID, append(points[:2:2], wrong), nil); err == nil {
			t.Error("no error")
		}
	}
	if lines := exportRecords(t, s, s.CompanyID, "metric-point"); len(lines) != 0 {
		t.Errorf("stored %q, want nothing", lines)
	}
}

// Ensure AddPoints stores only the points that are not stored yet, and returns how many it skipped.
// Points that an earlier identical call stored do not count as skipped.
func TestAddPoints(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	if err := store.PutPoints(t.Context(), s.CompanyID, consecutivePoints(t, "a", metrics.GrainDay, nil, "2026-01-30", 3), nil); err != nil {
		t.Fatal(err)
	}
	before := exportRecords(t, s, s.CompanyID, "metric-point")
	more := consecutivePoints(t, "a", metrics.GrainDay, nil, "2026-01-29", 5)
	for range 2 { // the second call finds the points that the first one stored
		skipped, err := store.AddPoints(t.Context(), s.CompanyID, more, nil)
		if err != nil || skipped != 3 {
			t.Errorf("%d skipped, %v", skipped, err)
		}
		after := exportRecords(t, s, s.CompanyID, "metric-point")
		if len(after) != 5 {
			t.Errorf("stored: %v", after)
		}
		for _, line := range before {
			if !slices.Contains(after, line) {
				t.Errorf("replaced: %s", line)
			}
		}
	}
}

// Ensure every field is returned as it was stored, and every number as exactly the same float64.
func TestPointFields(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	numbers := []string{"0", "-0.1", "123456789012345680", "1e-129", "1e125", "-1.2345678901234567e-100", "0.30000000000000004", "9007199254740993"}
	for i, number := range numbers {
		importLines(t, s, s.CompanyID, "metric-point", fmt.Sprintf(`{"metricKey":"a","ts":"2026-03-%02dT00:00:00Z","value":%s,"baseValue":%s}`, i+1, number, number))
	}
	importLines(t, s, s.CompanyID, "metric-point",
		`{"metricKey":"a","grain":null,"ts":"2026-04-01T23:30:00-01:00","dims":{"b": [1.50, {"z":null,"y":"<&>\u2028 é"}], "a":12345678901234567890.10},"value":1,"currency":"EUR","source":"a \"b\" & <c>","ingestedAt":"2026-04-02T03:04:05.678+01:00"}`,
		`{"metricKey":"a","ts":"1700-01-01T00:00:00Z","ingestedAt":"9999-12-31T23:59:59.999Z"}`)
	r := s.Send(t, s.IssueKey(t), "GET", pointsPath+"?metricKey=a", "")
	items := r.Items(t)
	for i, number := range numbers {
		var want float64
		if err := json.Unmarshal([]byte(number), &want); err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"value", "baseValue"} {
			if got := items[1+i][field].(float64); math.Float64bits(got) != math.Float64bits(want) {
				t.Errorf("%s of %s is %v", field, number, got)
			}
		}
	}
	first, last := items[0], items[len(items)-1]
	if first["ts"] != "1700-01-01T00:00:00.000Z" || first["ingestedAt"] != "9999-12-31T23:59:59.999Z" || first["value"] != nil {
		t.Errorf("first point %v, want 1700-01-01, ingested in 9999, without a value", first)
	}
	want := fmt.Sprintf(`{"seriesId":%q,"pointKey":"day:2026-04-02","companyId":%q,"metricKey":"a","grain":"day","ts":"2026-04-02T00:00:00.000Z",`+
		`"dims":{"a":12345678901234567890.10,"b":[1.50,{"y":"<&>\u2028 é","z":null}]},"value":1,"currency":"EUR","baseValue":null,"source":"a \"b\" & <c>","ingestedAt":"2026-04-02T02:04:05.678Z"}`,
		last["seriesId"], s.CompanyID)
	if !strings.Contains(r.Body, want) {
		t.Errorf("no %s\nin %s", want, r.Body)
	}
}

// Ensure a series is identified by metricKey, grain and dims, and that equal dims in any JSON
// notation identify the same series.
func TestSeriesIdentity(t *testing.T) {
	t.Parallel()
	id := func(key string, grain metrics.Grain, dims string) string {
		p := metrics.Point{MetricKey: key, Grain: &grain, TS: new("2026-01-01T00:00:00.000Z"), Dims: json.RawMessage(dims)}
		if err := p.Identify(); err != nil {
			t.Fatal(err)
		}
		return p.SeriesID
	}
	same := [][2]string{{"", "null"}, {"", "{}"}, {`{"a":"1","b":{"d":1,"c":2}}`, ` { "b" : {"c":2, "d":1}, "a": "\u0031" }`}, {`[1, 2]`, `[1,2]`}}
	for _, pair := range same {
		if a, b := id("k", metrics.GrainDay, pair[0]), id("k", metrics.GrainDay, pair[1]); a != b || len(a) != 16 {
			t.Errorf("%s is %s, %s is %s", pair[0], a, pair[1], b)
		}
	}
	seen := map[string]string{}
	for _, key := range []string{"k", "k.k"} {
		for _, grain := range []metrics.Grain{metrics.GrainDay, metrics.GrainWeek, metrics.GrainMonth} {
			for _, dims := range []string{"null", `""`, "[]", "0", "false", `{"a":"1"}`, `{"a":1}`, `{"b":"1"}`, `{"a":"1","b":"1"}`, "[1,2]", "[2,1]"} {
				name := fmt.Sprint(key, grain, dims)
				if other, taken := seen[id(key, grain, dims)]; taken {
					t.Errorf("%s and %s are one series", name, other)
				}
				seen[id(key, grain, dims)] = name
			}
		}
	}
}

// Ensure Identify moves a point to the start of its bucket: UTC days, ISO weeks, calendar months.
func TestRecordBuckets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		grain    metrics.Grain
		ts, want string
	}{
		{metrics.GrainDay, "2026-08-11T23:59:59.999Z", "2026-08-11"},
		{metrics.GrainDay, "2026-08-11T00:30:00+01:00", "2026-08-10"},
		{metrics.GrainDay, "0001-01-01T00:00:00Z", "0001-01-01"},
		{metrics.GrainDay, "9999-12-31T23:59:59Z", "9999-12-31"},
		{metrics.GrainWeek, "2026-08-10T00:00:00Z", "2026-08-10"},
		{metrics.GrainWeek, "2026-08-16T23:59:59Z", "2026-08-10"},
		{metrics.GrainWeek, "2026-08-17T00:00:00Z", "2026-08-17"},
		{metrics.GrainWeek, "2026-01-01T00:00:00Z", "2025-12-29"},
		{metrics.GrainWeek, "2024-03-01T00:00:00Z", "2024-02-26"},
		{metrics.GrainWeek, "0001-01-07T00:00:00Z", "0001-01-01"},
		{metrics.GrainMonth, "2024-02-29T12:00:00Z", "2024-02-01"},
		{metrics.GrainMonth, "2026-12-31T23:59:59Z", "2026-12-01"},
	} {
		p := metrics.Point{MetricKey: "a", Grain: &c.grain, TS: &c.ts}
		if err := p.Identify(); err != nil {
			t.Fatal(err)
		}
		if *p.TS != c.want+"T00:00:00.000Z" || p.PointKey != string(c.grain)+":"+c.want {
			t.Errorf("%s %s: the bucket is %s, %s; want %s", c.grain, c.ts, *p.TS, p.PointKey, c.want)
		}
	}
}

// Ensure ListPoints returns the same points as sorting all points in memory, for random windows and
// limits, with gaps, with one or many series, and for every grain. The pages of a window contain
// each point exactly once.
func TestListAgainstModel(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, store := start(t)
	random := rand.New(rand.NewPCG(1, 2))
	for i, c := range []struct {
		grain           metrics.Grain
		series, buckets int
		density         float64
	}{
		{metrics.GrainDay, 1, 900, 1}, {metrics.GrainDay, 1, 900, 0.7}, {metrics.GrainDay, 1, 3000, 0.02}, {metrics.GrainDay, 2, 200, 1},
		{metrics.GrainDay, 40, 70, 0.5}, {metrics.GrainWeek, 1, 600, 1}, {metrics.GrainWeek, 5, 300, 0.4}, {metrics.GrainMonth, 3, 200, 0.9},
	} {
		key := fmt.Sprintf("m%d.%s", i, c.grain)
		var all []metrics.Point
		for n := range c.series {
			for _, p := range consecutivePoints(t, key, c.grain, json.RawMessage(fmt.Sprintf(`{"n":"%d"}`, n)), "2018-05-07", c.buckets) {
				if random.Float64() < c.density {
					all = append(all, p)
				}
			}
		}
		if err := store.PutPoints(t.Context(), s.CompanyID, all, nil); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(all, func(a, b metrics.Point) int {
			return cmp.Or(cmp.Compare(*a.TS, *b.TS), cmp.Compare(a.SeriesID, b.SeriesID))
		})
		days := int(mustDay(t, (*all[len(all)-1].TS)[:10]).Sub(mustDay(t, (*all[0].TS)[:10])).Hours() / 24)
		for range 10 {
			first := mustDay(t, "2018-05-07").AddDate(0, 0, random.IntN(days)-5)
			q := metrics.PointQuery{MetricKey: key, Grain: c.grain, Limit: []int{1, 7, 30, 365, 1000}[random.IntN(5)]}
			if random.IntN(3) > 0 {
				q.From = first.Format(time.DateOnly)
			}
			if random.IntN(3) > 0 {
				q.To = first.AddDate(0, 0, random.IntN(days)).Format(time.DateOnly)
			}
			if q.Limit < 30 { // keeps the number of pages small
				q.From, q.To = first.Format(time.DateOnly), first.AddDate(0, 0, 12).Format(time.DateOnly)
			}
			compareWithModel(t, store, s.CompanyID, q, all)
		}
	}
}

func compareWithModel(t *testing.T, store metrics.Store, companyID string, q metrics.PointQuery, all []metrics.Point) {
	t.Helper()
	var remaining []metrics.Point
	for _, p := range all {
		if day := (*p.TS)[:10]; day >= q.From && (q.To == "" || day <= q.To) {
			remaining = append(remaining, p)
		}
	}
	for {
		got, next, err := store.ListPoints(t.Context(), companyID, q)
		if err != nil {
			t.Fatal(err)
		}
		cut := max(0, len(remaining)-q.Limit)
		want := remaining[cut:]
		remaining = remaining[:cut]
		same := slices.EqualFunc(got, want, func(a, b metrics.Point) bool {
			return a.SeriesID == b.SeriesID && *a.TS == *b.TS && *a.Value == *b.Value && string(a.Dims) == string(b.Dims) && *a.IngestedAt == *b.IngestedAt
		})
		if !same || (next != metrics.Position{}) != (cut > 0) {
			t.Fatalf("%+v: got %d points, want %d; next %q with %d left", q, len(got), len(want), next, cut)
		}
		if cut == 0 {
			return
		}
		q.Before = next
	}
}

// Ensure adding points between two pages causes no gaps or repeats.
func TestPagePoints(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	putDays(t, store, s.CompanyID, "a", nil, "2026-01-28", 7)
	pages := listAll(t, s, pointsPath+"?metricKey=a&limit=3", dayAndValue, func(page int) {
		if page == 1 {
			putDays(t, store, s.CompanyID, "a", nil, "2026-02-04", 2)
			putDays(t, store, s.CompanyID, "a", nil, "2026-01-26", 1)
		}
	})
	want := "[[2026-02-01 4 2026-02-02 5 2026-02-03 6] [2026-01-29 1 2026-01-30 2 2026-01-31 3] [2026-01-26 0 2026-01-28 0]]"
	if fmt.Sprint(pages) != want {
		t.Errorf("got  %v\nwant %v", pages, want)
	}
}

// Ensure the span of a grain reaches from its first to its last stored bucket, across any number of
// records, and that a grain without points has no span.
func TestCoverage(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	for from, n := range map[string]int{"2024-05-06": 3, "2026-02-02": 400} {
		for _, grain := range []metrics.Grain{metrics.GrainDay, metrics.GrainWeek} {
			if err := store.PutPoints(t.Context(), s.CompanyID, consecutivePoints(t, "a", grain, nil, from, n), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := store.PutPoints(t.Context(), s.CompanyID, consecutivePoints(t, "b", metrics.GrainMonth, nil, "2025-11-01", 40), nil); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]map[metrics.Grain]metrics.DaySpan{
		"a": {metrics.GrainDay: {First: "2024-05-06", Last: "2027-03-08"}, metrics.GrainWeek: {First: "2024-05-06", Last: "2033-09-26"}},
		"b": {metrics.GrainMonth: {First: "2025-11-01", Last: "2029-02-01"}},
		"c": {},
	} {
		if got, err := store.Coverage(t.Context(), s.CompanyID, key); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", key, got, err, want)
		}
	}
}
