package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// playHeading is the first row of a monthly report of the Play Console.
const playHeading = "Package Name,App Version Code,App Version Name,Reviewer Language,Device,Review Submit Date and Time,Review Submit Millis Since Epoch," +
	"Review Last Update Date and Time,Review Last Update Millis Since Epoch,Star Rating,Review Title,Review Text,Developer Reply Date and Time," +
	"Developer Reply Millis Since Epoch,Developer Reply Text,Review Link\n"

// playRow returns a row of a monthly report of the Play Console.
func playRow(id, millis, stars, text, reply string) string {
	return "app,1,1.0,en,pixel,,,," + millis + "," + stars + ",," + text + ",,," + reply + ",https://play.google.com/console?reviewId=" + id + "\n"
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Ensure `convert` writes lines that `import` reads, and writes nothing if any file is invalid. It
// must leave no temporary file.
func TestConvert(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	data := dataFolder(t)
	id := newCompany(t, data)
	good := writeFile(t, "good.csv", playHeading+playRow("gp:1", "1786172700000", "4", "Fast", ""))
	bad := writeFile(t, "bad.csv", playHeading+playRow("gp:2", "1786172700000", "9", "Slow", "")+playRow("gp:3", "soon", "1", "Slow", ""))
	r := runCommand(t, "", "convert", "--from", "google-play", good)
	if r.code != 0 || strings.Count(r.out, "\n") != 1 {
		t.Fatalf("convert: %+v", r)
	}
	runJSON(t, data, r.out, "import", "--company", id, "-")
	requireContains(t, exportOf(t, data, id), `"externalId":"gp:1"`, `"body":"Fast"`)

	r = runCommand(t, "", "convert", "--from", "google-play", good, bad)
	if r.code != 1 || r.out != "" {
		t.Errorf("an invalid file: exit code %d, output %q", r.code, r.out)
	}
	requireContains(t, r.err, "bad.csv, row 2, column Star Rating: must be between 1 and 5", "bad.csv, row 3, column Review Last Update Millis Since Epoch", "nothing was written", "--skip-bad")

	skipped := filepath.Join(t.TempDir(), "skipped.jsonl")
	r = runCommand(t, "", "convert", "--from", "google-play", good, bad, "--skip-bad", skipped)
	if r.code != 0 || strings.Count(r.out, "\n") != 1 {
		t.Errorf("--skip-bad: %+v", r)
	}
	requireSecretFile(t, skipped)
	text, err := os.ReadFile(skipped)
	if err != nil {
		t.Fatal(err)
	}
	requireContains(t, string(text), `"row":2`, `"column":"Star Rating"`, `"Slow"`, `"row":3`)

	for _, flag := range []string{"--skip-bad", "--save-mapping"} { // if FILE is forgotten, the flag takes the first file to convert
		table := writeFile(t, "table.csv", "Idea\nA\n")
		r = runCommand(t, "", "convert", "--from", "csv", "--type", "content-idea", "--map", "title=Idea", flag, table, writeFile(t, "b.csv", "Idea\nB\n"))
		if text, err := os.ReadFile(table); r.code != 1 || r.out != "" || err != nil || string(text) != "Idea\nA\n" {
			t.Errorf("%s: %+v, and the file is %q, %v", flag, r, text, err)
		}
		requireContains(t, r.err, flag+": ", "table.csv exists, and is not a file that this flag writes")
	}
	r = runCommand(t, "", "convert", "--from", "google-play", good, bad, "--skip-bad", skipped)
	if r.code != 0 {
		t.Errorf("--skip-bad with the same file: %+v", r)
	}
	r = runCommand(t, "", "convert", "--from", "google-play", good, bad, "--dry-run")
	requireContains(t, r.out, "externalId", "gp:1", "1 records of type feedback", "bad.csv, row 2", "bad.csv, row 3")
	if r.code != 1 {
		t.Errorf("--dry-run of an invalid file: exit code %d, want 1", r.code)
	}
	r = runCommand(t, playHeading+playRow("gp:9", "1786172700000", "4", "Piped", ""), "convert", "--from", "google-play", "-", "--dry-run", "--json")
	var preview struct {
		Records  map[string]int
		First    []any
		Problems []any
	}
	if err := json.Unmarshal([]byte(r.out), &preview); err != nil || preview.Records["feedback"] != 1 || len(preview.First) != 1 || len(preview.Problems) != 0 {
		t.Errorf("--dry-run --json: %+v %v", r, err)
	}
	r = runCommand(t, "A\x1b[2J\n1\n", "convert", "--from", "csv", "--type", "metric-point", "--date-column", "Day", "--metric", "A=a", "-")
	if r.code != 1 || strings.Contains(r.err, "\x1b") || !strings.Contains(r.err, `the columns are A\x1b[2J`) {
		t.Errorf("control characters in a heading: %+v", r)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("temporary files %v, %v", left, err)
	}
}

// Ensure `convert` never removes one of the user's files, whatever its name is.
func TestConvertKeepsFiles(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "workspace-convert-august.csv", playHeading+playRow("gp:1", "1786172700000", "4", "Fast", ""))
	if r := runCommand(t, "", "convert", "--from", "google-play", file); r.code != 0 {
		t.Errorf("convert: %+v", r)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// Ensure `import --from` merges reviews, says what changed, and keeps the company's replies.
// Monthly reports may be imported in any order.
func TestImportFrom(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := newCompany(t, data)
	july := writeFile(t, "july.csv", playHeading+playRow("gp:1", "1786172700000", "2", "Slow", "")+playRow("gp:2", "1786172700000", "1", "Bad", ""))
	august := writeFile(t, "august.csv", playHeading+playRow("gp:1", "1788246300000", "5", "Fast", "Thanks")+playRow("gp:2", "1788246300000", "1", "Bad", "Sorry"))
	runJSON(t, data, `{"type":"feedback","record":{"id":"fbk_2","source":"google_play","externalId":"gp:2","replyBody":"Own draft","replyStatus":"draft"}}`, "import", "--company", id, "-")
	importReviews := func(file string) map[string]any {
		t.Helper()
		return runJSON(t, data, "", "import", "--company", id, "--from", "google-play", file)
	}
	first := importReviews(august)
	if counts := first["merged"].(map[string]any); counts["created"] != 1.0 || counts["updated"] != 1.0 || len(first["kept"].([]any)) != 1 {
		t.Errorf("the first import: %v", first)
	}
	requireContains(t, exportOf(t, data, id), `"replyBody":"Thanks"`, `"replyStatus":"posted"`, `"replyBody":"Own draft"`, `"replyStatus":"draft"`)
	before := exportOf(t, data, id)
	if counts := importReviews(august)["merged"].(map[string]any); counts["unchanged"] != 2.0 || counts["updated"] != nil {
		t.Errorf("the same file again: %v", counts)
	}
	if counts := importReviews(july)["merged"].(map[string]any); counts["older"] != 2.0 {
		t.Errorf("an older file: %v", counts)
	}
	if after := exportOf(t, data, id); after != before {
		t.Errorf("the company changed:\n%s\nwant\n%s", after, before)
	}
	r := runCommand(t, "", "import", "--company", id, "--from", "google-play", august, "--data", data)
	requireContains(t, r.out, "imported no records", "2 unchanged")
	requireContains(t, r.err, "already answered at the store")
	items := writeFile(t, "items.csv", "Title\nA\n")
	r = runCommand(t, "", "import", "--company", id, "--from", "csv", "--type", "item", "--map", "title=Title", "--set", "roadmapId=brd_none", items, "--data", data)
	requireContains(t, r.err, "items.csv, row 2: item: ", "brd_none", "nothing was written")
	report := writeFile(t, "report.json", `{"lighthouseVersion":"13.0.0","requestedUrl":"https://a.example/","fetchTime":"2026-08-08T07:05:00.000Z","categories":{"seo":{"score":0.5}},"audits":{}}`)
	for _, step := range []struct {
		want string
		args []string
	}{{"imported audit 1", nil}, {"skipped audit 1", nil}, {"imported audit 1", []string{"--replace"}}} {
		r := runCommand(t, "", append([]string{"import", "--company", id, "--from", "lighthouse", report, "--data", data}, step.args...)...)
		requireContains(t, r.out, step.want)
	}
}

// Ensure `push` sends files in batches, never changes replies, and can be repeated. If the service
// refuses a row, the error must name the row.
func TestPush(t *testing.T) {
	startTestServer(t)
	text := playHeading
	for i := range 250 {
		text += playRow(fmt.Sprintf("gp:%d", i), "1786172700000", "4", "Fast", "Thanks")
	}
	reviews := writeFile(t, "reviews.csv", text)
	for _, want := range []string{"250 created, 0 updated, 0 unchanged", "0 created, 0 updated, 250 unchanged"} {
		r := runCommand(t, "", "push", "reviews", "--from", "google-play", reviews)
		requireContains(t, r.out, "pushed 250 reviews and mentions: "+want)
	}
	lines := runCommand(t, "", "convert", "--from", "google-play", reviews).out
	first, _, _ := strings.Cut(lines, "\n")
	if r := runCommand(t, lines, "push", "reviews", "-", "--json"); r.code != 0 || !strings.Contains(r.out, `{"accepted":250,"created":0,"updated":0}`) {
		t.Errorf("lines: %+v", r)
	}
	r := runCommand(t, "", "api", "list_feedback", "--source", "google_play", "--reply-status", "posted", "--all", "--json")
	if strings.Contains(r.out, `"replyBody":"Thanks"`) {
		t.Error("a push has changed a reply")
	}
	r = runCommand(t, first+"\n"+strings.NewReplacer(`"review"`, `"mention"`, `"rating":4,`, "").Replace(first), "push", "reviews", "-")
	requireContains(t, r.err, "standard input, row 2, kind: must be review or left out", "0 of 2 records are pushed")
	if r.code != 1 {
		t.Errorf("a refused push: exit code %d, want 1", r.code)
	}
	escaped := playHeading // JSON in a request escapes < to six characters
	for i := range 10 {
		escaped += playRow(fmt.Sprintf("gp:%d", i), "1786172700000", "4", strings.Repeat("<", 20_000), "")
	}
	requireContains(t, runCommand(t, "", "push", "reviews", "--from", "google-play", writeFile(t, "escaped.csv", escaped)).out, "0 created, 10 updated")
	r = runCommand(t, lines, "push", "points", "-", "--scale", "Revenue=100")
	requireContains(t, r.err, "--scale needs --from KIND")
	if r.code != 2 {
		t.Errorf("a flag that would have no effect: exit code %d, want 2", r.code)
	}
	point := `{"type":"metric-point","record":{"metricKey":"growth.pushed","ts":"2026-08-01T00:00:00Z","value":%d,"dims":null,"companyId":"co_1","seriesId":null}}` + "\n"
	points := ""
	for i := range 501 {
		points += fmt.Sprintf(point, i)
	}
	r = runCommand(t, points, "push", "points", "-")
	requireContains(t, r.out, "pushed 501 points; new metrics to review: custom.growth.pushed")
	sheet := writeFile(t, "sheet.csv", "Day,Revenue\n2026-08-01,19.99\n")
	for range 2 { // the second time, the definition exists
		r = runCommand(t, "", "push", "points", "--from", "csv", "--type", "metric-point", "--date-column", "Day", "--metric", "Revenue=sheet.revenue", "--scale", "Revenue=100", "--unit", "Revenue=currency_minor", "--currency", "Revenue=EUR", sheet)
		if !strings.HasPrefix(r.out, "pushed 1 points\n") {
			t.Errorf("points with a definition: %+v", r)
		}
	}
	requireContains(t, runCommand(t, "", "api", "list_metric_definitions", "--all", "--json").out, `"key":"sheet.revenue"`)
}

// Ensure `push audit` stores an audit only once, compares it with the previous audit, and fails if
// a condition of --fail-if holds.
func TestPushAudit(t *testing.T) {
	startTestServer(t)
	report := func(day, score, audits string) string {
		return writeFile(t, "report.json", `{"lighthouseVersion":"13.0.0","requestedUrl":"https://a.example/","finalDisplayedUrl":"https://a.example/","fetchTime":"2026-08-`+day+`T07:05:00.000Z",
			"categories":{"seo":{"title":"SEO","score":`+score+`}},"audits":{`+audits+`}}`)
	}
	const title = `"document-title":{"title":"Document has no title","score":0,"scoreDisplayMode":"binary"}`
	before, now := report("01", "0.95", ""), report("02", "0.8", title)
	r := runCommand(t, "", "push", "audit", "--from", "lighthouse", before, "--fail-if", "scoreSeo<90")
	if r.code != 0 {
		t.Errorf("a good audit: %+v", r)
	}
	requireContains(t, r.out, "pushed aud_", "scoreSeo 95")
	for _, want := range []string{"pushed aud_", "was pushed before aud_"} {
		r = runCommand(t, "", "push", "audit", "--from", "lighthouse", now, "--fail-if", "scoreSeo<90", "--fail-if", "scoreGeo<1")
		if r.code != 1 {
			t.Errorf("a bad audit: exit code %d, want 1", r.code)
		}
		requireContains(t, r.out, want, "scoreSeo 80 (-15 since 2026-08-01T07:05:00Z)", "new: / Document has no title")
		requireContains(t, r.err, "https://a.example/: scoreSeo is 80, which is < 90", "scoreGeo is unknown")
	}
	r = runCommand(t, "", "push", "audit", "--from", "lighthouse", now, "--json")
	requireContains(t, r.out, `"created":false`, `"newIssues":["/ Document has no title"]`)
	line := func(started string) string {
		return `{"type":"audit","record":{"id":"aud_1","rootUrl":"https://b.example/","status":"complete"` + started + `}}`
	}
	for _, want := range []string{"pushed aud_", "was pushed before aud_"} { // the second push recognises the audit, even though the service stores only milliseconds
		requireContains(t, runCommand(t, line(`,"startedAt":"2026-08-01T07:05:00.123456Z"`), "push", "audit", "-").out, want)
	}
	for _, c := range []struct{ text, want string }{
		{line(""), "standard input, row 1: record.startedAt: is required"},
		{`{"type":"site","record":{}}`, "--fail-if: the files have no audit"},
	} {
		r = runCommand(t, c.text, "push", "audit", "-", "--fail-if", "scoreSeo<90")
		requireContains(t, r.err, c.want)
		if r.code != 1 {
			t.Errorf("%s: exit code %d, want 1", c.text, r.code)
		}
	}
}
