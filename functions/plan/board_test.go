package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/id"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// storedSortKeys returns the sort keys of all records of the plan area, except the record of live
// versions and the responses stored for Idempotency-Keys.
func storedSortKeys(t *testing.T, s *apitest.Service) (out []string) {
	t.Helper()
	all, err := table.ReadAll[struct {
		SK string `store:"sk"`
	}](t.Context(), s.Table, table.Collection{Partition: table.Partition(s.CompanyID, "plan"), Consistent: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.SK != "heads" && !strings.HasPrefix(r.SK, "idempotency#") {
			out = append(out, r.SK)
		}
	}
	return out
}

// hasLiveVersion reports whether the record of live versions has an entry for a board.
func hasLiveVersion(t *testing.T, s *apitest.Service, boardID string) bool {
	t.Helper()
	heads, err := table.GetItem(t.Context(), s.Table, table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: "heads"})
	if err != nil {
		t.Fatal(err)
	}
	return heads[boardID] != nil
}

// Ensure a board can be created with only a name, and that each field is validated. The service
// sets the board's public key, which never changes.
func TestWriteBoards(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, plan.Operations)
	key := s.IssueKey(t)
	bare := callOperation(t, s, key, "create_plan_board", map[string]any{"name": "Roadmap"})
	s.Clock.Advance(1e9)
	publicKey := bare["publicKey"].(string)
	if _, ok := id.Bytes("pk_live", publicKey); !ok || !id.Valid("brd", bare["id"].(string)) || len(bare["allowedOrigins"].([]any)) != 0 {
		t.Errorf("created %v, want a public key, an id of a board and no origins", bare)
	}
	origins := []string{"https://example.com", "http://localhost:3000"}
	manyOrigins := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("https://a%d.example", i))
		}
		return out
	}
	const wrong = ": must be an origin without path or wildcard, its host in small letters"
	withBoardID := func(args map[string]any) map[string]any {
		args["boardId"] = bare["id"]
		return args
	}
	s.Run(t, []apitest.Scenario{
		{Name: "created", Op: "get_plan_board", Args: withBoardID(map[string]any{}), WantFields: map[string]any{
			"companyId": s.CompanyID, "name": "Roadmap", "publicKey": publicKey, "allowedOrigins": []string{}, "publishedVersion": nil, "publishedAt": nil,
			"active": true, "createdAt": "2026-08-11T09:30:00.000Z", "updatedAt": "2026-08-11T09:30:00.000Z",
		}},
		{Name: "null is left out", Op: "create_plan_board", Args: map[string]any{"name": "B", "allowedOrigins": nil, "active": nil}, WantFields: map[string]any{"allowedOrigins": []string{}, "active": true}},
		{Name: "all fields", Op: "create_plan_board", Args: map[string]any{"name": "C", "allowedOrigins": origins, "active": false}, WantFields: map[string]any{"name": "C", "allowedOrigins": origins, "active": false},
			Check: func(t *testing.T, r apitest.Response) {
				if r.JSON(t)["publicKey"] == publicKey {
					t.Error("two boards have one public key")
				}
			}},
		{Name: "updated", Op: "update_plan_board", Args: withBoardID(map[string]any{"name": "New", "allowedOrigins": origins, "active": false}), WantFields: map[string]any{
			"name": "New", "allowedOrigins": origins, "active": false, "publicKey": publicKey, "updatedAt": "2026-08-11T09:30:01.000Z", "createdAt": "2026-08-11T09:30:00.000Z",
		}},
		{Name: "any origin again", Op: "update_plan_board", Args: withBoardID(map[string]any{"allowedOrigins": []string{}}), WantFields: map[string]any{"allowedOrigins": []string{}, "name": "New"}},
		{Name: "50 origins", Op: "update_plan_board", Args: withBoardID(map[string]any{"allowedOrigins": manyOrigins(50)}), WantFields: map[string]any{"allowedOrigins": manyOrigins(50)}},
		{Name: "51 origins", Op: "update_plan_board", Args: withBoardID(map[string]any{"allowedOrigins": manyOrigins(51)}), Want: 400, WantMessage: "body.allowedOrigins: must have at most 50 elements, has 51"},
		{Name: "origins cannot be null", Op: "update_plan_board", Args: withBoardID(map[string]any{"name": "Not stored", "allowedOrigins": nil}), Want: 400, WantMessage: "body.allowedOrigins: must not be null"},
		{Name: "each bad origin is named", Op: "update_plan_board", Args: withBoardID(map[string]any{"name": "Not stored", "allowedOrigins": []string{"https://Example.com", "https://a.example", "https://*.example"}}), Want: 400,
			Check: func(t *testing.T, r apitest.Response) {
				_, messages := r.Messages(t)
				if len(messages) != 2 || !strings.HasPrefix(messages[0], "body.allowedOrigins[0]"+wrong) || !strings.HasPrefix(messages[1], "body.allowedOrigins[2]"+wrong) {
					t.Errorf("messages %q, want one for the first origin and one for the third", messages)
				}
			}},
		{Name: "the public key cannot be set", Op: "update_plan_board", Args: withBoardID(map[string]any{"publicKey": "pk_live_mine"}), Want: 400, WantMessage: "body.publicKey: unknown property"},
		{Name: "nor on a create", Op: "create_plan_board", Args: map[string]any{"name": "D", "publicKey": "pk_live_mine"}, Want: 400, WantMessage: "body.publicKey: unknown property"},
		{Name: "the version cannot be set", Op: "update_plan_board", Args: withBoardID(map[string]any{"publishedVersion": 1}), Want: 400, WantMessage: "body.publishedVersion: unknown property"},
		{Name: "no name", Op: "create_plan_board", Args: map[string]any{}, Want: 400, WantMessage: "body.name: is required"},
		{Name: "an empty name", Op: "create_plan_board", Args: map[string]any{"name": ""}, Want: 400, WantMessage: "body.name: must not be empty"},
		{Name: "a name of 200 characters", Op: "update_plan_board", Args: withBoardID(map[string]any{"name": strings.Repeat("ö", 200)})},
		{Name: "a name of 201 characters", Op: "update_plan_board", Args: withBoardID(map[string]any{"name": strings.Repeat("ö", 201)}), Want: 400, WantMessage: "body.name: must have at most 200"},
		{Name: "the name cannot be null", Op: "update_plan_board", Args: withBoardID(map[string]any{"name": nil}), Want: 400, WantMessage: "body.name: must not be null"},
		{Name: "active cannot be null", Op: "update_plan_board", Args: withBoardID(map[string]any{"active": nil}), Want: 400, WantMessage: "body.active: must not be null"},
		{Name: "nothing of the refused was stored", Op: "get_plan_board", Args: withBoardID(map[string]any{}), WantFields: map[string]any{"name": strings.Repeat("ö", 200), "allowedOrigins": manyOrigins(50)}},
		{Name: "an unknown board", Op: "update_plan_board", Args: map[string]any{"boardId": "brd_9", "name": "X"}, Want: 404},
		{Name: "three were created", Op: "list_plan_boards", Check: func(t *testing.T, r apitest.Response) {
			if n := len(r.JSON(t)["items"].([]any)); n != 3 {
				t.Errorf("%d boards", n)
			}
		}},
	})
}

// Ensure a company can have at most 200 boards, and can create another one after deleting one.
func TestBoardLimit(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := apitest.New(t, plan.Operations)
	var records []string
	for n := range 199 {
		records = append(records, fmt.Sprintf(`{"id":"brd_%d","name":"B"}`, n))
	}
	importRecords(t, s, "board", records...)
	s.Run(t, []apitest.Scenario{
		{Name: "the 200th", Op: "create_plan_board", Args: map[string]any{"name": "A"}},
		{Name: "the 201st", Op: "create_plan_board", Args: map[string]any{"name": "A"}, Want: 409, WantCode: "conflict", WantMessage: "there are 200 boards already"},
		{Name: "a delete", Op: "delete_plan_board", Args: map[string]any{"boardId": "brd_7"}},
		{Name: "makes room", Op: "create_plan_board", Args: map[string]any{"name": "A"}},
	})
	if n := len(storedSortKeys(t, s)); n != 200 {
		t.Errorf("%d boards are stored", n)
	}
}

// Ensure a board can be deleted only if it has no items of any status and visitors see no items on
// it. The delete must leave no records behind, and a board can then be imported under the same id.
func TestDeleteBoard(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	importRecords(t, s, "board", `{"id":"brd_2","name":"Other"}`)
	board := map[string]any{"boardId": "brd_1"}
	for _, status := range []string{"draft", "in_review", "archived"} {
		item := createItem(t, s, key, map[string]any{"title": "A", "status": status})["id"]
		s.Run(t, []apitest.Scenario{
			{Name: status, Op: "delete_plan_board", Args: board, Want: 409, WantCode: "conflict", WantMessage: "the board has items; delete them first"},
			{Name: "delete of " + status, Op: "delete_plan_item", Args: map[string]any{"itemId": item}},
		})
	}
	item := createItem(t, s, key, map[string]any{"title": "A", "status": "published"})["id"]
	s.Run(t, []apitest.Scenario{
		{Name: "publish", Op: "publish_plan_board", Args: board},
		{Name: "delete of the item", Op: "delete_plan_item", Args: map[string]any{"itemId": item}},
		{Name: "visitors see an item", Op: "delete_plan_board", Args: board, Want: 409, WantCode: "conflict", WantMessage: "visitors see items of the board; publish it empty first"},
		{Name: "publish it empty", Op: "publish_plan_board", Args: board, WantFields: map[string]any{"publishedVersion": 2, "itemCount": 0}},
		{Name: "another revision", Op: "delete_plan_board", Args: map[string]any{"boardId": "brd_1", "If-Match": `"x"`}, Want: 412},
	})
	if !hasLiveVersion(t, s, "brd_1") || len(storedSortKeys(t, s)) != 6 { // two boards, and two records for each of two versions
		t.Errorf("in the heads %t with the records %q, want true and 6", hasLiveVersion(t, s, "brd_1"), storedSortKeys(t, s))
	}
	s.Run(t, []apitest.Scenario{
		{Name: "deleted", Op: "delete_plan_board", Args: board, WantFields: map[string]any{"id": "brd_1", "deleted": true}},
		{Name: "again", Op: "delete_plan_board", Args: board, Want: 404},
		{Name: "get", Op: "get_plan_board", Args: board, Want: 404},
		{Name: "update", Op: "update_plan_board", Args: map[string]any{"boardId": "brd_1", "name": "X"}, Want: 404},
		{Name: "items", Op: "list_plan_items", Args: board, Want: 404},
		{Name: "live items", Op: "list_plan_live_items", Args: board, Want: 404},
		{Name: "create of an item", Op: "create_plan_item", Args: map[string]any{"boardId": "brd_1", "title": "A"}, Want: 404},
		{Name: "create of an item with a slug", Op: "create_plan_item", Args: map[string]any{"boardId": "brd_1", "title": "A", "slug": "a"}, Want: 404},
		{Name: "preview", Op: "preview_plan_publish", Args: board, Want: 404},
		{Name: "publish of nothing", Op: "publish_plan_board", Args: board, Want: 404},
		{Name: "list", Op: "list_plan_boards", Check: func(t *testing.T, r apitest.Response) {
			if strings.Contains(r.Body, "brd_1") {
				t.Errorf("listed %s, want no brd_1", r.Body)
			}
		}},
	})
	if left := storedSortKeys(t, s); !slices.Equal(left, []string{"board#brd_2"}) || hasLiveVersion(t, s, "brd_1") {
		t.Errorf("%v, in the heads %v", left, hasLiveVersion(t, s, "brd_1"))
	}
	importRecords(t, s, "board", `{"id":"brd_1","name":"Back","publishedVersion":3,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[{"id":"itm_1","slug":"a","title":"A"}]}`)
	importRecords(t, s, "item", `{"id":"itm_1","roadmapId":"brd_1","slug":"a","title":"A","status":"published"}`)
	s.Run(t, []apitest.Scenario{
		{Name: "imported again", Op: "list_plan_live_items", Args: board, Check: func(t *testing.T, r apitest.Response) {
			if !strings.Contains(r.Body, `"itm_1"`) {
				t.Errorf("live are %s, want itm_1", r.Body)
			}
		}},
		{Name: "an item of the imported board", Op: "create_plan_item", Args: map[string]any{"boardId": "brd_1", "title": "A"}, WantFields: map[string]any{"slug": "a-2"}},
		{Name: "publish of the imported board", Op: "publish_plan_board", Args: board, WantFields: map[string]any{"publishedVersion": 3, "changed": false}},
	})
}

// Ensure a board that was imported with a version but without its snapshot shows nothing, and can
// be deleted.
func TestBoardWithoutSnapshot(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, plan.Operations)
	importRecords(t, s, "board", `{"id":"brd_1","publishedVersion":4,"publishedAt":"2026-01-01T00:00:00Z"}`)
	s.Run(t, []apitest.Scenario{
		{Name: "nothing is live", Op: "list_plan_live_items", Args: map[string]any{"boardId": "brd_1"}, WantFields: map[string]any{"items": []any{}}},
		{Name: "deleted", Op: "delete_plan_board", Args: map[string]any{"boardId": "brd_1"}},
	})
	if left := storedSortKeys(t, s); len(left) != 0 || hasLiveVersion(t, s, "brd_1") {
		t.Errorf("left %q, in the heads %t; want nothing", left, hasLiveVersion(t, s, "brd_1"))
	}
}
