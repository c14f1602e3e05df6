package overview

import (
	"strings"
	"testing"
)

// Ensure an overview with the longest texts stays within its size, keeps every kind with its count,
// and that the text for a tool has at most one record of each kind.
func TestFit(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"letters": strings.Repeat("word ", 100), "four bytes each": strings.Repeat("🌲", 300), "escaped": strings.Repeat("\x01\" ", 100)} {
		long := CompanyOverview{AsOf: "2026-08-11T09:30:00.000Z", Attention: []Attention{}}
		for _, kind := range Kind("").Values() {
			var items []AttentionItem
			for range 5 {
				at := "2026-08-11T09:30:00.000Z"
				items = append(items, item("fbk_01kdvdna03c7p4n1x8z5r2t6w9", &kind, &at, text, &text))
			}
			long.Attention = append(long.Attention, attentionOf(Kind(kind), items, false))
		}
		for range overviewMetricsMax {
			long.Metrics = append(long.Metrics, OverviewMetric{Key: strings.Repeat("k", 127), Name: excerpt(text, titleCharsMax)})
		}
		whole := long.fit(itemsMax, overviewBytesMax)
		short, isOverview := whole.ForTool().(CompanyOverview)
		if !isOverview || sizeOf(whole) > 8<<10 || sizeOf(short) > 4<<10 {
			t.Errorf("%s: %d bytes, %d for a tool", name, sizeOf(whole), sizeOf(short))
		}
		for i, kind := range Kind("").Values() {
			for _, o := range []CompanyOverview{whole, short} {
				if a := o.Attention[i]; string(a.Kind) != kind || a.Count != 5 || a.Since == nil {
					t.Errorf("%s: %s: %+v", name, kind, a)
				}
			}
			if n := len(short.Attention[i].Items); n > 1 {
				t.Errorf("%s: a tool shows %d records of %s", name, n, kind)
			}
		}
		if len(long.Attention[0].Items) != itemsMax || long.Attention[0].Items[0].Detail == nil {
			t.Errorf("%s: fit changed its argument", name)
		}
	}
	if got := item("pst_1", nil, nil, "", nil, new(" \n"), new("a\tb")); got.Title != "a b" {
		t.Errorf("the title is %q", got.Title)
	}
}
