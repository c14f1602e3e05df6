package metrics_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"growthworkspace/shared/testkit/apitest"
)

// Ensure a created definition has the fields of the request, and defaults for all other fields. A
// create is refused if a field that the metric's kind needs is missing, or if the key is too long.
// A refused create stores nothing.
func TestCreateDefinition(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "custom.leads", ""), definitionJSON(2, "rate", ""))
	createArgs := func(key string, properties ...any) map[string]any {
		args := map[string]any{"key": key}
		for i := 0; i < len(properties); i += 2 {
			args[properties[i].(string)] = properties[i+1]
		}
		return args
	}
	long := strings.Repeat("a", 120)
	const op = "create_metric_definition"
	s.Run(t, []apitest.Scenario{
		{Name: "a key alone", Op: op, Args: createArgs("growth.signups"), WantFields: map[string]any{
			"companyId": s.CompanyID, "key": "growth.signups", "kind": "measured", "needsReview": false, "name": nil, "description": nil, "unit": nil, "aggregation": nil,
			"polarity": nil, "formula": nil, "dimensions": nil, "source": nil, "createdAt": "2026-08-11T09:30:00.000Z", "updatedAt": "2026-08-11T09:30:00.000Z",
		}},
		{
			Name: "everything", Op: op, Args: createArgs("visits", "kind", "split", "dimensions", []any{"country"}, "name", "Visits", "description", "D", "unit", "count", "aggregation", "sum", "polarity", "up_is_good", "source", "web"),
			WantFields: map[string]any{"kind": "split", "dimensions": []any{"country"}, "name": "Visits", "description": "D", "unit": "count", "aggregation": "sum", "polarity": "up_is_good", "source": "web"},
		},
		{Name: "derived", Op: op, Args: createArgs("custom.ratio", "kind", "derived", "formula", "a / b"), WantFields: map[string]any{"key": "custom.ratio", "kind": "derived", "formula": "a / b"}},
		{Name: "derived, with dimensions", Op: op, Args: createArgs("ratios", "kind", "derived", "formula", "a", "dimensions", []any{"plan"}), WantFields: map[string]any{"dimensions": []any{"plan"}}},
		{Name: "120 characters", Op: op, Args: createArgs(long), WantFields: map[string]any{"key": long}},
		{Name: "ErrOtherNameOf127", Op: op, Args: createArgs("custom." + long), Want: 409, WantMessage: "body.key: the metric is already defined, as " + long},
		{Name: "127 characters with custom.", Op: op, Args: createArgs("custom.b" + long[1:]), WantFields: map[string]any{"key": "custom.b" + long[1:]}},
		{Name: "ErrKey121", Op: op, Args: createArgs(long + "a"), Want: 400, WantMessage: "body.key: must have at most 120 characters, or 127 when it begins with custom., has 121"},
		{Name: "ErrKey128", Op: op, Args: createArgs("custom." + long + "a"), Want: 400, WantMessage: "body.key: must have at most 127 characters"},
		{Name: "ErrKeyPattern", Op: op, Args: createArgs("Leads"), Want: 400, WantMessage: "body.key: must match"},
		{Name: "ErrNoKey", Op: op, Args: map[string]any{}, Want: 400, WantMessage: "body.key: is required"},
		{Name: "ErrKeyEmpty", Op: op, Args: createArgs(""), Want: 400, WantMessage: "body.key: must match"},
		{Name: "ErrStored", Op: op, Args: createArgs("custom.leads"), Want: 409, WantCode: "conflict", WantMessage: "body.key: the metric is already defined, as custom.leads"},
		{Name: "ErrOtherName", Op: op, Args: createArgs("leads"), Want: 409, WantCode: "conflict", WantMessage: "body.key: the metric is already defined, as custom.leads"},
		{Name: "ErrOtherNamePlain", Op: op, Args: createArgs("custom.rate"), Want: 409, WantMessage: "body.key: the metric is already defined, as rate"},
		{Name: "ErrSplitWithoutDimensions", Op: op, Args: createArgs("a", "kind", "split"), Want: 400, WantMessage: "body.dimensions: is required for a metric of kind split, with at least one name"},
		{Name: "ErrSplitWithNoDimension", Op: op, Args: createArgs("a", "kind", "split", "dimensions", []any{}), Want: 400, WantMessage: "body.dimensions: is required for a metric of kind split"},
		{Name: "ErrDerivedWithoutFormula", Op: op, Args: createArgs("a", "kind", "derived"), Want: 400, WantMessage: "body.formula: is required for a metric of kind derived"},
		{Name: "ErrFormulaEmpty", Op: op, Args: createArgs("a", "kind", "derived", "formula", ""), Want: 400, WantMessage: "body.formula: must not be empty"},
		{Name: "ErrFormula", Op: op, Args: createArgs("a", "formula", "b"), Want: 400, WantMessage: "body.formula: is only for a metric of kind derived"},
		{Name: "ErrFormulaOfSplit", Op: op, Args: createArgs("a", "kind", "split", "dimensions", []any{"b"}, "formula", "b"), Want: 400, WantMessage: "body.formula: is only for a metric of kind derived"},
		{Name: "ErrNeedsReview", Op: op, Args: createArgs("a", "needsReview", true), Want: 400, WantMessage: "body.needsReview: unknown property"},
	})
	requireEqual(t, "definitions", len(exportRecords(t, s, s.CompanyID, "metric-definition")), 8)
}

// Ensure a definition can be read by its id, whether a create, a push or an import stored it. A
// definition of a different company is not found.
func TestGetDefinition(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	created := s.Call(t, key, "create_metric_definition", map[string]any{"key": "a"})
	mustPush(t, s, key, pointOnDay("b", "2026-08-03", 1))
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(3, "c", ""))
	for _, d := range s.Send(t, key, "GET", definitionsPath, "").Items(t) {
		got := s.Call(t, key, "get_metric_definition", map[string]any{"definitionId": d["id"]})
		if got.Status != http.StatusOK || fmt.Sprint(got.JSON(t)) != fmt.Sprint(d) || got.Header.Get("ETag") == "" {
			t.Errorf("%v: %d %s, ETag %q", d, got.Status, got.Body, got.Header.Get("ETag"))
		}
	}
	id := created.JSON(t)["id"]
	if got := s.Call(t, key, "get_metric_definition", map[string]any{"definitionId": id}); got.Header.Get("ETag") != created.Header.Get("ETag") {
		t.Error("a create and a read have different entity tags")
	}
	s.Run(t, []apitest.Scenario{
		{Name: "ErrUnknown", Op: "get_metric_definition", Args: map[string]any{"definitionId": "mdf_9"}, Want: 404, WantCode: "not_found"},
	})
}

// Ensure that if creates and pushes use both names of a new metric concurrently, exactly one
// definition is created, and every point is stored under it.
func TestCreatesAndPushesOfOneMetric(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	for round := range raceRounds(testing.Short()) {
		plain := fmt.Sprintf("m%d", round)
		var wait sync.WaitGroup
		statuses := make([]int, 4)
		for n, name := range []string{plain, "custom." + plain} {
			wait.Go(func() {
				statuses[n] = s.Call(t, key, "create_metric_definition", map[string]any{"key": name}).Status
			})
			wait.Go(func() {
				statuses[2+n] = s.Send(t, key, "POST", pointsPath, `{"points":[`+pointOnDay(name, fmt.Sprintf("2026-01-%02d", n+1), 1)+`]}`).Status
			})
		}
		wait.Wait()
		if statuses[0] == 200 && statuses[1] == 200 || statuses[2] != 200 || statuses[3] != 200 {
			t.Fatalf("round %d: creates %d, pushes %d", round, statuses[:2], statuses[2:])
		}
		var definitions []string
		for _, d := range exportRecords(t, s, s.CompanyID, "metric-definition") {
			if strings.Contains(d, `"key":"`+plain+`"`) || strings.Contains(d, `"key":"custom.`+plain+`"`) {
				definitions = append(definitions, d)
			}
		}
		if got := listPoints(t, s, plain); len(definitions) != 1 || len(got) != 2 {
			t.Fatalf("round %d: definitions %v, points %v", round, definitions, got)
		}
		s.Clock.Advance(1 << 36) // about a minute, so that the quota is full again
	}
}
