package roadmap_test

import (
	"cmp"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/studio/roadmap"
)

// Ensure columns have readable names and are in the order of their first items. The items without a
// column come last.
func TestColumns(t *testing.T) {
	t.Parallel()
	items := []string{"", "in_progress", "next", "in_progress", "über-morgen", "next", ""}
	var got []string
	for _, c := range roadmap.Columns(items, func(s string) string { return s }) {
		got = append(got, c.Name+" "+strings.Repeat("i", len(c.Items)))
	}
	if diff := gocmp.Diff([]string{"In progress ii", "Next ii", "Über morgen i", "Other ii"}, got); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}

// Ensure the standard columns keep their usual order, regardless of the order of their items.
// AddMissing adds a column at the place that its id has in the list of ids.
func TestAddMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ columns, ids, want string }{
		{"", "now next later done", "now next later done"},
		{"later x now", "", "now x later"},
		{"x later", "now next later done", "x now next later done"},
		{"later", "now next later done", "now next later done"},
		{"x none", "now next", "x now next none"},
		{"Now", "now next", "Now next"},
		{"a c", "a b c d", "a b c d"},
		{"b", "a b", "a b"},
	} {
		var items []string
		for _, id := range strings.Fields(c.columns) {
			items = append(items, strings.ReplaceAll(id, "none", ""))
		}
		var got []string
		for _, column := range roadmap.AddMissing(roadmap.Columns(items, func(s string) string { return s }), strings.Fields(c.ids)) {
			got = append(got, cmp.Or(column.ID, "none"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q with %q: %q, want %q", c.columns, c.ids, got, c.want)
		}
	}
}

func render(t *testing.T, b roadmap.Board) string {
	t.Helper()
	var out strings.Builder
	if err := roadmap.WritePage(&out, b); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Ensure the page for visitors shows every public field of an item, escaped, and nothing else from
// the item. The page loads no files and runs no scripts.
func TestPage(t *testing.T) {
	t.Parallel()
	hostile := `<script>alert("x")</script>`
	text := render(t, roadmap.Board{
		Name: "Road & map", Company: hostile, Language: "de", PublishedAt: "2026-08-01T10:15:00.000Z",
		Items: []roadmap.Item{
			{Slug: "offline-maps", Title: "Offline <b>maps</b>", Summary: hostile, ColumnID: "now", CategoryIDs: []string{"big_maps"}, TargetLabel: "Q4"},
			{Slug: "bare", Title: "Bare"},
		},
	})
	for _, want := range []string{
		`<html lang="de">`, `<h1>Road &amp; map</h1>`, `<time datetime="2026-08-01">`, `id="offline-maps"`, `Offline &lt;b&gt;maps&lt;/b&gt;`,
		`&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;`, `<h2>Now<span>1</span></h2>`, `<h2>Other<span>1</span></h2>`, `Big maps`, `Q4`, `<h3>Bare</h3>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if found := regexp.MustCompile(`<script|<link|<img|<iframe|@import|url\(|https?:|itm_`).FindString(text); found != "" {
		t.Errorf("the page has %s", found)
	}
}

// Ensure a board is rendered as a page even if it has no name, no time and no items.
func TestEmptyPage(t *testing.T) {
	t.Parallel()
	text := render(t, roadmap.Board{})
	for _, want := range []string{`<html lang="en">`, `<title>Roadmap</title>`, `<h1>Roadmap</h1>`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(text, "<time") || strings.Contains(text, "<section>") {
		t.Errorf("an empty page has a time or a section: %s", text)
	}
}
