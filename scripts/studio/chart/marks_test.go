package chart

import (
	"strings"
	"testing"
)

// Ensure marks are drawn below the axis in both sizes. Each mark must be reachable by keyboard and
// readable by a screen reader. Lanes must make a chart taller without moving its line.
func TestMarks(t *testing.T) {
	t.Parallel()
	plain := string(sample().SVG())
	l := sample()
	l.Lanes = []Lane{
		{Class: "releases", Marks: []Mark{{Bucket: 0, Texts: []string{"Roadmap <published>"}}}},
		{Class: "posts"},
		{Class: "audits", Marks: []Mark{{Bucket: 3, Texts: []string{"SEO 65", "SEO 80"}}}},
	}
	text := string(l.SVG())
	checkWellFormed(t, text)
	for _, want := range []string{`aria-label="Sun, Nov 1, Roadmap &lt;published&gt;"`, `aria-label="Wed, Nov 4, SEO 65, SEO 80"`, `class="event releases"`, `class="event audits"`} {
		if n := strings.Count(text, want); n != len(sizes) {
			t.Errorf("%s is there %d times, want %d", want, n, len(sizes))
		}
	}
	if strings.Contains(text, `class="event posts"`) || strings.Contains(text, "style=") || strings.Contains(text, "fill=") {
		t.Error("a lane without marks is drawn, or a mark has a style:", text)
	}
	if !strings.Contains(plain, `viewBox="0 0 960 300"`) || !strings.Contains(text, `viewBox="0 0 960 360"`) {
		t.Error("the height is not that of the chart and its lanes")
	}
	line := func(s string) string {
		_, s, _ = strings.Cut(s, `class="line s0" d="`)
		s, _, _ = strings.Cut(s, `"`)
		return s
	}
	if line(plain) != line(text) {
		t.Errorf("the line is at %s with marks, and at %s without", line(text), line(plain))
	}
}

// Ensure the symbols of the lanes differ in shape, for people who cannot tell their colours apart.
func TestSymbols(t *testing.T) {
	t.Parallel()
	shapes := map[string]bool{}
	for lane := range 3 {
		checkWellFormed(t, string(Symbol("x", lane)))
		shapes[symbol(lane, 7, 7)] = true
	}
	if len(shapes) != 3 {
		t.Errorf("%d shapes, want 3", len(shapes))
	}
}
