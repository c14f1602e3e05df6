package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"growthworkspace/scripts/studio/units"
)

func sample() Line {
	return Line{
		Title: `Sign-ups <b>"by day"`, Unit: units.Unit{Name: units.Count}, IncludeZero: true,
		Ticks: []string{"Nov 1", "Nov 2", "Nov 3", "Nov 4"}, Names: []string{"Sun, Nov 1", "Mon, Nov 2", "Tue, Nov 3", "Wed, Nov 4"},
		Series: []Series{{"", []Value{{3, true}, {}, {5, true}, {1, true}}}},
		Before: []Value{{2, true}, {2, true}, {4, true}, {6, true}},
		Goal:   &Goal{"goal <4>", 4, 0, 3}, OpenIndex: 3,
	}
}

// Ensure a drawing is well-formed XML no matter what its labels contain. It has no inline styles,
// because a strict Content-Security-Policy would block them. Every value can be reached by keyboard
// and read by a screen reader.
func TestLine(t *testing.T) {
	t.Parallel()
	text := string(sample().SVG())
	checkWellFormed(t, text)
	if strings.Contains(text, "style=") || strings.Contains(text, "fill=") || strings.Contains(text, "<b>") {
		t.Errorf("the drawing has a style, a fill or an unescaped text: %s", text)
	}
	for _, want := range []string{
		`role="img"><title>Sign-ups &lt;b&gt;`, `aria-label="Tue, Nov 3, 5, before: 4"`, `aria-label="Wed, Nov 4, 1 so far, before: 6"`, "goal &lt;4&gt;",
	} {
		if n := strings.Count(text, want); n != len(sizes) {
			t.Errorf("%s is there %d times, want %d", want, n, len(sizes))
		}
	}
	if n := strings.Count(text, `tabindex="0"`); n != 3*len(sizes) {
		t.Errorf("%d focusable points for 3 values in %d sizes", n, len(sizes))
	}
}

// Ensure the values of unfinished buckets are drawn as a separate line that starts at the last
// finished value.
func TestOpenPart(t *testing.T) {
	t.Parallel()
	text := string(sample().SVG())
	lines := regexp.MustCompile(`<path class="line s0( open)?" d="([^"]*)"`).FindAllStringSubmatch(text, -1)
	if len(lines) != 2*len(sizes) || lines[0][1] != "" || lines[1][1] == "" {
		t.Fatalf("%d parts, want a finished and an open one in each of %d sizes: %q", len(lines), len(sizes), lines)
	}
	if strings.Count(lines[0][2], "M") != 2 { // the line has a gap at Nov 2
		t.Errorf("the finished part is %s, want a gap at Nov 2", lines[0][2])
	}
	if strings.Count(lines[1][2], "M") != 1 || strings.Count(lines[1][2], "L") != 1 {
		t.Errorf("the open part is %s, want one line from the last finished value", lines[1][2])
	}
	all := sample()
	all.OpenIndex = len(all.Names)
	if strings.Contains(string(all.SVG()), "open") {
		t.Error("a finished period has an unfinished part")
	}
}

// Ensure the vertical axis includes zero if IncludeZero is set. If it is not set, the axis starts
// at zero only if the differences between the values stay visible.
func TestScale(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zero bool
		low  float64
		want float64
	}{{true, 90, 0}, {false, 90, 90}, {false, 40, 0}, {true, -5, -50}} {
		l := Line{IncludeZero: c.zero, Names: []string{"a", "b"}, Series: []Series{{"", []Value{{c.low, true}, {100, true}}}}, OpenIndex: 2}
		d := &drawing{Line: l, size: sizes[0]}
		d.scale()
		if d.low != c.want || d.high < 100 {
			t.Errorf("%+v: from %v to %v", c, d.low, d.high)
		}
	}
}

// Ensure drawings without any value, with one value and with equal values are well-formed and
// contain only finite numbers.
func TestFewValues(t *testing.T) {
	t.Parallel()
	for _, values := range [][]Value{nil, {{}}, {{7, true}}, {{0, true}, {0, true}}, {{-3, true}, {}}} {
		names := make([]string, len(values))
		line := string(Line{Title: "t", Ticks: names, Names: names, Series: []Series{{"n", values}}, OpenIndex: len(values)}.SVG())
		spark, bar := string(Spark("t", values, len(values))), string(Bar("s1", 7))
		for _, text := range []string{line, spark, bar} {
			checkWellFormed(t, text)
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Errorf("%v: a coordinate is no number: %s", values, text)
			}
		}
		if !strings.Contains(bar, `width="100.0"`) {
			t.Error("a bar is longer than its rail:", bar)
		}
	}
}

func checkWellFormed(t *testing.T, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader("<x>" + text + "</x>"))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the drawing is not well-formed: %v: %s", err, text)
		}
	}
}
