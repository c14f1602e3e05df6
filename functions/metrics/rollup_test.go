package metrics_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions/metrics"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/testkit/apitest"
)

// pointOracle holds every stored day, week and month of one metric. Its methods compute in a naive
// way what lists of the metric should contain.
type pointOracle struct {
	key, aggregation, kind string
	points                 []metrics.Point
}

// startOfBucket returns the start of a day's ISO week or month, computed without the code under
// test.
func startOfBucket(grain metrics.Grain, day time.Time) time.Time {
	if grain == metrics.GrainMonth {
		return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	year, week := day.ISOWeek()
	for {
		y, w := day.AddDate(0, 0, -1).ISOWeek()
		if y != year || w != week {
			return day
		}
		day = day.AddDate(0, 0, -1)
	}
}

// expectedPoints returns the points that a list without a window should contain, oldest first.
// Tests compare the roll-up with it.
func (o pointOracle) expectedPoints(t *testing.T, grain metrics.Grain) []metrics.Point {
	t.Helper()
	type bucket struct{ ts, dims string }
	out := map[bucket]metrics.Point{}
	days := map[bucket][]metrics.Point{}
	canRollUp := o.aggregation != "" && o.aggregation != "none" && o.kind != "derived"
	for _, p := range o.points {
		dims := string(p.Dims)
		if dims == "{}" {
			dims = ""
		}
		switch {
		case *p.Grain == grain:
			out[bucket{*p.TS, dims}] = p
		case *p.Grain == metrics.GrainDay && canRollUp && p.Value != nil:
			start := startOfBucket(grain, mustDay(t, (*p.TS)[:10])).Format("2006-01-02") + "T00:00:00.000Z"
			days[bucket{start, dims}] = append(days[bucket{start, dims}], p)
		}
	}
	for at, all := range days {
		if _, isStored := out[at]; !isStored {
			slices.SortFunc(all, func(a, b metrics.Point) int { return cmp.Compare(*a.TS, *b.TS) })
			out[at] = o.combineDays(t, grain, at.ts, all)
		}
	}
	var list []metrics.Point
	for _, p := range out {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b metrics.Point) int {
		return cmp.Or(cmp.Compare(*a.TS, *b.TS), cmp.Compare(a.SeriesID, b.SeriesID))
	})
	return list
}

// expectedTotal returns the points that a total without a window should contain, oldest first. It
// also returns the starts of the buckets that have points but no total, because their series do not
// combine. A window that contains only such buckets is refused.
func (o pointOracle) expectedTotal(t *testing.T, grain metrics.Grain) (list []metrics.Point, refused []string) {
	t.Helper()
	canRollUp := o.aggregation != "" && o.aggregation != "none" && o.kind != "derived"
	canCombine := canRollUp && (o.aggregation == "sum" || o.aggregation == "min" || o.aggregation == "max")
	hasNoDims := func(p metrics.Point) bool { return len(p.Dims) == 0 || string(p.Dims) == "{}" }
	starts := map[string]bool{}
	startOf := func(p metrics.Point) string {
		if *p.Grain == grain {
			return *p.TS
		}
		return startOfBucket(grain, mustDay(t, (*p.TS)[:10])).Format("2006-01-02") + "T00:00:00.000Z"
	}
	for _, p := range o.points {
		if *p.Grain == grain || *p.Grain == metrics.GrainDay {
			starts[startOf(p)] = true
		}
	}
	for ts := range starts {
		var own *metrics.Point
		var ownDays, others []metrics.Point
		hasOther, hasStored := false, map[string]bool{}
		for _, p := range o.points {
			if *p.Grain != grain || startOf(p) != ts {
				continue
			}
			if hasNoDims(p) {
				own = &p
				continue
			}
			hasOther, hasStored[string(p.Dims)] = true, true
			if p.Value != nil {
				others = append(others, p)
			}
		}
		for _, p := range o.points {
			if *p.Grain != metrics.GrainDay || grain == metrics.GrainDay || startOf(p) != ts || p.Value == nil || !canRollUp {
				continue
			}
			if hasNoDims(p) {
				ownDays = append(ownDays, p)
				continue
			}
			hasOther = true
			if !hasStored[string(p.Dims)] {
				others = append(others, p)
			}
		}
		slices.SortFunc(ownDays, func(a, b metrics.Point) int { return cmp.Compare(*a.TS, *b.TS) })
		switch {
		case own != nil:
			list = append(list, *own)
		case len(ownDays) > 0:
			list = append(list, o.combineDays(t, grain, ts, ownDays))
		case canCombine && len(others) > 0:
			others[len(others)-1].Dims = nil
			list = append(list, o.combineDays(t, grain, ts, others))
		case !canCombine && hasOther:
			refused = append(refused, ts)
		}
	}
	slices.SortFunc(list, func(a, b metrics.Point) int { return cmp.Compare(*a.TS, *b.TS) })
	return list, refused
}

// checkTotal is checkPages for a total. A window without totals must be refused if it contains any
// of the buckets listed in `refused`.
func checkTotal(t *testing.T, store metrics.Store, companyID string, q metrics.PointQuery, totals []metrics.Point, refused []string) {
	t.Helper()
	inWindow := func(ts string) bool { return ts[:10] >= q.From && (q.To == "" || ts[:10] <= q.To) }
	if slices.ContainsFunc(refused, inWindow) && !slices.ContainsFunc(totals, func(p metrics.Point) bool { return inWindow(*p.TS) }) {
		_, _, err := store.ListPoints(t.Context(), companyID, q)
		if public := fault.PublicError(err); err == nil || public.Code != fault.BadRequest || !strings.Contains(public.Messages[0], "choose one with seriesId") {
			t.Errorf("%+v: error %v, want bad_request: choose one with seriesId", q, err)
		}
		return
	}
	checkPages(t, store, companyID, q, totals)
}

// combineDays returns the point of a bucket, computed from its days. The days must be sorted and
// have values.
func (o pointOracle) combineDays(t *testing.T, grain metrics.Grain, ts string, days []metrics.Point) metrics.Point {
	t.Helper()
	last := days[len(days)-1]
	p := metrics.Point{MetricKey: o.key, Grain: &grain, TS: &ts, Dims: last.Dims}
	if err := p.Identify(); err != nil {
		t.Fatal(err)
	}
	p.CompanyID = last.CompanyID
	text := func(s *string) string {
		if s == nil {
			return "none"
		}
		return "=" + *s
	}
	var values, bases []float64
	currencies, sources := map[string]bool{}, map[string]bool{}
	for _, d := range days {
		values = append(values, *d.Value)
		if d.BaseValue != nil {
			bases = append(bases, *d.BaseValue)
		}
		currencies[text(d.Currency)], sources[text(d.Source)] = true, true
		if d.IngestedAt != nil && (p.IngestedAt == nil || *d.IngestedAt > *p.IngestedAt) {
			p.IngestedAt = d.IngestedAt
		}
	}
	if o.aggregation == "last" {
		p.Value, p.BaseValue, p.Currency, p.Source = last.Value, last.BaseValue, last.Currency, last.Source
		return p
	}
	if len(currencies) == 1 {
		p.Value, p.Currency = new(o.aggregate(values)), last.Currency
	}
	if len(bases) == len(days) {
		p.BaseValue = new(o.aggregate(bases))
	}
	if len(sources) == 1 {
		p.Source = last.Source
	}
	return p
}

func (o pointOracle) aggregate(values []float64) float64 {
	total := new(big.Rat)
	for _, v := range values {
		total.Add(total, new(big.Rat).SetFloat64(v))
	}
	switch o.aggregation {
	case "min":
		return slices.Min(values)
	case "max":
		return slices.Max(values)
	case "avg":
		total.Quo(total, big.NewRat(int64(len(values)), 1))
	}
	out, _ := total.Float64()
	return out
}

// randomOracle stores a metric with random days, weeks and months. They span a leap day, the end of
// an ISO year with 53 weeks (2020) and the end of one with 52.
func randomOracle(t *testing.T, s *apitest.Service, store metrics.Store, random *rand.Rand, key, aggregation, kind string) pointOracle {
	t.Helper()
	w := pointOracle{key: key, aggregation: aggregation, kind: kind}
	more := ""
	if aggregation != "" {
		more += fmt.Sprintf(`,"aggregation":%q`, aggregation)
	}
	if kind != "" {
		more += fmt.Sprintf(`,"kind":%q`, kind) + map[string]string{"split": `,"dimensions":["country"]`, "derived": `,"formula":"x"`}[kind]
	}
	importLines(t, s, s.CompanyID, "metric-definition", `{"id":"mdf_`+strings.ReplaceAll(strings.ReplaceAll(key, ".", ""), "_", "")+`","key":"`+key+`"`+more+`}`)
	allDims := []json.RawMessage{nil, json.RawMessage(`{"c":"de"}`), json.RawMessage(`{"c":"pt"}`), json.RawMessage(`{"c":"de","p":"x"}`)}
	currencies := []*string{nil, new("EUR"), new("USD")}
	sources := []*string{nil, new("crm"), new("ads, \"x\"")}
	first := mustDay(t, "2019-11-20").AddDate(0, 0, random.IntN(30))
	length := 30 + random.IntN(440)
	for _, dims := range allDims[:1+random.IntN(len(allDims))] {
		mixed, base, density := random.IntN(3) == 0, random.IntN(3), []float64{1, .6, .1}[random.IntN(3)]
		currency, source, size := random.IntN(3), random.IntN(3), random.IntN(3)
		addPoint := func(grain metrics.Grain, day time.Time) {
			p := metrics.Point{MetricKey: key, Grain: &grain, TS: new(day.Format(time.RFC3339)), Dims: dims, CompanyID: s.CompanyID}
			value := func() *float64 {
				switch size {
				case 0:
					return new(float64(random.IntN(1000)))
				case 1:
					return new(float64(random.IntN(1000)) / 10)
				}
				return new((random.Float64() - .4) * math.Pow10(random.IntN(40)-20))
			}
			if random.IntN(12) > 0 {
				p.Value = value()
			}
			if base == 2 || base == 1 && random.IntN(5) > 0 {
				p.BaseValue = value()
			}
			p.Currency, p.Source = currencies[currency], sources[source]
			if mixed && random.IntN(6) == 0 {
				p.Currency, p.Source = currencies[random.IntN(3)], sources[random.IntN(3)]
			}
			if random.IntN(9) > 0 {
				p.IngestedAt = new(day.Add(time.Duration(random.IntN(1e6)) * time.Second).Format("2006-01-02T15:04:05.000Z"))
			}
			if err := p.Identify(); err != nil {
				t.Fatal(err)
			}
			w.points = append(w.points, p)
		}
		for i := range length {
			day := first.AddDate(0, 0, i)
			if random.Float64() < density {
				addPoint(metrics.GrainDay, day)
			}
			for _, grain := range []metrics.Grain{metrics.GrainWeek, metrics.GrainMonth} {
				if startOfBucket(grain, day).Equal(day) && random.IntN(4) == 0 {
					addPoint(grain, day)
				}
			}
		}
	}
	if err := store.PutPoints(t.Context(), s.CompanyID, w.points, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// Ensure weeks and months are what a naive oracle computes from the days. This is checked for every
// aggregation and kind, on random series mixed with stored weeks and months, and for windows and
// pages that cut through a bucket.
func TestRollUpAgainstOracle(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, store := start(t)
	random := rand.New(rand.NewPCG(20261122, 1))
	compared := 0
	for i, c := range []struct{ aggregation, kind string }{
		{"sum", "measured"}, {"avg", "split"}, {"min", ""}, {"max", "split"}, {"last", "measured"}, {"sum", ""}, {"avg", "measured"}, {"min", "derived"},
		{"last", "split"}, {"none", "measured"}, {"", "split"}, {"sum", "derived"},
	} {
		w := randomOracle(t, s, store, random, fmt.Sprintf("r%d.a%s_%s", i, c.aggregation, c.kind), c.aggregation, c.kind)
		for _, grain := range []metrics.Grain{metrics.GrainWeek, metrics.GrainMonth, metrics.GrainDay} {
			all := w.expectedPoints(t, grain)
			compared += len(all)
			totals, refused := w.expectedTotal(t, grain)
			compared += len(totals)
			for _, limit := range []int{1000, 1 + random.IntN(4), 5 + random.IntN(60)} {
				q := metrics.PointQuery{MetricKey: w.key, Grain: grain, Limit: limit}
				if limit < 1000 || random.IntN(2) == 0 {
					from := mustDay(t, "2019-11-10").AddDate(0, 0, random.IntN(400))
					q.From, q.To = from.Format(time.DateOnly), from.AddDate(0, 0, random.IntN(100+limit)).Format(time.DateOnly)
				}
				checkPages(t, store, s.CompanyID, q, all)
				series := all[random.IntN(len(all))].SeriesID
				one := q
				one.SeriesID = series
				if limit == 1000 {
					checkPages(t, store, s.CompanyID, one, slices.DeleteFunc(slices.Clone(all), func(p metrics.Point) bool { return p.SeriesID != series }))
				}
				total := q
				total.Total = true
				checkTotal(t, store, s.CompanyID, total, totals, refused)
			}
		}
	}
	if compared < 3000 {
		t.Errorf("only %d points were compared", compared)
	}
}

// checkPages walks through the pages of a window and compares each page with the newest of the
// points that are left.
func checkPages(t *testing.T, store metrics.Store, companyID string, q metrics.PointQuery, all []metrics.Point) {
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
		requireEqual(t, fmt.Sprintf("%+v", q), asJSON(t, got), asJSON(t, remaining[cut:]))
		if (next != metrics.Position{}) != (cut > 0) {
			t.Fatalf("%+v: next is %q with %d left", q, next, cut)
		}
		if t.Failed() || cut == 0 {
			return
		}
		remaining, q.Before = remaining[:cut], next
	}
}

func asJSON(t *testing.T, points []metrics.Point) (lines []string) {
	t.Helper()
	for _, p := range points {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(text))
	}
	return lines
}

// Ensure the roll-up follows the calendar: month ends, a leap day, ISO weeks at the end of a year,
// and windows that begin or end in the middle of a bucket.
func TestRollUpCalendar(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "a", `,"aggregation":"sum"`), definitionJSON(2, "b", `,"aggregation":"sum"`))
	for _, from := range []string{"2020-02-26", "2020-12-28", "2025-12-29"} {
		points := consecutivePoints(t, "a", metrics.GrainDay, nil, from, 8)
		for i := range points {
			points[i].Value = new(1.0)
		}
		if err := store.PutPoints(t.Context(), s.CompanyID, points, nil); err != nil {
			t.Fatal(err)
		}
	}
	putDays(t, store, s.CompanyID, "b", nil, "9999-12-24", 7)
	for query, want := range map[string][]string{
		"a&grain=month": {"2020-02-01 4", "2020-03-01 4", "2020-12-01 4", "2021-01-01 4", "2025-12-01 3", "2026-01-01 5"},
		"a&grain=week":  {"2020-02-24 5", "2020-03-02 3", "2020-12-28 7", "2021-01-04 1", "2025-12-29 7", "2026-01-05 1"},
		"a&grain=week&from=2020-12-28&to=2020-12-28":           {"2020-12-28 7"}, // the bucket starts in the window, so all of its days count
		"a&grain=week&from=2020-12-29&to=2021-01-04":           {"2021-01-04 1"}, // a bucket that starts before the window is not listed
		"a&grain=month&from=2020-02-02&to=2020-12-01":          {"2020-03-01 4", "2020-12-01 4"},
		"a&grain=month&from=2020-02-02&to=2020-02-29":          nil,
		"a&grain=month&from=2026-01-01&to=9999-12-31":          {"2026-01-01 5"},
		"a&grain=month&from=9999-12-31":                        nil,
		"b&grain=week":                                         {"9999-12-20 3", "9999-12-27 18"},
		"b&grain=week&from=9999-12-27&to=9999-12-31":           {"9999-12-27 18"},
		"b&grain=month&from=0001-01-01&to=9999-12-31":          {"9999-12-01 21"},
		"custom.a&grain=month&from=2025-12-01&to=2025-12-01":   {"2025-12-01 3"},
		"a&grain=month&from=2025-12-01T23:00:00-05:00&limit=1": {"2026-01-01 5"},
	} {
		requireEqual(t, query, listPoints(t, s, strings.TrimSuffix(query, "&limit=1")), want)
	}
}

// Ensure nothing is computed for a metric that has no definition or whose days do not combine, and
// that a computed bucket has the same fields as a stored one.
func TestRollUpNeedsAggregation(t *testing.T) {
	t.Parallel()
	s, store := start(t)
	importLines(t, s, s.CompanyID, "metric-definition", definitionJSON(1, "none", `,"aggregation":"none"`), definitionJSON(2, "unset", ``), definitionJSON(3, "derived", `,"aggregation":"sum","kind":"derived","formula":"x"`),
		definitionJSON(4, "sum", `,"aggregation":"sum"`))
	for _, key := range []string{"none", "unset", "derived", "undefined", "sum"} {
		putDays(t, store, s.CompanyID, key, json.RawMessage(`{"c":"de"}`), "2026-08-03", 3)
		want := []string(nil)
		if key == "sum" {
			want = []string{"2026-08-03 3"}
		}
		requireEqual(t, key, listPoints(t, s, key+"&grain=week"), want)
	}
	stored := metrics.Point{MetricKey: "sum", Grain: new(metrics.GrainWeek), TS: new("2026-08-03T00:00:00Z"), Dims: json.RawMessage(`{"c":"de"}`)}
	if err := stored.Identify(); err != nil {
		t.Fatal(err)
	}
	item := s.Send(t, s.IssueKey(t), "GET", pointsPath+"?metricKey=sum&grain=week", "").Items(t)[0]
	requireEqual(t, "computed", item, map[string]any{
		"seriesId": stored.SeriesID, "pointKey": stored.PointKey, "companyId": s.CompanyID, "metricKey": "sum", "grain": "week", "ts": "2026-08-03T00:00:00.000Z",
		"dims": map[string]any{"c": "de"}, "value": 3.0, "currency": nil, "baseValue": nil, "source": nil, "ingestedAt": "2026-08-06T02:00:00.123Z",
	})
	stored.Value, stored.IngestedAt = new(100.0), new("2026-08-01T00:00:00.000Z")
	if err := store.PutPoints(t.Context(), s.CompanyID, []metrics.Point{stored}, nil); err != nil {
		t.Fatal(err)
	}
	requireEqual(t, "a stored bucket takes precedence", listPoints(t, s, "sum&grain=week"), []string{"2026-08-03 100"})
}
