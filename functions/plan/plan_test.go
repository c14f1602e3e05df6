package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// start returns a service whose company has the board brd_1, and a key with all scopes.
func start(t *testing.T) (s *apitest.Service, key string) {
	t.Helper()
	s = apitest.New(t, plan.Operations)
	importRecords(t, s, "board", `{"id":"brd_1","name":"Roadmap","createdAt":"2026-01-01T00:00:00Z"}`)
	return s, s.IssueKey(t)
}

// importRecords imports records of one type, like the command `workspace import`.
func importRecords(t *testing.T, s *apitest.Service, name string, records ...string) {
	t.Helper()
	kind, checked := checkImport(t, s, name, records...)
	if problems, err := kind.Verify(t.Context(), s.CompanyID, checked); err != nil || slices.ContainsFunc(problems, func(p transfer.Problem) bool { return p.UnlessNamed == "" }) {
		t.Fatalf("problems %v, want none: %v", problems, err)
	}
	if err := kind.Write(t.Context(), s.CompanyID, checked); err != nil {
		t.Fatal(err)
	}
}

// importWithoutChecks is like importRecords, but does not check for taken slugs.
func importWithoutChecks(t *testing.T, s *apitest.Service, name string, records ...string) {
	t.Helper()
	kind, checked := checkImport(t, s, name, records...)
	if err := kind.Write(t.Context(), s.CompanyID, checked); err != nil {
		t.Fatal(err)
	}
}

func checkImport(t *testing.T, s *apitest.Service, name string, records ...string) (kind transfer.Type, checked []any) {
	t.Helper()
	for _, kind = range plan.Transfers(s.Table) {
		if kind.Name != name {
			continue
		}
		for _, text := range records {
			record, problems := kind.Check(json.RawMessage(text))
			if len(problems) > 0 {
				t.Fatalf("record %s: problems %q, want none", text, problems)
			}
			checked = append(checked, record)
		}
		return kind, checked
	}
	t.Fatalf("no type %s", name)
	return kind, nil
}

func exportLines(t *testing.T, s *apitest.Service, kind transfer.Type) (lines []string) {
	t.Helper()
	err := kind.Export(t.Context(), s.CompanyID, func(record any) error {
		text, err := json.Marshal(record)
		lines = append(lines, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func createItem(t *testing.T, s *apitest.Service, key string, arguments map[string]any) map[string]any {
	t.Helper()
	arguments["boardId"] = "brd_1"
	r := s.Call(t, key, "create_plan_item", arguments)
	if r.Status != 200 {
		t.Fatalf("create_plan_item: status %d, want 200: %s", r.Status, r.Body)
	}
	return r.JSON(t)
}

func callOperation(t *testing.T, s *apitest.Service, key, op string, arguments map[string]any) map[string]any {
	t.Helper()
	r := s.Call(t, key, op, arguments)
	if r.Status != 200 {
		t.Fatalf("%s: status %d, want 200: %s", op, r.Status, r.Body)
	}
	return r.JSON(t)
}

func TestBoards(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	importRecords(t, s, "board", `{"id":"brd_3","createdAt":"2025-01-01T00:00:00Z","allowedOrigins":[]}`, `{"id":"brd_2"}`)
	s.Run(t, []apitest.Scenario{
		{Name: "ordered by createdAt, null last", Op: "list_plan_boards", Check: func(t *testing.T, r apitest.Response) {
			if got := idsOf(r.Items(t)); !slices.Equal(got, []string{"brd_3", "brd_1", "brd_2"}) {
				t.Errorf("order %q, want brd_3, brd_1, brd_2", got)
			}
		}},
		{Name: "get", Op: "get_plan_board", Args: map[string]any{"boardId": "brd_3"}, WantFields: map[string]any{"allowedOrigins": []string{}, "publishedVersion": nil}},
		{Name: "unknown", Op: "get_plan_board", Args: map[string]any{"boardId": "brd_9"}, Want: 404, WantCode: "not_found"},
		{Name: "malformed id", Op: "get_plan_board", Args: map[string]any{"boardId": "brd_1#x"}, Want: 404, WantCode: "not_found"},
		{Name: "id of an item", Op: "get_plan_board", Args: map[string]any{"boardId": "itm_1"}, Want: 404},
	})
	if got := listAllIDs(t, s, key, "list_plan_boards", map[string]any{"limit": 1}); !slices.Equal(got, []string{"brd_3", "brd_1", "brd_2"}) {
		t.Error("paged:", got)
	}
}

func idsOf(items []map[string]any) (out []string) {
	for _, i := range items {
		out = append(out, i["id"].(string))
	}
	return out
}

// listAllIDs follows a list to its end and returns the ids of all items.
func listAllIDs(t *testing.T, s *apitest.Service, key, op string, arguments map[string]any) (out []string) {
	t.Helper()
	for range 1000 {
		r := s.Call(t, key, op, arguments)
		items := r.Items(t)
		out = append(out, idsOf(items)...)
		next, more := r.NextCursor(t)
		if !more {
			return out
		}
		arguments["cursor"] = next
	}
	t.Fatal("the list has more than 1000 pages")
	return nil
}

func TestItems(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	first := createItem(t, s, key, map[string]any{"title": "Größe & Ordnung!", "sortOrder": 2})
	id := first["id"].(string)
	s.Run(t, []apitest.Scenario{
		{Name: "created", Op: "get_plan_item", Args: map[string]any{"itemId": id}, WantFields: map[string]any{
			"slug": "grosse-ordnung", "status": "draft", "roadmapId": "brd_1", "sortOrder": 2, "categoryIds": nil, "publishedVersion": nil,
			"companyId": s.CompanyID, "createdAt": "2026-08-11T09:30:00.000Z", "updatedAt": "2026-08-11T09:30:00.000Z",
		}},
		{Name: "slug cannot change", Op: "update_plan_item", Args: map[string]any{"itemId": id, "slug": "new"}, Want: 400, WantMessage: "body.slug: unknown property"},
		{Name: "title is required", Op: "create_plan_item", Args: map[string]any{"boardId": "brd_1"}, Want: 400, WantMessage: "body.title: is required"},
		{Name: "title of 201 characters", Op: "create_plan_item", Args: map[string]any{"boardId": "brd_1", "title": string(make([]rune, 201))}, Want: 400, WantMessage: "body.title: must have at most 200"},
		{Name: "malformed slug", Op: "create_plan_item", Args: map[string]any{"boardId": "brd_1", "title": "x", "slug": "A b"}, Want: 400, WantMessage: "body.slug: must match"},
		{Name: "slug taken", Op: "create_plan_item", Args: map[string]any{"boardId": "brd_1", "title": "x", "slug": "grosse-ordnung"}, Want: 409, WantCode: "conflict", WantMessage: "body.slug"},
		{Name: "slug derived again", Op: "create_plan_item", Args: map[string]any{"boardId": "brd_1", "title": "Größe Ordnung"}, WantFields: map[string]any{"slug": "grosse-ordnung-2"}},
		{Name: "unknown board", Op: "create_plan_item", Args: map[string]any{"boardId": "brd_9", "title": "x"}, Want: 404, WantCode: "not_found"},
		{Name: "list of an unknown board", Op: "list_plan_items", Args: map[string]any{"boardId": "brd_9"}, Want: 404},
		{Name: "sortOrder is whole", Op: "update_plan_item", Args: map[string]any{"itemId": id, "sortOrder": 1.5}, Want: 400, WantMessage: "body.sortOrder: must be a whole number"},
		{Name: "any status may follow", Op: "update_plan_item", Args: map[string]any{"itemId": id, "status": "archived", "categoryIds": []string{"a", "b"}}, WantFields: map[string]any{"status": "archived", "categoryIds": []string{"a", "b"}}},
		{Name: "list cleared", Op: "update_plan_item", Args: map[string]any{"itemId": id, "categoryIds": []string{}, "status": "draft"}, WantFields: map[string]any{"status": "draft", "categoryIds": []string{}}},
		{Name: "deleted", Op: "delete_plan_item", Args: map[string]any{"itemId": id}, WantFields: map[string]any{"id": id, "deleted": true}},
		{Name: "deleted twice", Op: "delete_plan_item", Args: map[string]any{"itemId": id}, Want: 404},
		{Name: "gone", Op: "get_plan_item", Args: map[string]any{"itemId": id}, Want: 404},
		{Name: "its slug is free again", Op: "create_plan_item", Args: map[string]any{"boardId": "brd_1", "title": "x", "slug": "grosse-ordnung"}},
	})
}

// Ensure items are listed in order, a status filter returns exactly the items with that status, and
// each item is on exactly one page.
func TestItemOrder(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	var records []string
	for n := range 23 {
		order, status := "null", []string{`"draft"`, `"published"`, `"archived"`, "null"}[n%4]
		if n%3 > 0 {
			order = fmt.Sprint(n%5 - 2)
		}
		records = append(records, fmt.Sprintf(`{"id":"itm_%02d","roadmapId":"brd_1","slug":"s-%d","title":"T","sortOrder":%s,"status":%s,"createdAt":"2026-01-%02dT00:00:00Z"}`, n, n, order, status, 28-n))
	}
	importRecords(t, s, "item", records...)
	whole := s.Call(t, key, "list_plan_items", map[string]any{"boardId": "brd_1"}).Items(t)
	want := slices.Clone(whole)
	slices.SortStableFunc(want, func(a, b map[string]any) int {
		x, y := a["sortOrder"], b["sortOrder"]
		switch {
		case x == nil && y == nil || x == y:
			return strings.Compare(a["createdAt"].(string), b["createdAt"].(string))
		case x == nil:
			return 1
		case y == nil:
			return -1
		case x.(float64) < y.(float64):
			return -1
		}
		return 1
	})
	if got := idsOf(whole); len(got) != 23 || !slices.Equal(got, idsOf(want)) {
		t.Errorf("got %v, want %v", got, idsOf(want))
	}
	for _, limit := range []int{1, 2, 22, 23, 200} {
		if got := listAllIDs(t, s, key, "list_plan_items", map[string]any{"boardId": "brd_1", "limit": limit}); !slices.Equal(got, idsOf(want)) {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
	for _, status := range (plan.Status("")).Values() {
		var expected []string
		for _, i := range want {
			if i["status"] == status {
				expected = append(expected, i["id"].(string))
			}
		}
		if got := listAllIDs(t, s, key, "list_plan_items", map[string]any{"boardId": "brd_1", "status": status, "limit": 2}); !slices.Equal(got, expected) {
			t.Errorf("%s: got %v, want %v", status, got, expected)
		}
	}
}

// Ensure an item whose sortOrder is cleared is listed after the items that have one, with every
// filter. Cleared fields must be null.
func TestClearItemFields(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	for n := range 3 {
		importRecords(t, s, "item", fmt.Sprintf(`{"id":"itm_%d","roadmapId":"brd_1","slug":"s-%d","title":"T","summary":"S","columnId":"now","categoryIds":["a"],"targetLabel":"Q3","sortOrder":%d,"status":"published","createdAt":"2026-01-0%dT00:00:00Z"}`, n, n, n, 9-n))
	}
	checkOrder := func(want ...string) {
		t.Helper()
		for _, args := range []map[string]any{{"boardId": "brd_1"}, {"boardId": "brd_1", "status": "published"}} {
			if got := listAllIDs(t, s, key, "list_plan_items", args); !slices.Equal(got, want) {
				t.Errorf("%v: %v, want %v", args, got, want)
			}
		}
	}
	checkOrder("itm_0", "itm_1", "itm_2")
	clearArgs := map[string]any{"itemId": "itm_0", "sortOrder": nil, "summary": nil, "columnId": nil, "categoryIds": nil, "targetLabel": nil}
	r := s.Call(t, key, "update_plan_item", clearArgs)
	delete(clearArgs, "itemId")
	for name := range clearArgs {
		if got, has := r.JSON(t)[name]; got != nil || !has {
			t.Errorf("%s is %v", name, got)
		}
	}
	checkOrder("itm_1", "itm_2", "itm_0")
	s.Call(t, key, "update_plan_item", map[string]any{"itemId": "itm_1", "sortOrder": nil}) // without a sortOrder, the item is ordered by its createdAt
	checkOrder("itm_2", "itm_1", "itm_0")
	s.Call(t, key, "update_plan_item", map[string]any{"itemId": "itm_0", "sortOrder": 1})
	checkOrder("itm_0", "itm_2", "itm_1")
}

// Ensure a cursor works only with the list and the filters that it was returned for.
func TestCursors(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	for n := range 3 {
		createItem(t, s, key, map[string]any{"title": fmt.Sprint("Item ", n), "sortOrder": n})
	}
	cursor, _ := s.Call(t, key, "list_plan_items", map[string]any{"boardId": "brd_1", "limit": 1}).NextCursor(t)
	s.Run(t, []apitest.Scenario{
		{Name: "same list", Op: "list_plan_items", Args: map[string]any{"boardId": "brd_1", "cursor": cursor}},
		{Name: "another filter", Op: "list_plan_items", Args: map[string]any{"boardId": "brd_1", "cursor": cursor, "status": "draft"}, Want: 400, WantMessage: "query.cursor: "},
		{Name: "another board", Op: "list_plan_items", Args: map[string]any{"boardId": "brd_2", "cursor": cursor}, Want: 400, WantMessage: "query.cursor: "},
		{Name: "another list", Op: "list_plan_boards", Args: map[string]any{"cursor": cursor}, Want: 400, WantMessage: "query.cursor: "},
		{Name: "not a cursor", Op: "list_plan_items", Args: map[string]any{"boardId": "brd_1", "cursor": "x"}, Want: 400, WantMessage: "query.cursor: "},
	})
}

// Ensure importing an export into a different company and exporting it again gives the same
// records, and that previews and publishes of that company's boards have the same content.
func TestTransfer(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	keep := createItem(t, s, key, map[string]any{"title": "Keep", "status": "published", "summary": "S"})
	createItem(t, s, key, map[string]any{"title": "Draft", "sortOrder": 1})
	gone := createItem(t, s, key, map[string]any{"title": "Gone", "status": "published"})
	callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": gone["id"], "status": "archived"})
	callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": keep["id"], "title": "Keep it"})

	other := apitest.New(t, plan.Operations)
	for n, kind := range plan.Transfers(s.Table) {
		before := exportLines(t, s, kind)
		var plain []string
		for _, line := range before {
			plain = append(plain, withCompany(line, other.CompanyID))
		}
		importRecords(t, other, kind.Name, plain...)
		importRecords(t, other, kind.Name, plain...) // a repeated import changes nothing
		if after := exportLines(t, other, plan.Transfers(other.Table)[n]); len(after) == 0 || !slices.Equal(after, plain) {
			t.Errorf("%s: got %s, want %s", kind.Name, after, plain)
		}
	}
	a := s.Call(t, key, "preview_plan_publish", map[string]any{"boardId": "brd_1"})
	b := other.Call(t, other.IssueKey(t), "preview_plan_publish", map[string]any{"boardId": "brd_1"})
	if a.Body != b.Body || a.JSON(t)["hasChanges"] != true || a.Header.Get("ETag") != b.Header.Get("ETag") {
		t.Errorf("the restored board previews %s, the original %s", b.Body, a.Body)
	}
	if got := callOperation(t, other, other.IssueKey(t), "publish_plan_board", map[string]any{"boardId": "brd_1"}); got["publishedVersion"] != 3.0 {
		t.Errorf("published version %v, want 3", got["publishedVersion"])
	}
	if got := callOperation(t, other, other.IssueKey(t), "get_plan_item", map[string]any{"itemId": keep["id"]}); got["publishedVersion"] != 3.0 {
		t.Errorf("the item was published in version %v, want 3", got["publishedVersion"])
	}
}

// withCompany returns an exported line with the company id replaced.
func withCompany(line, companyID string) string {
	var record struct{ CompanyID string }
	if err := json.Unmarshal([]byte(line), &record); err != nil || record.CompanyID == "" {
		return line
	}
	return strings.ReplaceAll(line, record.CompanyID, companyID)
}
