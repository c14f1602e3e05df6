package plan_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure the read units of a page of items do not grow with the board: a page must cost the same if
// the board has ten times as many items.
func TestReadUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const n, limit = 24, 5
	few, _ := start(t)
	many, _ := start(t)
	for s, size := range map[*apitest.Service]int{few: n, many: 10 * n} {
		var records []string
		for i := range size {
			records = append(records, fmt.Sprintf(`{"id":"itm_%05d","roadmapId":"brd_1","slug":"s-%d","title":"A title","sortOrder":%d,"status":%q,"createdAt":"2026-01-01T00:00:00Z"}`,
				i, i, i%100, plan.Status("").Values()[i%4]))
		}
		importWithoutChecks(t, s, "item", records...)
	}
	draft := plan.StatusDraft
	for _, status := range []*plan.Status{nil, &draft} {
		read := func(s *apitest.Service) table.Usage {
			ctx, m := apitest.NewRequest(t)
			page, err := plan.NewStore(s.Table).Items.List(ctx, s.CompanyID, "brd_1", status, "", limit)
			if err != nil || len(page.Records) != limit || page.Next == "" {
				t.Errorf("%d items, next %q, %v", len(page.Records), page.Next, err)
			}
			return m.Usage()
		}
		a, b := read(few), read(many)
		if a != b || a.Read == 0 {
			t.Errorf("items, status %t: %+v at N, %+v at 10 N", status != nil, a, b)
		}
	}
}

// Ensure a request for a page of live items reads only the board and the chunks that the page
// spans, so that its read units do not grow with the snapshot.
func TestLiveItemsUnits(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := apitest.New(t, plan.Operations)
	units := func(chunks int) table.Usage {
		boardID := fmt.Sprintf("brd_%d", chunks)
		items := make([]string, chunks*35) // items of 10 KB, 35 per chunk
		for n := range items {
			items[n] = fmt.Sprintf(`{"id":"itm_%d","slug":"s-%d","title":"T","summary":"%s"}`, n, n, strings.Repeat("s", 10_000))
		}
		importRecords(t, s, "board", fmt.Sprintf(`{"id":%q,"publishedVersion":1,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[%s]}`, boardID, strings.Join(items, ",")))
		ctx, m := apitest.NewRequest(t)
		page, err := plan.NewStore(s.Table).LiveItems(ctx, s.CompanyID, boardID, "", 5)
		if err != nil || len(page.Records) != 5 || page.Next == "" {
			t.Errorf("%d items, next %q, %v", len(page.Records), page.Next, err)
		}
		return m.Usage()
	}
	few, many := units(2), units(20)
	if few != many {
		t.Errorf("2 chunks: units %+v, 20 chunks: %+v, want the same", few, many)
	}
	if few.Read == 0 || few.Read > 4 || few.Write != 0 {
		t.Errorf("2 chunks: units %+v, want at most 4 read and none written", few)
	}
}

// Ensure deleting a board does not read its snapshots.
func TestDeleteBoardUnits(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, plan.Operations)
	random := rand.New(rand.NewPCG(1, 1))
	items := make([]string, 500)
	for n := range items {
		text := make([]byte, 1000) // random letters, which hardly compress
		for i := range text {
			text[i] = byte('a' + random.IntN(26))
		}
		items[n] = fmt.Sprintf(`{"id":"itm_%d","slug":"s-%d","title":"T","summary":"%s"}`, n, n, text)
	}
	importRecords(t, s, "board", `{"id":"brd_1","publishedVersion":1,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[`+strings.Join(items, ",")+`]}`)
	importRecords(t, s, "board", `{"id":"brd_1","publishedVersion":2,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[]}`)
	ctx, m := apitest.NewRequest(t)
	err := plan.NewStore(s.Table).Boards.Remove(ctx, s.CompanyID, "brd_1", func(plan.Board) error { return nil })
	units := m.Usage()
	if keys := storedSortKeys(t, s); err != nil || len(keys) > 0 {
		t.Errorf("left %q, want nothing: %v", keys, err)
	}
	if units.Read > 12 || units.Write < 300 {
		t.Errorf("units %+v, want at most 12 read and at least 300 written", units)
	}
}
