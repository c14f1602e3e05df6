package overview

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"growthworkspace/shared/fault"
)

// definition is what the rules read of a metric's definition.
type definition struct {
	ID          string
	Key         string
	Name        *string
	Unit        *string
	Aggregation *string
	Polarity    *string
	Kind        *string
	NeedsReview *bool
	CreatedAt   *string
	UpdatedAt   *string
}

func (d definition) isDerived() bool { return value(d.Kind, "") == "derived" }

// combines reports whether days of the metric combine.
func (d definition) combines() bool {
	return d.Aggregation != nil && *d.Aggregation != "none" && !d.isDerived()
}

// bareKey returns the key without the prefix that a key specific to the company has. Both name the
// same metric.
func bareKey(key string) string { return strings.TrimPrefix(key, "custom.") }

// point is what the rules read of a point.
type point struct {
	TS        string
	Value     *float64
	Currency  *string
	BaseValue *float64
}

func (p point) day() string { return p.TS[:len(time.DateOnly)] }

// Comparison compares a value of a metric with an earlier one.
type Comparison struct {
	Value    *float64 `json:"value" doc:"the value; null when it has none, or when its days do not combine"`
	Previous *float64 `json:"previous" doc:"the value of as many days before"`
	Change   *float64 `json:"change" doc:"(value - previous) / |previous|, to four decimals; null when previous is null or 0"`
	Better   *bool    `json:"better" doc:"whether the change is one for the better; null when it has no direction"`
}

func (d definition) compare(now, before *float64) Comparison {
	out := Comparison{Value: now, Previous: before}
	if now == nil || before == nil || *before == 0 {
		return out
	}
	out.Change = new(math.Round((*now-*before)/math.Abs(*before)*1e4) / 1e4)
	switch difference := *now - *before; {
	case difference == 0:
	case value(d.Polarity, "") == "up_is_good":
		out.Better = new(difference > 0)
	case value(d.Polarity, "") == "down_is_good":
		out.Better = new(difference < 0)
	}
	return out
}

// OverviewMetric is a metric with its value of seven days.
type OverviewMetric struct {
	Key  string  `json:"key" doc:"the metric's key"`
	Name string  `json:"name" doc:"its name, or its key; at most 80 characters"`
	Unit *string `json:"unit" doc:"the unit of the values"`
	Comparison
	Through *string `json:"through" doc:"the last of the seven days, the newest whole day with a value; null when there is none"`
}

// Limits of what is read of the metrics.
const (
	overviewMetricsMax = 12
	definitionsMax     = 1000
	weekDays           = 7
	pointDays          = 28 // how far back daily points are read
)

// Numbers of the rule for stale metrics: a metric with a value on at least dailyMin of the dailyDays
// that end with its newest one is daily, and a daily metric is stale when the newest value is more
// than staleAfterDays old.
const (
	dailyDays      = 14
	dailyMin       = 7
	staleAfterDays = 3
)

func (r *reader) startDefinitions() *records[definition] {
	return startList[definition](r, "list_metric_definitions", map[string]any{"limit": pageMax}, definitionsMax, nil)
}

// measured is a metric with its goals, and the points that are read of it.
type measured struct {
	definition
	goals        []goal
	days, months *records[point]
	weeks        *records[point]
}

// chooseMetrics returns the metrics that are read: those of active goals, in the order of the goals,
// and then those whose definitions changed last.
func chooseMetrics(definitions []definition, goals []goal, most int) (out []*measured) {
	byKey := map[string][]goal{}
	for _, g := range goals {
		if g.MetricKey != nil && g.isActive() {
			byKey[bareKey(*g.MetricKey)] = append(byKey[bareKey(*g.MetricKey)], g)
		}
	}
	for _, d := range definitions {
		m := &measured{definition: d, goals: byKey[bareKey(d.Key)]}
		if !d.isDerived() && (d.combines() || len(m.goals) > 0) {
			out = append(out, m)
		}
	}
	rank := func(m *measured) int {
		if len(m.goals) == 0 {
			return len(goals)
		}
		return slices.IndexFunc(goals, func(g goal) bool { return g.ID == m.goals[0].ID })
	}
	slices.SortStableFunc(out, func(a, b *measured) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(value(b.UpdatedAt, ""), value(a.UpdatedAt, "")),
			cmp.Compare(a.Key, b.Key))
	})
	return out[:min(len(out), most)]
}

// startPoints starts reading the totals of a metric between two days.
func (r *reader) startPoints(key, grain string, from, to time.Time) *records[point] {
	return startList[point](r, "list_metric_points", map[string]any{
		"metricKey": key, "grain": grain, "total": true,
		"from": from.Format(time.DateOnly), "to": to.Format(time.DateOnly),
	}, countMax, nil).allowing(isRefused)
}

// isRefused accepts that a metric has no total, because its series do not combine.
func isRefused(err error) bool { return fault.PublicError(err).Code == fault.BadRequest }

// valueOf combines the points of days. It returns nil if no day has a value.
func (d definition) valueOf(days []point) *float64 {
	days = slices.DeleteFunc(slices.Clone(days), func(p point) bool { return p.Value == nil })
	if len(days) == 0 || !d.combines() {
		return nil
	}
	if *d.Aggregation == "last" {
		return slices.MaxFunc(days, func(a, b point) int { return cmp.Compare(a.TS, b.TS) }).Value
	}
	values, ok := amounts(days)
	if !ok {
		return nil
	}
	switch *d.Aggregation {
	case "min":
		return new(slices.Min(values))
	case "max":
		return new(slices.Max(values))
	}
	total := new(big.Rat)
	for _, v := range values {
		total.Add(total, new(big.Rat).SetFloat64(v))
	}
	if *d.Aggregation == "avg" {
		total.Quo(total, big.NewRat(int64(len(values)), 1))
	}
	rounded, _ := total.Float64() // rounded once, as a roll-up is
	return &rounded
}

// amounts returns the values of days or, if the days have several currencies, those in the base
// currency. ok is false if a day has none.
func amounts(days []point) (values []float64, ok bool) {
	currency := value(days[0].Currency, "")
	isMixed := slices.ContainsFunc(days, func(p point) bool { return value(p.Currency, "") != currency })
	for _, p := range days {
		if isMixed && p.BaseValue == nil {
			return nil, false
		}
		if isMixed {
			values = append(values, *p.BaseValue)
		} else {
			values = append(values, *p.Value)
		}
	}
	return values, true
}

// between returns the points of the days from first to last.
func between(points []point, first, last time.Time) (out []point) {
	from, to := first.Format(time.DateOnly), last.Format(time.DateOnly)
	for _, p := range points {
		if day := p.day(); day >= from && day <= to {
			out = append(out, p)
		}
	}
	return out
}

// newestDay returns the newest day up to today's yesterday that has a value.
func newestDay(points []point, yesterday time.Time) (day time.Time, ok bool) {
	for _, p := range points {
		at, err := time.Parse(time.DateOnly, p.day())
		if p.Value != nil && err == nil && !at.After(yesterday) && (!ok || at.After(day)) {
			day, ok = at, true
		}
	}
	return day, ok
}

// sevenDays returns the metric with the value of the seven days that end on its newest whole day.
func (m *measured) sevenDays(yesterday time.Time) OverviewMetric {
	out := OverviewMetric{Key: m.Key, Name: excerpt(value(m.Name, m.Key), titleCharsMax), Unit: m.Unit}
	last, ok := newestDay(m.days.all, yesterday)
	if !ok {
		return out
	}
	out.Through = new(last.Format(time.DateOnly))
	days := func(end time.Time) *float64 {
		return m.valueOf(between(m.days.all, end.AddDate(0, 0, 1-weekDays), end))
	}
	out.Comparison = m.compare(days(last), days(last.AddDate(0, 0, -weekDays)))
	return out
}

// staleSince returns the metric's newest day if the metric is daily and stale.
func (m *measured) staleSince(yesterday time.Time) (day time.Time, stale bool) {
	day, ok := newestDay(m.days.all, yesterday)
	if !ok {
		return day, false
	}
	n := 0
	for _, p := range between(m.days.all, day.AddDate(0, 0, 1-dailyDays), day) {
		if p.Value != nil {
			n++
		}
	}
	return day, n >= dailyMin && day.Before(yesterday.AddDate(0, 0, 1-staleAfterDays))
}

func metricsToAttend(definitions *records[definition], metrics []*measured, yesterday time.Time) []Attention {
	var stale, unconfirmed []AttentionItem
	for _, m := range metrics {
		if day, isStale := m.staleSince(yesterday); isStale {
			at := day.Format(time.DateOnly) + "T00:00:00.000Z"
			stale = append(stale, item(m.ID, nil, &at, "no value since "+day.Format(time.DateOnly), m.Name, &m.Key))
		}
	}
	for _, d := range definitions.all {
		if value(d.NeedsReview, false) {
			unconfirmed = append(unconfirmed, item(d.ID, nil, d.CreatedAt, "created by a push: "+d.Key, d.Name, &d.Key))
		}
	}
	return []Attention{
		attentionOf(KindMetricStale, oldestFirst(stale), false),
		attentionOf(KindMetricToConfirm, oldestFirst(unconfirmed), definitions.more),
	}
}
