package user

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/functions/feedback"
	"growthworkspace/functions/plan"
	"growthworkspace/shared/schema"
)

// listedTypes returns the types of records that responses contain in lists: those that an operation
// lists, and those in a list within a record.
func listedTypes() (out []reflect.Type) {
	for _, op := range functions.Operations(nil) {
		if op.IsList() {
			out = append(out, op.Record())
		}
		for _, f := range recordFields(op.Record()) {
			if f.isRecordList() {
				out = append(out, f.element)
			}
		}
	}
	return out
}

// Ensure each type of record that is printed as a table has columns. Each column must be a field of
// the record. No type may have columns that are never printed.
func TestTableColumns(t *testing.T) {
	t.Parallel()
	types := listedTypes()
	for _, record := range types {
		if tableColumns(record) == "" {
			t.Errorf("%s has no columns: add them to its noun, or to otherColumns in table.go", record)
		}
		seen := map[string]bool{idField: true}
		for _, column := range strings.Fields(tableColumns(record)) {
			name, _, _ := strings.Cut(column, ":")
			if _, found := fieldAt(record, name); !found || seen[name] {
				t.Errorf("%s: the column %s is no field of the record, or is there twice", record, name)
			}
			seen[name] = true
		}
	}
	for record := range otherColumns {
		if !slices.Contains(types, record) {
			t.Errorf("no operation lists %s: remove its line from otherColumns in table.go", record)
		}
	}
}

// sampleRows returns records of a type with long values: strings, strings of wide characters,
// times, numbers, and ids as long as those of the service.
func sampleRows(record reflect.Type) []map[string]any {
	row, wide := map[string]any{}, map[string]any{}
	for _, f := range recordFields(record) {
		switch {
		case f.isRecord():
			inner := sampleRows(f.element)
			row[f.name], wide[f.name] = inner[0], inner[1]
			continue
		case f.name == "columnId":
			row[f.name] = "next"
		case f.name == idField, strings.HasSuffix(f.name, "Id"):
			row[f.name] = "xyz_01kdvdna044pbnp67ndt1kk9w3"
		case f.isTime:
			row[f.name] = "2026-08-11T09:30:00.000Z"
		case f.isEnum():
			row[f.name] = reflect.Zero(f.element).Interface().(schema.Enum).Values()[0]
		case f.element.Kind() == reflect.String:
			row[f.name] = strings.Repeat("long words ", 20)
		case f.element.Kind() == reflect.Bool:
			row[f.name] = true
		default:
			row[f.name] = json.Number("1234567.5")
		}
		wide[f.name] = row[f.name]
		if text, ok := row[f.name].(string); ok && strings.Contains(text, " ") {
			wide[f.name] = strings.Repeat("地図が動かない", 20)
		}
	}
	return []map[string]any{row, wide}
}

// Ensure a table of every type of record fits into the width, and shows the first column and the
// whole id. A wider table must not show fewer columns.
func TestTablesFit(t *testing.T) {
	t.Parallel()
	const widthMin = 50
	for _, record := range listedTypes() {
		rows, before := sampleRows(record), 0
		all := columnsOf(record, rows)
		for width := widthMin; width < 300; width++ {
			columns := fitColumns(all, width)
			if len(columns) < before || len(columns) < 2 {
				t.Fatalf("%s: %d columns in a width of %d, %d in one less", record, len(columns), width, before)
			}
			before = len(columns)
			for line := range strings.Lines(tableOf(record, rows, tableStyle{width: width})) {
				if n := textWidth(strings.TrimSuffix(line, "\n")); n > width {
					t.Fatalf("%s: a line of %d in a width of %d: %q", record, n, width, line)
				}
			}
		}
		if id, ok := rows[0][idField].(string); ok && !strings.Contains(tableOf(record, rows, tableStyle{width: widthMin}), id) {
			t.Errorf("%s: the id is cut in a table of %d columns", record, widthMin)
		}
	}
}

// Ensure a table for an output of unknown width starts with the columns that a person looks for.
func TestTablesLead(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"broadcast.Post": "SCHEDULED STATUS PLATFORM BODY ID", "plan.Item": "COLUMN TITLE STATUS LIVE ID", "feedback.Feedback": "POSTED RATING REPLY BODY ID",
		"optimise.AuditSummary": "STARTED STATUS SEO AEO ID", "metrics.Point": "TIME VALUE DIMS CURRENCY BASE VALUE GRAIN",
	} {
		i := slices.IndexFunc(listedTypes(), func(record reflect.Type) bool { return record.String() == name })
		heading, _, _ := strings.Cut(tableOf(listedTypes()[i], sampleRows(listedTypes()[i]), tableStyle{width: widthDefault}), "\n")
		if got := strings.Join(strings.Fields(heading), " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Ensure third-party text cannot move the terminal's cursor, either in a table or in a record.
func TestPrintEscapes(t *testing.T) {
	t.Parallel()
	record := reflect.TypeFor[feedback.Feedback]()
	row := map[string]any{"id": "fbk_1", "title": "a\x1b[2Jb", "body": "one\r\ntwo\n\x07three", "flags": []any{"money", "legal"}, "rating": json.Number("4"), "replyStatus": "\x1b[2J"}
	rows, style := []map[string]any{row}, tableStyle{width: 200}
	for _, text := range []string{tableOf(record, rows, style), wideTableOf(recordFields(record), rows, false), formatFields(recordFields(record), row, style)} {
		if strings.ContainsAny(text, "\x1b\r\x07") {
			t.Errorf("a control character is printed: %q", text)
		}
		for _, part := range []string{`a\x1b[2Jb`, "money, legal", "4"} {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not in: %s", part, text)
			}
		}
	}
	if text := formatFields(recordFields(record), row, style); !strings.Contains(text, "one\\r\n             two\n") {
		t.Errorf("lines of a text are not printed below each other: %s", text)
	}
	if text := csvOf(recordFields(record), rows); strings.ContainsAny(text, "\x1b\r\x07") {
		t.Errorf("a control character is in the values: %q", text)
	}
}

// Ensure that cancelling the command also stops a --jq expression that would run forever. An error
// of --jq must not look like the error of a request, and must contain no control characters from a
// record.
func TestJQErrors(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for expression, c := range map[string]struct {
		ctx  context.Context
		want string
	}{
		"def f: f; f":    {ctx, "--jq: context canceled"},
		".title | error": {t.Context(), `--jq: error: a\x1b[2Jb`},
	} {
		filter, err := newJQFilter(expression)
		if err != nil {
			t.Fatal(err)
		}
		err = filter.run(c.ctx, []byte(`{"title":"a\u001b[2Jb"}`), func(any) error { return nil })
		if err == nil || err.Error() != c.want || errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %s", expression, err, c.want)
		}
	}
}

// Ensure a table shows a time to the minute, and only the day if all times are at midnight.
func TestTableTimes(t *testing.T) {
	t.Parallel()
	record := reflect.TypeFor[feedback.Feedback]()
	midnight, noon := map[string]any{"postedAt": "2026-08-11T00:00:00.000Z"}, map[string]any{"postedAt": "2026-08-12T12:05:59.999Z"}
	for want, rows := range map[string][]map[string]any{
		"POSTED\n2026-08-11\n-\n":                      {midnight, {}},
		"POSTED\n2026-08-11 00:00\n2026-08-12 12:05\n": {midnight, noon},
	} {
		if got := tableOf(record, rows, tableStyle{width: 80}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Ensure a column can be a field of a nested record. A nested record must be printed as additional
// lines.
func TestNestedRecords(t *testing.T) {
	t.Parallel()
	type claim struct {
		ClaimID string    `json:"claimId"`
		Item    plan.Item `json:"item"`
	}
	record := reflect.TypeFor[claim]()
	for path, want := range map[string]bool{"claimId": true, "item.title": true, "item.nothing": false, "nothing": false, "claimId.id": false} {
		if _, found := fieldAt(record, path); found != want {
			t.Errorf("the field %s is found: %t, want %t", path, found, want)
		}
	}
	row := map[string]any{"claimId": "clm_1", "item": map[string]any{"id": "itm_1", "title": "Dark mode"}}
	if got := valueAt(row, "item.title"); got != "Dark mode" || valueAt(map[string]any{"item": nil}, "item.title") != nil {
		t.Errorf("the title is %v, want Dark mode, and nil in a record without an item", got)
	}
	text := formatFields(recordFields(record), row, tableStyle{width: 80})
	if !strings.HasPrefix(text, "claimId  clm_1\n\nitem\nid ") || !strings.Contains(text, "\ntitle             Dark mode\n") {
		t.Errorf("the item is not printed as lines: %s", text)
	}
}

// Ensure a time that does not fit is cut to the day.
func TestTableDays(t *testing.T) {
	t.Parallel()
	rows := sampleRows(reflect.TypeFor[feedback.Feedback]())
	requireDay := func(width int, want string) {
		t.Helper()
		lines := strings.Split(tableOf(reflect.TypeFor[feedback.Feedback](), rows, tableStyle{width: width}), "\n")
		if got := lines[1][:strings.Index(lines[0], "RATING")]; strings.TrimRight(got, " ") != want {
			t.Errorf("%q in a width of %d, want %q", got, width, want)
		}
	}
	requireDay(60, "2026-08-11")
	requireDay(120, "2026-08-11 09:30")
}

// Ensure only words for a status have a color, and only if the output has colors. The color changes
// neither the text nor the alignment.
func TestStatusColors(t *testing.T) {
	t.Parallel()
	values := map[string]bool{}
	for _, op := range functions.Operations(nil) {
		for _, f := range recordFields(op.Record()) {
			if f.isStatus() {
				for _, value := range reflect.Zero(f.element).Interface().(schema.Enum).Values() {
					values[value] = true
				}
			}
		}
	}
	for value := range statusColors {
		if !values[value] {
			t.Errorf("%s has a color, and no status has this value", value)
		}
	}
	record := reflect.TypeFor[plan.Item]()
	rows := []map[string]any{{"title": "published", "status": "published"}, {"title": "draft", "status": "draft"}}
	plain, colored := tableOf(record, rows, tableStyle{width: 80}), tableOf(record, rows, tableStyle{width: 80, color: true})
	if want := strings.Replace(plain, "  published", "  \x1b[32mpublished\x1b[0m", 1); colored != want {
		t.Errorf("%q, want %q", colored, want)
	}
	if text := formatFields(recordFields(record), rows[0], tableStyle{color: true}); strings.Count(text, "\x1b[32m") != 1 || !strings.Contains(text, "status            \x1b[32mpublished\x1b[0m\n") {
		t.Errorf("the status of a record is not in color: %q", text)
	}
}

// Ensure comma-separated values can be parsed again. A spreadsheet program must find no formula in
// third-party text.
func TestCSV(t *testing.T) {
	t.Parallel()
	fields := recordFields(reflect.TypeFor[feedback.Feedback]())
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\tx": "'\tx", "\r=1": "'=1", "\nx": "'\nx", "＝1": "'＝1", "＠x": "'＠x",
		"a=1": "a=1", "two\nlines": "two\nlines", `a "quote", here`: `a "quote", here`, "": "", "\x00=1": "'=1",
	} {
		out := csvOf(fields, []map[string]any{{"title": text, "rating": json.Number("-1"), "flags": []any{"money", "legal"}}})
		lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || len(lines) != 2 {
			t.Fatalf("%q: %d lines, %v", text, len(lines), err)
		}
		got := map[string]string{}
		for i, name := range lines[0] {
			got[name] = lines[1][i]
		}
		if got["title"] != want || got["rating"] != "-1" || got["flags"] != "money, legal" || got["body"] != "" {
			t.Errorf("%q: %q, want the title %q", text, got, want)
		}
	}
	if got := csvCell(map[string]any{"country": "de"}); got != `{"country":"de"}` {
		t.Errorf("an object is %s, want JSON", got)
	}
}
