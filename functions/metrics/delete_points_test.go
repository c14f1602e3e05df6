package metrics_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// deletePoints deletes the points of a metric between two days. Further parameters, such as
// "grain=week", can be added.
func deletePoints(t *testing.T, s *apitest.Service, key, metricKey, from, to string, more ...string) apitest.Response {
	t.Helper()
	query := strings.Join(append([]string{"metricKey=" + metricKey, "from=" + from, "to=" + to}, more...), "&")
	return s.Send(t, key, "DELETE", pointsPath+"?"+query, "")
}

// mustDeletePoints is deletePoints for a delete that must succeed and finish. It returns the number
// of deleted points.
func mustDeletePoints(t *testing.T, s *apitest.Service, key, metricKey, from, to string, more ...string) int {
	t.Helper()
	r := deletePoints(t, s, key, metricKey, from, to, more...)
	var result metrics.DeletedPoints
	if r.Decode(t, &result); r.Status != http.StatusOK || r.Header.Get("Service-Has-More") != "false" {
		t.Fatalf("%d %s, Service-Has-More %q", r.Status, r.Body, r.Header.Get("Service-Has-More"))
	}
	return int(result.DeletedCount)
}

// seriesOf returns the seriesId of the series of a metric with the given grain and dims.
func seriesOf(t *testing.T, metricKey string, grain metrics.Grain, dims string) string {
	t.Helper()
	p := metrics.Point{MetricKey: metricKey, Grain: &grain, TS: new("2026-08-10T00:00:00.000Z"), Dims: json.RawMessage(dims)}
	if err := p.Identify(); err != nil {
		t.Fatal(err)
	}
	return p.SeriesID
}

// Ensure a delete removes the stored points of one grain between two days, both inclusive. It
// accepts either name of the metric, deletes only one series if a seriesId is sent, and counts the
// points it deleted. All other points stay.
func TestDeletePoints(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", `,"aggregation":"sum"`), definitionJSON(2, "ab", ""))
	countryPoint := func(day, country string, value int) string {
		return fmt.Sprintf(`{"metricKey":"a","ts":%q,"value":%d,"dims":{"country":%q}}`, day, value, country)
	}
	fill := func() {
		mustPush(t, s, key, pointOnDay("a", "2026-06-30", 1), pointOnDay("a", "2026-07-01", 2), pointOnDay("a", "2026-07-31", 3), pointOnDay("a", "2026-08-01", 4), pointOnDay("a", "2026-08-02", 5),
			countryPoint("2026-07-31", "de", 6), countryPoint("2026-08-01", "pt", 7), pointOnDay("ab", "2026-07-31", 8),
			`{"metricKey":"a","ts":"2026-07-27","grain":"week","value":9}`, `{"metricKey":"a","ts":"2026-08-01","grain":"month","value":10}`)
	}
	all := []string{"2026-06-30 1", "2026-07-01 2", "2026-07-31 3", "2026-07-31 6", "2026-08-01 4", "2026-08-01 7", "2026-08-02 5"}
	without := func(gone ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(p string) bool { return slices.Contains(gone, p) })
	}
	for _, c := range []struct {
		name, metric, from, to string
		more                   []string
		count                  int
		days                   []string
	}{
		{"one day", "a", "2026-07-01", "2026-07-01", nil, 1, without("2026-07-01 2")},
		{"a month's end and the next one's start", "a", "2026-07-31", "2026-08-01", nil, 4, without("2026-07-31 3", "2026-07-31 6", "2026-08-01 4", "2026-08-01 7")},
		{"everything", "a", "0001-01-01", "9999-12-31", nil, 7, nil},
		{"by the other name", "custom.a", "2026-07-01", "2026-07-31", nil, 3, without("2026-07-01 2", "2026-07-31 3", "2026-07-31 6")},
		{"times of a day", "a", "2026-08-01T12:00:00Z", "2026-08-02T00:30:00%2B02:00", nil, 2, without("2026-08-01 4", "2026-08-01 7")},
		{"one series", "a", "2026-07-01", "2026-09-01", []string{"seriesId=" + seriesOf(t, "a", "day", `{"country":"pt"}`)}, 1, without("2026-08-01 7")},
		{"the series without dims", "a", "2026-07-01", "2026-09-01", []string{"seriesId=" + seriesOf(t, "a", "day", "")}, 4, without("2026-07-01 2", "2026-07-31 3", "2026-08-01 4", "2026-08-02 5")},
		{"an unknown series", "a", "2026-07-01", "2026-09-01", []string{"seriesId=0000000000000000"}, 0, all},
		{"the series of another grain", "a", "2026-07-01", "2026-09-01", []string{"seriesId=" + seriesOf(t, "a", "week", "")}, 0, all},
		{"weeks", "a", "2026-07-01", "2026-09-01", []string{"grain=week"}, 1, all},
		{"a week that starts before", "a", "2026-07-28", "2026-09-01", []string{"grain=week"}, 0, all},
		{"months", "a", "2026-08-01", "2026-08-01", []string{"grain=month"}, 1, all},
		{"no point there", "a", "2026-07-02", "2026-07-30", nil, 0, all},
		{"an unknown key", "c", "2026-07-02", "2026-07-30", nil, 0, all},
	} {
		fill()
		requireEqual(t, c.name+": count", mustDeletePoints(t, s, key, c.metric, c.from, c.to, c.more...), c.count)
		requireEqual(t, c.name+": days", slices.Sorted(slices.Values(listPoints(t, s, "a"))), c.days)
		requireEqual(t, c.name+": of another metric", listPoints(t, s, "ab"), []string{"2026-07-31 8"})
		requireEqual(t, c.name+": again", mustDeletePoints(t, s, key, c.metric, c.from, c.to, c.more...), 0)
		s.Clock.Advance(time.Minute)
	}
	mustDeletePoints(t, s, key, "a", "0001-01-01", "9999-12-31")
	requireEqual(t, "records", pointRecords(t, s, "a"), []string(nil))
	fill()
	mustDeletePoints(t, s, key, "a", "0001-01-01", "9999-12-31", "grain=week")
	requireEqual(t, "a week without its stored point", slices.Sorted(slices.Values(listPoints(t, s, "a&grain=week&from=2026-07-27&to=2026-07-27"))), []string{"2026-07-27 12", "2026-07-27 6", "2026-07-27 7"})
}

// pointRecords returns the sort keys of the records that store a metric's daily points, including
// records that have no points.
func pointRecords(t *testing.T, s *apitest.Service, metricKey string) (keys []string) {
	t.Helper()
	records, err := table.ReadAll[struct {
		SK string `store:"sk"`
	}](t.Context(), s.Table, table.Collection{Partition: table.Partition(s.CompanyID, "metrics"), Prefix: "pt#" + metricKey + "#day#", Consistent: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		keys = append(keys, r.SK)
	}
	return keys
}

// Ensure each invalid parameter of a delete is refused, and nothing is deleted.
func TestDeletePointsErrors(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	mustPush(t, s, s.IssueKey(t), pointOnDay("a", "2026-07-01", 1))
	args := func(more ...any) map[string]any {
		out := map[string]any{"metricKey": "a", "from": "2026-01-01", "to": "2026-12-31"}
		for i := 0; i < len(more); i += 2 {
			if out[more[i].(string)] = more[i+1]; more[i+1] == nil {
				delete(out, more[i].(string))
			}
		}
		return out
	}
	const op = "delete_metric_points"
	s.Run(t, []apitest.Scenario{
		{Name: "ErrNoKey", Op: op, Args: args("metricKey", nil), Want: 400, WantMessage: "query.metricKey: is required"},
		{Name: "ErrNoFrom", Op: op, Args: args("from", nil), Want: 400, WantMessage: "query.from: is required"},
		{Name: "ErrNoTo", Op: op, Args: args("to", nil), Want: 400, WantMessage: "query.to: is required"},
		{Name: "ErrOrder", Op: op, Args: args("to", "2025-12-31"), Want: 400, WantMessage: "query.from: must not be after to"},
		{Name: "ErrDay", Op: op, Args: args("to", "2026-13-31"), Want: 400, WantMessage: "query.to: must be"},
		{Name: "ErrKey", Op: op, Args: args("metricKey", "A"), Want: 400, WantMessage: "query.metricKey: must match"},
		{Name: "ErrKey121", Op: op, Args: args("metricKey", strings.Repeat("a", 121)), Want: 400, WantMessage: "query.metricKey: must have at most 120 characters"},
		{Name: "ErrGrain", Op: op, Args: args("grain", "year"), Want: 400, WantMessage: "query.grain: must be one of day, week, month"},
		{Name: "ErrSeries", Op: op, Args: args("seriesId", "123"), Want: 400, WantMessage: "query.seriesId: must match"},
		{Name: "ErrLimit", Op: op, Args: args("limit", "1"), Want: 400, WantMessage: "query.limit: unknown parameter"},
	})
	requireEqual(t, "points", listPoints(t, s, "a"), []string{"2026-07-01 1"})
}

// putPointsInMonths stores a point in each of n months for each series, and returns the first and
// the last day.
func putPointsInMonths(t *testing.T, store metrics.Store, companyID, metricKey string, n, series int) (from, to string) {
	t.Helper()
	first := mustDay(t, "2016-01-01")
	var all []metrics.Point
	for month := range n {
		for i := range series {
			p := metrics.Point{
				MetricKey: metricKey, Grain: new(metrics.GrainDay), TS: new(first.AddDate(0, month, 0).Format("2006-01-02T15:04:05.000Z")),
				Value: new(float64(month)), Dims: json.RawMessage(fmt.Sprintf(`{"n":"%02d"}`, i)),
			}
			if err := p.Identify(); err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
	}
	if err := store.PutPoints(t.Context(), companyID, all, nil); err != nil {
		t.Fatal(err)
	}
	return first.Format(time.DateOnly), first.AddDate(0, n, -1).Format(time.DateOnly)
}

// Ensure a delete that runs out of time deletes the oldest months first and returns
// Service-Has-More: true with the number of points it deleted, and that repeating the call
// continues. A tool call returns _meta.hasMore instead.
func TestDeletePointsContinues(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, metrics.OperationsWithOneDeleteRound)
	store := metrics.NewStore(s.Table)
	key := s.IssueKey(t)
	from, to := putPointsInMonths(t, store, s.CompanyID, "a", 25, 10)
	target := strings.ReplaceAll(pointsPath, "{companyId}", s.CompanyID) + "?" + url.Values{"metricKey": {"a"}, "from": {from}, "to": {to}}.Encode()
	for call, want := range []struct {
		count int
		more  string
		left  []string // the first month that still has points, and how many points are left
	}{{100, "true", []string{"2016-11-01", "150"}}, {100, "true", []string{"2017-09-01", "50"}}, {50, "false", []string{"", "0"}}, {0, "false", []string{"", "0"}}} {
		r := httptest.NewRequestWithContext(t.Context(), "DELETE", target, nil)
		r.Header.Set("Authorization", "Bearer "+key)
		got := s.Do(r)
		if got.Status != http.StatusOK {
			t.Fatalf("call %d: status %d, want 200: %s", call, got.Status, got.Body)
		}
		var result metrics.DeletedPoints
		got.Decode(t, &result)
		if more := got.Header.Get("Service-Has-More"); int(result.DeletedCount) != want.count || more != want.more {
			t.Fatalf("call %d: deleted %d, more %q; want %d and %q", call, result.DeletedCount, more, want.count, want.more)
		}
		if link := got.Header.Get("Link"); link != "" {
			t.Fatalf("call %d: Link %q, want none", call, link)
		}
		left, oldest := listPoints(t, s, "a"), ""
		if len(left) > 0 {
			oldest, _, _ = strings.Cut(left[0], " ")
		}
		requireEqual(t, fmt.Sprintf("after call %d", call), []string{oldest, fmt.Sprint(len(left))}, want.left)
	}
}

// Ensure ten years of several series are deleted within the deadline, or that the calls report that
// points are left.
func TestDeleteTenYears(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, store := start(t)
	key := s.IssueKey(t)
	from, to := putPointsInMonths(t, store, s.CompanyID, "a", 120, 10)
	total, calls := 0, 0
	for more := "true"; more == "true"; calls++ {
		r := deletePoints(t, s, key, "a", from, to)
		var result metrics.DeletedPoints
		if r.Decode(t, &result); r.Status != http.StatusOK || result.DeletedCount == 0 {
			t.Fatalf("call %d: status %d, want 200 and deleted points: %s", calls, r.Status, r.Body)
		}
		total += int(result.DeletedCount)
		more = r.Header.Get("Service-Has-More")
	}
	if left := exportRecords(t, s, s.CompanyID, "metric-point"); total != 120*10 || len(left) != 0 {
		t.Errorf("%d points deleted in %d calls, %d are left", total, calls, len(left))
	}
}

// Ensure concurrent deletes count each point exactly once. Points that are pushed to the same
// records at the same time must stay.
func TestDeletesOfPoints(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	for round := range raceRounds(testing.Short()) {
		metric := fmt.Sprintf("m%d", round)
		var days []string
		for n := range 20 {
			days = append(days, pointOnDay(metric, mustDay(t, "2026-01-20").AddDate(0, 0, n).Format(time.DateOnly), 1))
		}
		mustPush(t, s, key, days...)
		var counts [2]int
		var wait sync.WaitGroup
		for n := range counts {
			wait.Go(func() { counts[n] = mustDeletePoints(t, s, key, metric, "2026-01-22", "2026-02-28") })
		}
		wait.Go(func() { mustPush(t, s, key, pointOnDay(metric, "2026-01-21", 7), pointOnDay(metric, "2026-03-01", 7)) })
		wait.Wait()
		if got := counts[0] + counts[1]; got != 18 {
			t.Fatalf("round %d: %v", round, counts)
		}
		requireEqual(t, fmt.Sprint("round ", round), listPoints(t, s, metric), []string{"2026-01-20 1", "2026-01-21 7", "2026-03-01 7"})
		s.Clock.Advance(1 << 38)
	}
}

// Ensure two deletes that together cover all points of a record leave no record behind, in any
// interleaving. Each point is counted once, and the definition can then be deleted.
func TestDeletesOfOneRecord(t *testing.T) {
	t.Parallel()
	hook := &beforeCallTransport{}
	s := apitest.NewWithTransport(t, metrics.Operations, hook)
	key := s.IssueKey(t)
	for at := 0; ; at++ {
		metric := fmt.Sprintf("m%d", at)
		id := newDefinition(t, s, key, metric)
		mustPush(t, s, key, pointOnDay(metric, "2026-01-05", 1), pointOnDay(metric, "2026-01-06", 1), pointOnDay(metric, "2026-01-31", 1))
		inner := 0
		hook.arm(at, func() { inner = mustDeletePoints(t, s, key, metric, "2026-01-31", "2026-02-28") })
		outer := mustDeletePoints(t, s, key, metric, "2026-01-01", "2026-01-10")
		ran := hook.hasRun()
		hook.arm(0, nil)
		if !ran {
			if at < 3 { // three calls: a delete checks its API key, reads the record and writes it
				t.Errorf("the delete made %d calls", at)
			}
			break
		}
		requireEqual(t, fmt.Sprintf("deleted, before call %d", at), []int{outer, inner}, []int{2, 1})
		requireEqual(t, fmt.Sprintf("records, before call %d", at), pointRecords(t, s, metric), []string(nil))
		if r := s.Call(t, key, "delete_metric_definition", map[string]any{"definitionId": id}); r.Status != http.StatusOK {
			t.Errorf("before call %d: %d %s", at, r.Status, r.Body)
		}
		s.Clock.Advance(1 << 38)
	}
}

// Ensure a push of a point that is being deleted takes effect either completely or not at all, in
// any interleaving of the two. The count is the number of deleted points, and no point lacks its
// definition.
func TestPushDuringDeleteOfPoints(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	hook := &beforeCallTransport{}
	s := apitest.NewWithTransport(t, metrics.Operations, hook)
	key := s.IssueKey(t)
	for name, stored := range map[string][]string{"the whole record": {"2026-01-05"}, "a part of it": {"2026-01-05", "2026-01-31"}, "none yet": nil} {
		for _, inner := range []string{"delete", "push"} {
			for at := 0; ; at++ {
				metric := strings.ReplaceAll(fmt.Sprintf("m_%s_%s%d", name, inner, at), " ", "_")
				newDefinition(t, s, key, metric)
				for _, day := range stored {
					mustPush(t, s, key, pointOnDay(metric, day, 1))
				}
				count := 0
				acts := map[string]func(){
					"push":   func() { mustPush(t, s, key, pointOnDay(metric, "2026-01-05", 2), pointOnDay(metric, "2026-01-06", 2)) },
					"delete": func() { count = mustDeletePoints(t, s, key, metric, "2026-01-01", "2026-01-10") },
				}
				hook.arm(at, acts[inner])
				acts[map[string]string{"delete": "push", "push": "delete"}[inner]]()
				ran := hook.hasRun()
				hook.arm(0, nil)
				if !ran {
					break
				}
				got, hadPoint := listPoints(t, s, metric), len(stored) > 0
				untouched := []string{}
				if len(stored) == 2 {
					untouched = []string{"2026-01-31 1"}
				}
				pushedAfter := append([]string{"2026-01-05 2", "2026-01-06 2"}, untouched...)
				switch { // whether the delete or the push took effect first
				case slices.Equal(got, pushedAfter) && (count == 1 && hadPoint || count == 0 && !hadPoint):
				case slices.Equal(got, untouched) && count == 2:
				default:
					t.Errorf("%s, %s before call %d: %d deleted, left %v", name, inner, at, count, got)
				}
				s.Clock.Advance(1 << 38)
			}
		}
	}
	if got := undefinedKeys(t, s); len(got) > 0 {
		t.Errorf("%v have no definition", got)
	}
}

// Ensure a delete whose process crashed can be completed by running it again. The process crashes
// before or after any one of its calls takes effect. The two runs together count no more points
// than there were.
func TestDeletePointsThroughCrashes(t *testing.T) {
	t.Parallel()
	faults := &apitest.CrashingTransport{}
	s := apitest.NewWithTransport(t, metrics.Operations, faults)
	faults.StopCrashing()
	key := s.IssueKey(t)
	for _, during := range []bool{false, true} {
		for calls := 0; ; calls++ {
			metric := fmt.Sprintf("d%v%d", during, calls)
			mustPush(t, s, key, pointOnDay(metric, "2026-01-30", 1), pointOnDay(metric, "2026-01-31", 1), pointOnDay(metric, "2026-02-01", 1), pointOnDay(metric, "2026-03-01", 1), pointOnDay(metric, "2026-03-02", 1))
			faults.CrashAfter(calls, during)
			first := deletePoints(t, s, key, metric, "2026-01-31", "2026-03-01")
			died := faults.Crashed()
			faults.StopCrashing()
			again := mustDeletePoints(t, s, key, metric, "2026-01-31", "2026-03-01")
			if first.Status == http.StatusOK && died || again > 3 || !died && again != 0 {
				t.Errorf("death at call %d (%v): %d %s, then %d", calls, during, first.Status, first.Body, again)
			}
			requireEqual(t, metric, listPoints(t, s, metric), []string{"2026-01-30 1", "2026-03-02 1"})
			s.Clock.Advance(1 << 37)
			if !died {
				break
			}
		}
	}
}
