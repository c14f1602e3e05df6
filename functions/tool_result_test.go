package functions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/testkit/oracle"
)

// A tool's result is an HTTP body that is rewritten for a model and truncated to a maximum size.
// The tests below ensure that nothing is lost: a caller that follows the cursors gets exactly the
// list, and a caller that follows the outlines gets exactly the record.

// checkSize reports a test error if a result exceeds the maximum size.
func (tr toolResult) checkSize(t *testing.T, what string) {
	t.Helper()
	textBytes := 0
	for _, one := range tr.Content {
		textBytes += len(one.Text)
	}
	if total := textBytes + len(tr.StructuredContent); textBytes > oracle.ResultTextBytesMax || total > oracle.ResultBytesMax {
		t.Errorf("%s: the text has %d bytes, and %d with the structured content; want at most %d and %d: %.200s",
			what, textBytes, total, oracle.ResultTextBytesMax, oracle.ResultBytesMax, tr.http.Body)
	}
}

// decodeJSON decodes a JSON value. It keeps numbers as they are written.
func decodeJSON(t *testing.T, text string) (value any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("no JSON: %v: %.300s", err, text)
	}
	return value
}

// decodeText decodes the record or list in the text that the model reads.
func (tr toolResult) decodeText(t *testing.T) any {
	t.Helper()
	return decodeJSON(t, tr.Content[0].Text)
}

// shownToModel returns what the text of a tool's result must show for an HTTP body. It omits
// companyId and properties that are null. Points are shown as the rows of their series.
func shownToModel(body any) any {
	record, _ := body.(map[string]any)
	items, isList := record["items"].([]any)
	if !isList {
		return shownRecord(record)
	}
	if len(items) > 0 && items[0].(map[string]any)["pointKey"] != nil {
		return shownPoints(items)
	}
	shown := []any{}
	for _, item := range items {
		shown = append(shown, shownRecord(item.(map[string]any)))
	}
	return map[string]any{"items": shown}
}

func shownRecord(record map[string]any) map[string]any {
	out := maps.Clone(record)
	maps.DeleteFunc(out, func(name string, value any) bool { return value == nil || name == "companyId" })
	if kinds, isOverview := out["attention"].([]any); isOverview { // its text has one record of each kind
		kinds = slices.Clone(kinds)
		for i := range kinds {
			kind := maps.Clone(kinds[i].(map[string]any))
			kind["items"] = kind["items"].([]any)[:1]
			kinds[i] = kind
		}
		out["attention"] = kinds
	}
	return out
}

func shownPoints(points []any) any {
	columns := []any{"day", "value"}
	for _, name := range []string{"currency", "baseValue", "source"} {
		if slices.ContainsFunc(points, func(p any) bool { return p.(map[string]any)[name] != nil }) {
			columns = append(columns, name)
		}
	}
	var all []any
	series := map[any]map[string]any{}
	for _, p := range points {
		point := p.(map[string]any)
		id := point["seriesId"]
		if series[id] == nil {
			series[id] = map[string]any{"seriesId": id, "rows": []any{}}
			if point["dims"] != nil {
				series[id]["dims"] = point["dims"]
			}
			all = append(all, series[id])
		}
		row := []any{point["ts"].(string)[:len(time.DateOnly)]}
		for _, name := range columns[1:] {
			row = append(row, point[name.(string)])
		}
		series[id]["rows"] = append(series[id]["rows"].([]any), row)
	}
	return map[string]any{"columns": columns, "series": all}
}

// shownRecords returns a map of the records in the text of a list. Its keys are the ids that
// recordIDs returns. For points, the records are rows.
func (tr toolResult) shownRecords(t *testing.T) map[string]any {
	t.Helper()
	out, n := map[string]any{}, 0
	list := tr.decodeText(t).(map[string]any)
	items, _ := list["items"].([]any)
	for _, item := range items {
		record := item.(map[string]any)
		id := record["id"]
		if id == nil { // a version of a board
			id = record["version"]
		}
		out[fmt.Sprint(id)] = item
		n++
	}
	all, _ := list["series"].([]any)
	for _, one := range all {
		series := one.(map[string]any)
		for _, row := range series["rows"].([]any) {
			out[fmt.Sprint(series["seriesId"], "day:", row.([]any)[0])] = row
			n++
		}
	}
	if n != len(out) {
		t.Errorf("a record is shown twice: %.300s", tr.Content[0].Text)
	}
	return out
}

// Ensure following the cursors of a tool returns exactly the records of the HTTP list, in the same
// order. This must hold for records of any size and for any selection of fields. The cursors must
// also be valid over HTTP.
func TestToolListsInParts(t *testing.T) {
	t.Parallel()
	cuts := 0
	for _, op := range toolOperations() {
		if !op.IsList() || testing.Short() && op.ID != "list_feedback" && op.ID != "list_optimise_sites" {
			continue
		}
		s := start(t, nil)
		arguments := maps.Clone(fixtureArguments[op.ID])
		if row, has := largeLists[op.ID]; has {
			row.count = 9
			arguments = row.importRecords(t, s)
		}
		key := s.IssueKey(t)
		want, records, body := listOverHTTP(t, s, key, op, arguments)
		for _, fields := range [][]string{nil, {}, {recordFields(op)[1]}} {
			var ids []string
			args := withArgument(arguments, "fields", nil)
			if fields != nil {
				args["fields"] = fields
			}
			for {
				s.Clock.Advance(time.Second)
				page := callTool(t, s, key, op.ID, args)
				page.checkSize(t, op.ID)
				shown := page.shownRecords(t)
				if op.ID == "list_metric_points" || op.ID == "list_companies" {
					ids = append(ids, slices.Sorted(maps.Keys(shown))...)
				} else {
					ids = append(ids, recordIDs(t, apitest.Response{Body: page.Content[0].Text})...)
				}
				for id, record := range shown {
					delete(records[id], "lastUsedAt") // each call changes the key's lastUsedAt
					if object, isObject := record.(map[string]any); isObject && !hasOutline(object) {
						delete(object, "lastUsedAt")
						if reflect.DeepEqual(object, shownFields(records[id], fields)) {
							continue
						}
						t.Errorf("%s with the fields %v: %s is shown as %.300v, want %.300v", op.ID, fields, id, record, shownFields(records[id], fields))
					}
				}
				if isWholeList := page.StructuredContent != nil && args["cursor"] == nil; isWholeList && (fields != nil || string(page.StructuredContent) != body && op.ID != "list_keys") {
					t.Errorf("%s with the fields %v: structured content that is not the whole list: %.200s", op.ID, fields, page.StructuredContent)
				}
				if page.IsError || *page.Meta.HasMore != (page.Meta.NextCursor != "") {
					t.Fatalf("%s: %.300s", op.ID, page.http.Body)
				}
				if page.Meta.NextCursor == "" {
					break
				}
				cuts++
				args["cursor"] = page.Meta.NextCursor
				response := s.Call(t, key, op.ID, withArgument(arguments, "cursor", page.Meta.NextCursor))
				if rest := pageIDs(t, op, response); response.Status != http.StatusOK || len(ids) >= len(want) || rest[0] != want[len(ids)] {
					t.Errorf("%s: over HTTP, the cursor after %d of %d records gives %d: %.200s", op.ID, len(ids), len(want), response.Status, response.Body)
				}
			}
			if op.ID == "list_metric_points" { // the text groups the rows by series
				slices.Sort(want)
				slices.Sort(ids)
			}
			if diff := cmp.Diff(want, ids); diff != "" {
				t.Errorf("%s with the fields %v (-HTTP +tool)\n%s", op.ID, fields, diff)
			}
		}
	}
	if cuts == 0 || !testing.Short() && cuts < 20 {
		t.Errorf("only %d results were cut", cuts)
	}
}

// withArgument returns a copy of the arguments with an additional one, unless value is nil.
func withArgument(arguments map[string]any, name string, value any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, arguments)
	if value != nil {
		out[name] = value
	}
	return out
}

// hasOutline reports whether an outline replaces a value of a record.
func hasOutline(record map[string]any) bool {
	for _, value := range record {
		if object, _ := value.(map[string]any); object["outline"] != nil {
			return true
		}
	}
	return false
}

// shownFields returns what a tool shows of a record if the call names the given fields. If `fields`
// is nil, the call names none.
func shownFields(record map[string]any, fields []string) map[string]any {
	if fields == nil {
		return shownRecord(record)
	}
	out := maps.Clone(record)
	maps.DeleteFunc(out, func(name string, value any) bool {
		return value == nil || name != "id" && name != "version" && !slices.Contains(fields, name)
	})
	return out
}

// listOverHTTP reads a list over HTTP. It returns the ids of the records in the order of the list,
// the records by id, and the body of the first page.
func listOverHTTP(t *testing.T, s *apitest.Service, key string, op api.Operation, arguments map[string]any) (ids []string, records map[string]map[string]any, body string) {
	t.Helper()
	records = map[string]map[string]any{}
	for cursor := any(nil); cursor != ""; {
		s.Clock.Advance(time.Second)
		r := s.Call(t, key, op.ID, withArgument(arguments, "cursor", cursor))
		if r.Status != http.StatusOK {
			t.Fatalf("%s: %d %.300s", op.ID, r.Status, r.Body)
		}
		if cursor == nil {
			body = r.Body
		}
		for n, id := range recordIDs(t, r) {
			records[id] = decodeJSON(t, r.Body).(map[string]any)["items"].([]any)[n].(map[string]any)
		}
		ids, cursor = append(ids, pageIDs(t, op, r)...), nextCursor(t, r)
	}
	return ids, records, body
}

// pageIDs returns the ids of the records on a page. If the page were shorter, it would have the
// first of these ids.
func pageIDs(t *testing.T, op api.Operation, r apitest.Response) []string {
	t.Helper()
	ids := recordIDs(t, r)
	if op.ID == "list_metric_points" {
		slices.Reverse(ids)
	}
	return ids
}

// recordFields returns the properties of an operation's record.
func recordFields(op api.Operation) []string {
	o, _ := operationTable.Lookup(op.ID)
	if other, isAs := strings.CutPrefix(o.Response, "as "); isAs {
		o, _ = operationTable.Lookup(other)
	}
	var out []string
	for _, field := range strings.Fields(o.Response) {
		name, _, _ := strings.Cut(field, ":")
		out = append(out, name)
	}
	return out
}

// largeFindings returns findings of about 400 KB, with objects and arrays of many parts, and with
// keys that must be escaped in a pointer.
func largeFindings() string {
	var pages, byPath []string
	for n := range 120 {
		issue := fmt.Sprintf(`{"rule":"image-alt","severity":%d,"note":"%s"}`, n%4, wideText(n%70))
		pages = append(pages, fmt.Sprintf(`{"url":"https://example.com/%d","score":%d.5,"issues":[%s]}`, n, n%100, strings.Join(slices.Repeat([]string{issue}, n%9), ",")))
		byPath = append(byPath, fmt.Sprintf(`"/docs/~%d":{"words":%d,"title":"%s"}`, n, n, controlCharacters(n%200)))
	}
	return `{"pages":[` + strings.Join(pages, ",") + `],"byPath":{` + strings.Join(byPath, ",") + `},"log":"` + wideText(15_000) + `","tool":{"name":"crawler","none":null}}`
}

// importLargeRecord imports a record that is too large for a tool's result, and returns the
// arguments for the tool that reads it. If a record of this type cannot be that large, it returns
// the arguments for the fixture's record.
func importLargeRecord(t *testing.T, s *apitest.Service, key string, get api.Operation) map[string]any {
	t.Helper()
	arguments := maps.Clone(fixtureArguments[get.ID])
	switch get.ID {
	case "get_optimise_audit":
		importLines(t, s, "audit", json.RawMessage(`{"id":"aud_large","rootUrl":"https://example.com","status":"complete","startedAt":"2026-08-01T00:00:00Z","findings":`+largeFindings()+`}`))
		return map[string]any{"auditId": "aud_large"}
	case "preview_plan_publish":
		items := make([]json.RawMessage, 90)
		for n := range items {
			items[n] = json.RawMessage(fmt.Sprintf(`{"id":"itm_p%d","roadmapId":"brd_1","slug":"p-%d","title":"%s","status":"published"}`, n, n, wideText(200)))
		}
		importLines(t, s, "item", items...)
		return arguments
	}
	for _, list := range toolOperations() {
		row, has := largeLists[list.ID]
		if !has || list.Record() != get.Record() || row.kind == "" {
			continue
		}
		row.count = 1
		maps.Copy(arguments, row.importRecords(t, s))
		var record struct{ ID string }
		if err := json.Unmarshal([]byte(fmt.Sprintf(row.record, 0)), &record); err != nil {
			t.Fatal(err)
		}
		ids := pathFields(get)
		arguments[ids[len(ids)-1].Name] = record.ID
		maps.DeleteFunc(arguments, func(name string, _ any) bool {
			return !slices.ContainsFunc(ids, func(f schema.Field) bool { return f.Name == name })
		})
	}
	return arguments
}

// Ensure a caller that follows the outlines of a record gets exactly the record of the HTTP
// response, even if the record is large. The argument "at" follows an outline.
func TestToolRecordsInParts(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	outlined, calls, s := 0, 0, start(t, nil)
	key := s.IssueKey(t)
	for _, op := range toolOperations() {
		if op.Effect != api.Read || op.IsList() {
			continue
		}
		arguments := importLargeRecord(t, s, key, op)
		read := func(pointer string) (any, error) {
			s.Clock.Advance(time.Second)
			calls++
			args := withArgument(arguments, "at", nil)
			if pointer != "" {
				args["at"] = pointer
			}
			r := callTool(t, s, key, op.ID, args)
			if r.checkSize(t, op.ID+" at "+pointer); r.IsError {
				return nil, fmt.Errorf("%s at %q: %s", op.ID, pointer, r.Content[0].Text)
			}
			if strings.Contains(r.Content[0].Text, `"outline":`) {
				outlined++
			}
			return r.decodeText(t), nil
		}
		s.Clock.Advance(time.Second)
		response := s.Call(t, key, op.ID, arguments)
		if response.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", op.ID, response.Status, response.Body)
		}
		want := decodeJSON(t, response.Body)
		got, err := oracle.ReadInParts(read)
		if err != nil {
			t.Error(err)
			continue
		}
		removeTimes := func(record any) any { // each call changes the key's lastUsedAt and the overview's asOf
			maps.DeleteFunc(record.(map[string]any), func(name string, _ any) bool { return name == "lastUsedAt" || name == "asOf" })
			return record
		}
		if diff := cmp.Diff(removeTimes(shownToModel(want)), removeTimes(got)); diff != "" {
			t.Errorf("%s (-HTTP +tool)\n%.3000s", op.ID, diff)
		}
		for name, value := range want.(map[string]any) {
			if value == nil || name == "companyId" {
				if got, err := read("/" + name); err != nil || got != value {
					t.Errorf("%s at /%s: %v, %v; want %v", op.ID, name, got, err, value)
				}
			}
		}
	}
	if outlined < 12 {
		t.Errorf("only %d results of %d had outlines", outlined, calls)
	}
}

// Ensure the argument "fields" limits the result of every read-only tool to the properties it lists
// and the id. The error for a misspelled property must suggest the right name.
func TestToolFields(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	for _, op := range toolOperations() {
		all := recordFields(op)
		args := withArgument(fixtureArguments[op.ID], "fields", all)
		s.Clock.Advance(10 * time.Second)
		r := callTool(t, s, key, op.ID, args)
		if op.Effect != api.Read {
			if !r.IsError || !strings.Contains(r.Content[0].Text, "fields: unknown argument") {
				t.Errorf("%s: a tool that writes has fields: %s", op.ID, r.http.Body)
			}
			continue
		}
		if r.IsError || r.StructuredContent != nil || len(r.Content[0].Text) < 20 {
			t.Errorf("%s with all fields: %s", op.ID, r.http.Body)
		}
		last := all[len(all)-1]
		args["fields"] = []string{last[:len(last)-1] + "_"}
		s.Clock.Advance(time.Second)
		if r := callTool(t, s, key, op.ID, args); !r.IsError || !strings.Contains(r.Content[0].Text, "did you mean "+last+"?") {
			t.Errorf("%s with a misspelled field: %s", op.ID, r.http.Body)
		}
		if op.ID == "list_metric_points" {
			continue
		}
		args["fields"] = []string{last}
		s.Clock.Advance(time.Second)
		r = callTool(t, s, key, op.ID, args)
		records := []any{r.decodeText(t)}
		if op.IsList() {
			records = slices.Collect(maps.Values(r.shownRecords(t)))
		}
		for _, one := range records {
			for name := range one.(map[string]any) {
				if name != "id" && name != "version" && name != last {
					t.Errorf("%s with the field %s also shows %s", op.ID, last, name)
				}
			}
		}
	}
}

// Ensure no tool's result exceeds the maximum size, for a company with 5,000 records and at any
// limit.
func TestToolResultsFit(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t, nil)
	total, imported := 0, map[string]bool{"": true}
	for _, op := range functions.Operations(nil) {
		row, has := largeLists[op.ID]
		if !has || imported[row.kind] {
			continue
		}
		imported[row.kind] = true
		row.count, row.record = 420, shortenStrings(row.record)
		row.importRecords(t, s)
		total += row.count
	}
	if total < 4600 {
		t.Errorf("only %d records", total)
	}
	key := s.IssueKey(t)
	for _, op := range toolOperations() {
		for _, limit := range limitsToTry(op) {
			args := withArgument(fixtureArguments[op.ID], "limit", limit)
			if limit == "" {
				delete(args, "limit")
			}
			s.Clock.Advance(10 * time.Second)
			r := callTool(t, s, key, op.ID, args)
			if r.IsError && op.Effect == api.Read { // some creates are conflicts, because the company already has too many records
				t.Errorf("%s: %s", op.ID, r.http.Body)
			}
			r.checkSize(t, op.ID+" with the limit "+limit)
		}
	}
	problems := callTool(t, s, key, "push_metric_points", map[string]any{"points": slices.Repeat([]any{map[string]any{"metricKey": "?", "ts": "?", "value": "?"}}, 500)})
	problems.checkSize(t, "a push of 500 wrong points")
	if last := problems.Content[len(problems.Content)-1].Text; !problems.IsError || last != "The first 50 of 1500 problems are shown." {
		t.Errorf("a push of 500 wrong points: %s", last)
	}
}

// shortenStrings returns a record of largeLists with its long strings shortened to a typical
// length.
func shortenStrings(record string) string {
	for _, long := range []string{"漢", `\u0001`} {
		for _, n := range []int{200, 20, 2} {
			record = strings.ReplaceAll(record, strings.Repeat(long, n*5), strings.Repeat(long, n))
		}
	}
	return record
}

// Ensure a result says that only HTTP has a value that no result can show. It must not send the
// model back to the pointer that it has just read.
func TestToolValuesThatOnlyHTTPHas(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	key := s.IssueKey(t)
	for findings, want := range map[string]string{
		`{"n":` + strings.Repeat("9", 40_000) + `}`:    "Values that do not fit are outlined: 1. Only HTTP has 1 of them, because a number or a name is too long for a result.",
		`{"` + strings.Repeat("k", 40_000) + `":true}`: "Values that do not fit are outlined: 1. Only HTTP has 1 of them, because a number or a name is too long for a result.",
		`{"n":` + strings.Repeat("9", 40_000) + `,"text":"` + strings.Repeat("x", 40_000) + `"}`: "Values that do not fit are outlined: 2. " +
			`Only HTTP has 1 of them, because a number or a name is too long for a result. Read them with at, such as "/findings/text/0-35997".`,
	} {
		created := s.Call(t, key, "create_optimise_audit", map[string]any{"rootUrl": "https://example.com", "findings": json.RawMessage(findings)})
		id := created.JSON(t)["id"]
		r := callTool(t, s, key, "get_optimise_audit", map[string]any{"auditId": id, "at": "/findings"})
		if r.IsError || len(r.Content) < 2 || r.Content[1].Text != want {
			t.Errorf("%.30s: %.1000s", findings, r.http.Body)
		}
	}
}
