package studio

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/period"
	"growthworkspace/scripts/studio/phrase"
	"growthworkspace/scripts/studio/series"
	"growthworkspace/scripts/studio/units"
	"growthworkspace/shared/client"
)

// partsView is a metric drawn as one line for each value of a dimension.
type partsView struct {
	metric

	Window    period.Window
	Dimension string
	List      []part // the parts, the largest first
	Omitted   int    // the number of parts that are not drawn
	Cut       bool   // whether some points were not read
	Chart     template.HTML
}

// part is the part of a metric that belongs to one value of a dimension.
type part struct {
	Name   string
	Unit   units.Unit
	Values []chart.Value // one value for each bucket
	Value  chart.Value   // the value for the whole period
	Share  float64       // the length of its bar, from 0 to 1
	Class  string
	Drawn  bool
}

// Text formats the value. It returns an empty string if there is no value.
func (p part) Text() string {
	if !p.Value.OK {
		return ""
	}
	return p.Unit.Text(p.Value.V)
}

// Dashed reports whether one of the lines has a dashed part.
func (v *partsView) Dashed() bool {
	return slices.ContainsFunc(v.List, func(p part) bool { return p.Drawn && hasDashedPart(v.Window, p.Values) })
}

// Percent formats the share as a percentage.
func (p part) Percent() string { return units.Number(p.Share*100, 0, 0) + " %" }

// partsDrawnMax is the maximum number of parts that are drawn as lines.
const partsDrawnMax = 6

// split is a way to divide a metric into parts. partOf returns the part to which a point belongs,
// or false if there is no such part.
type split struct {
	name   string
	partOf func(client.Point) (value string, has bool)
}

func byDimension(name string) split {
	return split{name, func(p client.Point) (string, bool) { value, has := series.DimsOf(p)[name]; return value, has }}
}

var byCurrency = split{"currency", func(p client.Point) (string, bool) { return p.Currency.Or("no currency"), true }}

func (s split) isCurrency() bool { return s.name == byCurrency.name }

// dimensionsOf returns the names of the dimensions that occur in a metric's definition or in its
// points.
func dimensionsOf(m metric, points []client.Point) []string {
	dimensions := map[string]bool{}
	for _, name := range m.Dimensions {
		dimensions[name] = true
	}
	for _, p := range points {
		for name := range series.DimsOf(p) {
			dimensions[name] = true
		}
	}
	return slices.Collect(maps.Keys(dimensions))
}

// parts divides the metric's points into parts and returns a view with one line for each part. If
// there are no parts, the view has no chart.
func (m metric) parts(points []client.Point, by split, w period.Window) *partsView {
	d := &partsView{metric: m, Window: w, Dimension: by.name}
	all := series.MoneyOf(points)
	for name, group := range by.groups(points) {
		p := part{Name: name, Unit: units.Unit{Name: m.UnitName, Currency: all.Currency}}
		money := all
		if by.isCurrency() {
			p.Unit.Currency = name
			if all.Mixed {
				money = series.MoneyOf(group)
			}
		}
		p.Values = m.sumOfSeries(group, money, w)
		p.Value = m.Combine(p.Values[:w.FutureIndex])
		d.List = append(d.List, p)
	}
	slices.SortFunc(d.List, func(a, b part) int { return cmp.Or(cmp.Compare(b.Value.V, a.Value.V), cmp.Compare(a.Name, b.Name)) })
	if len(d.List) > 0 {
		d.draw(units.Unit{Name: m.UnitName, Currency: all.Currency})
	}
	return d
}

// groups returns the points of each part. If some series have only this dimension, series with
// additional dimensions are left out, because their values would be counted twice.
func (s split) groups(points []client.Point) map[string][]client.Point {
	hasSingleDimension := !s.isCurrency() && slices.ContainsFunc(points, func(p client.Point) bool {
		_, has := s.partOf(p)
		return has && len(series.DimsOf(p)) == 1
	})
	out := map[string][]client.Point{}
	for _, p := range points {
		if name, has := s.partOf(p); has && (!hasSingleDimension || len(series.DimsOf(p)) == 1) {
			out[name] = append(out[name], p)
		}
	}
	return out
}

// sumOfSeries returns the value of each bucket. If several series have a value in a bucket, the
// metric's aggregation decides how their values are combined, because only some metrics can be
// added up.
func (m metric) sumOfSeries(points []client.Point, money series.Money, w period.Window) []chart.Value {
	bySeries := map[string][]client.Point{}
	for _, p := range points {
		bySeries[p.SeriesID] = append(bySeries[p.SeriesID], p)
	}
	values := make([]chart.Value, len(w.Buckets))
	for _, series := range bySeries {
		for i, v := range money.BucketValues(series, w.Buckets) {
			if v.OK {
				values[i] = m.Combine([]chart.Value{values[i], v})
			}
		}
	}
	return values
}

// draw makes the chart of the largest parts, and computes the share of every part.
func (v *partsView) draw(unit units.Unit) {
	w, l := v.Window, v.line(unit, v.Window)
	whole, largest := 0.0, 0.0
	for _, p := range v.List {
		whole += math.Abs(p.Value.V)
		largest = max(largest, math.Abs(p.Value.V))
	}
	if !v.Total() {
		whole = largest // if the values do not add up to a total, a bar shows the size relative to the largest part
	}
	for i := range v.List {
		p := &v.List[i]
		p.Class, p.Drawn = fmt.Sprintf("s%d", i), i < partsDrawnMax
		if whole > 0 {
			p.Share = math.Abs(p.Value.V) / whole
		}
		if p.Drawn {
			l.Series = append(l.Series, chart.Series{Name: p.Name, Values: p.Values})
		}
	}
	v.Omitted = max(0, len(v.List)-partsDrawnMax)
	l.Title = fmt.Sprintf("%s by %s, %s, UTC. %s. The table below has the values.", v.Name, v.Dimension, w.Text(w.Buckets, w.FutureIndex), phrase.Plural(len(v.List), "line", "lines"))
	v.Chart = l.SVG()
}
