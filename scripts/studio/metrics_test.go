package studio

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

var now = time.Date(2026, 8, 11, 9, 30, 0, 0, time.UTC)

// pointOn returns a metric point for the given day of August 2026.
func pointOn(day int, value float64, more ...func(*client.Point)) client.Point {
	p := client.Point{
		SeriesID: "s", MetricKey: "a.b", Grain: client.Value(client.MetricsGrainDay), TS: client.Value(time.Date(2026, 8, day, 0, 0, 0, 0, time.UTC)),
		Value: client.Value(value),
	}
	for _, f := range more {
		f(&p)
	}
	return p
}

func withDims(series, dims string) func(*client.Point) {
	return func(p *client.Point) {
		p.SeriesID = series
		if err := json.Unmarshal([]byte(dims), &p.Dims); err != nil {
			panic(err)
		}
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
		m := metric{Metric: series.Metric{Aggregation: c.aggregation, Goals: goal(c.due)}}
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
		pointOn(1, 10, withDims("a", `{"plan":"team"}`)), pointOn(1, 30, withDims("b", `{"plan":"solo"}`)),
		pointOn(1, 4, withDims("c", `{"plan":"team","country":"de"}`)), pointOn(1, 6, withDims("d", `{"plan":"team","country":"us"}`)), pointOn(1, 40, withDims("e", `{}`)),
	}
	for dimension, want := range map[string]string{"plan": "solo 30 75 %, team 10 25 %", "country": "us 6 60 %, de 4 40 %"} {
		m := metric{Metric: series.Metric{Aggregation: client.MetricsAggregationSum, UnitName: units.Count}}
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
