package series

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/studio/period"
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

func withCurrency(currency string) func(*client.Point) {
	return func(p *client.Point) { p.Currency = client.Value(currency) }
}

func withBaseValue(base float64) func(*client.Point) {
	return func(p *client.Point) { p.BaseValue = client.Value(base) }
}

// Ensure values in several currencies are drawn in the company's base currency if every point has a
// baseValue. If not, each currency is drawn separately.
func TestMoney(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		points []client.Point
		want   Money
	}{
		"none":                {nil, Money{}},
		"no currency":         {[]client.Point{pointOn(1, 5)}, Money{}},
		"one":                 {[]client.Point{pointOn(1, 5, withCurrency("JPY")), pointOn(2, 5, withCurrency("JPY"), withBaseValue(3))}, Money{Currency: "JPY"}},
		"two with base":       {[]client.Point{pointOn(1, 5, withCurrency("USD"), withBaseValue(4)), pointOn(2, 7, withCurrency("EUR"), withBaseValue(7))}, Money{Currency: "EUR", Base: true}},
		"two, base unknown":   {[]client.Point{pointOn(1, 5, withCurrency("USD"), withBaseValue(4)), pointOn(2, 7, withCurrency("GBP"), withBaseValue(8))}, Money{Base: true}},
		"two, one without":    {[]client.Point{pointOn(1, 5, withCurrency("USD"), withBaseValue(4)), pointOn(2, 7, withCurrency("EUR"))}, Money{Mixed: true}},
		"a currency and none": {[]client.Point{pointOn(1, 5, withCurrency("USD")), pointOn(2, 7)}, Money{Mixed: true}},
	} {
		if got := MoneyOf(c.points); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// Ensure an unfinished period is compared only with the corresponding part of the previous period.
// The period's value includes today, but the comparison does not.
func TestCompare(t *testing.T) {
	t.Parallel()
	month, err := period.ParseRange("month", "", "", now)
	if err != nil {
		t.Fatal(err)
	}
	w := month.Window(period.Day, now)
	var points []client.Point
	for day := 1; day <= 11; day++ {
		points = append(points, pointOn(day, 10))
	}
	for day := 1; day <= 31; day++ {
		p := pointOn(1, 5)
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
		d := Metric{UnitName: units.Count, Aggregation: c.aggregation, Polarity: c.polarity}.Compare(points, w)
		type comparison struct {
			Value, FinishedValue, Before float64
			Change, Good                 string
		}
		want := comparison{c.value, c.soFar, c.before, "+100\u00a0%", c.good}
		if diff := cmp.Diff(want, comparison{d.Value.V, d.FinishedValue.V, d.BeforeValue.V, d.Change, d.Good}); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.aggregation, c.polarity, diff)
		}
	}
	young := slices.DeleteFunc(slices.Clone(points), func(p client.Point) bool { at := p.TS.Or(now); return at.Month() == 7 && at.Day() < 10 })
	if d := (Metric{Aggregation: client.MetricsAggregationSum}).Compare(young, w); d.Change != "" || d.FinishedValue.V != 100 {
		t.Errorf("a metric that began in the period before has grown: %+v", d)
	}
	first := month.Window(period.Day, time.Date(2026, 8, 1, 9, 0, 0, 0, time.UTC)) // no day of the month has ended yet
	if d := (Metric{Aggregation: client.MetricsAggregationSum}).Compare(points, first); d.Change != "" || d.Value.V != 10 {
		t.Errorf("nothing is over yet: change %q, want none; value %v, want 10", d.Change, d.Value.V)
	}
}

// Ensure goals are sorted by priority, and goals of equal priority newest first.
func TestOrderOfGoals(t *testing.T) {
	t.Parallel()
	goal := func(name string, created int, priority client.Optional[int]) client.Goal {
		return client.Goal{
			Name: client.Value(name), MetricKey: client.Value("a.b"), Status: client.Value(client.ContextGoalStatusActive),
			CreatedAt: client.Value(now.AddDate(0, 0, created)), Priority: priority,
		}
	}
	none := client.Optional[int]{}
	all := Of([]client.Definition{{Key: "a.b"}}, []client.Goal{goal("old", 1, none), goal("new", 2, none), goal("important", 0, client.Value(1))})
	var names []string
	for _, g := range all[0].Goals {
		names = append(names, g.Name.Or(""))
	}
	if got := strings.Join(names, " "); got != "important new old" {
		t.Errorf("order %q", got)
	}
}

// Ensure metrics with an active goal come first. A goal must be matched to its metric whether or
// not the metric's key has the prefix "custom.".
func TestOrderOfMetrics(t *testing.T) {
	t.Parallel()
	goal := func(key string, status client.ContextGoalStatus) client.Goal {
		return client.Goal{MetricKey: client.Value(key), Status: client.Value(status), TargetValue: client.Value(math.Pi)}
	}
	all := Of([]client.Definition{{Key: "a.plain"}, {Key: "b.missed"}, {Key: "custom.c.goal"}, {Key: "a.new", NeedsReview: client.Value(true)}, {Key: "d.archived"}},
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
