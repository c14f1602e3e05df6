// Package chart draws values as SVG: lines, sparklines and bars. It writes CSS classes and no
// inline styles. So the stylesheet can set different colours for the light and the dark theme, and
// a strict Content-Security-Policy allows every drawing.
package chart

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"growthworkspace/scripts/studio/units"
)

// Value is one value of a series, or a gap if OK is false.
type Value struct {
	V  float64
	OK bool
}

// Series is one line of a chart.
type Series struct {
	Name   string
	Values []Value // one value for each bucket of the horizontal axis
}

// Goal is a dashed line across the chart. From and To are the indexes of its first and last bucket.
type Goal struct {
	Text     string
	Value    float64
	From, To int
}

// Line is a line chart. The horizontal axis is divided into buckets, such as days, and each series
// has one value for each bucket.
type Line struct {
	Title       string // for screen readers
	Unit        units.Unit
	IncludeZero bool     // whether the vertical axis must include 0
	Ticks       []string // short labels of the buckets
	Names       []string // full labels of the buckets
	Series      []Series
	Before      []Value // the values of the previous period, drawn in grey; may be empty
	Goal        *Goal
	OpenIndex   int // the index of the first unfinished bucket, such as the current month
	Lanes       []Lane
}

// size is the size of a drawing in SVG user units. Each chart is drawn in two sizes, and the
// stylesheet shows the one that fits the screen. So the labels have about the same size on every
// screen.
type size struct {
	class         string
	width, height float64
	labels        int // the maximum number of labels on the horizontal axis
}

var sizes = []size{{"wide", 960, 300, 8}, {"narrow", 358, 240, 4}}

const (
	topMargin, rightMargin = 14.0, 12.0
	axis                   = 28.0 // the height of the labels of the horizontal axis
	letter                 = 7.0  // the average width of a letter
	lineHeight             = 17.0
)

// SVG draws the chart.
func (l Line) SVG() template.HTML {
	var out strings.Builder
	for _, s := range sizes {
		s.height += l.lanesHeight()
		d := &drawing{Line: l, size: s, out: &out, bottom: axis + l.lanesHeight()}
		d.draw()
	}
	return template.HTML(out.String())
}

type drawing struct {
	Line
	size

	out       *strings.Builder
	yTicks    []float64
	left      float64
	bottom    float64 // the height of the area below the horizontal axis
	low, high float64
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(d.out, format, args...) }

func (d *drawing) draw() {
	d.scale()
	d.printf(`<svg class="chart %s" viewBox="0 0 %g %g"><g role="img"><title>%s</title>`, d.class, d.width, d.height, escape(d.Title))
	d.grid()
	d.path("before", d.Before, 0, len(d.Before))
	if len(d.Series) == 1 {
		d.area(d.Series[0].Values)
	}
	for i, s := range d.Series {
		name := fmt.Sprintf("line s%d", i)
		d.path(name, s.Values, 0, min(d.OpenIndex, len(s.Values)))
		if d.OpenIndex < len(s.Values) {
			d.path(name+" open", s.Values, max(0, d.OpenIndex-1), len(s.Values))
		}
	}
	d.goal()
	d.printf(`</g><g class="points">`)
	every := d.pointStep()
	for i := range d.Names {
		if (len(d.Names)-1-i)%every == 0 { // count from the end, so that the last and most interesting bucket has a label
			d.point(i, every)
		}
	}
	d.printf(`</g>`)
	d.marks()
	d.printf(`</svg>`)
}

// pointWidthMin is the minimum width of the area that a finger can tap to choose a point of a
// narrow chart. If there are more points than fit, some cannot be chosen, but the table below the
// chart lists every value.
const pointWidthMin = 8

// pointStep returns the step between the points that a user can choose: 1 means every point, 2
// means every second point.
func (d *drawing) pointStep() int {
	bucketWidth := (d.width - d.left - rightMargin) / float64(max(1, len(d.Names)-1))
	if d.class != "narrow" || bucketWidth >= pointWidthMin {
		return 1
	}
	return int(math.Ceil(pointWidthMin / bucketWidth))
}

// scale sets the ticks and the range of the vertical axis, and the width of its labels.
func (d *drawing) scale() {
	low, high := math.Inf(1), math.Inf(-1)
	include := func(v float64) { low, high = min(low, v), max(high, v) }
	for _, values := range append([][]Value{d.Before}, valuesOf(d.Series)...) {
		for _, v := range values {
			if v.OK {
				include(v.V)
			}
		}
	}
	if d.Goal != nil {
		include(d.Goal.Value)
	}
	if low > high {
		low, high = 0, 0
	}
	if d.IncludeZero || low > 0 && low < high/2 {
		low = min(low, 0)
	}
	d.yTicks = d.Unit.Ticks(low, high)
	d.low, d.high = d.yTicks[0], d.yTicks[len(d.yTicks)-1]
	longest := 0
	for _, t := range d.yTicks {
		longest = max(longest, len([]rune(d.Unit.Short(t))))
	}
	d.left = letter*float64(longest) + 14
}

func valuesOf(all []Series) (out [][]Value) {
	for _, s := range all {
		out = append(out, s.Values)
	}
	return out
}

func (d *drawing) x(i int) float64 {
	if len(d.Names) == 1 {
		return d.left + (d.width-d.left-rightMargin)/2
	}
	return d.left + (d.width-d.left-rightMargin)*float64(i)/float64(len(d.Names)-1)
}

func (d *drawing) y(v float64) float64 {
	return topMargin + (d.height-topMargin-d.bottom)*(1-(v-d.low)/(d.high-d.low))
}

func (d *drawing) grid() {
	for _, t := range d.yTicks {
		y := d.y(t)
		d.printf(`<path class="grid" d="M%.1f %.1fH%.1f"/><text class="end" x="%.1f" y="%.1f">%s</text>`,
			d.left, y, d.width-rightMargin, d.left-8, y+4, escape(d.Unit.Short(t)))
	}
	every := (len(d.Ticks) + d.labels - 1) / d.labels
	for i := 0; i < len(d.Ticks); i += max(1, every) {
		class := "middle"
		if i == 0 && len(d.Ticks) > 1 {
			class = "start"
		}
		if d.x(i)+letter*float64(len(d.Ticks[i]))/2 > d.width {
			class = "end"
		}
		d.printf(`<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, d.x(i), d.height-8, escape(d.Ticks[i]))
	}
}

// path draws a line through the values of the buckets between from and to. The line has a gap where
// a value is missing.
func (d *drawing) path(class string, values []Value, from, to int) {
	var p strings.Builder
	pen := "M"
	segments := 0
	for i := from; i < to && i < len(d.Names); i++ {
		if !values[i].OK {
			pen = "M"
			continue
		}
		if pen == "M" {
			segments++
		}
		fmt.Fprintf(&p, "%s%.1f %.1f", pen, d.x(i), d.y(values[i].V))
		if pen = "L"; i+1 >= to || !values[min(i+1, len(values)-1)].OK {
			p.WriteString("h.01") // a very short line, so that a value between two gaps appears as a dot
		}
	}
	if segments > 0 {
		d.printf(`<path class="%s" d="%s"/>`, class, p.String())
	}
}

// area fills the area between a line and the axis, up to the last finished bucket. It fills nothing
// if the axis does not start at zero, because the area would then exaggerate the differences
// between values.
func (d *drawing) area(values []Value) {
	if d.low > 0 {
		return
	}
	for from := 0; from < min(d.OpenIndex, len(values)); from++ {
		to := from
		for to < min(d.OpenIndex, len(values)) && values[to].OK {
			to++
		}
		if to-from < 2 {
			continue
		}
		d.printf(`<path class="area" d="M%.1f %.1f`, d.x(from), d.y(max(d.low, 0)))
		for i := from; i < to; i++ {
			d.printf("L%.1f %.1f", d.x(i), d.y(values[i].V))
		}
		d.printf(`V%.1fZ"/>`, d.y(max(d.low, 0)))
		from = to
	}
}

func (d *drawing) goal() {
	if d.Goal == nil {
		return
	}
	y, from, to := d.y(d.Goal.Value), d.x(d.Goal.From), d.x(d.Goal.To)
	if d.Goal.From == d.Goal.To { // widen the line of a goal for a single bucket, so that the line is visible
		half := (d.width - d.left - rightMargin) / float64(2*max(2, len(d.Names)))
		from, to = from-half, to+half
	}
	textY := y - 6
	if textY < topMargin {
		textY = y + 14
	}
	d.printf(`<path class="goal" d="M%.1f %.1fH%.1f"/><text class="goal end" x="%.1f" y="%.1f">%s</text>`,
		max(d.left, from), y, min(d.width-rightMargin, to), min(d.width-rightMargin, to), textY, escape(d.Goal.Text))
}

// isIsolated reports whether the values before and after value i are missing. In that case the
// chart draws no line to value i.
func isIsolated(values []Value, i int) bool {
	return (i == 0 || !values[i-1].OK) && (i+1 >= len(values) || !values[i+1].OK)
}

// point draws what the chart shows when a user hovers over bucket i or focuses it. It draws nothing
// for a bucket without a value. step is the width, in buckets, of the area that reacts to the
// pointer.
func (d *drawing) point(i, step int) {
	lines := []string{d.Names[i]}
	var dots strings.Builder
	for n, s := range d.Series {
		if i >= len(s.Values) || !s.Values[i].OK {
			continue
		}
		text := d.Unit.Text(s.Values[i].V)
		if s.Name != "" {
			text = s.Name + ": " + text
		}
		class := ""
		switch {
		case i >= d.OpenIndex:
			text += " so far"
			class = " open"
		case isIsolated(s.Values, i):
			class = " alone"
		}
		lines = append(lines, text)
		fmt.Fprintf(&dots, `<circle class="dot s%d%s" cx="%.1f" cy="%.1f"/>`, n, class, d.x(i), d.y(s.Values[i].V))
	}
	if dots.Len() == 0 {
		return
	}
	if i < len(d.Before) && d.Before[i].OK {
		lines = append(lines, "before: "+d.Unit.Text(d.Before[i].V))
	}
	longest := 0
	for _, line := range lines {
		longest = max(longest, len([]rune(line)))
	}
	width := letter*float64(longest) + 18
	height := lineHeight*float64(len(lines)) + 10
	hitWidth := float64(step) * (d.width - d.left - rightMargin) / float64(max(1, len(d.Names)-1))
	from, to := max(d.left, d.x(i)-hitWidth/2), min(d.width-rightMargin, d.x(i)+hitWidth/2) // the area must not reach beyond the chart, where it would cover other controls
	x := min(max(d.left, d.x(i)-width/2), d.width-width)
	d.printf(`<g class="point" tabindex="0" role="img" aria-label="%s"><rect class="hit" x="%.1f" y="0" width="%.1f" height="%g"/>%s`+
		`<g class="tip" transform="translate(%.0f)"><rect x="-9" y="2" width="%.0f" height="%g" rx="6"/>`,
		escape(strings.Join(lines, ", ")), from, to-from, d.height-d.bottom, dots.String(), x+9, width, height)
	for n, line := range lines {
		d.printf(`<text y="%g">%s</text>`, 18+lineHeight*float64(n), escape(line))
	}
	d.printf(`</g></g>`)
}

func escape(text string) string { return template.HTMLEscapeString(text) }
