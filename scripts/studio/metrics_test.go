package studio

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

var now = time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC)

// on returns a metric point for the given day of August 2026.
func on(day int, value float64, more ...func(*client.Point)) client.Point {
	p := client.Point{
		SeriesID: "s", MetricKey: "a.b", Grain: client.Value(client.MetricsGrainDay), TS: client.Value(time.Date(2026, 8, day, 0, 0, 0, 0, time.UTC)),
		Value: client.Value(value),
	}
	for _, f := range more {
		f(&p)
	}
	return p
}

func in(currency string) func(*client.Point) {
	return func(p *client.Point) { p.Currency = client.Value(currency) }
}

func worth(base float64) func(*client.Point) {
	return func(p *client.Point) { p.BaseValue = client.Value(base) }
}

func of(series, dims string) func(*client.Point) {
	return func(p *client.Point) {
		p.SeriesID = series
		if err := json.Unmarshal([]byte(dims), &p.Dims); err != nil {
			panic(err)
		}
	}
}

// Ensure values in several currencies are drawn in the company's base currency if every point has a
// value in it. If not, each currency is drawn separately.
func TestMoney(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		points []client.Point
		want   series.Money
	}{
		"none":                {nil, series.Money{}},
		"no currency":         {[]client.Point{on(1, 5)}, series.Money{}},
		"one":                 {[]client.Point{on(1, 5, in("JPY")), on(2, 5, in("JPY"), worth(3))}, series.Money{Currency: "JPY"}},
		"two with base":       {[]client.Point{on(1, 5, in("USD"), worth(4)), on(2, 7, in("EUR"), worth(7))}, series.Money{Currency: "EUR", Base: true}},
		"two, base unknown":   {[]client.Point{on(1, 5, in("USD"), worth(4)), on(2, 7, in("GBP"), worth(8))}, series.Money{Base: true}},
		"two, one without":    {[]client.Point{on(1, 5, in("USD"), worth(4)), on(2, 7, in("EUR"))}, series.Money{Mixed: true}},
		"a currency and none": {[]client.Point{on(1, 5, in("USD")), on(2, 7)}, series.Money{Mixed: true}},
	} {
		if got := series.MoneyOf(c.points); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Ensure an unfinished period is compared only with the corresponding part of the period before.
// Today counts in the period's value, but not in the comparison.
func TestDevelop(t *testing.T) {
	t.Parallel()
	month, err := period.ParseRange("month", "", "", now)
	if err != nil {
		t.Fatal(err)
	}
	w := month.Window(period.Day, now)
	var points []client.Point
	for day := 1; day <= 11; day++ {
		points = append(points, on(day, 10))
	}
	for day := 1; day <= 31; day++ {
		p := on(1, 5)
		p.TS = client.Value(time.Date(2026, 7, day, 0, 0, 0, 0, time.UTC))
		points = append(points, p)
	}
	for _, c := range []struct {
		aggregation          client.MetricsAggregation
		polarity             client.MetricsPolarity
		value, soFar, before float64
		good                 string
	}{
		{client.MetricsAggregationSum, client.MetricsPolarityUpIsGood, 110, 100, 50, "good"},
		{client.MetricsAggregationSum, client.MetricsPolarityDownIsGood, 110, 100, 50, "bad"},
		{client.MetricsAggregationAvg, client.MetricsPolarityNeutral, 10, 10, 5, "even"},
		{client.MetricsAggregationLast, client.MetricsPolarityUpIsGood, 10, 10, 5, "good"},
	} {
		d := metric{series.Metric{UnitName: units.Count, Aggregation: c.aggregation, Polarity: c.polarity}}.Compare(points, w)
		type comparison struct {
			Value, SoFar, Before float64
			Change, Good         string
		}
		want := comparison{c.value, c.soFar, c.before, "+100\u00a0%", c.good}
		if diff := cmp.Diff(want, comparison{d.Value.V, d.SoFar.V, d.BeforeValue.V, d.Change, d.Good}); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.aggregation, c.polarity, diff)
		}
	}
	young := slices.DeleteFunc(slices.Clone(points), func(p client.Point) bool { at := p.TS.Or(now); return at.Month() == 7 && at.Day() < 10 })
	if d := (metric{series.Metric{Aggregation: client.MetricsAggregationSum}}).Compare(young, w); d.Change != "" || d.SoFar.V != 100 {
		t.Errorf("a metric that began in the period before has grown: %+v", d)
	}
	first := month.Window(period.Day, time.Date(2026, 8, 1, 9, 0, 0, 0, time.UTC)) // no day of the month has ended yet
	if d := (metric{series.Metric{Aggregation: client.MetricsAggregationSum}}).Compare(points, first); d.Change != "" || d.Value.V != 10 {
		t.Errorf("nothing is over yet: change %q, want none; value %v, want 10", d.Change, d.Value.V)
	}
}

// Ensure a goal's line is drawn only over the buckets whose values can be compared with the goal.
func TestGoalLine(t *testing.T) {
	t.Parallel()
	goal := func(due time.Time) []client.Goal {
		return []client.Goal{{Status: client.Value(client.ContextGoalStatusActive), TargetValue: client.Value(40.0), DueAt: client.Value(due)}}
	}
	inAugust, inMay, later := now.AddDate(0, 0, 15), now.AddDate(0, -3, 0), now.AddDate(1, 0, 0)
	for _, c := range []struct {
		name        string
		aggregation client.MetricsAggregation
		rng         string
		grain       period.Grain
		due         time.Time
		from, to    int // -1: no line
	}{
		{"a month's total over days", client.MetricsAggregationSum, "month", period.Day, inAugust, -1, -1},
		{"a month's total over weeks", client.MetricsAggregationSum, "90d", period.Week, inAugust, -1, -1},
		{"a month's total over months", client.MetricsAggregationSum, "12m", period.Month, inAugust, 11, 11},
		{"a total of an earlier month", client.MetricsAggregationSum, "12m", period.Month, inMay, 8, 8},
		{"a total of a later month", client.MetricsAggregationSum, "12m", period.Month, later, -1, -1},
		{"a level over days", client.MetricsAggregationAvg, "month", period.Day, later, 0, 30},
		{"a level that is due in the range", client.MetricsAggregationLast, "month", period.Day, inAugust, 0, 25},
		{"a level that was due before", client.MetricsAggregationLast, "month", period.Day, inMay, -1, -1},
	} {
		r, err := period.ParseRange(c.rng, "", "", now)
		if err != nil {
			t.Fatal(err)
		}
		m := metric{series.Metric{Aggregation: c.aggregation, Goals: goal(c.due)}}
		line := m.goalLine(units.Unit{}, r.Window(c.grain, now))
		if (line == nil) != (c.from < 0) || line != nil && (line.From != c.from || line.To != c.to) {
			t.Errorf("%s: line %+v, want from %d to %d (-1: no line)", c.name, line, c.from, c.to)
		}
	}
}

// Ensure splitting a metric by a dimension counts no value twice. If some series have only that
// dimension, series with additional dimensions are left out.
func TestParts(t *testing.T) {
	t.Parallel()
	r, _ := period.ParseRange("month", "", "", now)
	w := r.Window(period.Day, now)
	points := []client.Point{
		on(1, 10, of("a", `{"plan":"team"}`)), on(1, 30, of("b", `{"plan":"solo"}`)),
		on(1, 4, of("c", `{"plan":"team","country":"de"}`)), on(1, 6, of("d", `{"plan":"team","country":"us"}`)), on(1, 40, of("e", `{}`)),
	}
	for dimension, want := range map[string]string{"plan": "solo 30 75 %, team 10 25 %", "country": "us 6 60 %, de 4 40 %"} {
		m := metric{series.Metric{Aggregation: client.MetricsAggregationSum, UnitName: units.Count}}
		var got []string
		for _, p := range m.parts(points, byDimension(dimension), w).List {
			got = append(got, p.Name+" "+p.Text()+" "+p.Percent())
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %s", dimension, got, want)
		}
	}
}

// Ensure a CSV file contains money in whole units of its currency, and no string that a spreadsheet
// would run as a formula.
func TestCells(t *testing.T) {
	t.Parallel()
	for currency, want := range map[string]string{"EUR": "12.34", "JPY": "1234", "KWD": "1.234"} {
		unit := units.Unit{Name: units.Currency, Currency: currency}
		if got := csvValue(unit, chart.Value{V: 1234, OK: true}); got != want {
			t.Errorf("%s: %s, want %s", currency, got, want)
		}
	}
	ratio := units.Unit{Name: units.Ratio}
	if got := csvValue(ratio, chart.Value{V: 0.125, OK: true}); got != "0.125" {
		t.Errorf("a ratio of 0.125 is %q", got)
	}
	if got := csvValue(ratio, chart.Value{}); got != "" {
		t.Errorf("no value is %q, want an empty cell", got)
	}
	for text, want := range map[string]string{"=1+1": "'=1+1", "@x": "'@x", "-5": "'-5", "de": "de", "": ""} {
		if got := escapeFormula(text); got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
}

// Ensure metrics with an active goal come first. A goal must be matched to its metric whether or
// not the metric's key has the prefix "custom.".
func TestOrderOfMetrics(t *testing.T) {
	t.Parallel()
	goal := func(key string, status client.ContextGoalStatus) client.Goal {
		return client.Goal{MetricKey: client.Value(key), Status: client.Value(status), TargetValue: client.Value(math.Pi)}
	}
	all := metricsOf([]client.Definition{{Key: "a.plain"}, {Key: "b.missed"}, {Key: "custom.c.goal"}, {Key: "a.new", NeedsReview: client.Value(true)}, {Key: "d.archived"}},
		[]client.Goal{goal("b.missed", client.ContextGoalStatusMissed), goal("c.goal", client.ContextGoalStatusActive), goal("d.archived", client.ContextGoalStatusArchived)})
	var keys []string
	for _, m := range all {
		keys = append(keys, m.Key)
	}
	if got := strings.Join(keys, " "); got != "custom.c.goal b.missed a.plain d.archived a.new" {
		t.Errorf("order %q", got)
	}
	if target, ok := all[0].Target(); !ok || target != math.Pi {
		t.Errorf("target %v (%t), want that of custom.c.goal", target, ok)
	}
	if _, ok := all[1].Target(); ok {
		t.Error("a missed goal is a target")
	}
}
