package roadmap_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"growthworkspace/scripts/studio/roadmap"
)

// Ensure a brand's colours and fonts are found in brand kits of various shapes. A colour that would
// be hard to read is changed or left out.
func TestReadBrand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		colors, fonts string
		want          roadmap.Brand
	}{
		"named": {`{"primary": "#2f5d50", "accent": "#e0a458", "ink": "#1c2321", "paper": "#f6f4ee"}`, `{"heading": "Fraunces", "body": "Inter"}`,
			roadmap.Brand{Accent: "#2f5d50", AccentDark: "#63867c", Ground: "#f6f4ee", Ink: "#1c2321", Heading: "Fraunces", Body: "Inter"}},
		"listed": {`[{"name": "Accent", "hex": "#00f"}]`, `[{"name": "body", "family": "Source Sans 3"}]`,
			roadmap.Brand{Accent: "#0000ff", AccentDark: "#7373ff", Body: "Source Sans 3"}},
		"nested":       {`{"palette": {"primary": {"hex": "#ffff00"}}}`, ``, roadmap.Brand{Accent: "#737300", AccentDark: "#ffff00"}},
		"dark ground":  {`{"background": "#222222", "text": "#eeeeee"}`, ``, roadmap.Brand{}},
		"none":         {`null`, `{}`, roadmap.Brand{}},
		"no JSON":      {`{`, `"Inter"`, roadmap.Brand{}},
		"other CSS":    {`{"primary": "red;}body{display:none", "paper": "#fff;x"}`, `{"body": "x\";}body{display:none}", "heading": "url(http://evil.example)"}`, roadmap.Brand{}},
		"deep as well": {strings.Repeat(`[`, 50) + strings.Repeat(`]`, 50), `1`, roadmap.Brand{}},
	} {
		if diff := gocmp.Diff(c.want, roadmap.ReadBrand([]byte(c.colors), []byte(c.fonts))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Ensure the page uses the brand, links to the company's website, and lists done items below the
// columns. There is no link if the website's address is not an http or https URL.
func TestBrandedPage(t *testing.T) {
	t.Parallel()
	b := roadmap.Board{
		Name: "Roadmap", Company: "Northwind", Home: "https://northwind.example/?a=1&b=2",
		Brand: roadmap.ReadBrand([]byte(`{"primary": "#2f5d50", "paper": "#f6f4ee"}`), []byte(`{"heading": "Fraunces", "body": "Inter"}`)),
		Items: []roadmap.Item{{Slug: "now", Title: "Under way", ColumnID: "now"}, {Slug: "old", Title: "Old news", ColumnID: "Done", TargetLabel: "May 2026"}},
	}
	text := render(t, b)
	for _, want := range []string{
		"--accent: #2f5d50;", "--ground: #f6f4ee;", `"Fraunces"`, `"Inter"`, `<a href="https://northwind.example/?a=1&amp;b=2">Northwind</a>`,
		`<h2>Changelog</h2>`, `<h3>Old news</h3>`, `May 2026`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s: %s", want, text)
		}
	}
	if strings.Contains(text, "<h2>Done") || strings.Contains(text, "ZgotmplZ") {
		t.Error("what is done is in a column, too, or a value was refused")
	}
	for _, home := range []string{"", "javascript:alert(1)", "//evil.example", "mailto:a@b.example", "https:"} {
		b.Home = home
		if text := render(t, b); strings.Contains(text, "<a ") {
			t.Errorf("%q is linked", home)
		}
	}
}
