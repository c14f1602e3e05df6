package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/scripts/workspace/jsonl"
	"growthworkspace/scripts/workspace/tableconn"
	"growthworkspace/scripts/workspace/terminal"
	"growthworkspace/shared/table"
)

const validLine = `{"type":"feedback","record":{"id":"fbk_1","externalId":"1","rating":4}}`

// Ensure an import reports every bad line with its number and all its problems, and then writes
// none of the file's records.
func TestBadLines(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := newCompany(t, data)
	runJSON(t, data, validLine, "import", "--company", id, "-")
	before := exportOf(t, data, id)
	text := runRefused(t, 1, strings.Join([]string{
		`{"type":"feedback","record":{"id":"fbk_2","externalId":"2"}}`,
		``,
		`{"type":"feedback","record":{"id":"fbk_3","externalId":"3","rating":"four","sentiment":"meh","extra":1}}`,
		`not json`,
		`{"type":"feedbak","record":{}}`,
		`{"type":"post"}`,
		`{"type":"post","record":{"id":"pst_1"},"comment":"x"}`,
		`{"type":"post","record":{"id":"pst_1"}} {}`,
		`{"type":"post","type":"post","record":{"id":"pst_1"}}`,
		`["post"]`,
		`{"type":"post","record":{"id":"pst_1"`,
		`{"type":"item","record":{"id":"itm_1","roadmapId":"brd_1","slug":"a","title":"A"}}`,
		`{"type":"item","record":{"id":"itm_2","roadmapId":"brd_1","slug":"a","title":"B"}}`,
		`{"type":7,"record":{}}`,
		`{"type":"company","record":{"id":"fbk_1"`,
	}, "\n"), "import", "--company", id, "-", "--data", data)
	requireContains(t, text,
		"line 3: feedback: record.rating: must be a whole number, between 1 and 5", "line 3: feedback: record.sentiment: must be one of positive, neutral, negative",
		"line 3: feedback: record.extra: unknown property", "line 4: is not a JSON object such as", `line 5: type: "feedbak" is unknown; must be one of company, board`,
		"line 6: post: record: is required", `line 7: post: "comment": unknown property`, "line 8: post: has text after",
		`line 9: post: "type" appears twice`, "line 10: is not a JSON object", "line 11: post: is not JSON", "line 13: item: ", "line 12",
		"line 14: type: must be a string", "line 15: company: is not JSON", "nothing was written")
	if strings.Contains(text, "line 1:") || strings.Contains(text, "line 2:") {
		t.Errorf("a valid line is refused: %s", text)
	}
	if after := exportOf(t, data, id); after != before {
		t.Errorf("something was written:\n%s", after)
	}
}

// Ensure an import reports at most jsonl.BadLinesMax bad lines.
func TestManyBadLines(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := newCompany(t, data)
	text := runRefused(t, 1, strings.Repeat("bad\n", 500), "import", "--company", id, "-", "--data", data)
	if n := strings.Count(text, "line "); n != jsonl.BadLinesMax {
		t.Errorf("%d lines are named", n)
	}
	requireContains(t, text, "there may be more")
}

// Ensure an import accepts types in any order, long lines, a byte order mark, CRLF line endings,
// and input from a file.
func TestImport(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := newCompany(t, data)
	long := strings.Repeat("finding ", 500_000)
	text := "\ufeff" + `{"type":"item","record":{"id":"itm_1","roadmapId":"brd_1","slug":"a","title":"A"}}` + "\r\n\r\n" +
		`{"record":{"id":"brd_1","name":"B"},"type":"board"}` + "\r\n" +
		`{"type":"audit","record":{"id":"aud_1","findings":["` + long + `"]}}` + "\n  \n" + validLine
	file := writeFile(t, "records.jsonl", text)
	got := runJSON(t, data, "", "import", "--company", id, file)
	imported := got["imported"].(map[string]any)
	if len(imported) != 4 || got["seconds"] == nil {
		t.Errorf("summary %v, want 4 types and the seconds", got)
	}
	if diff := objectDifference(map[string]any{"audit": 1.0, "item": 1.0}, imported); diff != "" {
		t.Errorf("imported records (-want +got):\n%s", diff)
	}
	after := exportOf(t, data, id)
	requireContains(t, after, long, `"rating":4`, `"name":"B"`)
	if !slices.IsSortedFunc(strings.Split(strings.TrimSpace(after), "\n"), func(a, b string) int { return lineOrder(t, a) - lineOrder(t, b) }) {
		t.Error("the export is not in the order of the types")
	}
	again := runJSON(t, data, after, "import", "--company", id, "-")
	if exportOf(t, data, id) != after || again["imported"].(map[string]any)["company"] != 1.0 {
		t.Error("a second import changed something")
	}
	if empty := runJSON(t, data, "", "import", "--company", id, "-")["imported"].(map[string]any); len(empty) != 0 {
		t.Errorf("an empty file imported %v", empty)
	}
	requireContains(t, runRefused(t, 1, "", "import", "--company", id, filepath.Dir(file), "--data", data), "it is a folder")
	requireContains(t, runRefused(t, 1, "", "import", "--company", id, file+"x", "--data", data), "no such file")
}

func lineOrder(t *testing.T, line string) int {
	t.Helper()
	for i, name := range jsonl.TypeNames(functions.Transfers(nil)) {
		if strings.HasPrefix(line, `{"type":"`+name+`"`) {
			return i
		}
	}
	t.Fatalf("no type: %.80s", line)
	return 0
}

// Ensure the last of several lines with the same id or key wins, even if many lines are between
// them and batches are written concurrently.
func TestLastLineStays(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := newCompany(t, data)
	var text strings.Builder
	for round := range 5 {
		for n := range 300 {
			fmt.Fprintf(&text, `{"type":"feedback","record":{"id":"fbk_%d","externalId":"round %d"}}`+"\n", n, round)
			fmt.Fprintf(&text, `{"type":"metric-point","record":{"metricKey":"a.b%d","ts":"2026-08-01T00:00:00Z","value":%d}}`+"\n", n%40, round*1000+n)
		}
	}
	runJSON(t, data, text.String(), "import", "--company", id, "-")
	after := exportOf(t, data, id)
	if strings.Count(after, "round 4") != 300 || strings.Count(after, "round") != 300 {
		t.Error("an earlier line stayed")
	}
	if n := strings.Count(after, `"value":42`); n != 40 { // the last value of each metric is between 4260 and 4299
		t.Errorf("%d of 40 points are the last ones", n)
	}
}

// Ensure imported records are marked as imported, which keeps them out of the feed of changes. With
// --report-changes, they must not be marked.
func TestImportReportsChanges(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := newCompany(t, data)
	for _, test := range []struct {
		flags []string
		want  string
	}{{nil, table.ImportWriter}, {[]string{"--report-changes"}, ""}, {nil, table.ImportWriter}} {
		runJSON(t, data, `{"type":"board","record":{"id":"brd_1","name":"A"}}`, append([]string{"import", "--company", id, "-"}, test.flags...)...)
		board, err := table.GetItem(t.Context(), openTable(t, data), table.Key{PK: table.Partition(id, "plan"), SK: "board#brd_1"})
		if got := table.WriterOf(board); err != nil || len(board) == 0 || got != test.want {
			t.Errorf("import %q: the writer is %q, want %q: %v", test.flags, got, test.want, err)
		}
	}
}

// Ensure an import with --new-only leaves stored records unchanged, stores all other records, and
// counts the lines that it skips.
func TestImportNewOnly(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := newCompany(t, data)
	board := func(id, name string) string {
		return fmt.Sprintf(`{"type":"board","record":{"id":%q,"name":%q}}`+"\n", id, name)
	}
	runJSON(t, data, board("brd_1", "Stored"), "import", "--company", id, "-")
	file := board("brd_1", "File") + board("brd_2", "Fresh")
	out := runJSON(t, data, file, "import", "--company", id, "--new-only", "-")
	if got := fmt.Sprint(out["imported"], out["skipped"]); got != "map[board:1] map[board:1]" {
		t.Errorf("imported and skipped %s, want one board each", got)
	}
	requireContains(t, exportOf(t, data, id), `"Stored"`, `"Fresh"`)
}

// openTable connects to the running engine of a data folder and returns its table.
func openTable(t *testing.T, data string) *table.Client {
	t.Helper()
	s, err := tableconn.Open(t.Context(), &terminal.Terminal{Out: t.Output(), Err: t.Output(), Now: time.Now}, tableconn.Flags{Data: data}, time.Minute, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Table
}
