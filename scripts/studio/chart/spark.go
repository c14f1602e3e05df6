package chart

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// Spark draws values as a small line without an axis. The line fills the width of its box.
// openIndex is the index of the first value that is not final, because its bucket has not ended.
func Spark(title string, values []Value, openIndex int) template.HTML {
	const width, height, edge = 100.0, 30.0, 2.0
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v.OK {
			low, high = min(low, v.V), max(high, v.V)
		}
	}
	if low > high {
		return ""
	}
	y := func(v float64) float64 {
		if high == low {
			return height / 2
		}
		return edge + (height-2*edge)*(1-(v-low)/(high-low))
	}
	path := func(from, to int) string {
		var p strings.Builder
		pen := "M"
		for i := from; i < to; i++ {
			if !values[i].OK {
				pen = "M"
				continue
			}
			fmt.Fprintf(&p, "%s%.1f %.1f", pen, width*float64(i)/float64(max(1, len(values)-1)), y(values[i].V))
			pen = "L"
		}
		return p.String()
	}
	rest := ""
	if openIndex < len(values) {
		rest = `<path class="line s0 open" d="` + path(max(0, openIndex-1), len(values)) + `"/>`
	}
	return template.HTML(fmt.Sprintf(`<svg class="spark" viewBox="0 0 %g %g" preserveAspectRatio="none" role="img"><title>%s</title>`+
		`<path class="line s0" d="%s"/>%s</svg>`, width, height, escape(title), path(0, min(openIndex, len(values))), rest))
}

// Bar draws a share of a whole as a bar. share is a number from 0 to 1.
func Bar(class string, share float64) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">`+
		`<rect class="rail" width="100" height="6"/><rect class="fill %s" width="%.1f" height="6"/></svg>`, escape(class), 100*min(1, max(0, share))))
}
