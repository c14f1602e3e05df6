package metrics_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// Ensure the check of an import reports what is wrong with a record.
func TestCheck(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	p := metrics.Point{MetricKey: "a", TS: new("2026-01-01T00:00:00.000Z")}
	if err := p.Identify(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ typ, line, want string }{
		{"metric-definition", `{"id":"mdf_1","key":"a.b_2"}`, ""},
		{"metric-definition", `{"id":"met_1","key":"a"}`, "record.id: must be mdf_"},
		{"metric-definition", `{"id":"mdf_1"}`, "record.key: is required"},
		{"metric-definition", `{"id":"mdf_1","key":"a#b"}`, "record.key: must match"},
		{"metric-definition", `{"id":"mdf_1","key":""}`, "record.key: must match"},
		{"metric-definition", `{"id":"mdf_1","key":"` + strings.Repeat("k", 121) + `"}`, "record.key: must have at most 120 characters, or 127 when it begins with custom., has 121"},
		{"metric-definition", `{"id":"mdf_1","key":"custom.` + strings.Repeat("k", 120) + `"}`, ""},
		{"metric-definition", `{"id":"mdf_1","key":"custom.` + strings.Repeat("k", 121) + `"}`, "record.key: must have at most 127 characters, has 128"},
		{"metric-definition", `{"id":"mdf_1","key":"a","unit":"percent"}`, "record.unit: must be one of currency_minor"},
		{"metric-definition", `{"id":"mdf_1","key":"a","aggregation":"total"}`, "record.aggregation: must be one of sum, avg, min, max, last, none"},
		{"metric-definition", `{"id":"mdf_1","key":"a","polarity":"up"}`, "record.polarity"},
		{"metric-definition", `{"id":"mdf_1","key":"a","kind":"x"}`, "record.kind: must be one of measured, derived, split"},
		{"metric-definition", `{"id":"mdf_1","key":"a","createdAt":"today"}`, "record.createdAt"},
		{"metric-definition", `{"id":"mdf_1","key":"a","name":"` + strings.Repeat("é", 200) + `","description":"` + strings.Repeat("é", 2000) + `"}`, ""},
		{"metric-definition", `{"id":"mdf_1","key":"a","name":"` + strings.Repeat("é", 201) + `"}`, "record.name: must have at most 200 characters, has 201"},
		{"metric-definition", `{"id":"mdf_1","key":"a","formula":"` + strings.Repeat("x", 2001) + `"}`, "record.formula: must have at most 2000 characters"},
		{"metric-definition", `{"id":"mdf_1","key":"a","source":"` + strings.Repeat("é", 200) + `","unit":null,"dimensions":["` + strings.Repeat("é", 200) + `"]}`, ""},
		{"metric-definition", `{"id":"mdf_1","key":"a","source":"` + strings.Repeat("x", 201) + `"}`, "record.source: must have at most 200 characters"},
		{"metric-definition", `{"id":"mdf_1","key":"a","dimensions":["a"` + strings.Repeat(`,"a"`, 49) + `]}`, ""},
		{"metric-definition", `{"id":"mdf_1","key":"a","dimensions":["` + strings.Repeat("x", 201) + `"]}`, "record.dimensions[0]: must have at most 200 characters"},
		{"metric-definition", `{"id":"mdf_1","key":"a","dimensions":["a"` + strings.Repeat(`,"a"`, 50) + `]}`, "record.dimensions: must have at most 50 elements, has 51"},

		{"metric-point", `{"metricKey":"a","ts":"2026-01-01T12:00:00Z"}`, ""},
		{"metric-point", `{"metricKey":"a","ts":"2026-01-01T12:00:00Z","seriesId":"` + p.SeriesID + `","pointKey":"day:2026-01-01"}`, ""},
		{"metric-point", `{"metricKey":"a","ts":"2026-01-01T12:00:00Z","seriesId":null,"pointKey":null,"companyId":"co_other"}`, ""},
		{"metric-point", `{"metricKey":"b","ts":"2026-01-01T12:00:00Z","seriesId":"` + p.SeriesID + `"}`, "record.seriesId: must be "},
		{"metric-point", `{"metricKey":"a","ts":"2026-01-02T12:00:00Z","pointKey":"day:2026-01-01"}`, "record.pointKey: must be day:2026-01-02"},
		{"metric-point", `{"metricKey":"a"}`, "record.ts: is required"},
		{"metric-point", `{"metricKey":"a","ts":"yesterday"}`, "record.ts: "},
		{"metric-point", `{"ts":"2026-01-01T12:00:00Z"}`, "record.metricKey: is required"},
		{"metric-point", `{"metricKey":"A#b","ts":"2026-01-01T12:00:00Z"}`, "record.metricKey: must match"},
		{"metric-point", `{"metricKey":"a","ts":"2026-01-01T12:00:00Z","grain":"year"}`, "record.grain: must be one of day, week, month"},
		{"metric-point", `{"metricKey":"a","ts":"2026-01-01T12:00:00Z","value":"1"}`, "record.value: must be a number"},
		{"metric-point", `{"metricKey":"a","ts":"2026-01-01T12:00:00Z","source":"` + strings.Repeat("é", 200) + `"}`, ""},
		{"metric-point", `{"metricKey":"a","ts":"2026-01-01T12:00:00Z","source":"` + strings.Repeat("x", 201) + `"}`, "record.source: must have at most 200"},
		{"metric-point", `{"metricKey":"a","ts":"2026-01-01T12:00:00Z","currency":"eur"}`, "record.currency: must match ^[A-Z]{3}$"},
		{"metric-definition", `{"id":"mdf_1","key":"a","kind":"derived","formula":"b / c"}`, ""},
		{"metric-definition", `{"id":"mdf_1","key":"a","formula":"b / c"}`, "record.formula: is only for a metric of kind derived"},
		{"metric-point", `{"metricKey":"a","ts":"2026-01-01T12:00:00Z","dims":"` + strings.Repeat("x", 24_999) + `"}`, "record.dims: must have at most 25000 bytes, has 25001"},
		{"metric-point", `{"metricKey":"a","ts":"2026-01-01T12:00:00Z","tags":[]}`, "record.tags: unknown property"},
	} {
		_, problems := transferType(t, s, c.typ).Check(json.RawMessage(c.line))
		got := strings.Join(problems, "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%.100s: %q, want %q", c.line, got, c.want)
		}
	}
}

// Ensure imports and the list accept the same metric keys. This needs a test because the pattern is
// applied in two places.
func TestKeyPattern(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	for _, metricKey := range []string{"a", "a_", "a.1", "a._", "custom.x_y.z", "_a", "1", "a.B", "a..b", "a-b", "a/b", "a\n", "ä", strings.Repeat("a", 120), strings.Repeat("a", 121), strings.Repeat("a", 128), "custom." + strings.Repeat("a", 120), "custom." + strings.Repeat("a", 121)} {
		r := s.Call(t, key, "list_metric_points", map[string]any{"metricKey": metricKey})
		line, err := json.Marshal(map[string]any{"metricKey": metricKey, "ts": "2026-01-01T00:00:00Z"})
		if err != nil {
			t.Fatal(err)
		}
		_, problems := transferType(t, s, "metric-point").Check(line)
		if (r.Status == 200) != (len(problems) == 0) {
			t.Errorf("%q: the list responds with %d, the import reports %v", metricKey, r.Status, problems)
		}
	}
}

// Ensure importing an export into a different company and exporting it again gives the same
// records, except for companyId.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	other := s.Table.NewID("co")
	importLines(t, s, s.CompanyID, "metric-definition",
		definitionJSON(1, "a", `,"needsReview":true,"dimensions":["x"],"createdAt":"2026-01-01T00:00:00Z"`),
		definitionJSON(2, "b", `,"needsReview":false,"name":"","unit":"count"`), definitionJSON(3, "c", ""))
	putDays(t, store, s.CompanyID, "a", nil, "2025-12-20", 40)
	putDays(t, store, s.CompanyID, "a", json.RawMessage(`{"country":"DE"}`), "2025-12-20", 40)
	for _, grain := range []metrics.Grain{metrics.GrainWeek, metrics.GrainMonth} {
		if err := store.PutPoints(t.Context(), s.CompanyID, consecutivePoints(t, "b", grain, nil, "2024-01-01", 30), nil); err != nil {
			t.Fatal(err)
		}
	}
	importLines(t, s, s.CompanyID, "metric-point",
		`{"metricKey":"c","ts":"2026-01-01T00:00:00Z","dims":{},"value":1.25,"currency":"EUR","baseValue":1e-7,"source":"x","ingestedAt":"2026-01-01T00:00:00.001Z"}`,
		`{"metricKey":"c","ts":"2026-01-01T00:00:00Z","dims":[1.0,{"b":1,"a":[]}],"source":"only"}`)
	for name, want := range map[string]int{"metric-definition": 3, "metric-point": 142} {
		before := exportRecords(t, s, s.CompanyID, name)
		importLines(t, s, other, name, before...)
		importLines(t, s, other, name, before...) // a second import changes nothing
		after := exportRecords(t, s, other, name)
		got := strings.ReplaceAll(strings.Join(after, "\n"), other, s.CompanyID)
		if len(before) != want || got != strings.Join(before, "\n") {
			t.Errorf("%s: %d records, want %d:\n%s\n%s", name, len(before), want, strings.Join(before, "\n"), got)
		}
	}
}

// Ensure a definition is identified by its key: an import replaces the stored definition with the
// same key, and moves it to the list for its new needsReview.
func TestReplaceDefinition(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", `,"needsReview":true,"name":"old"`), definitionJSON(2, "b", `,"needsReview":true`))
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(3, "a", ``), definitionJSON(4, "a", `,"needsReview":false`), definitionJSON(5, "b", ``))
	text := func(item map[string]any) string { return fmt.Sprint(item["id"], item["key"], item["name"]) }
	for filter, want := range map[string]string{
		"": "[[mdf_4a<nil> mdf_5b<nil>]]", "?needsReview=true": "[[]]", "?needsReview=false": "[[mdf_4a<nil>]]",
	} {
		if got := listAll(t, s, definitionsPath+filter, text, nil); fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", filter, got, want)
		}
	}
}

func definedKeys(t *testing.T, s *apitest.Service) string {
	t.Helper()
	var keys []string
	for _, line := range exportRecords(t, s, s.CompanyID, "metric-definition") {
		var d metrics.Definition
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, d.Key)
	}
	return strings.Join(keys, " ")
}

// Ensure importing a point whose key has no definition creates one that needs review, and that an
// existing definition stays unchanged.
func TestImportDefines(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "known", `,"name":"Known","needsReview":false`))
	point := func(key, day string) string {
		return fmt.Sprintf(`{"metricKey":%q,"ts":"%sT00:00:00Z","value":1}`, key, day)
	}
	importLines(t, s, s.CompanyID, "metric-point", point("known", "2026-01-01"), point("plain", "2026-01-01"), point("plain", "2026-01-02"), point("custom.x", "2026-01-01"))
	importLines(t, s, s.CompanyID, "metric-point", point("plain", "2026-01-03"))
	items := s.Send(t, s.IssueKey(t), "GET", definitionsPath, "").Items(t)
	if len(items) != 3 {
		t.Fatalf("definitions %v, want 3", items)
	}
	for _, d := range items {
		if d["key"] == "known" {
			requireEqual(t, "known", []any{d["id"], d["name"], d["needsReview"], d["kind"]}, []any{"mdf_1", "Known", false, nil})
			continue
		}
		requireEqual(t, "a new definition", []any{d["needsReview"], d["kind"], d["createdAt"]}, []any{true, "measured", "2026-08-11T09:30:00.000Z"})
		if r := s.Call(t, s.IssueKey(t), "update_metric_definition", map[string]any{"definitionId": d["id"], "needsReview": false}); r.Status != 200 {
			t.Errorf("update of %v: status %d, want 200: %s", d["key"], r.Status, r.Body)
		}
	}
	requireEqual(t, "plain", listPoints(t, s, "plain"), []string{"2026-01-01 1", "2026-01-02 1", "2026-01-03 1"})
}

// Ensure an import does not store a metric under its second name, as a definition or as a point,
// unless the file contains both names. Records stored under both names can be imported again.
func TestImportSecondName(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "custom.a", ""), definitionJSON(2, "b", ""))
	point := func(key string) string {
		return fmt.Sprintf(`{"metricKey":%q,"ts":"2026-01-01T00:00:00Z","value":1}`, key)
	}
	for _, c := range []struct{ name, line, want string }{
		{"metric-definition", definitionJSON(3, "a", ""), "record.key: the metric is stored as custom.a; use that key, or import both in one file"},
		{"metric-definition", definitionJSON(3, "custom.b", ""), "record.key: the metric is stored as b; use that key, or import both in one file"},
		{"metric-point", point("a"), "record.metricKey: the metric is stored as custom.a; use that key, or import both in one file"},
		{"metric-definition", definitionJSON(3, "custom.a", ""), ""}, {"metric-definition", definitionJSON(4, "custom.custom.a", ""), ""}, {"metric-point", point("b"), ""},
	} {
		into := transferType(t, s, c.name)
		record, problems := into.Check(json.RawMessage(c.line))
		if len(problems) > 0 {
			t.Fatalf("record %s: problems %q, want none", c.line, problems)
		}
		got, err := into.Verify(t.Context(), s.CompanyID, []any{record})
		if err != nil {
			t.Fatal(err)
		}
		var want []transfer.Problem
		if c.want != "" {
			_, storedName, _ := strings.Cut(strings.TrimSuffix(c.want, "; use that key, or import both in one file"), "stored as ")
			want = []transfer.Problem{{Text: c.want, UnlessNamed: "metric " + storedName}}
		}
		requireEqual(t, c.line, got, want)
		if err := into.Write(t.Context(), s.CompanyID, []any{record}); (err == nil) != (c.want == "") {
			t.Errorf("write of %s: error %v, want one if it is refused: %q", c.line, err, c.want)
		}
	}
	requireEqual(t, "defined", definedKeys(t, s), "b custom.a custom.custom.a")
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "custom.a", ""), definitionJSON(5, "a", ""))
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(5, "a", `,"name":"A"`))
	importLines(t, s, s.CompanyID, "metric-point", point("b"), point("custom.b"))
	requireEqual(t, "defined", definedKeys(t, s), "a b custom.a custom.b custom.custom.a")
	mustPush(t, s, s.IssueKey(t), pointOnDay("a", "2026-01-02", 1), pointOnDay("custom.a", "2026-01-02", 2))
	requireEqual(t, "each means itself", [][]string{listPoints(t, s, "a"), listPoints(t, s, "custom.a")}, [][]string{{"2026-01-02 1"}, {"2026-01-02 2"}})
}

// Ensure callers who concurrently create both names of a metric never leave both behind, in any
// order. The callers push either name, or import a definition or points.
func TestNamesInRaces(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, _ := start(t)
	key := s.IssueKey(t)
	for round := range 25 {
		s.Clock.Advance(time.Minute) // so that the quota for pushes is full again
		name := fmt.Sprintf("m%02d", round)
		write := func(typ, line string) func() {
			return func() {
				into := transferType(t, s, typ)
				record, problems := into.Check(json.RawMessage(line))
				if len(problems) > 0 {
					t.Errorf("record %s: problems %q, want none", line, problems)
					return
				}
				if err := into.Write(t.Context(), s.CompanyID, []any{record}); err != nil && !strings.Contains(err.Error(), "has been stored as") {
					t.Errorf("record %s: error %v, want none or that the metric has the other name", line, err)
				}
			}
		}
		var wait sync.WaitGroup
		creators := []func(){
			func() { mustPush(t, s, key, pointOnDay(name, "2026-01-01", 1), pointOnDay(name, "2026-02-01", 1)) },
			func() { mustPush(t, s, key, pointOnDay("custom."+name, "2026-01-02", 1)) },
			write("metric-definition", definitionJSON(round, name, "")),
			write("metric-point", fmt.Sprintf(`{"metricKey":%q,"ts":"2026-01-03T00:00:00Z","value":1}`, name)),
		}
		for i := range creators {
			wait.Go(creators[(i+round)%len(creators)])
		}
		wait.Wait()
		keys := strings.Fields(definedKeys(t, s))
		plain, custom := slices.Contains(keys, name), slices.Contains(keys, "custom."+name)
		if plain == custom {
			t.Errorf("round %d: %s is defined: %t, custom.%s: %t", round, name, plain, name, custom)
		}
		if got := listPoints(t, s, name); len(got) < 3 {
			t.Errorf("round %d: the points are %v", round, got)
		}
	}
}

// Ensure two metrics never share an id. Importing a definition with the id of another metric's
// definition is reported as an invalid line. If the other definition is stored after the file was
// checked, the import fails, no matter between which of its table calls that happens. An id that
// has become free is accepted.
func TestImportIDOfAnotherMetric(t *testing.T) {
	t.Parallel()
	for _, add := range []bool{false, true} {
		for at, reached := int64(1), true; reached; at++ {
			s, _ := start(t)
			transport := apitest.NewBeforeCall(at, func() {
				importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "p", ""))
			})
			into := transferType(t, apitest.NewWithTransport(t, metrics.Operations, transport), "metric-definition").ForFile(func(string) bool { return false })
			record, problems := into.Check(json.RawMessage(definitionJSON(1, "q", "")))
			if len(problems) > 0 {
				t.Fatalf("problems %q, want none", problems)
			}
			var err error
			if add {
				_, err = into.Add(t.Context(), s.CompanyID, []any{record})
			} else {
				err = into.Write(t.Context(), s.CompanyID, []any{record})
			}
			if reached = transport.Reached(); !reached {
				if err != nil {
					t.Error(err)
				}
				break
			}
			if err == nil || !strings.Contains(err.Error(), "id: mdf_1 is the id of the metric p") {
				t.Errorf("before call %d: %v", at, err)
			}
			requireEqual(t, "defined", definedKeys(t, s), "p")
			if got, err := transferType(t, s, "metric-definition").Verify(t.Context(), s.CompanyID, []any{record}); err != nil || len(got) != 1 || got[0].Text != "record.id: mdf_1 is the id of the metric p" {
				t.Errorf("problems %v, want that mdf_1 is the id of the metric p: %v", got, err)
			}
			importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(2, "p", "")) // mdf_1 is free again
			importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "q", ""))
			requireEqual(t, "defined", definedKeys(t, s), "p q")
		}
	}
}
