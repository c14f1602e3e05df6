package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"

	"growthworkspace/scripts/studio/attention"
	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/phrase"
)

//go:embed report.html
var pageText string

//go:embed report.css
var styleText string

// page is the template of the HTML file.
var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"style": func() template.CSS { return template.CSS(styleText) }, "bar": chart.Bar, "stars": phrase.Stars, "dash": orDash,
}).Parse(pageText))

// HTML formats the report as one HTML file for an e-mail or a browser. The file has no script and
// loads nothing: the style and the charts are in it. It also has no control characters, because a
// command may print it on a terminal.
func (r Report) HTML() ([]byte, error) {
	var out bytes.Buffer
	if err := page.Execute(&out, r); err != nil {
		return nil, fmt.Errorf("format the report: %w", err)
	}
	return []byte(withoutControls(out.String())), nil
}

// Spark draws the weeks that are over. It leaves out an unfinished week, whose total would seem to
// have fallen.
func (m Metric) Spark() template.HTML {
	values := m.values
	if !m.over && len(values) > 0 {
		values = values[:len(values)-1]
	}
	return chart.Spark(m.Name+" by week", values, len(values))
}

// Class returns the CSS class for the goal's state.
func (g Goal) Class() string {
	switch g.State {
	case attention.GoalPast, attention.GoalBehind:
		return "bad"
	case attention.GoalOnPace:
		return "good"
	}
	return "even"
}
