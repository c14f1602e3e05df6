package metrics_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// newDefinition creates the definition of a metric and returns its id.
func newDefinition(t *testing.T, s *apitest.Service, key, metricKey string) string {
	t.Helper()
	r := s.Call(t, key, "create_metric_definition", map[string]any{"key": metricKey})
	if r.Status != http.StatusOK {
		t.Fatalf("create of %s: status %d, want 200: %s", metricKey, r.Status, r.Body)
	}
	return r.JSON(t)["id"].(string)
}

// undefinedKeys returns the metric keys of stored points that have no definition, each key once.
func undefinedKeys(t *testing.T, s *apitest.Service) (keys []string) {
	t.Helper()
	known := map[string]bool{}
	for _, line := range exportRecords(t, s, s.CompanyID, "metric-definition") {
		var d metrics.Definition
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		known[d.Key] = true
	}
	for _, line := range exportRecords(t, s, s.CompanyID, "metric-point") {
		var p metrics.Point
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		if !known[p.MetricKey] {
			keys = append(keys, p.MetricKey)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Ensure a definition is deleted together with the record that maps its id to its key, and the key
// can then be used again. A definition whose metric has points cannot be deleted.
func TestDeleteDefinition(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	empty, used := newDefinition(t, s, key, "empty"), newDefinition(t, s, key, "used")
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "both", ""), definitionJSON(2, "custom.both", `,"needsReview":true`), definitionJSON(3, "nameless", ""))
	mustPush(t, s, key, pointOnDay("used", "2026-08-03", 1), pointOnDay("both", "2026-08-03", 1), pointOnDay("usedmore", "2026-08-03", 1))
	idArgs := func(id string) map[string]any { return map[string]any{"definitionId": id} }
	const op = "delete_metric_definition"
	s.Run(t, []apitest.Scenario{
		{Name: "ErrPoints", Op: op, Args: idArgs(used), Want: 409, WantCode: "conflict", WantMessage: "the metric used has points; delete its points of every grain first"},
		{Name: "ErrPointsOfOneName", Op: op, Args: idArgs("mdf_1"), Want: 409, WantMessage: "the metric both has points"},
		{Name: "the other name has none", Op: op, Args: idArgs("mdf_2"), WantFields: map[string]any{"id": "mdf_2", "deleted": true}},
		{Name: "no points", Op: op, Args: idArgs(empty), WantFields: map[string]any{"id": empty, "deleted": true}},
		{Name: "an imported definition", Op: op, Args: idArgs("mdf_3"), WantFields: map[string]any{"id": "mdf_3"}},
		{Name: "ErrDeleted", Op: op, Args: idArgs(empty), Want: 404, WantCode: "not_found"},
		{Name: "ErrUnknown", Op: op, Args: idArgs("mdf_9"), Want: 404, WantCode: "not_found"},
		{Name: "ErrGet", Op: "get_metric_definition", Args: idArgs(empty), Want: 404},
		{Name: "ErrUpdate", Op: "update_metric_definition", Args: map[string]any{"definitionId": empty, "name": "a"}, Want: 404},
		{Name: "the key is free", Op: "create_metric_definition", Args: map[string]any{"key": "custom.empty"}, WantFields: map[string]any{"key": "custom.empty"}},
	})
	var keys []string
	for _, filter := range []string{"", "?needsReview=true", "?needsReview=false"} {
		for _, page := range listAll(t, s, definitionsPath+filter, keyField, nil) {
			keys = append(keys, strings.Join(page, " "))
		}
	}
	requireEqual(t, "definitions", keys, []string{"both custom.empty custom.usedmore used", "custom.usedmore", "custom.empty used"})
	ids, err := table.ReadAll[struct {
		SK string `store:"sk"`
	}](t.Context(), s.Table, table.Collection{Partition: table.Partition(s.CompanyID, "metrics"), Prefix: "defid#", Consistent: true})
	if err != nil || len(ids) != 4 {
		t.Errorf("%d records of ids: %v, %v", len(ids), ids, err)
	}
}

// beforeCallTransport is a transport that calls a function once, just before the table call with
// the index callNumber, counted from 0.
type beforeCallTransport struct {
	mu         sync.Mutex
	calls      int
	callNumber int
	beforeCall func()
}

func (b *beforeCallTransport) arm(at int, run func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls, b.callNumber, b.beforeCall = 0, at, run
}

// hasRun reports whether the function was called.
func (b *beforeCallTransport) hasRun() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.beforeCall == nil
}

func (b *beforeCallTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	run := b.beforeCall
	if b.calls++; b.calls <= b.callNumber {
		run = nil
	}
	if run != nil {
		b.beforeCall = nil
	}
	b.mu.Unlock()
	if run != nil {
		run()
	}
	return apitest.Transport.RoundTrip(r)
}

// pushesOf returns different pushes to a metric, keyed by description. None of their points are
// stored yet.
func pushesOf(metricKey string) map[string]func(t *testing.T, s *apitest.Service, key string) apitest.Response {
	var series []string
	for n := range 30 {
		series = append(series, fmt.Sprintf(`{"metricKey":%q,"ts":"2026-08-03","value":1,"dims":{"n":"%d"}}`, metricKey, n))
	}
	one := pointOnDay(metricKey, "2026-08-03", 1)
	return map[string]func(*testing.T, *apitest.Service, string) apitest.Response{
		"one record": func(t *testing.T, s *apitest.Service, key string) apitest.Response {
			t.Helper()
			return push(t, s, key, one)
		},
		"one record, with an Idempotency-Key": func(t *testing.T, s *apitest.Service, key string) apitest.Response {
			t.Helper()
			return pushWithKey(t, s, key, metricKey, one)
		},
		"two months": func(t *testing.T, s *apitest.Service, key string) apitest.Response {
			t.Helper()
			return push(t, s, key, one, pointOnDay(metricKey, "2026-09-03", 2))
		},
		"several transactions": func(t *testing.T, s *apitest.Service, key string) apitest.Response {
			t.Helper()
			return push(t, s, key, series...)
		},
	}
}

// Ensure a push of a metric's first points and a delete of its definition never leave points
// without a definition. This holds in any interleaving, whether or not earlier points were deleted
// in between.
func TestPushDuringDeleteOfDefinition(t *testing.T) {
	t.Parallel()
	for name := range pushesOf("") {
		if testing.Short() && name != "one record" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hook := &beforeCallTransport{}
			s := apitest.NewWithTransport(t, metrics.Operations, hook)
			key := s.IssueKey(t)
			deletes := map[string]int{}
			for _, inner := range []string{"delete", "push"} {
				for at := 0; ; at++ {
					metric := fmt.Sprintf("m_%s%d", inner, at)
					id := newDefinition(t, s, key, metric)
					var pushResponse, removal apitest.Response
					acts := map[string]func(){
						"push":   func() { pushResponse = pushesOf(metric)[name](t, s, key) },
						"delete": func() { removal = s.Call(t, key, "delete_metric_definition", map[string]any{"definitionId": id}) },
					}
					outer := map[string]string{"delete": "push", "push": "delete"}[inner]
					hook.arm(at, acts[inner])
					acts[outer]()
					ran := hook.hasRun()
					hook.arm(0, nil)
					if !ran {
						break
					}
					if pushResponse.Status != http.StatusOK || removal.Status != http.StatusOK && removal.Status != http.StatusConflict {
						t.Fatalf("%s before call %d: push %d %s, delete %d %s", inner, at, pushResponse.Status, pushResponse.Body, removal.Status, removal.Body)
					}
					deletes[fmt.Sprint(inner, removal.Status)]++
					if got := undefinedKeys(t, s); len(got) > 0 {
						t.Fatalf("%s before call %d: %v have no definition; delete %d", inner, at, got, removal.Status)
					}
					if got := len(listPoints(t, s, metric)); got != int(pushResponse.JSON(t)["accepted"].(float64)) {
						t.Fatalf("%s before call %d: %d points", inner, at, got)
					}
					s.Clock.Advance(1 << 37)
				}
			}
			if deletes["delete200"] == 0 || deletes["push409"] == 0 {
				t.Errorf("no race had both ends: %v", deletes)
			}
		})
	}
}

// Ensure concurrent pushes to a metric and deletes of its definition never leave points without a
// definition.
func TestPushesAndDeletesOfDefinitions(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	for round := range raceRounds(testing.Short()) {
		metric := fmt.Sprintf("m%d", round)
		id := newDefinition(t, s, key, metric)
		var wait sync.WaitGroup
		for _, act := range []func() apitest.Response{
			func() apitest.Response {
				return s.Call(t, key, "delete_metric_definition", map[string]any{"definitionId": id})
			},
			func() apitest.Response { return push(t, s, key, pointOnDay(metric, "2026-08-03", 1)) },
			func() apitest.Response { return push(t, s, key, pointOnDay("custom."+metric, "2026-08-04", 1)) },
		} {
			wait.Go(func() {
				if r := act(); r.Status != http.StatusOK && r.Status != http.StatusConflict {
					t.Errorf("status %d, want 200 or 409: %s", r.Status, r.Body)
				}
			})
		}
		wait.Wait()
		if got := listPoints(t, s, metric); len(got) != 2 {
			t.Fatalf("round %d: %v", round, got)
		}
		s.Clock.Advance(1 << 37)
	}
	if got := undefinedKeys(t, s); len(got) > 0 {
		t.Errorf("%v have no definition", got)
	}
}
