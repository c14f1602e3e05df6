package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/tabular"
)

// kindOf returns the kind with the given name.
func kindOf(t testing.TB, name string) Kind {
	t.Helper()
	for _, k := range ReviewKinds() {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("no kind %s", name)
	return Kind{}
}

// converted is the result of converting a file.
type converted struct {
	records  []map[string]any
	skipped  map[string]int
	problems []string
	err      string // the error for the whole file
}

func convertText(t testing.TB, kind Kind, files ...string) (c converted) {
	t.Helper()
	var inputs []Input
	for i, text := range files {
		inputs = append(inputs, NewInput(fmt.Sprintf("file%d", i+1), []byte(text)))
	}
	r, err := Convert(t.Context(), kind, inputs)
	if err != nil {
		return converted{err: err.Error()}
	}
	defer r.Close()
	c.skipped = maps.Clone(r.Skipped)
	err = r.Each(func(l Line) error {
		var line struct{ Record map[string]any }
		err := json.Unmarshal(l.JSON, &line)
		c.records = append(c.records, line.Record)
		return err
	})
	if err == nil {
		err = r.EachProblem(func(p Problem) error { c.problems = append(c.problems, p.Error()); return nil })
	}
	if err != nil || len(c.records) != r.Total() {
		t.Fatalf("%d records, want %d: %v", len(c.records), r.Total(), err)
	}
	return c
}

func readTestdata(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// encodeUTF16 encodes text in UTF-16 with a byte order mark, as the Play Console does.
func encodeUTF16(text string, bigEndian bool) string {
	var out bytes.Buffer
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		low, high := byte(unit), byte(unit>>8)
		if bigEndian {
			low, high = high, low
		}
		out.Write([]byte{low, high})
	}
	return out.String()
}

// Ensure a monthly report of the Play Console becomes the same records in each encoding. Only the
// newest version of each review may be kept, and rows without text or an id must be counted.
func TestGooglePlayReport(t *testing.T) {
	t.Parallel()
	text := readTestdata(t, "googleplay.csv")
	const link = "https://play.google.com/console/developers/1/app/2/user-feedback/review-details?reviewId="
	want := converted{
		records: []map[string]any{
			{
				"source": "google_play", "kind": "review", "externalId": "gp:AOqp-2", "rating": 4.0, "title": "Schnell", "body": `=HYPERLINK("https://evil.example")`, "locale": "de",
				"externalUrl": "https://play.google.com/apps/publish?account=7#ReviewDetailsPlace:p=app.notes&reviewid=gp:AOqp-2",
				"postedAt":    "2026-08-06T10:00:00.500Z", "replyBody": "Danke!", "replyStatus": "posted",
			},
			{
				"source": "google_play", "kind": "review", "externalId": "gp:AOqp-1", "rating": 5.0, "body": "Better now.", "locale": "pt", "appVersion": "4.3.1",
				"externalUrl": "http" + strings.TrimPrefix(link, "https") + "gp:AOqp-1&corpus=PUBLIC_REVIEWS", "postedAt": "2026-09-01T07:05:00.000Z",
			},
			{
				"source": "google_play", "kind": "review", "externalId": "d2b07a18-0000-4b8f-8042-000000000001", "rating": 1.0, "body": "Lost it all", "locale": "en", "appVersion": "4.3.1",
				"externalUrl": link + "d2b07a18-0000-4b8f-8042-000000000001&corpus=PUBLIC_REVIEWS", "postedAt": "2026-08-08T07:05:00.000Z",
			},
		},
		skipped: map[string]int{tabular.SkipNoText: 1, tabular.SkipNoID: 1, "an older version of a record that is in the files again": 1},
	}
	for name, file := range map[string]string{
		"UTF-8": text, "UTF-8 with a byte order mark": "\ufeff" + text, "CRLF": strings.ReplaceAll(text, "\n", "\r\n"),
		"UTF-16": encodeUTF16(text, false), "a long row in UTF-16": encodeUTF16(strings.Replace(text, "\napp.notes", "\n"+strings.Repeat("é漢", 20_000), 1), false), "big endian": encodeUTF16(text, true), "no byte order mark": encodeUTF16(text, false)[2:], "big endian without it": encodeUTF16(text, true)[2:],
	} {
		if diff := cmp.Diff(want, convertText(t, kindOf(t, "google-play"), file), cmp.AllowUnexported(converted{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Ensure a review has the same id in the JSON of reviews.list and in a monthly report. The newer
// version must be kept, no matter in which order the files are read.
func TestGooglePlayAPI(t *testing.T) {
	t.Parallel()
	kind, report, api := kindOf(t, "google-play"), readTestdata(t, "googleplay.csv"), readTestdata(t, "googleplay.json")
	got := convertText(t, kind, api)
	want := converted{
		records: []map[string]any{
			{
				"source": "google_play", "kind": "review", "externalId": "gp:AOqp-1", "authorName": "Kestrel", "title": "Calm", "body": "It leaves me alone.", "rating": 5.0, "locale": "pt",
				"appVersion": "4.3.1", "postedAt": "2026-09-01T07:05:00.542Z", "replyBody": "Thank you.", "replyStatus": "posted",
			},
			{"source": "google_play", "kind": "review", "externalId": "gp:AOqp-3", "body": "Gut", "rating": 4.0, "locale": "de", "postedAt": "2026-09-01T07:05:00.000Z"},
		},
		skipped: map[string]int{tabular.SkipNoText: 1},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(converted{})); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	for _, files := range [][]string{{report, api}, {api, report}} {
		names := map[any]any{}
		for _, r := range convertText(t, kind, files...).records {
			names[r["externalId"]] = r["authorName"]
		}
		if len(names) != 4 || names["gp:AOqp-1"] != "Kestrel" {
			t.Errorf("records %v", names)
		}
	}
}

// Ensure pages from the App Store Connect API become records that include the developer's
// responses.
func TestAppStore(t *testing.T) {
	t.Parallel()
	const id = "00000042-a1b2-c3d4-e5f6-00000000000"
	want := converted{
		records: []map[string]any{
			{
				"source": "app_store", "kind": "review", "externalId": id + "1", "rating": 2.0, "title": "Sync", "body": "Two phones, two different lists.", "authorName": "kestrel",
				"territory": "PT", "postedAt": "2026-08-10T01:20:34.000Z", "replyBody": "It is fixed in 4.3.1.", "replyStatus": "posted",
			},
			{
				"source": "app_store", "kind": "review", "externalId": id + "2", "rating": 5.0, "title": "Calm", "body": "It leaves me alone.", "authorName": "ginkgo",
				"territory": "XK", "postedAt": "2026-08-08T04:44:02.000Z",
			},
			{
				"source": "app_store", "kind": "review", "externalId": id + "3", "rating": 4.0, "title": "Fine", "body": "Fine.", "authorName": "aster",
				"territory": "ZZY", "postedAt": "2026-08-07T21:44:02.000Z", "replyBody": "Thanks.", "replyStatus": "posted",
			},
		},
		skipped: map[string]int{"an older version of a record that is in the files again": 1},
	}
	if diff := cmp.Diff(want, convertText(t, kindOf(t, "app-store"), readTestdata(t, "appstore.json")), cmp.AllowUnexported(converted{})); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	flat := convertText(t, kindOf(t, "app-store"), `{"data": [{"id": "1", "rating": 4, "body": "x", "createdDate": "2026-08-07T21:44:02Z", "territory": "DEU", "affordances": {}}]}`)
	if len(flat.records) != 1 || flat.records[0]["rating"] != 4.0 || flat.records[0]["territory"] != "DE" {
		t.Errorf("attributes on the level of the id: %v", flat)
	}
	if got := convertText(t, kindOf(t, "app-store"), `[`+strings.Replace(readTestdata(t, "appstore.json"), "\n]}\n", "]}]", 1)); got.err == "" {
		t.Errorf("an array whose pages have no comma: %v", got)
	}
}

// Ensure posts, comments and nested replies become mentions. Deleted and hidden ones must be
// counted.
func TestReddit(t *testing.T) {
	t.Parallel()
	want := converted{
		records: []map[string]any{
			{
				"source": "reddit", "kind": "mention", "externalId": "t3_a1", "title": "Fish & chips", "body": "a <b>", "authorName": "kestrel",
				"externalUrl": "https://www.reddit.com/r/x/comments/a1/", "postedAt": "2026-08-08T07:05:00.000Z",
			},
			{"source": "reddit", "kind": "mention", "externalId": "t1_b", "body": "Nice", "postedAt": "2026-08-08T07:08:20.000Z"},
		},
		skipped: map[string]int{tabular.SkipHidden: 7, tabular.SkipDeleted: 1},
	}
	text := readTestdata(t, "reddit.json")
	if diff := cmp.Diff(want, convertText(t, kindOf(t, "reddit"), text), cmp.AllowUnexported(converted{})); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// Ensure a file that is invalid as a whole causes one error. Each invalid row must cause a problem
// that names the row and column.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	report := readTestdata(t, "googleplay.csv")
	oneRowReport := func(column, value string) string { // returns a report with one row
		heading := strings.Split(report[:strings.Index(report, "\n")], ",")
		cells := make([]string, len(heading))
		for i, name := range heading {
			cells[i] = map[string]string{"Review Link": "https://p/?reviewId=1", "Star Rating": "3", "Review Text": "x", "Review Last Update Millis Since Epoch": "1786172700000"}[name]
			if name == column {
				cells[i] = value
			}
		}
		return strings.Join(heading, ",") + "\n" + strings.Join(cells, ",") + "\n"
	}
	for _, c := range []struct{ kind, name, text, err, problem string }{
		{"google-play", "empty", "", "is empty", ""},
		{"google-play", "another table", "a,b\n1,2\n", `row 1, column Review Link: this column is missing`, ""},
		{"google-play", "another encoding", strings.Replace(report, "Danke", "Gr\xfc\xdfe", 1), "row 3, column Developer Reply Text: is neither UTF-8 nor UTF-16", ""},
		{"google-play", "half a surrogate pair", strings.Replace(encodeUTF16(strings.Replace(report, "Danke", "Dank!", 1), false), "!\x00", "\x00\xd8", 1), "row 3, column Developer Reply Text: has half a surrogate pair", ""},
		{"google-play", "half a character", encodeUTF16(report, false)[:1001], "is truncated", ""},
		{"google-play", "a quote that never ends", strings.Replace(report, `"".",`, `"".,`, 1), "row 2: has a quoted cell that does not end", ""},
		{"google-play", "a long quote that never ends", report + `"` + strings.Repeat("x\n", 3<<20), "row 8, column Package Name: has a quote that is not closed within 1 MB", ""},
		{"google-play", "a row after a cell with line breaks", strings.Replace(report, "2026-08-08T07:05:00Z,1786172700000,1,,", "2026-08-08T07:05:00Z,1786172700000,0,,", 1), "", "file1, row 7, column Star Rating: must be between 1 and 5"},
		{"google-play", "stars", oneRowReport("Star Rating", "many"), "", `file1, row 2, column Star Rating: must be a number from 1 to 5, is "many"`},
		{"google-play", "too many stars", oneRowReport("Star Rating", "6"), "", "file1, row 2, column Star Rating: must be between 1 and 5"},
		{"google-play", "a time", oneRowReport("Review Last Update Millis Since Epoch", "today"), "", "file1, row 2, column Review Last Update Millis Since Epoch: must be a time in milliseconds"},
		{"google-play", "a link", oneRowReport("Review Link", "javascript:?reviewId=1"), "", "file1, row 2, column Review Link: must be an http or https address"},
		{"google-play", "a short row", oneRowReport("", "") + "a,b\n", "", "file1, row 3: has 2 cells, but the header has 16"},
		{"google-play", "no reviews", `{"a": 1}`, "has no list of reviews", ""},
		{"google-play", "truncated", readTestdata(t, "googleplay.json")[:500], "is truncated: the JSON ends after byte", ""},
		{"google-play", "a number", `{"reviews": [{"reviewId": 5}]}`, "", "file1, row 1: has an unexpected form"},
		{"app-store", "truncated", readTestdata(t, "appstore.json")[:900], "is truncated", ""},
		{"app-store", "a huge element", `{"data": [{"id": "` + strings.Repeat("x", 17<<20), "an element has more than 16 MB", ""},
		{"app-store", "deep nesting", `{"other": ` + strings.Repeat("[", 1<<18), "is nested more than 10000 levels deep", ""},
		{"reddit", "deep nesting of the values", strings.Repeat("[", 1<<18), "is nested more than 10000 levels deep", ""},
		{"app-store", "not JSON", "<html>", "is not JSON after byte", ""},
		{"app-store", "an error", `{"errors": [{"status": "401"}]}`, `has no list "data"`, ""},
		{"app-store", "a date", `{"data": [{"id": "1", "attributes": {"rating": 1, "createdDate": "today"}}]}`, "", "file1, row 1, column attributes.createdDate: must be a time such as"},
		{"app-store", "other data", `{"data": [{"type": "apps", "id": "1"}]}`, "", `file1, row 1, column type: must be customerReviews, is "apps"`},
		{"reddit", "no listing", `{"kind": "t3", "data": {}}`, `has no list "data.children"`, ""},
		{"reddit", "another encoding", "{\"kind\": \"\xff\"}", "is neither UTF-8 nor UTF-16", ""},
		{"reddit", "a time", `{"data": {"children": [{"kind": "t1", "data": {"name": "t1_a", "body": "x", "edited": "y"}}]}}`, "", "file1, row 1, column edited: must be false or a time"},
	} {
		got := convertText(t, kindOf(t, c.kind), c.text)
		switch {
		case c.err != "" && (!strings.Contains(got.err, c.err) || !strings.HasPrefix(got.err, "file1")):
			t.Errorf("%s, %s: error %q, want %q", c.kind, c.name, got.err, c.err)
		case c.problem != "" && (len(got.problems) != 1 || !strings.HasPrefix(got.problems[0], c.problem)):
			t.Errorf("%s, %s: problems %q and error %q, want %q", c.kind, c.name, got.problems, got.err, c.problem)
		}
	}
}

// FuzzFiles checks that no file makes a converter panic, and that every emitted record can be read
// back.
func FuzzFiles(f *testing.F) {
	for i, name := range []string{"googleplay.csv", "googleplay.json", "appstore.json", "reddit.json"} {
		f.Add(uint8(i), []byte(readTestdata(f, name)))
	}
	f.Add(uint8(0), []byte("\xff\xfea\x00"))
	f.Fuzz(func(t *testing.T, n uint8, text []byte) {
		kinds := ReviewKinds()
		convertText(t, kinds[int(n)%len(kinds)], string(text))
	})
}
