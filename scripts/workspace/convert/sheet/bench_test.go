package sheet_test

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkPoints converts 10,000 rows, each to one point with a dimension.
func BenchmarkPoints(b *testing.B) {
	var text strings.Builder
	text.WriteString("Day,Country,Visitors,Views\n")
	for n := range 10_000 {
		fmt.Fprintf(&text, "2026-08-%02d,country-%d,%d,%d\n", n%28+1, n, n%977, n%9973)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, problems, err := run(b, "csv", text.String(), append([]string{"--metric", "Visitors=web.visitors", "--map", "dims.country=Country"}, pointFlags...)...); err != nil || len(problems) > 0 {
			b.Fatal(problems, err)
		}
	}
}
