package plan_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// itemImportWithTransport returns the record type for importing items. Its table calls go through
// the given transport.
func itemImportWithTransport(t *testing.T, s *apitest.Service, transport http.RoundTripper) transfer.Type {
	t.Helper()
	return plan.Transfers(apitest.NewWithTransport(t, plan.Operations, transport).Table)[1]
}

// Ensure an import refuses an item if another caller takes the item's slug or deletes its board
// after the file was checked. The test repeats this for each table call that writes the items, with
// the other caller acting just before that call. The other items of the file must be stored. No
// item may be left without its board, and no two items may share a slug.
func TestImportLosesRace(t *testing.T) {
	t.Parallel()
	const late, other = `{"id":"itm_late","roadmapId":"brd_1","slug":"late","title":"Late"}`, `{"id":"itm_other","roadmapId":"brd_2","slug":"late","title":"Other"}`
	writes := map[string]func(kind transfer.Type, s *apitest.Service, records []any) error{
		"import": func(kind transfer.Type, s *apitest.Service, records []any) error {
			return kind.Write(t.Context(), s.CompanyID, records)
		},
		"only new records": func(kind transfer.Type, s *apitest.Service, records []any) error {
			skipped, err := kind.Add(t.Context(), s.CompanyID, records)
			if skipped != 0 {
				t.Errorf("%d skipped", skipped)
			}
			return err
		},
	}
	for name, race := range map[string]struct {
		intrude func(s *apitest.Service, key string) (slugOwner any)
		problem string
	}{
		"a slug is taken": {func(s *apitest.Service, key string) any {
			return createItem(t, s, key, map[string]any{"title": "First", "slug": "late"})["id"]
		}, "record.slug: late is taken on this board by "},
		"the board is deleted": {func(s *apitest.Service, key string) any {
			callOperation(t, s, key, "delete_plan_board", map[string]any{"boardId": "brd_1"})
			return "brd_1"
		}, "record.roadmapId: there is no board "},
	} {
		for way, write := range writes {
			t.Run(name+", "+way, func(t *testing.T) {
				t.Parallel()
				for at, reached := int64(1), true; reached; at++ {
					s, key := start(t)
					importRecords(t, s, "board", `{"id":"brd_2"}`)
					_, records := checkImport(t, s, "item", late, other)
					var slugOwner any
					transport := apitest.NewBeforeCall(at, func() { slugOwner = race.intrude(s, key) })
					err := write(itemImportWithTransport(t, s, transport), s, records)
					if reached = transport.Reached(); !reached {
						if err != nil {
							t.Error(err)
						}
						return
					}
					var refused transfer.RefusedRecords
					if !errors.As(err, &refused) || len(refused) != 1 || refused[0] != race.problem+slugOwner.(string) {
						t.Errorf("before call %d: %v, want %s", at, err, race.problem+slugOwner.(string))
					}
					if r := s.Call(t, key, "get_plan_item", map[string]any{"itemId": "itm_late"}); r.Status != http.StatusNotFound {
						t.Errorf("before call %d: the refused item is %d %s", at, r.Status, r.Body)
					}
					if r := s.Call(t, key, "get_plan_item", map[string]any{"itemId": "itm_other"}); r.Status != http.StatusOK {
						t.Errorf("before call %d: the other item is %d %s", at, r.Status, r.Body)
					}
				}
			})
		}
	}
}

// Ensure deleting a board while items are imported into it either fails or leaves nothing behind.
// The delete can detect the import by the item count in the board's record.
func TestImportDuringADelete(t *testing.T) {
	t.Parallel()
	for at, reached := int64(1), true; reached; at++ {
		s, _ := start(t)
		kind, records := checkImport(t, s, "item", `{"id":"itm_1","roadmapId":"brd_1","slug":"a","title":"A"}`)
		var importErr error
		transport := apitest.NewBeforeCall(at, func() { importErr = kind.Write(t.Context(), s.CompanyID, records) })
		err := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table).Boards.Remove(t.Context(), s.CompanyID, "brd_1", acceptAnyBoard)
		if reached = transport.Reached(); !reached {
			return
		}
		rest := remainingRecords(t, s, "brd_1")
		if (err == nil) == (importErr == nil) || err == nil && len(rest) > 0 || err != nil && !strings.Contains(strings.Join(rest, " "), "board#brd_1") {
			t.Errorf("before call %d: the delete is %v, the import %v, left %v", at, err, importErr, rest)
		}
	}
}

// Ensure an import does not change the slug or board of an item that was stored after the file was
// checked.
func TestImportKeepsSlugAndBoard(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	importRecords(t, s, "board", `{"id":"brd_2"}`)
	kind, records := checkImport(t, s, "item", `{"id":"itm_1","roadmapId":"brd_1","slug":"b","title":"B"}`)
	importRecords(t, s, "item", `{"id":"itm_1","roadmapId":"brd_1","slug":"a","title":"A"}`)
	var refused transfer.RefusedRecords
	if err := kind.Write(t.Context(), s.CompanyID, records); !errors.As(err, &refused) ||
		refused[0] != "record.slug: itm_1 already has the slug a on board brd_1; neither can change" {
		t.Errorf("error %v, want that itm_1 already has the slug a on brd_1", err)
	}
	if got := callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": "itm_1"}); got["slug"] != "a" || got["title"] != "A" {
		t.Errorf("slug %v and title %v, want a and A", got["slug"], got["title"])
	}
	if got := callOperation(t, s, key, "create_plan_item", map[string]any{"boardId": "brd_1", "title": "B", "slug": "b"}); got["slug"] != "b" {
		t.Error("the slug of the refused item is taken:", got)
	}
}
