package metrics_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure the cost of a list of definitions does not grow with their number: for each filter, calls
// and units are the same with ten times as many definitions.
func TestDefinitionUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const n = 42 // needsReview is true in a third of the definitions, false in a third, and null in a third
	s, store := start(t)
	bigCompanyID := s.Table.NewID("co")
	fill := func(companyID string, count int) {
		var wait sync.WaitGroup
		for from := range 8 {
			wait.Go(func() {
				var definitions []any
				for i := from; i < count; i += 8 {
					d := metrics.Definition{ID: fmt.Sprintf("mdf_%d", i), Key: fmt.Sprintf("group.metric_%06d", i), Name: new(fmt.Sprintf("Metric %06d", i))}
					if i%3 > 0 {
						d.NeedsReview = new(i%3 == 1)
					}
					definitions = append(definitions, d)
				}
				if err := metrics.Transfers(s.Table)[0].Write(t.Context(), companyID, definitions); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	}
	fill(s.CompanyID, n)
	fill(bigCompanyID, 10*n)
	for _, review := range []metrics.ReviewFilter{"", metrics.ReviewNeeded, metrics.ReviewNotNeeded} {
		var spent [2]table.Usage
		for i, companyID := range []string{s.CompanyID, bigCompanyID} {
			ctx, m := apitest.NewRequest(t)
			page, err := store.ListDefinitions(ctx, companyID, review, "", 13)
			if err != nil || len(page.Records) != 13 {
				t.Fatalf("%d definitions, want 13: %v", len(page.Records), err)
			}
			spent[i] = m.Usage()
		}
		if spent[0] != spent[1] || spent[0].Calls != 1 {
			t.Errorf("needsReview %q: units %+v of %d definitions, %+v of %d; want one call and the same units", review, spent[0], n, spent[1], 10*n)
		}
	}
}

// fullPoints returns daily points with a value in every field.
func fullPoints(t *testing.T, key, from string, n int) []metrics.Point {
	t.Helper()
	points := consecutivePoints(t, key, metrics.GrainDay, json.RawMessage(`{"country":"DE","plan":"pro"}`), from, n)
	for i := range points {
		p := &points[i]
		p.Value, p.BaseValue = new(123456.78+float64(i)), new(98765.43+float64(i))
		p.Currency, p.Source = new("EUR"), new("stripe")
	}
	return points
}

// Ensure a list of 365 daily points costs at most 4 read units and one query, plus one unit for the
// metric's definition. Older points, other metrics in the same partition and days outside the
// window do not increase the cost.
func TestPointUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, store := start(t)
	small, big := s.CompanyID, s.Table.NewID("co")
	for _, companyID := range []string{small, big} {
		importLines(t, s, companyID, "metric-definition", definitionJSON(1, "revenue.mrr", ""))
	}
	put := func(companyID string, points []metrics.Point) {
		if err := store.PutPoints(t.Context(), companyID, points, nil); err != nil {
			t.Fatal(err)
		}
	}
	put(small, fullPoints(t, "revenue.mrr", "2025-01-01", 425)) // the last of the 425 days is 2026-03-01: a month with a single day is the worst case
	put(big, fullPoints(t, "revenue.mrr", "2016-01-01", 3713))
	for i := range 10 {
		put(big, consecutivePoints(t, fmt.Sprintf("revenue.m%d", i), metrics.GrainDay, nil, "2026-01-01", 31))
		put(big, consecutivePoints(t, fmt.Sprintf("revenue.mrr%d", i), metrics.GrainDay, nil, "2026-01-01", 31))
	}
	for _, c := range []struct {
		name string
		q    metrics.PointQuery
		want int
		most float64
	}{
		{"newest 365", metrics.PointQuery{Limit: 365}, 365, 5},
		{"to", metrics.PointQuery{To: "2026-02-10", Limit: 365}, 365, 5},
		{"from", metrics.PointQuery{From: "2025-03-02", Limit: 365}, 365, 5},
		{"a year", metrics.PointQuery{From: "2025-02-11", To: "2026-02-10", Limit: 365}, 365, 5},
		{"newest 30", metrics.PointQuery{Limit: 30}, 30, 2},
		{"a month", metrics.PointQuery{From: "2025-07-01", To: "2025-07-31", Limit: 365}, 31, 1.5},
	} {
		c.q.MetricKey, c.q.Grain = "revenue.mrr", metrics.GrainDay
		var spent [2]table.Usage
		for i, companyID := range []string{small, big} {
			ctx, m := apitest.NewRequest(t)
			points, _, err := store.ListPoints(ctx, companyID, c.q)
			if err != nil || len(points) != c.want {
				t.Fatalf("%s: %d points, want %d: %v", c.name, len(points), c.want, err)
			}
			spent[i] = m.Usage()
		}
		if spent[0] != spent[1] || spent[0].Calls != 2 || spent[0].Read > c.most {
			t.Errorf("%s: %+v with one year, %+v with ten; at most %v units", c.name, spent[0], spent[1], c.most)
		}
	}
}

// Ensure a later page costs as much as the first, because the cursor limits which records are read.
func TestLaterPageUnits(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", ""))
	putDays(t, store, s.CompanyID, "a", nil, "2016-01-01", 3700)
	q := metrics.PointQuery{MetricKey: "a", Grain: metrics.GrainDay, To: "2017-03-01", Limit: 30}
	_, next, err := store.ListPoints(t.Context(), s.CompanyID, q)
	if err != nil {
		t.Fatal(err)
	}
	q.To, q.Before = "2026-02-01", next
	ctx, m := apitest.NewRequest(t)
	points, _, err := store.ListPoints(ctx, s.CompanyID, q)
	if err != nil || len(points) != 30 || points[29].PointKey != "day:2017-01-30" {
		t.Fatalf("%d points, want 30 to 2017-01-30: %v", len(points), err)
	}
	if spent := m.Usage(); spent.Calls != 2 || spent.Read > 2 {
		t.Errorf("units %+v, want 2 calls and at most 2 read", spent)
	}
}

// Ensure a list of many series takes at most two queries and 10 read units, however old the series
// are.
func TestManySeriesUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, store := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", ""))
	for n := range 40 {
		putDays(t, store, s.CompanyID, "a", json.RawMessage(fmt.Sprintf(`{"n":"%d"}`, n)), "2025-10-01", 150)
	}
	ctx, m := apitest.NewRequest(t)
	points, _, err := store.ListPoints(ctx, s.CompanyID, metrics.PointQuery{MetricKey: "a", Grain: metrics.GrainDay, Limit: 365})
	if err != nil || len(points) != 365 {
		t.Fatalf("%d points, want 365: %v", len(points), err)
	}
	if spent := m.Usage(); spent.Calls > 3 || spent.Read > 10 {
		t.Errorf("units %+v, want at most 3 calls and 10 read", spent)
	}
}

// Ensure 500 daily points of a series take one call per month. An import of several years takes at
// most one more call per batch, because a batch may end within a month.
func TestPutUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, store := start(t)
	put := func(points []metrics.Point, most int) {
		t.Helper()
		ctx, m := apitest.NewRequest(t)
		for part := range slices.Chunk(points, 500) {
			if err := store.PutPoints(ctx, s.CompanyID, part, nil); err != nil {
				t.Fatal(err)
			}
		}
		if calls := m.Usage().Calls; calls > most {
			t.Errorf("%d points: %d calls, want at most %d", len(points), calls, most)
		}
	}
	put(fullPoints(t, "a", "2025-01-01", 500), 17)
	var points []metrics.Point
	for n := range 4 {
		points = append(points, fullPoints(t, fmt.Sprintf("b.m%d", n), "2023-01-01", 3*365)...)
	}
	put(points, 4*36+len(points)/500)
	if got, want := len(exportRecords(t, s, s.CompanyID, "metric-point")), 500+len(points); got != want {
		t.Errorf("%d points, want %d", got, want)
	}
}

// Ensure that computing a year of weeks or ten years of months from days takes no more read units,
// and makes a caller wait for no more round trips, than expected. The test covers one series and 50
// series.
func TestRollUpUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	counter := &apitest.RoundTripCounter{}
	s := apitest.NewWithTransport(t, metrics.Operations, counter)
	fillDecade(t, s)
	for _, c := range []struct {
		name, metricKey string
		grain           metrics.Grain
		from            string
		points          int
		trips           int
		most            float64 // read units
	}{
		{"a year of weeks, 1 series", "one", metrics.GrainWeek, "2025-01-01", 52, 1, 6},
		{"ten years of months, 1 series", "one", metrics.GrainMonth, "2016-01-01", 120, 1, 25},
		{"a year of weeks, 50 series", "fifty", metrics.GrainWeek, "2025-01-01", 1000, 2, 50},
		{"ten years of months, 50 series", "fifty", metrics.GrainMonth, "2016-01-01", 1000, 2, 200},
		{"ten years of months, 1 series by the other name", "custom.one", metrics.GrainMonth, "2016-01-01", 120, 2, 26},
	} {
		q := metrics.PointQuery{MetricKey: c.metricKey, Grain: c.grain, From: c.from, To: "2025-12-31", Limit: 1000}
		var units table.Usage
		trips, _ := counter.Count(t, func(t *testing.T) {
			ctx, m := apitest.NewRequest(t)
			got, _, err := metrics.NewStore(s.Table).ListPoints(ctx, s.CompanyID, q)
			if units = m.Usage(); err != nil || len(got) != c.points {
				t.Fatalf("%s: %d points, %v", c.name, len(got), err)
			}
		})
		if trips != c.trips || units.Read > c.most {
			t.Errorf("%s: %d round trips, want %d; %v read units, want at most %v", c.name, trips, c.trips, units.Read, c.most)
		}
	}
}

// fillDecade stores days up to the end of 2025: ten years for a metric with one series, and three
// years for a metric with 50 series. A page has at most 1,000 points, so older days would not be
// read.
func fillDecade(t testing.TB, s *apitest.Service) {
	t.Helper()
	var wait sync.WaitGroup
	for n := range 51 {
		key, from, days := "fifty", "2023-01-01", 3*365+1
		if n == 50 {
			key, from, days = "one", "2016-01-01", 10*365+3
		}
		if n%50 == 0 {
			d := metrics.Definition{ID: "mdf_" + key, Key: key, Aggregation: new(metrics.AggregationSum)}
			if err := metrics.Transfers(s.Table)[0].Write(t.Context(), s.CompanyID, []any{d}); err != nil {
				t.Fatal(err)
			}
		}
		points := consecutivePoints(t, key, metrics.GrainDay, json.RawMessage(fmt.Sprintf(`{"n":"%02d"}`, n)), from, days)
		for i := range points {
			points[i].Value, points[i].Currency, points[i].Source = new(1234.56+float64(i)), new("EUR"), new("stripe")
		}
		wait.Go(func() {
			if err := metrics.PutRecords(t.Context(), metrics.NewStore(s.Table), s.CompanyID, points); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

// BenchmarkRollUp measures a page that is computed from days, with the database engine on the same
// machine.
func BenchmarkRollUp(b *testing.B) {
	s := apitest.NewWithTransport(b, metrics.Operations, nil)
	fillDecade(b, s)
	store := metrics.NewStore(s.Table)
	for name, q := range map[string]metrics.PointQuery{
		"weeks of a year, 1 series":    {MetricKey: "one", Grain: metrics.GrainWeek, From: "2025-01-01", Limit: 365},
		"months of 10 years, 1 series": {MetricKey: "one", Grain: metrics.GrainMonth, Limit: 365},
		"weeks, 50 series, 1 page":     {MetricKey: "fifty", Grain: metrics.GrainWeek, Limit: 1000},
		"months, 50 series, 1 page":    {MetricKey: "fifty", Grain: metrics.GrainMonth, Limit: 1000},
		"days of a year, 1 series":     {MetricKey: "one", Grain: metrics.GrainDay, Limit: 365},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if points, _, err := store.ListPoints(b.Context(), s.CompanyID, q); err != nil || len(points) < 50 {
					b.Fatalf("%d points, want at least 50: %v", len(points), err)
				}
			}
		})
	}
}

// Ensure lists and exports fail if they meet a record that this service did not write. A point that
// cannot be read is never left out.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	for name, damage := range map[string]table.Item{
		"shared field":     {"metricKey": table.Number(5)},
		"another grain":    {"grain": table.String("week")}, // its sort key does not contain a period of weeks
		"type of a point":  {"d01": table.Number(5)},
		"text of a point":  {"d01": table.String("[1,")},
		"value of a point": {"d01": table.String(`["1"]`)},
	} {
		companyID := s.Table.NewID("co")
		item := s.Table.NewItem(table.Keys{Key: table.Key{PK: table.Partition(companyID, "metrics"), SK: "pt#a#day#2026-01#x"}}, struct{}{})
		for attribute, value := range map[string]string{"metricKey": "a", "grain": "day", "seriesId": "x", "d01": "[1]", "d02": "[2]"} {
			item[attribute] = table.String(value)
		}
		for attribute, value := range damage {
			item[attribute] = value
		}
		if err := s.Table.BatchPut(t.Context(), []table.Item{item}); err != nil {
			t.Fatal(err)
		}
		if points, _, err := store.ListPoints(t.Context(), companyID, metrics.PointQuery{MetricKey: "a", Grain: metrics.GrainDay, Limit: 10}); err == nil {
			t.Errorf("%s: a list returns %d points", name, len(points))
		}
		if err := store.EachPoint(t.Context(), companyID, func(metrics.Point) error { return nil }); err == nil {
			t.Errorf("%s: an export succeeds", name)
		}
	}
}
