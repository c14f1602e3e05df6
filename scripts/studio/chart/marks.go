package chart

import (
	"fmt"
	"html/template"
	"strings"
)

// Lane is a row of marks below the line, one for each kind of dated record.
type Lane struct {
	Class string // the CSS class of its marks
	Marks []Mark
}

// Mark shows what happened in one bucket. A user sees Texts when hovering over the mark or focusing
// it.
type Mark struct {
	Bucket int
	Texts  []string // one for each record
}

const (
	laneHeight = 18.0
	laneGap    = 6.0 // between the axis and the first lane
)

// Symbol draws the symbol of a lane, for a legend. The shapes differ, so that nobody has to tell
// the colours apart. lane is the index of the lane in Line.Lanes.
func Symbol(class string, lane int) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="symbol" viewBox="0 0 14 14" aria-hidden="true"><path class="event %s" d="%s"/></svg>`, escape(class), symbol(lane, 7, 7)))
}

// symbol returns the outline of a lane's symbol: a triangle, a circle or a diamond.
func symbol(lane int, x, y float64) string {
	switch lane % 3 {
	case 0:
		return fmt.Sprintf("M%.1f %.1fl5.5 9.5h-11Z", x, y-5)
	case 1:
		return fmt.Sprintf("M%.1f %.1fa4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0Z", x-4.5, y)
	}
	return fmt.Sprintf("M%.1f %.1fl5.5 5.5l-5.5 5.5l-5.5-5.5Z", x, y-5.5)
}

// lanesHeight returns the height of all lanes together.
func (l Line) lanesHeight() float64 {
	if len(l.Lanes) == 0 {
		return 0
	}
	return laneGap + laneHeight*float64(len(l.Lanes))
}

// marks draws the lanes. Marks are focusable one by one with the arrow keys, like the points of the
// line.
func (d *drawing) marks() {
	for n, lane := range d.Lanes {
		if len(lane.Marks) == 0 {
			continue
		}
		y := d.height - d.bottom + laneGap + laneHeight*(float64(n)+0.5)
		d.printf(`<g class="points events">`)
		for _, m := range lane.Marks {
			d.mark(lane.Class, n, m, y)
		}
		d.printf(`</g>`)
	}
}

// mark draws one mark, with a line to the top of the chart and a tooltip. Both are visible while
// the mark is hovered or focused.
func (d *drawing) mark(class string, lane int, m Mark, y float64) {
	x := d.x(m.Bucket)
	bucketWidth := (d.width - d.left - rightMargin) / float64(max(1, len(d.Names)-1))
	width := min(24, max(bucketWidth, 10))
	lines := append([]string{d.Names[m.Bucket]}, m.Texts...)
	longest := 0
	for _, line := range lines {
		longest = max(longest, len([]rune(line)))
	}
	tipWidth, tipHeight := letter*float64(longest)+18, lineHeight*float64(len(lines))+10
	left, tipTop := max(0, min(max(d.left, x-tipWidth/2), d.width-tipWidth)), y-laneHeight/2-tipHeight-2
	d.printf(`<g class="point" tabindex="0" role="img" aria-label="%s"><path class="guide" d="M%.0f %gV%.0f"/><rect class="hit" x="%.0f" y="%.0f" width="%.0f" height="%g"/><path class="event %s" d="%s"/>`+
		`<g class="tip" transform="translate(%.0f %.0f)"><rect x="-9" y="-16" width="%.0f" height="%.0f" rx="6"/>`,
		escape(strings.Join(lines, ", ")), x, topMargin, y-laneHeight/2, x-width/2, y-laneHeight/2, width, laneHeight, class, symbol(lane, x, y), left+9, tipTop+16, tipWidth, tipHeight)
	for n, line := range lines {
		d.printf(`<text y="%g">%s</text>`, lineHeight*float64(n), escape(line))
	}
	d.printf(`</g></g>`)
}
