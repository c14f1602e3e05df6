package studio

import (
	"encoding/csv"
	"math"
	"net/http"
	"strconv"
	"strings"

	"growthworkspace/scripts/studio/chart"
	"growthworkspace/scripts/studio/units"
)

// metricsCSV writes the values of the chart as a CSV file.
func (s *Studio) metricsCSV(v *pageRequest) *view {
	page := v.loadMetric(false)
	m, failed := page.Metric, page.Failure
	if failed == nil && m != nil {
		failed = m.NoPoints
	}
	switch {
	case failed != nil:
		http.Error(v.w, failed.Text(), failed.status())
		return nil
	case m == nil:
		http.Error(v.w, "There is no such metric.", http.StatusNotFound)
		return nil
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+filename(m.Key)+`.csv"`)
	out := csv.NewWriter(v.w)
	if m.Parts != nil {
		_ = out.WriteAll(m.Parts.csv())
	} else {
		_ = out.WriteAll(m.Whole.csv())
	}
	return nil // the errors of WriteAll are ignored, because they only mean that the client disconnected
}

func (view *wholeView) csv() [][]string {
	lines := [][]string{{string(view.Window.Grain), "value", "before", "unit"}}
	for i := range view.Window.FutureIndex {
		lines = append(lines, []string{dayText(view.Window.Buckets[i]), csvValue(view.Unit, view.Now[i]), csvValue(view.Unit, view.Before[i]), csvUnit(view.Unit)})
	}
	return lines
}

func (v *partsView) csv() [][]string {
	lines := [][]string{{string(v.Window.Grain), escapeFormula(v.Dimension), "value", "unit"}}
	for _, p := range v.List {
		for i := range v.Window.FutureIndex {
			lines = append(lines, []string{dayText(v.Window.Buckets[i]), escapeFormula(p.Name), csvValue(p.Unit, p.Values[i]), csvUnit(p.Unit)})
		}
	}
	return lines
}

// csvValue formats a value for a spreadsheet. It writes money in whole units of the currency.
func csvValue(unit units.Unit, v chart.Value) string {
	switch {
	case !v.OK:
		return ""
	case unit.Name == units.Currency:
		return strconv.FormatFloat(v.V/math.Pow10(unit.Exponent()), 'f', unit.Exponent(), 64)
	}
	return strconv.FormatFloat(v.V, 'f', -1, 64)
}

func csvUnit(unit units.Unit) string {
	if unit.Name == units.Currency {
		return escapeFormula(unit.Currency)
	}
	return unit.Name
}

// escapeFormula prevents a spreadsheet from running a string as a formula.
func escapeFormula(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// filename keeps only the characters that every system allows in a file name, and replaces the
// others with hyphens.
func filename(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, text)
}
