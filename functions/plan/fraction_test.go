package plan_test

import (
	"testing"

	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// replaceChunk replaces the only snapshot chunk of brd_1.
func replaceChunk(t *testing.T, s *apitest.Service, text string) {
	t.Helper()
	packed, err := table.Compress([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	partition, replaced := table.Partition(s.CompanyID, "plan"), 0
	err = table.ForEach(t.Context(), s.Table, table.Collection{Partition: partition, Prefix: "snapshot#brd_1#"}, func(r struct {
		SK string `store:"sk"`
	}) error {
		replaced++
		values := table.Encode(struct {
			Items []byte `store:":items"`
		}{packed})
		return s.Table.Transact(t.Context(), s.Table.WriteUpdate(table.Key{PK: partition, SK: r.SK}, "SET #items = :items", "", map[string]string{"#items": "items"}, values))
	})
	if err != nil || replaced != 1 {
		t.Fatalf("%d chunks: %v", replaced, err)
	}
}

// An earlier build could import an item with a fractional sortOrder, which was then stored in the
// item's record and in the live content. Ensure such an item can still be read, updated and
// published. Its sortOrder must be rounded down.
func TestFractionsStayReadable(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	board := map[string]any{"boardId": "brd_1"}
	id := createItem(t, s, key, map[string]any{"title": "A", "status": "published"})["id"].(string)
	record := table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: "item#" + id}
	if err := s.Table.Transact(t.Context(), s.Table.WriteUpdate(record, "SET sortOrder = :n", "", nil, table.Item{":n": table.Float(-1.5)})); err != nil {
		t.Fatal(err)
	}
	if got := callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": id}); got["sortOrder"] != -2.0 {
		t.Errorf("the item: %v", got["sortOrder"])
	}
	if got := s.Call(t, key, "list_plan_items", board).Items(t); len(got) != 1 || got[0]["sortOrder"] != -2.0 {
		t.Errorf("the list: %v", got)
	}
	callOperation(t, s, key, "publish_plan_board", board)
	replaceChunk(t, s, `[{"id":"`+id+`","slug":"a","title":"A","summary":null,"columnId":null,"categoryIds":null,"sortOrder":-1.5,"targetLabel":null}]`)
	if got := s.Call(t, key, "list_plan_live_items", board).Items(t); len(got) != 1 || got[0]["sortOrder"] != -2.0 || got[0]["id"] != id {
		t.Errorf("what is live: %v", got)
	}
	callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": id, "title": "B", "sortOrder": 7})
	if got := callOperation(t, s, key, "publish_plan_board", board); len(got["updated"].([]any)) != 1 {
		t.Errorf("the publish: %v", got)
	}
}
