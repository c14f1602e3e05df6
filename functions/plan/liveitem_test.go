package plan_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/testkit/apitest"
)

// liveItems returns all live items of brd_1 and the number of pages that it read them in. Each page
// has the given maximum size.
func liveItems(t *testing.T, s *apitest.Service, key string, limit int) (items []map[string]any, pages int) {
	t.Helper()
	args := map[string]any{"boardId": "brd_1", "limit": limit}
	for {
		r := s.Call(t, key, "list_plan_live_items", args)
		if r.Status != http.StatusOK {
			t.Fatalf("list %v: status %d, want 200: %s", args, r.Status, r.Body)
		}
		var list struct{ Items []map[string]any }
		r.Decode(t, &list)
		items, pages = append(items, list.Items...), pages+1
		cursor, more := r.NextCursor(t)
		if !more {
			return items, pages
		}
		if len(list.Items) != limit {
			t.Errorf("a page of %d with limit %d", len(list.Items), limit)
		}
		args["cursor"] = cursor
	}
}

// Ensure the live items are what visitors see: the content of the last publish, in its order and
// regardless of later edits.
func TestLiveItems(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	board := map[string]any{"boardId": "brd_1"}
	checkEmpty := func(name string) {
		t.Helper()
		if items, n := liveItems(t, s, key, 1); len(items) != 0 || n != 1 {
			t.Errorf("%s: %d pages with the items %v, want one without items", name, n, items)
		}
	}
	checkEmpty("never published")
	last := createItem(t, s, key, map[string]any{"title": "Last", "status": "published"})["id"]
	first := createItem(t, s, key, map[string]any{"title": "First", "status": "published", "sortOrder": 1, "summary": "S", "columnId": "now", "categoryIds": []string{"a"}, "targetLabel": "Q3"})["id"]
	createItem(t, s, key, map[string]any{"title": "Draft"})
	checkEmpty("not published yet")
	callOperation(t, s, key, "publish_plan_board", board)
	want := []map[string]any{
		{"id": first, "slug": "first", "title": "First", "summary": "S", "columnId": "now", "categoryIds": []any{"a"}, "sortOrder": 1.0, "targetLabel": "Q3", "publishedVersion": 1.0},
		{"id": last, "slug": "last", "title": "Last", "summary": nil, "columnId": nil, "categoryIds": nil, "sortOrder": nil, "targetLabel": nil, "publishedVersion": 1.0},
	}
	check := func(name string) {
		t.Helper()
		for limit := 1; limit <= 3; limit++ {
			items, pages := liveItems(t, s, key, limit)
			if fmt.Sprint(items) != fmt.Sprint(want) || pages != max(1, (len(want)+limit-1)/limit) {
				t.Errorf("%s, limit %d: %d pages of %v", name, limit, pages, items)
			}
		}
	}
	check("published")
	callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": first, "title": "Edited", "sortOrder": nil})
	callOperation(t, s, key, "delete_plan_item", map[string]any{"itemId": last})
	check("edited since")

	cursor, _ := s.Call(t, key, "list_plan_live_items", map[string]any{"boardId": "brd_1", "limit": 1}).NextCursor(t)
	other, _ := s.Call(t, key, "list_plan_items", map[string]any{"boardId": "brd_1", "limit": 1}).NextCursor(t)
	s.Run(t, []apitest.Scenario{
		{Name: "the second page", Op: "list_plan_live_items", Args: map[string]any{"boardId": "brd_1", "limit": 1, "cursor": cursor}},
		{Name: "a cursor of another list", Op: "list_plan_live_items", Args: map[string]any{"boardId": "brd_1", "cursor": other}, Want: 400, WantMessage: "query.cursor: "},
		{Name: "publish between two pages", Op: "publish_plan_board", Args: board, WantFields: map[string]any{"publishedVersion": 2}},
		{Name: "then start again", Op: "list_plan_live_items", Args: map[string]any{"boardId": "brd_1", "limit": 1, "cursor": cursor}, Want: 400, WantCode: "bad_request", WantMessage: "query.cursor: the board was published since; start again without cursor"},
		{Name: "an unknown board", Op: "list_plan_live_items", Args: map[string]any{"boardId": "brd_9"}, Want: 404},
	})
	want = []map[string]any{{"id": first, "slug": "first", "title": "Edited", "summary": "S", "columnId": "now", "categoryIds": []any{"a"}, "sortOrder": nil, "targetLabel": "Q3", "publishedVersion": 2.0}}
	check("published again")
	callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": first, "status": "archived"})
	callOperation(t, s, key, "publish_plan_board", board)
	checkEmpty("published empty")
}

// Ensure paging through a snapshot of many chunks skips nothing, even where a page ends at the end
// of a chunk. A forged cursor with any position must be refused or return a page of the same list.
func TestLiveItemsOfManyChunks(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := apitest.New(t, plan.Operations)
	key := s.IssueKey(t)
	const total = 180
	var items []string
	for n := range total {
		items = append(items, fmt.Sprintf(`{"id":"itm_%03d","slug":"s-%d","title":"%s","summary":"%s"}`, n, n, strings.Repeat("t", 200), strings.Repeat("s", 8000)))
	}
	importRecords(t, s, "board", `{"id":"brd_1","publishedVersion":1,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[`+strings.Join(items, ",")+`]}`)
	if chunks := len(storedSortKeys(t, s)) - 2; chunks < 4 {
		t.Fatalf("%d chunks", chunks)
	}
	for _, limit := range []int{1, 7, 42, 43, 44, 179, 180, 181, 200} {
		if testing.Short() && limit < 40 {
			continue
		}
		got, pages := liveItems(t, s, key, limit)
		if len(got) != total || pages != (total+limit-1)/limit {
			t.Errorf("limit %d: %d items in %d pages", limit, len(got), pages)
		}
		for n, i := range got {
			if i["id"] != fmt.Sprintf("itm_%03d", n) {
				t.Fatalf("limit %d: %v at %d", limit, i["id"], n)
			}
		}
	}
	store := plan.NewStore(s.Table)
	first, err := store.LiveItems(t.Context(), s.CompanyID, "brd_1", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, _, _ := strings.Cut(first.Next, "#")
	for _, position := range []string{"x", snapshot, snapshot + "#0", snapshot + "#0#-1", snapshot + "#x#0", snapshot + "#0#1#2", "snp_other#0#1", snapshot + "#99999999999#0", snapshot + "# 1#0"} {
		if page, err := store.LiveItems(t.Context(), s.CompanyID, "brd_1", position, 1); err == nil {
			t.Errorf("position %s: page %v, want an error", position, page)
		}
	}
	for _, position := range []string{snapshot + "#99#0", snapshot + "#0#99999", snapshot + "#5#0"} {
		if page, err := store.LiveItems(t.Context(), s.CompanyID, "brd_1", position, 200); err != nil || len(page.Records) >= total {
			t.Errorf("%s: %d items, %v", position, len(page.Records), err)
		}
	}
}
