package metrics_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/testkit/apitest"
)

// put adds a point of the metric to the oracle.
func (o *pointOracle) put(t *testing.T, companyID string, grain metrics.Grain, series int, day string, value *float64) {
	t.Helper()
	p := metrics.Point{MetricKey: o.key, Grain: &grain, TS: new(day + "T00:00:00Z"), CompanyID: companyID, Value: value}
	if series > 0 { // 0 is the series without dims
		p.Dims = json.RawMessage(fmt.Sprintf(`{"n":"%02d"}`, series))
	}
	if err := p.Identify(); err != nil {
		t.Fatal(err)
	}
	o.points = append(o.points, p)
}

// Ensure a page of a total is full even if its newest buckets turn out to have no value. The
// listing first computes values for these buckets from their days. It then finds stored weeks
// without a value, which replace the computed ones, so it must read more records to fill the page.
func TestTotalPagesOverNullWeeks(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", `,"aggregation":"sum"`))
	w := pointOracle{key: "a", aggregation: "sum"}
	for n := range 6 {
		for _, day := range []string{"2026-11-03", "2026-11-10"} {
			w.put(t, s.CompanyID, metrics.GrainDay, n+1, day, new(1.0))
			monday := startOfBucket(metrics.GrainWeek, mustDay(t, day)).Format(time.DateOnly)
			w.put(t, s.CompanyID, metrics.GrainWeek, n+1, monday, nil)
		}
	}
	for n := range 10 {
		w.put(t, s.CompanyID, metrics.GrainWeek, n+11, "2026-01-05", new(1.0))
	}
	for _, day := range []string{"2026-08-04", "2026-09-08", "2026-10-06"} {
		w.put(t, s.CompanyID, metrics.GrainDay, 30, day, new(1.0))
	}
	if err := store.PutPoints(t.Context(), s.CompanyID, w.points, nil); err != nil {
		t.Fatal(err)
	}
	totals, refused := w.expectedTotal(t, metrics.GrainWeek)
	if len(totals) != 4 {
		t.Fatalf("the oracle has %d points", len(totals))
	}
	for limit := 1; limit <= 5; limit++ {
		q := metrics.PointQuery{MetricKey: "a", Grain: metrics.GrainWeek, Limit: limit, Total: true}
		checkTotal(t, store, s.CompanyID, q, totals, refused)
	}
}

// sparseOracle stores a metric whose series have days in some weeks. The series also have stored
// weeks and months. The stored weeks and months of different series often overlap, and most of them
// have no value.
func sparseOracle(t *testing.T, s *apitest.Service, store metrics.Store, random *rand.Rand, n int, aggregation string) pointOracle {
	t.Helper()
	w := pointOracle{key: fmt.Sprintf("p%d", n), aggregation: aggregation}
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(n, w.key, `,"aggregation":"`+aggregation+`"`))
	nullShare, weekShare := random.Float64(), random.Float64()
	value := func(nullShare float64) *float64 {
		if random.Float64() < nullShare {
			return nil
		}
		return new(float64(random.IntN(9)))
	}
	start := mustDay(t, "2025-12-01")
	stored := map[string]bool{} // a bucket of a series is stored only once
	put := func(grain metrics.Grain, series int, day time.Time, nullShare float64) {
		at := fmt.Sprint(grain, series, day)
		if !stored[at] {
			stored[at] = true
			w.put(t, s.CompanyID, grain, series, day.Format(time.DateOnly), value(nullShare))
		}
	}
	for series := range 1 + random.IntN(20) {
		series += random.IntN(2) // some metrics have no series without dims
		near := random.IntN(4) > 0
		for range 1 + random.IntN(6) {
			day := start.AddDate(0, 0, random.IntN(320))
			if near { // many series in the same newest weeks
				day = start.AddDate(0, 0, 300+random.IntN(20))
			}
			if random.IntN(5) > 0 {
				put(metrics.GrainDay, series, day, .1)
			}
			if random.Float64() < weekShare {
				put(metrics.GrainWeek, series, startOfBucket(metrics.GrainWeek, day), nullShare)
			}
			if random.Float64() < weekShare {
				put(metrics.GrainMonth, series, startOfBucket(metrics.GrainMonth, day), nullShare)
			}
		}
	}
	if err := store.PutPoints(t.Context(), s.CompanyID, w.points, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// Ensure totals and lists contain the points that a naive oracle computes, whatever the limit. The
// metric has 1 to 20 series with days and with stored weeks and months, many of them without a
// value.
func TestTotalPagesAgainstOracle(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	random := rand.New(rand.NewPCG(20261123, 1))
	rounds, compared := 24, 0
	if testing.Short() {
		rounds = 4
	}
	for n := range rounds {
		w := sparseOracle(t, s, store, random, n, []string{"sum", "sum", "max", "last"}[random.IntN(4)])
		for _, grain := range []metrics.Grain{metrics.GrainWeek, metrics.GrainMonth} {
			totals, refused := w.expectedTotal(t, grain)
			all := w.expectedPoints(t, grain)
			for limit := 1; limit <= min(len(totals)+1, 6); limit++ {
				q := metrics.PointQuery{MetricKey: w.key, Grain: grain, Limit: limit, Total: true}
				if random.IntN(4) == 0 {
					from := mustDay(t, "2025-11-20").AddDate(0, 0, random.IntN(200))
					q.From, q.To = from.Format(time.DateOnly), from.AddDate(0, 0, random.IntN(300)).Format(time.DateOnly)
				}
				checkTotal(t, store, s.CompanyID, q, totals, refused)
				compared += len(totals)
			}
			checkPages(t, store, s.CompanyID, metrics.PointQuery{MetricKey: w.key, Grain: grain, Limit: 1 + random.IntN(4)}, all)
		}
		if t.Failed() {
			t.Fatalf("world %d", n)
		}
	}
	if compared < 20*rounds {
		t.Errorf("only %d points were compared", compared)
	}
}

// Ensure a page of a total or of one series is refused if it reaches the limit on read units before
// it is complete. A narrower window or a lower limit succeeds and returns the same points. A list
// of all series is never refused.
func TestPageOfVeryManySeries(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, store := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", `,"aggregation":"sum"`))
	var points []metrics.Point
	for n := range 100 {
		points = append(points, consecutivePoints(t, "a", metrics.GrainDay, json.RawMessage(fmt.Sprintf(`{"n":"%02d"}`, n)), "2025-01-01", 365)...)
	}
	for i := range points {
		points[i].CompanyID, points[i].Value = s.CompanyID, new(1.0)
	}
	if err := metrics.PutRecords(t.Context(), store, s.CompanyID, points); err != nil {
		t.Fatal(err)
	}
	bounded := metrics.WithReadLimit(store, 25)
	whole := metrics.PointQuery{MetricKey: "a", Grain: metrics.GrainMonth, From: "2025-01-01", To: "2025-12-31", Limit: 365, Total: true}
	one := whole
	one.Total, one.SeriesID = false, seriesOf(t, "a", "month", `{"n":"07"}`)
	all := whole
	all.Total = false
	if got, _, err := bounded.ListPoints(t.Context(), s.CompanyID, all); err != nil || len(got) != 365 {
		t.Errorf("all: %d points, %v", len(got), err)
	}
	for field, q := range map[string]metrics.PointQuery{"total": whole, "seriesId": one} {
		want, _, err := store.ListPoints(t.Context(), s.CompanyID, q)
		if err != nil || len(want) != 12 {
			t.Fatalf("%s: %d points, %v", field, len(want), err)
		}
		ctx, m := apitest.NewRequest(t)
		_, _, err = bounded.ListPoints(ctx, s.CompanyID, q)
		public := fault.PublicError(err)
		if message := "query." + field + ": the metric has so many series that this page would read more than 10 MB of points; narrow from and to, or lower limit"; err == nil ||
			public.Code != fault.BadRequest || public.Messages[0] != message {
			t.Errorf("%s: error %v, want bad_request: %s", field, err, message)
		}
		if read := m.Usage().Read; read <= 25 || read > 40 { // reading all of it would take 94 units
			t.Errorf("%s: refused after %v units", field, read)
		}
		narrow := q
		narrow.From, narrow.To = "2025-11-01", "2025-12-31"
		got, _, err := bounded.ListPoints(t.Context(), s.CompanyID, narrow)
		if err != nil {
			t.Fatal(err)
		}
		requireEqual(t, field+" of two months", asJSON(t, got), asJSON(t, want[10:]))
		var pages []string
		for q.Limit = 1; ; {
			got, next, err := bounded.ListPoints(t.Context(), s.CompanyID, q)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(asJSON(t, got), pages...)
			if q.Before = next; next == (metrics.Position{}) {
				break
			}
		}
		requireEqual(t, field+" in pages", pages, asJSON(t, want))
	}
}
