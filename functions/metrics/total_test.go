package metrics_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a list with the parameter total returns one series, which has the identity of the series
// without dims. This holds under either name of the metric and on every page. If the series do not
// combine, the request is refused with the reason.
func TestTotal(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	key := s.IssueKey(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", `,"aggregation":"sum","kind":"split","dimensions":["country"]`), definitionJSON(2, "rate", `,"aggregation":"avg"`), definitionJSON(3, "state", `,"aggregation":"last"`),
		definitionJSON(4, "raw", `,"aggregation":"none"`), definitionJSON(5, "unset", ``), definitionJSON(6, "derived", `,"kind":"derived","formula":"x","aggregation":"sum"`))
	countryPoint := func(metric, day, country string, value int, more string) string {
		return fmt.Sprintf(`{"metricKey":%q,"ts":%q,"value":%d,"dims":{"country":%q}%s}`, metric, day, value, country, more)
	}
	mustPush(t, s, key, countryPoint("a", "2026-08-03", "de", 1, `,"currency":"EUR","baseValue":1,"source":"crm"`), countryPoint("a", "2026-08-03", "pt", 2, `,"currency":"EUR","baseValue":2,"source":"crm"`),
		countryPoint("a", "2026-08-04", "de", 4, `,"currency":"EUR"`), countryPoint("a", "2026-08-04", "pt", 8, `,"currency":"USD"`), countryPoint("a", "2026-08-05", "de", 16, ""), pointOnDay("a", "2026-08-05", 100),
		pointOnDay("a", "2026-08-06", 200), countryPoint("a", "2026-08-10", "pt", 32, ""),
		countryPoint("rate", "2026-08-03", "de", 1, ""), countryPoint("rate", "2026-08-04", "de", 2, ""), pointOnDay("rate", "2026-08-04", 7),
		countryPoint("state", "2026-08-03", "de", 1, ""), countryPoint("raw", "2026-08-03", "de", 1, ""), countryPoint("unset", "2026-08-03", "de", 1, ""))
	importLines(t, s, s.CompanyID, "metric-point", `{"metricKey":"derived","ts":"2026-08-03T00:00:00Z","dims":{"country":"de"},"value":1}`)
	for query, want := range map[string][]string{
		"a&total=true":                                   {"2026-08-03 3", "2026-08-04 <nil>", "2026-08-05 100", "2026-08-06 200", "2026-08-10 32"},
		"custom.a&total=true&grain=week":                 {"2026-08-03 300", "2026-08-10 32"}, // the series without dims has days in the first week
		"a&total=true&grain=month":                       {"2026-08-01 300"},
		"a&total=true&from=2026-08-04&to=2026-08-05":     {"2026-08-04 <nil>", "2026-08-05 100"},
		"a&total=true&grain=week&from=2026-08-04":        {"2026-08-10 32"},
		"a&total=false&from=2026-08-10":                  {"2026-08-10 32"},
		"rate&total=true":                                {"2026-08-04 7"},
		"rate&total=true&grain=week":                     {"2026-08-03 7"},
		"rate&total=true&from=2026-08-05":                nil,
		"none.such&total=true":                           nil,
		"raw&total=true&grain=week":                      nil, // nothing is computed, so there is nothing to combine
		"a&seriesId=" + seriesOf(t, "a", "day", ""):      {"2026-08-05 100", "2026-08-06 200"},
		"a&seriesId=" + seriesOf(t, "a", "week", "null"): nil, // the id of the series of weeks does not match days
		"custom.a&grain=week&seriesId=" + seriesOf(t, "a", "week", `{"country":"pt"}`):          {"2026-08-03 <nil>", "2026-08-10 32"}, // null, because its days have two currencies
		"a&grain=week&from=2026-08-04&seriesId=" + seriesOf(t, "a", "week", `{"country":"pt"}`): {"2026-08-10 32"},
		"a&seriesId=0000000000000000": nil,
	} {
		requireEqual(t, query, listPoints(t, s, query), want)
	}
	items := s.Send(t, key, "GET", pointsPath+"?metricKey=a&total=true&from=2026-08-03&to=2026-08-03", "").Items(t)
	requireEqual(t, "a point", items, []map[string]any{{
		"seriesId": seriesOf(t, "a", "day", ""), "pointKey": "day:2026-08-03", "companyId": s.CompanyID, "metricKey": "a", "grain": "day", "ts": "2026-08-03T00:00:00.000Z", "dims": nil,
		"value": 3.0, "currency": "EUR", "baseValue": 3.0, "source": "crm", "ingestedAt": "2026-08-11T09:30:00.000Z",
	}})
	pages := listAll(t, s, pointsPath+"?metricKey=a&total=true&limit=2", func(item map[string]any) string { return item["ts"].(string)[8:10] }, nil)
	requireEqual(t, "pages", pages, [][]string{{"06", "10"}, {"04", "05"}, {"03"}})
	args := func(metric string, more ...any) map[string]any {
		out := map[string]any{"metricKey": metric, "total": "true"}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	const op = "list_metric_points"
	s.Run(t, []apitest.Scenario{
		{Name: "ErrAvg", Op: op, Args: args("rate", "to", "2026-08-03"), Want: 400, WantMessage: "query.total: the series of a metric with the aggregation avg do not combine; choose one with seriesId"},
		{Name: "ErrLast", Op: op, Args: args("state"), Want: 400, WantMessage: "query.total: the series of a metric with the aggregation last do not combine"},
		{Name: "ErrLastOfWeeks", Op: op, Args: args("state", "grain", "week"), Want: 400, WantMessage: "query.total: the series of a metric with the aggregation last do not combine"},
		{Name: "ErrNone", Op: op, Args: args("raw"), Want: 400, WantMessage: "query.total: the series of a metric with the aggregation none do not combine"},
		{Name: "ErrUnset", Op: op, Args: args("unset"), Want: 400, WantMessage: "query.total: the aggregation of the metric is not set, so its series do not combine; choose one with seriesId"},
		{Name: "ErrDerived", Op: op, Args: args("derived"), Want: 400, WantMessage: "query.total: the series of a derived metric do not combine"},
		{Name: "ErrSeries", Op: op, Args: args("a", "seriesId", "0000000000000000"), Want: 400, WantMessage: "query.total: is for all series; leave out seriesId"},
		{Name: "ErrTotal", Op: op, Args: args("a", "total", "yes"), Want: 400, WantMessage: "query.total: must be"},
		{Name: "ErrSeriesForm", Op: op, Args: map[string]any{"metricKey": "a", "seriesId": "DE"}, Want: 400, WantMessage: "query.seriesId: must"},
	})
}

// Ensure the cost of a year of weeks of 50 series stays as expected for a total, for one series,
// and for a page of all series.
func TestTotalUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	counter := &apitest.RoundTripCounter{}
	s := apitest.NewWithTransport(t, metrics.Operations, counter)
	store := metrics.NewStore(s.Table)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", `,"aggregation":"sum"`))
	for n := range 50 {
		putDays(t, store, s.CompanyID, "a", json.RawMessage(fmt.Sprintf(`{"n":"%02d"}`, n)), "2025-01-01", 365)
	}
	week := metrics.PointQuery{MetricKey: "a", Grain: metrics.GrainWeek, From: "2024-12-30", To: "2025-12-31", Limit: 365}
	for name, c := range map[string]struct {
		change func(*metrics.PointQuery)
		points int
		trips  int
		units  float64
	}{
		"total":      {func(q *metrics.PointQuery) { q.Total = true }, 53, 2, 200},
		"one series": {func(q *metrics.PointQuery) { q.SeriesID = seriesOf(t, "a", "week", `{"n":"07"}`) }, 53, 2, 200},
		"all":        {func(*metrics.PointQuery) {}, 365, 2, 200},
	} {
		q := week
		c.change(&q)
		var units table.Usage
		trips, _ := counter.Count(t, func(t *testing.T) {
			ctx, m := apitest.NewRequest(t)
			got, _, err := store.ListPoints(ctx, s.CompanyID, q)
			if units = m.Usage(); err != nil || len(got) != c.points {
				t.Fatalf("%s: %d points, %v", name, len(got), err)
			}
		})
		if trips != c.trips || units.Read > c.units {
			t.Errorf("%s: %d round trips, want %d; %v read units, want at most %v", name, trips, c.trips, units.Read, c.units)
		}
	}
}
