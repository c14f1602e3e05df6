package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// Ensure one import or push command converts a sheet to points and definitions and stores them.
// Repeating the command with the same sheet must change nothing, and an invalid sheet must store
// nothing.
func TestSheets(t *testing.T) {
	data := dataFolder(t)
	id := newCompany(t, data)
	mapping := filepath.Join(t.TempDir(), "mapping.json")
	sheet := writeFile(t, "numbers.csv", "Tag;Besucher;Umsatz\n05.08.2026;1.204;1.204,50 €\n06.08.2026;1.310;980,00 €\nSumme;2.514;2.184,50 €\n")
	flags := []string{
		"--type", "metric-point", "--date-column", "Tag", "--date-format", "DD.MM.YYYY", "--decimal", ",", "--metric", "Besucher=web.visitors", "--metric", "Umsatz=revenue.gross",
		"--unit", "Umsatz=currency_minor", "--aggregation", "Umsatz=sum", "--scale", "Umsatz=100", "--currency", "Umsatz=EUR", "--save-mapping", mapping,
	}
	imported := runJSON(t, data, "", append([]string{"import", "--company", id, "--from", "csv", sheet}, flags...)...)
	if diff := objectDifference(map[string]any{"metric-definition": 1.0, "metric-point": 4.0}, imported["imported"].(map[string]any)); diff != "" {
		t.Errorf("imported (-want +got):\n%s", diff)
	}
	stored := exportOf(t, data, id)
	requireContains(t, stored, `"key":"revenue.gross"`, `"unit":"currency_minor"`, `"value":120450`, `"currency":"EUR"`, `"value":1310`)

	imported = runJSON(t, data, "", "import", "--company", id, "--from", "csv", sheet, "--mapping", mapping)
	if skipped := imported["skipped"].(map[string]any); len(imported["imported"].(map[string]any)) > 0 || skipped["metric-point"] != 4.0 {
		t.Errorf("the second import: %v", imported)
	}
	if again := exportOf(t, data, id); again != stored {
		t.Errorf("the second import changes\n%s\nto\n%s", stored, again)
	}

	corrected := writeFile(t, "corrected.csv", "Tag;Besucher;Umsatz\n06.08.2026;1.311;980,00 €\n")
	runJSON(t, data, "", "import", "--company", id, "--from", "csv", corrected, "--mapping", mapping, "--unit", "Umsatz=count", "--replace")
	stored = exportOf(t, data, id)
	requireContains(t, stored, `"value":1204`, `"value":1311`, `"unit":"currency_minor"`)

	bad := writeFile(t, "bad.csv", "Tag;Besucher;Umsatz\n07.08.2026;1;1\nmorgen;2;2\n")
	r := runCommand(t, "", "import", "--company", id, "--data", data, "--from", "csv", bad, "--mapping", mapping)
	if r.code != 1 || exportOf(t, data, id) != stored {
		t.Errorf("an invalid sheet: %+v", r)
	}
	requireContains(t, r.err, `bad.csv, row 3, column Tag: "morgen" does not have the format DD.MM.YYYY`, "nothing was written")
	r = runCommand(t, "", "convert", "--from", "csv", sheet, "--mapping", mapping)
	if r.code != 0 || strings.Count(r.out, "\n") != 5 {
		t.Errorf("convert: %+v", r)
	}

	server := startServer(t, data)
	key := runJSON(t, data, "", "key", "issue", "--company", id, "--scopes", "metrics:write")["key"].(string)
	t.Setenv("WORKSPACE_URL", server.BaseURL)
	t.Setenv("WORKSPACE_KEY", key)
	plausible := writeFile(t, "visitors.csv", "date,visitors,pageviews\n2026-08-05,10,18\n2026-08-06,6,6\n")
	for range 2 {
		r = runCommand(t, "", "push", "points", "--from", "plausible", plausible)
		if r.code != 0 || r.out != "pushed 4 points\n" {
			t.Errorf("push: %+v", r)
		}
	}
	lines := runCommand(t, "", "convert", "--from", "plausible", plausible, "--metric", "visitors=site.visitors")
	if r = runCommand(t, lines.out, "push", "points", "-"); r.code != 0 || r.out != "pushed 2 points\n" {
		t.Errorf("push of lines: %+v", r)
	}
	requireContains(t, exportOf(t, data, id), `"key":"plausible.pageviews"`, `"key":"site.visitors"`, `"metricKey":"plausible.visitors"`)
}
