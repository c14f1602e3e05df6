package demo

import (
	"math"
	"strings"
	"time"
)

const (
	historyDays   = 120
	historyWeeks  = 26
	historyMonths = 12
)

// metricDefinition describes a metric and how to generate its values. base is the value on the last
// day, growth is the change per day, and spread is the random deviation.
type metricDefinition struct {
	record               Record
	base, growth, spread float64
	decimals             int
	grains               string // the grains that have points: d for day, w for week, m for month
	dimension            string
	shares               map[string]float64
	dimensionValues      []string // the keys of shares, in the order in which points are added
	currency             string
}

var countryDimension = metricDefinition{dimension: "country", dimensionValues: []string{"de", "pt", "gb", "us"}, shares: map[string]float64{"de": .24, "pt": .12, "gb": .2, "us": .44}}

var pricePlanDimension = metricDefinition{dimension: "plan", dimensionValues: []string{"solo", "team", "estate"}, shares: map[string]float64{"solo": .3, "team": .5, "estate": .2}}

func newMetric(key, name, unit, aggregation, polarity, kind, description string, more Record) Record {
	record := Record{"key": key, "name": name, "unit": unit, "aggregation": aggregation, "polarity": polarity, "kind": kind, "description": description, "source": "product database", "needsReview": false}
	for k, v := range more {
		record[k] = v
	}
	return record
}

func metricDefinitions() []metricDefinition {
	return []metricDefinition{
		{record: newMetric("growth.signups", "Sign-ups", "count", "sum", "up_is_good", "measured", "Teams that made their first notebook.", Record{"dimensions": []string{"country"}}), base: 34, growth: .004, spread: .25, grains: "dwm", dimension: countryDimension.dimension, dimensionValues: countryDimension.dimensionValues, shares: countryDimension.shares},
		{record: newMetric("growth.activations", "Activations", "count", "sum", "up_is_good", "measured", "Teams that wrote ten notes in their first week.", nil), base: 19, growth: .005, spread: .3, grains: "dw"},
		{record: newMetric("growth.activation_rate", "Activation rate", "ratio", "none", "up_is_good", "derived", "Activations per sign-up.", Record{"formula": "growth.activations / growth.signups", "source": nil})},
		{record: newMetric("revenue.mrr", "Monthly recurring revenue", "currency_minor", "last", "up_is_good", "measured", "At the end of the day, in US cents; baseValue in euro cents.", nil), base: 4_816_000, growth: .0022, spread: .004, grains: "dm", currency: "USD"},
		{record: newMetric("revenue.new_by_plan", "New revenue by plan", "currency_minor", "sum", "up_is_good", "split", "New subscriptions, split by plan.", Record{"dimensions": []string{"plan"}}), base: 71_000, growth: .003, spread: .35, grains: "d", dimension: pricePlanDimension.dimension, dimensionValues: pricePlanDimension.dimensionValues, shares: pricePlanDimension.shares, currency: "EUR"},
		{record: newMetric("revenue.refunds", "Refunds", "currency_minor", "sum", "down_is_good", "measured", "Money given back.", Record{"source": "payments"}), base: 2_400, growth: -.003, spread: .8, grains: "dm", currency: "EUR"},
		{record: newMetric("product.daily_active", "Active people", "count", "avg", "up_is_good", "measured", "People who wrote or read a note on the day.", nil), base: 8_140, growth: .002, spread: .06, grains: "dw"},
		{record: newMetric("product.sync_time", "Sync time", "duration_ms", "avg", "down_is_good", "measured", "Median of the day, on phones.", Record{"source": "telemetry"}), base: 940, growth: -.005, spread: .12, grains: "d"},
		{record: newMetric("product.storage", "Stored notes", "bytes", "last", "neutral", "measured", "All notebooks with their pictures.", Record{"source": "telemetry"}), base: 6.1e12, growth: .0035, spread: .002, grains: "wm"},
		{record: newMetric("support.first_reply", "First reply", "duration_ms", "avg", "down_is_good", "measured", "Median time to a person's first answer.", Record{"source": "helpdesk"}), base: 7_900_000, growth: -.001, spread: .3, grains: "d"},
		{record: newMetric("store.rating", "Store rating", "score", "avg", "up_is_good", "measured", "Mean of the day's reviews in both stores.", Record{"source": "stores"}), base: 4.5, growth: .0005, spread: .08, decimals: 1, grains: "dw"},
		{record: Record{"key": "custom.widget_pins", "needsReview": true, "source": "push"}, base: 120, growth: .01, spread: .4, grains: "d"},
		{record: Record{"key": "custom.trail_exports", "needsReview": true, "source": "push"}, base: 9, growth: 0, spread: .9, grains: "d"},
	}
}

func (g *generator) addMetrics() {
	for n, d := range metricDefinitions() {
		age := float64(360 - 10*n)
		if d.record["needsReview"] == true {
			age = float64(6 - n%3)
		}
		g.add("metric-definition", withTimes(d.record, g.timeAgo(age), g.timeAgo(age/2)))
		days := historyDays
		if d.record["needsReview"] == true {
			days = 5
		}
		g.addPoints(d, days)
	}
}

// addPoints adds the points of a metric. If the metric has daily points, dayCount is their number,
// and the last one is for today. Weeks and months get points only if they start before the first
// daily point, or if there are no daily points. Their values are computed from daily values, so the
// daily, weekly and monthly points of a period agree.
func (g *generator) addPoints(d metricDefinition, dayCount int) {
	values := map[time.Time]float64{}
	draw := func(daysAgo int) time.Time {
		day := g.today.AddDate(0, 0, -daysAgo)
		values[day] = g.metricValue(d, day, daysAgo)
		return day
	}
	first := g.today.AddDate(0, 0, 1) // the first day with a point
	if strings.Contains(d.grains, "d") {
		first = g.today.AddDate(0, 0, 1-dayCount)
		for daysAgo := dayCount - 1; daysAgo >= 0; daysAgo-- {
			day := draw(daysAgo)
			g.addDay(d, day, values[day])
		}
	}
	if !strings.ContainsAny(d.grains, "wm") {
		return
	}
	for daysAgo := len(values); daysAgo < historyMonths*31+31; daysAgo++ {
		draw(daysAgo)
	}
	if strings.Contains(d.grains, "w") {
		monday := g.today.AddDate(0, 0, -(int(g.today.Weekday())+6)%7)
		for i := -historyWeeks; i < 0; i++ {
			if start := monday.AddDate(0, 0, 7*i); start.Before(first) {
				g.addPoint(d, "week", start, nil, d.combineDays(values, start, start.AddDate(0, 0, 7)))
			}
		}
	}
	if strings.Contains(d.grains, "m") {
		month := g.today.AddDate(0, 0, 1-g.today.Day())
		for i := -historyMonths; i < 0; i++ {
			if start := month.AddDate(0, i, 0); start.Before(first) {
				g.addPoint(d, "month", start, nil, d.combineDays(values, start, start.AddDate(0, 1, 0)))
			}
		}
	}
}

// combineDays combines the values of the days from start up to, but not including, end. It does
// this as the service does.
func (d metricDefinition) combineDays(values map[time.Time]float64, start, end time.Time) float64 {
	sum, days := 0.0, 0.0
	for day := start; day.Before(end); day = day.AddDate(0, 0, 1) {
		if d.record["aggregation"] == "last" {
			sum = 0
		}
		sum, days = sum+values[day], days+1
	}
	if d.record["aggregation"] == "avg" {
		return sum / days
	}
	return sum
}

// usdInEUR is the demo company's exchange rate.
const usdInEUR = 0.92

// metricValue returns a metric's value for a day.
func (g *generator) metricValue(d metricDefinition, day time.Time, daysAgo int) float64 {
	value := d.base * math.Pow(1+d.growth, -float64(daysAgo)) * (1 + d.spread*(2*g.random.Float64()-1))
	if d.record["aggregation"] == "sum" && (day.Weekday() == time.Saturday || day.Weekday() == time.Sunday) {
		value *= .6 // weekends are quieter
	}
	return value
}

// addDay adds one point for a day or, if the metric has a dimension, one point for each value of
// the dimension.
func (g *generator) addDay(d metricDefinition, start time.Time, value float64) {
	if d.dimension == "" {
		g.addPoint(d, "day", start, nil, value)
		return
	}
	for _, name := range d.dimensionValues {
		g.addPoint(d, "day", start, Record{d.dimension: name}, value*d.shares[name])
	}
}

func (g *generator) addPoint(d metricDefinition, grain string, start time.Time, dims Record, value float64) {
	scale := math.Pow(10, float64(d.decimals))
	value = math.Round(value*scale) / scale
	if d.decimals > 0 {
		value = min(value, 5)
	}
	ingested := start.Add(26*time.Hour + 11*time.Minute)
	if ingested.After(g.now) {
		ingested = g.now
	}
	record := Record{
		"metricKey": d.record["key"], "grain": grain, "ts": formatTime(start), "value": value,
		"source": d.record["source"], "ingestedAt": formatTime(ingested),
	}
	if dims != nil {
		record["dims"] = dims
	}
	if d.currency != "" {
		record["currency"], record["baseValue"] = d.currency, value
		if d.currency == "USD" {
			record["baseValue"] = math.Round(value * usdInEUR)
		}
	}
	g.add("metric-point", record)
}
