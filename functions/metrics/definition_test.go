package metrics_test

import (
	"strings"
	"testing"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure an update changes only the fields that were sent and never the key or the kind, and that
// only a derived metric can have a formula.
func TestUpdateDefinition(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	importLines(t, s, s.CompanyID, "metric-definition",
		definitionJSON(1, "custom.leads", `,"needsReview":true,"kind":"measured","createdAt":"2026-01-01T00:00:00Z"`),
		definitionJSON(2, "rate", `,"kind":"derived","formula":"a / b","needsReview":false`), definitionJSON(3, "old", ``),
		definitionJSON(4, "split", `,"kind":"split","dimensions":["country"]`))
	updateArgs := func(id int, properties ...any) map[string]any {
		args := map[string]any{"definitionId": "mdf_" + string(rune('0'+id))}
		for i := 0; i < len(properties); i += 2 {
			args[properties[i].(string)] = properties[i+1]
		}
		return args
	}
	const op = "update_metric_definition"
	s.Run(t, []apitest.Scenario{
		{
			Name: "every property", Op: op,
			Args: updateArgs(1, "name", "Leads", "description", "D", "unit", "count", "aggregation", "sum", "polarity", "up_is_good", "dimensions", []any{"country"}, "source", "crm", "needsReview", false),
			WantFields: map[string]any{
				"id": "mdf_1", "key": "custom.leads", "kind": "measured", "name": "Leads", "description": "D", "unit": "count", "aggregation": "sum", "polarity": "up_is_good",
				"dimensions": []any{"country"}, "source": "crm", "needsReview": false, "formula": nil, "createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-08-11T09:30:00.000Z",
			},
		},
		{Name: "one property", Op: op, Args: updateArgs(1, "name", "New leads"), WantFields: map[string]any{"name": "New leads", "unit": "count", "needsReview": false}},
		{Name: "null clears", Op: op, Args: updateArgs(1, "aggregation", nil, "dimensions", nil), WantFields: map[string]any{"aggregation": nil, "dimensions": nil, "name": "New leads"}},
		{Name: "a formula of a derived metric", Op: op, Args: updateArgs(2, "formula", "a / c"), WantFields: map[string]any{"formula": "a / c"}},
		{Name: "an empty update", Op: op, Args: updateArgs(3), WantFields: map[string]any{"updatedAt": nil}},
		{Name: "ErrSplitDimensionsNull", Op: op, Args: updateArgs(4, "dimensions", nil), Want: 400, WantMessage: "body.dimensions: must stay for a metric of kind split, with at least one name"},
		{Name: "ErrSplitDimensionsEmpty", Op: op, Args: updateArgs(4, "dimensions", []any{}), Want: 400, WantMessage: "body.dimensions: must stay"},
		{Name: "a split metric keeps them", Op: op, Args: updateArgs(4, "name", "Split"), WantFields: map[string]any{"name": "Split", "dimensions": []any{"country"}}},
		{Name: "other dimensions of a split metric", Op: op, Args: updateArgs(4, "dimensions", []any{"plan"}), WantFields: map[string]any{"dimensions": []any{"plan"}}},
		{Name: "ErrFormula", Op: op, Args: updateArgs(1, "formula", "a"), Want: 400, WantMessage: "body.formula: is only for a metric of kind derived"},
		{Name: "ErrFormulaNull", Op: op, Args: updateArgs(2, "formula", nil), Want: 400, WantMessage: "body.formula: must not be null"},
		{Name: "ErrNeedsReview", Op: op, Args: updateArgs(2, "needsReview", true), Want: 400, WantMessage: "body.needsReview: must be false"},
		{Name: "ErrKey", Op: op, Args: updateArgs(1, "key", "leads"), Want: 400, WantMessage: "body.key: unknown property"},
		{Name: "ErrKind", Op: op, Args: updateArgs(1, "kind", "split"), Want: 400, WantMessage: "body.kind: unknown property"},
		{Name: "ErrAggregation", Op: op, Args: updateArgs(1, "aggregation", "total"), Want: 400, WantMessage: "body.aggregation: must be one of sum, avg, min, max, last, none"},
		{Name: "ErrUnknown", Op: op, Args: updateArgs(9, "name", "a"), Want: 404, WantCode: "not_found"},
	})
	for filter, want := range map[string]string{"?needsReview=true": "", "?needsReview=false": "custom.leads rate"} {
		var keys []string
		for _, page := range listAll(t, s, definitionsPath+filter, keyField, nil) {
			keys = append(keys, page...)
		}
		requireEqual(t, filter, strings.Join(keys, " "), want)
	}
}

// Ensure a definition that was created by a push can also be found by its id, and that an update of
// its aggregation affects the next read of a week.
func TestUpdatePushedDefinition(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	mustPush(t, s, key, pointOnDay("leads", "2026-08-03", 1), pointOnDay("leads", "2026-08-04", 2), pointOnDay("other", "2026-08-04", 2))
	for _, d := range s.Send(t, key, "GET", definitionsPath, "").Items(t) {
		r := s.Call(t, key, "update_metric_definition", map[string]any{"definitionId": d["id"], "aggregation": "max", "needsReview": false})
		if got := r.JSON(t); r.Status != 200 || got["key"] != d["key"] || got["needsReview"] != false {
			t.Fatalf("update of %s: status %d, want 200, the same key and no review: %s", d["key"], r.Status, r.Body)
		}
	}
	requireEqual(t, "weeks", listPoints(t, s, "leads&grain=week"), []string{"2026-08-03 2"})
}

// Ensure an id that an import replaced with another one is not found, and that it can become the
// id of another metric. Every id must be found in two calls.
func TestReplacedDefinitionID(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", ""), definitionJSON(2, "b", ""), definitionJSON(3, "c", ""))
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(4, "a", ""), definitionJSON(5, "b", ""))
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(2, "d", "")) // "d" gets the id that "b" had
	for id, want := range map[string]string{"mdf_1": "not_found: no such record", "mdf_2": "d", "mdf_3": "c", "mdf_4": "a", "mdf_5": "b"} {
		ctx, m := apitest.NewRequest(t)
		d, err := store.ModifyDefinition(ctx, s.CompanyID, id, func(*metrics.Definition) error { return nil })
		got := d.Key
		if err != nil {
			got = err.Error()
		}
		if calls := m.Usage().Calls; got != want || calls > 2 {
			t.Errorf("%s is %s after %d calls, want %s after 2", id, got, calls, want)
		}
		if _, err := store.GetDefinition(t.Context(), s.CompanyID, id); (err == nil) != (id != "mdf_1") {
			t.Errorf("%s is read with the error %v", id, err)
		}
	}
}

// raceRounds returns how many times a race is run.
func raceRounds(short bool) int {
	if short {
		return 10
	}
	return 100
}
