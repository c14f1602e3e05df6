package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"growthworkspace/scripts/studio/report"
)

// Ensure the report command prints a week as text, Markdown and JSON, and writes it as HTML to a
// private file. It must refuse a week that does not exist or has not begun.
func TestReport(t *testing.T) {
	_, data := startTestServer(t)
	r := runCommand(t, "", "report")
	if r.code != 0 || r.err != "" {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	requireContains(t, r.out, "Mossgrove: Week ", "Sign-ups", "Goals", "Now waiting: ", "Roadmap", "Next", "Europe/Lisbon")
	requireContains(t, runCommand(t, "", "report", "--markdown", "--week", "this").out, "# Mossgrove: Week ", "| Sign-ups |")
	apiJSON(t, "", "update_company", "--name", "<b>Moss*grove*")
	if text := runCommand(t, "", "report", "--markdown").out; !strings.HasPrefix(text, `# \<b\>Moss\*grove\*: Week `) {
		t.Errorf("the Markdown has markup of a name, or shows a backslash: %.80s", text)
	}
	apiJSON(t, "", "update_company", "--name", "Mossgrove")
	for _, args := range [][]string{{"--html", "-"}, {"--markdown"}} {
		requireContains(t, runRefused(t, 2, "", append([]string{"report", "--json"}, args...)...), "--json")
	}

	var week report.Report
	if err := json.Unmarshal([]byte(runCommand(t, "", "report", "--json").out), &week); err != nil || week.Company != "Mossgrove" || len(week.Metrics) == 0 {
		t.Errorf("%v, %+v", err, week)
	}
	file := filepath.Join(t.TempDir(), "week.html")
	if got := runJSON(t, data, "", "report", "--html", file); got["file"] != file || got["week"] != week.Week {
		t.Errorf("%v", got)
	}
	page, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v, %v", err, statErr, info)
	}
	requireContains(t, string(page), "<!doctype html>", "<h1>Mossgrove</h1>", `<svg class="spark"`)
	if piped := runCommand(t, "", "report", "--html", "-"); !strings.HasPrefix(piped.out, "<!doctype html>") {
		t.Errorf("on standard output: %.80s", piped.out)
	}
	requireContains(t, runRefused(t, 2, "", "report", "--week", "2999-W01"), "--week: 2999-W01: the week has not begun in Europe/Lisbon")
	requireContains(t, runRefused(t, 1, "", "report", "--html", filepath.Join(data, "no", "week.html")), "write the report")
}
