package studio_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"growthworkspace/scripts/workspace/demo"
	"growthworkspace/shared/testkit/apitest"
)

var headline = regexp.MustCompile(`(Last month|Before)[^|]*\| (\S+( [0-9]\S*)?( \w+)?)`)

// headlines returns the values shown above a chart, for the period and for the previous one.
func headlines(body string) (out []string) {
	_, body, _ = strings.Cut(body, `<div class="facts pad">`)
	body, _, _ = strings.Cut(body, `<div class="pad chartbox">`)
	for _, m := range headline.FindAllStringSubmatch(visibleText(strings.ReplaceAll(body, `<p class="big`, `| <p class="big`)), -1) {
		out = append(out, m[1]+" "+m[2])
	}
	return out
}

// Ensure each metric of the demo company has the same value for last month whether it is drawn by
// day or by month. The same must hold for the month before.
func TestOneValuePerPeriod(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t)
	compared := 0
	for _, line := range demo.Lines(apitest.Epoch) {
		if line.Type != "metric-definition" {
			continue
		}
		path := "/metrics?range=last-month&key=" + url.QueryEscape(line.Record["key"].(string)) + "&grain="
		days, months := headlines(w.page(t, path+"day")), headlines(w.page(t, path+"month"))
		if len(days) < 2 || len(months) < 2 {
			continue // the metric has no daily points, or none for the month before
		}
		compared++
		if strings.Join(days, ", ") != strings.Join(months, ", ") {
			t.Errorf("%s: by day %q, by month %q", line.Record["key"], days, months)
		}
	}
	if compared < 8 {
		t.Error("only", compared, "metrics have both")
	}
}

// Ensure weeks that include days of a different month are labelled "This month in whole weeks" and
// not "This month so far". The change in a row compares numbers that the row shows, and a day is
// compared with the same weekday.
func TestWeeksOfAMonth(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t)
	body := w.page(t, "/metrics?key=growth.activations&grain=week", "This month in whole weeks, Jul 27 to Aug 16 so far", "in full days", "in as many days")
	checkNotContains(t, "weeks", body, "This month so far")
	w.page(t, "/metrics?key=growth.activations&grain=month", "This month so far")
	if body := w.page(t, "/metrics?key=growth.activations", "the same weekdays 4 weeks before", "4 weeks before"); !strings.Contains(body, `<td class="number bad">`) || !strings.Contains(body, `<td class="number good">`) {
		t.Error("no day is judged, although it is compared with the same weekday")
	}
}

// Ensure a tile on the overview says which numbers its change compares. The overview says how many
// metrics have no tile.
func TestTiles(t *testing.T) {
	t.Parallel()
	w := newDemoStudio(t)
	body := w.page(t, "/")
	_, tile, _ := strings.Cut(visibleText(body), "Sign-ups ")
	if !regexp.MustCompile(`^\d+ .\d[0-9.]* % vs Jul 4 to 13 total; full days: \d+, Aug 1 to 10 against \d+, Jul 4 to 13`).MatchString(tile) {
		t.Errorf("the tile of sign-ups begins with %.120s", tile)
	}
	checkContains(t, "last month", w.page(t, "/?range=last-month"), "total, Jul 1 to 31 against Jun 1 to 30")
	tiles := strings.Count(body, `class="card tile"`)
	listed := strings.Count(w.page(t, "/metrics"), `<li><a href="/metrics?key=`)
	if listed < 10 || tiles == 0 {
		t.Fatalf("%d metrics are listed, want 10 at least; %d have a tile, want one at least", listed, tiles)
	}
	checkContains(t, "overview", body, fmt.Sprintf("%d more metrics", listed-tiles))
}
