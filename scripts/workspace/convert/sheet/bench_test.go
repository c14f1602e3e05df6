package sheet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/scripts/workspace/convert/sheet"
)

// Ensure the service's rules check one point of a series, not each of them: a check allocates more
// than a hundred times, so a file of millions of points would take minutes.
func TestPointsAreCheckedOnce(t *testing.T) {
	allocations := func(rows int) float64 {
		var text strings.Builder
		text.WriteString("Day,Country,Visitors\n")
		for n := range rows {
			fmt.Fprintf(&text, "%s,country-%d,%d\n", time.Date(2000, 1, 1+n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), n%7, n)
		}
		in := convert.NewInput("t.csv", []byte(text.String()))
		return testing.AllocsPerRun(1, func() {
			set := pflag.NewFlagSet("convert", pflag.ContinueOnError)
			kind := sheet.Kinds(set)[0] // of its own, because a kind remembers the points of all its files
			err := set.Parse(append([]string{"--metric", "Visitors=web.visitors", "--map", "dims.country=Country"}, pointFlags...))
			if err != nil {
				t.Fatal(err)
			}
			result, err := convert.Convert(t.Context(), kind, []convert.Input{in})
			if err != nil || result.Counts["metric-point"] != rows {
				t.Fatal(result, err)
			}
			result.Close()
		})
	}
	each := (allocations(9000) - allocations(1000)) / 8000
	t.Logf("%.1f allocations for each point", each)
	if each > 20 {
		t.Errorf("%.0f allocations for each point, want at most 20", each)
	}
}

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
