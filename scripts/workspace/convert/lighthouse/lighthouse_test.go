package lighthouse

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"growthworkspace/scripts/studio/findings"
	"growthworkspace/scripts/workspace/convert"
)

// convertText converts a report. It returns the report's only audit, or the error or problem.
func convertText(t testing.TB, text string, args ...string) (audit map[string]any, problem string) {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	kind := Kinds(flags)[0]
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	r, err := convert.Convert(t.Context(), kind, []convert.Input{convert.NewInput("report.json", []byte(text))})
	if err != nil {
		return nil, err.Error()
	}
	defer r.Close()
	if err := r.Err(); err != nil {
		return nil, err.Error()
	}
	err = r.Each(func(l convert.Line) error {
		var line struct{ Record map[string]any }
		err := json.Unmarshal(l.JSON, &line)
		audit = line.Record
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return audit, ""
}

func readTestdata(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Ensure a report becomes an audit with the score of the SEO category. The findings must contain
// all categories, and the failed checks with their places on the page, but no pictures.
func TestReport(t *testing.T) {
	t.Parallel()
	text := readTestdata(t, "report.json")
	audit, problem := convertText(t, text, "--site", "sit_1")
	if problem != "" {
		t.Fatal(problem)
	}
	var want map[string]any
	err := json.Unmarshal([]byte(`{
		"id": "`+convert.DeriveID("aud", "sit_1", "http://notes.example/", "2026-08-08T07:05:00.250Z")+`", "siteId": "sit_1", "rootUrl": "http://notes.example/", "status": "complete",
		"startedAt": "2026-08-08T07:05:00.250Z", "finishedAt": "2026-08-08T07:05:12.595Z", "pagesAudited": 1, "scoreSeo": 92,
		"summary": "Lighthouse 13.0.1, mobile: Agentic Browsing 30, SEO 92; failed audits: 4",
		"findings": {
			"tool": "lighthouse", "version": "13.0.1", "formFactor": "mobile", "notes": ["The page loaded slowly."],
			"categories": [{"id": "agentic-browsing", "title": "Agentic Browsing", "score": 30}, {"id": "performance", "title": "Performance", "score": null}, {"id": "seo", "title": "SEO", "score": 92}],
			"pages": [{"url": "https://notes.example/#start", "issues": [
				{"rule": "broken", "title": "A check that failed", "severity": "high", "value": "Required gatherer did not run."},
				{"rule": "cache-insight", "title": "Use efficient cache lifetimes", "severity": "medium", "score": 50, "description": "…", "value": "Est savings of 4 KiB",
					"where": [{"url": "https://notes.example/a.gif", "wastedBytes": 4096}]},
				{"rule": "interactive", "title": "Time to Interactive", "severity": "medium", "score": 50, "description": "…", "value": "4100 millisecond"},
				{"rule": "link-name", "title": "Links do not have a discernible name", "severity": "high", "score": 0, "description": "Link text matters.", "where": [
					{"node": {"selector": "body > a", "snippet": "<a href=\"/\">", "nodeLabel": "body > a", "explanation": "Fix it"}, "subItems": [{"relatedNode": {"selector": "body"}}]},
					{"source": "https://notes.example/app.js:10:4", "size": 12}]}
			]}]
		}}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, audit); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	encoded, err := json.Marshal(audit["findings"])
	if report := findings.Read(encoded, "https://notes.example"); err != nil || !report.Known || len(report.Pages) != 1 || len(report.Issues()) != 4 {
		t.Errorf("the studio reads %d pages and %d issues, %v; want 1 and 4", len(report.Pages), len(report.Issues()), err)
	}
	other, _ := convertText(t, `{"id": "x", "lighthouseResult": `+text+`}`, "--site", "sit_1")
	if diff := cmp.Diff(audit, other); diff != "" {
		t.Errorf("the audit of PageSpeed Insights:\n%s", diff)
	}
	if other, _ = convertText(t, text); other["siteId"] != nil || other["id"] == audit["id"] {
		t.Errorf("an audit of no site: %v", other["id"])
	}
}

// Ensure a report of a failed run becomes a failed audit without a score.
func TestFailedRun(t *testing.T) {
	t.Parallel()
	audit, problem := convertText(t, strings.Replace(readTestdata(t, "report.json"), `"timing"`, `"runtimeError": {"code": "NO_FCP", "message": "The page painted nothing."}, "timing"`, 1))
	if audit["status"] != "failed" || audit["error"] != "NO_FCP: The page painted nothing." || audit["scoreSeo"] != nil {
		t.Errorf("audit %v, %s", audit, problem)
	}
}

// Ensure a file that is not a report causes one error that says why.
func TestBadReports(t *testing.T) {
	t.Parallel()
	text := readTestdata(t, "report.json")
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "report.json: is empty"},
		"truncated":        {text[:1500], "report.json: is truncated"},
		"not JSON":         {"<html>", "report.json: is not JSON after byte"},
		"another encoding": {strings.Replace(text, "…", "\xff", 1), "report.json: is neither UTF-8 nor UTF-16"},
		"another file":     {`{"a": 1}`, "is not a Lighthouse report"},
		"another type":     {`{"audits": []}`, "report.json, column audits: has the unexpected type array"},
		"an old version":   {strings.Replace(text, "13.0.1", "9.6.8", 1), "report.json, column lighthouseVersion: is 9.6.8; reports of Lighthouse 10 to 13"},
		"a user flow":      {`{"steps": [{"lhr": {}}]}`, "is a user flow"},
		"two reports":      {text + text, "has more after the report"},
		"no time":          {strings.Replace(text, "2026-08-08T07:05:00.250Z", "now", 1), "report.json, column fetchTime: must be a time"},
		"no address":       {strings.NewReplacer("http://notes.example/", "about:blank").Replace(text), "report.json, column requestedUrl: must be an http or https address"},
		"a huge file":      {strings.Repeat(" ", reportBytesMax+1), "has 16777217 bytes; a report of Lighthouse has at most"},
	} {
		if audit, problem := convertText(t, c.text); !strings.Contains(problem, c.want) {
			t.Errorf("%s: %q and %v, want %q", name, problem, audit != nil, c.want)
		}
	}
	if _, problem := convertText(t, text, "--site", "x"); !strings.Contains(problem, "column --site: must match") {
		t.Errorf("an invalid site: %s", problem)
	}
}

// FuzzReport checks that no file makes the converter panic.
func FuzzReport(f *testing.F) {
	f.Add([]byte(readTestdata(f, "report.json")))
	f.Add([]byte(`{"lighthouseVersion":"10","fetchTime":"2026-08-08T07:05:00Z","requestedUrl":"http://a","audits":{"a":{"score":0,"details":{"items":[[[1]]]}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) { convertText(t, string(text)) })
}
