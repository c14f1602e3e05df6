package functions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// largeList says how to fill a list with more JSON than fits into a page, using records that the
// API accepts.
type largeList struct {
	kind      string // the import type of the records; if empty, importLiveItems imports them
	count     int
	record    string         // one record of the import; %[1]d is its number
	arguments map[string]any // the arguments of the list operation
}

// wideText returns a string of n characters of three bytes each.
func wideText(n int) string { return strings.Repeat("漢", n) }

// textList returns a JSON array of 50 strings of n characters each.
func textList(n int) string {
	return `["` + strings.Join(slices.Repeat([]string{wideText(n)}, 50), `","`) + `"]`
}

// largeLists has a row for each list whose page, at the maximum limit, could exceed
// table.PageBytes.
var largeLists = map[string]largeList{
	"list_plan_items": {"item", 120, `{"id":"itm_l%[1]d","roadmapId":"brd_1","slug":"s-%[1]d","title":"T","summary":"` + wideText(2000) + `","categoryIds":` + textList(200) + `}`,
		map[string]any{"boardId": "brd_1"}},
	"list_plan_live_items":       {count: 120},
	"list_feedback":              {"feedback", 50, `{"id":"fbk_x%[1]d","source":"google_play","externalId":"e%[1]d","body":"` + wideText(40_000) + `"}`, nil},
	"list_metric_definitions":    {"metric-definition", 120, `{"id":"mdf_x%[1]d","key":"large.k%[1]d","description":"` + wideText(2000) + `","dimensions":` + textList(200) + `}`, nil},
	"list_metric_points":         {"metric-point", 370, `{"metricKey":"support.tickets","ts":"DAY","value":%[1]d,"dims":{` + dimensions() + `}}`, map[string]any{"metricKey": "support.tickets"}},
	"list_optimise_sites":        {"site", 340, `{"id":"sit_x%[1]d","name":"S","domains":["` + strings.Join(slices.Repeat([]string{longHost()}, 50), `","`) + `"]}`, nil},
	"list_optimise_goals":        {"site-goal", 1900, `{"id":"gol_x%[1]d","siteId":"sit_1","name":"` + wideText(200) + `","pattern":"` + wideText(500) + `"}`, map[string]any{"siteId": "sit_1"}},
	"list_broadcast_plans":       {"content-plan", 145, `{"id":"pln_x%[1]d","name":"` + wideText(200) + `","brief":"` + wideText(2000) + `","objective":"` + controlCharacters(2000) + `","audience":"` + controlCharacters(2000) + `"}`, nil},
	"list_broadcast_ideas":       {"content-idea", 180, `{"id":"ida_x%[1]d","title":"T","summary":"` + controlCharacters(2000) + `","rationale":"` + controlCharacters(2000) + `"}`, nil},
	"list_broadcast_posts":       {"post", 75, `{"id":"pst_x%[1]d","platform":"x","body":"` + wideText(10_000) + `","threadParts":` + threadPartsJSON(10_000) + `}`, nil},
	"list_due_posts":             {"post", 75, `{"id":"pst_x%[1]d","platform":"x","status":"scheduled","scheduledFor":"2026-08-01T00:00:00Z","body":"` + wideText(10_000) + `","threadParts":` + threadPartsJSON(10_000) + `}`, nil},
	"list_post_claims":           {"post", 75, `{"id":"pst_x%[1]d","platform":"x","status":"publishing","body":"` + wideText(10_000) + `","threadParts":` + threadPartsJSON(10_000) + `}`, nil},
	"list_approved_replies":      {"feedback", 50, `{"id":"fbk_x%[1]d","source":"google_play","externalId":"e%[1]d","replyStatus":"approved","replyBody":"Thanks","body":"` + wideText(40_000) + `"}`, nil},
	"list_reply_claims":          {"feedback", 50, `{"id":"fbk_x%[1]d","source":"google_play","externalId":"e%[1]d","replyStatus":"posting","replyBody":"Thanks","body":"` + wideText(40_000) + `"}`, nil},
	"list_broadcast_channels":    {"channel", 850, `{"id":"chn_x%[1]d","platform":"x","name":"` + wideText(200) + `","lastError":"` + wideText(1500) + `"}`, nil},
	"list_context_content_types": {"content-type", 180, `{"id":"cty_x%[1]d","name":"N","description":"` + controlCharacters(2000) + `","guidance":"` + controlCharacters(2000) + `"}`, nil},
}

// controlCharacters returns n control characters in JSON, each of which is escaped as six bytes.
func controlCharacters(n int) string { return strings.Repeat(`\u0001`, n) }

func longHost() string { return strings.Repeat(strings.Repeat("a", 62)+".", 4)[:251] }

// threadPartsJSON returns the parts of a thread as a JSON array, with about n characters in all
// parts together.
func threadPartsJSON(n int) string {
	return `["` + strings.Join(slices.Repeat([]string{wideText(140)}, n/140), `","`) + `"]`
}

func dimensions() string {
	var out []string
	for n := range 10 {
		out = append(out, fmt.Sprintf(`"%d%s":"%s"`, n, wideText(199), wideText(200)))
	}
	return strings.Join(out, ",")
}

// importRecords imports the records of a row and returns the arguments of the list operation.
func (l largeList) importRecords(t *testing.T, s *apitest.Service) map[string]any {
	t.Helper()
	if l.kind == "" {
		return importLiveItems(t, s, l.count)
	}
	records := make([]json.RawMessage, l.count)
	for n := range records {
		text := fmt.Sprintf(l.record, n)
		day := apitest.Epoch.AddDate(0, 0, -n).Format(time.DateOnly)
		records[n] = json.RawMessage(strings.ReplaceAll(text, "DAY", day+"T00:00:00Z"))
	}
	importLines(t, s, l.kind, records...)
	if l.arguments == nil {
		return map[string]any{}
	}
	return maps.Clone(l.arguments)
}

// importLiveItems imports a published board with the given number of large live items, and returns
// the arguments of the list operation.
func importLiveItems(t *testing.T, s *apitest.Service, count int) map[string]any {
	t.Helper()
	items := make([]string, count)
	for n := range items {
		items[n] = fmt.Sprintf(`{"id":"itm_y%d","slug":"y-%d","title":"T","summary":"%s","categoryIds":%s}`, n, n, wideText(2000), textList(200))
	}
	importLines(t, s, "board", json.RawMessage(`{"id":"brd_live","publishedVersion":1,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[`+strings.Join(items, ",")+`]}`))
	return map[string]any{"boardId": "brd_live"}
}

// jsonBytesMax returns an upper bound for the size of the fields' values in JSON. It is infinite if
// a field has no bound.
func jsonBytesMax(fields []schema.Field) (bytes float64) {
	for _, f := range fields {
		switch {
		case f.In != schema.InBody:
		case f.Kind == schema.Any && f.Name == "findings": // no list returns findings
		case f.Kind == schema.Map || f.Kind == schema.Any:
			return math.Inf(1)
		case f.Kind == schema.Array && f.Fields != nil && f.Required: // the records in the body of a push
			bytes += jsonBytesMax(f.Fields)
		case f.Kind == schema.Array && f.Fields != nil:
			bytes += float64(f.ItemsMax) * (jsonBytesMax(f.Fields) + 100) // 100 bytes for the names of an element's properties
		case f.Kind == schema.Array:
			each := 6 * f.ItemCharsMax
			if f.Format != "" { // values with a format are ASCII, so each character is one byte
				each = f.ItemCharsMax
			}
			bytes += float64(f.ItemsMax * (each + 3))
		case f.Kind == schema.String && f.Enum == nil && f.Max != nil:
			bytes += 6 * *f.Max
		}
	}
	return bytes
}

// mayBeLarge reports whether a page of a list could exceed table.PageBytes. It assumes a page at
// the list's maximum limit, filled with the largest records that the operations at the same path
// can create.
func mayBeLarge(list api.Operation, operations []api.Operation) bool {
	limit, recordBytes := math.Inf(1), 0.0
	for _, f := range list.Input {
		if f.Name == "limit" {
			limit = *f.Max
		}
	}
	for _, op := range operations {
		if op.Method == http.MethodPost && op.Path == list.Path {
			recordBytes = max(recordBytes, jsonBytesMax(op.Input))
		}
	}
	if recordBytes == 0 { // only an import creates records of this list, so their size is unknown
		recordBytes = math.Inf(1)
	}
	return limit*recordBytes > table.PageBytes
}

// Ensure largeLists has a row for every list whose pages could be too large (see mayBeLarge). The
// list of companies needs no row, because it has only one record. A feed and the versions of a board
// need none either, because a change and a version contain no long strings.
func TestLargeListsAreComplete(t *testing.T) {
	operations := functions.Operations(nil)
	for _, op := range operations {
		if _, has := largeLists[op.ID]; op.IsList() && op.ID != "list_companies" && op.ID != "list_plan_versions" && !op.IsFeed() && mayBeLarge(op, operations) && !has {
			t.Errorf("%s may have more JSON than a page. Add a row to largeLists: its type in an import, as many records as exceed %d bytes, "+
				"one of them, and the arguments of its path or nil, such as\n\t%q: {\"brand-goal\", 1100, `{\"id\":\"bgl_x%%[1]d\",\"name\":\"` + wideText(200) + `\"}`, nil},",
				op.ID, table.PageBytes, op.ID)
		}
	}
}

// Ensure every list of large records can be read completely, at every limit. Each page must end
// before it exceeds table.PageBytes, and the next page must continue after the last record of that
// page. A tool called with the same arguments must show a part of the page and a note that there is
// more.
func TestLargeLists(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, op := range functions.Operations(nil) {
		row, has := largeLists[op.ID]
		if !has {
			continue
		}
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			arguments := row.importRecords(t, s)
			var all []string
			for _, limit := range limitsToTry(op) {
				if arguments["limit"] = limit; limit == "" {
					delete(arguments, "limit")
				}
				got, pages := readWholeList(t, s, op, arguments)
				if all == nil {
					all = got
					if pages < 2 {
						t.Errorf("all %d records fit into one page: largeLists needs more of them", len(got))
					}
				}
				if len(got) < row.count || !slices.Equal(got, all) {
					t.Errorf("limit %q: %d records, or in another order; want %d", limit, len(got), max(row.count, len(all)))
				}
			}
		})
	}
}

// limitsToTry returns the limits with which a test reads a list: the maximum, an empty string for
// the default, and 40, because a page often has room for fewer than 40 large records.
func limitsToTry(op api.Operation) []string {
	for _, f := range op.Input {
		if f.Name == "limit" {
			return []string{strconv.Itoa(int(*f.Max)), "", "40"}
		}
	}
	return []string{""}
}

// readWholeList reads a list to its end. It returns the identifiers of its records, in order, and
// the number of pages. It reads each page over HTTP, and also with a tool call, which shows a part
// of the page.
func readWholeList(t *testing.T, s *apitest.Service, op api.Operation, arguments map[string]any) (all []string, pages int) {
	t.Helper()
	key, arguments := s.IssueKey(t), maps.Clone(arguments)
	for {
		r := s.Call(t, key, op.ID, arguments)
		if r.Status != http.StatusOK || len(r.Body) > table.PageBytes {
			t.Fatalf("after %d records: %d, %d bytes, %.300s", len(all), r.Status, len(r.Body), r.Body)
		}
		page := recordIDs(t, r)
		if op.ID == "list_metric_points" { // each page contains older points than the one before
			slices.Reverse(page)
		}
		next := nextCursor(t, r)
		if r.Header.Get("Service-Has-More") != strconv.FormatBool(next != "") {
			t.Errorf("after %d records: next %q, Service-Has-More %s", len(all), next, r.Header.Get("Service-Has-More"))
		}
		if !op.NotTool {
			checkShownPart(t, callTool(t, s, key, op.ID, arguments), op, page, next)
		}
		all = append(all, page...)
		pages++
		if next == "" {
			return all, pages
		}
		arguments["cursor"] = next
		s.Clock.Advance(time.Second)
	}
}

// checkShownPart checks the part of a page that a tool shows. `page` lists the identifiers of the
// page's records, and `next` is the cursor of the next page.
func checkShownPart(t *testing.T, tool toolResult, op api.Operation, page []string, next string) {
	t.Helper()
	shown := tool.shownRecords(t)
	if wantMore := next != "" || len(shown) < len(page); tool.IsError || *tool.Meta.HasMore != wantMore || (tool.Meta.NextCursor != "") != wantMore || len(shown) == 0 || len(shown) > len(page) {
		t.Errorf("the page that starts with %s: the tool shows %d of %d, and says %+v", page[0], len(shown), len(page), tool.Meta)
	}
	for id := range shown {
		if !slices.Contains(page[:len(shown)], id) {
			t.Errorf("the page that starts with %s: the tool shows %s, which is not among the first %d of the page", page[0], id, len(shown))
		}
	}
	tool.checkSize(t, op.ID)
}

// recordIDs returns the id of each record of a page. It reports an error if the page is empty.
func recordIDs(t *testing.T, r apitest.Response) (ids []string) {
	t.Helper()
	var page struct {
		Items []struct {
			ID, SeriesID, PointKey string
			Version                json.Number         // of a board
			Post, Feedback         struct{ ID string } // the record that a claim returns
		}
	}
	r.Decode(t, &page)
	if len(page.Items) == 0 {
		t.Error("a page without records")
	}
	for _, record := range page.Items {
		ids = append(ids, record.ID+record.SeriesID+record.PointKey+record.Version.String()+record.Post.ID+record.Feedback.ID)
	}
	return ids
}

// nextCursor returns the cursor in the Link header, or "" at the end of a list.
func nextCursor(t *testing.T, r apitest.Response) string {
	t.Helper()
	link, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Link"), "<"), ">")
	next, err := url.Parse(link)
	if err != nil {
		t.Error(err)
	}
	return next.Query().Get("cursor")
}
