package plan_test

import (
	"fmt"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/apitest"
	"growthworkspace/shared/table"
)

// Ensure the read units of a list do not grow with the board: a list of 10 N items costs the same as one of N.
func TestReadUnits(t *testing.T) {
	t.Parallel()
	apitest.Slow(t)
	const n, limit = 24, 5
	few, _ := start(t)
	many, _ := start(t)
	for s, size := range map[*apitest.Service]int{few: n, many: 10 * n} {
		var records []string
		for i := range size {
			records = append(records, fmt.Sprintf(`{"id":"itm_%05d","roadmapId":"brd_1","slug":"s-%d","title":"A title","sortOrder":%d,"status":%q,"createdAt":"2026-01-01T00:00:00Z"}`,
				i, i, i%100, plan.Status("").Values()[i%4]))
		}
		write(t, s, "item", records...)
	}
	draft := plan.StatusDraft
	for _, status := range []*plan.Status{nil, &draft} {
		read := func(s *apitest.Service) table.Units {
			ctx, m := apitest.Request(t)
			page, next, err := plan.NewStore(s.Table).Items(ctx, s.CompanyID, "brd_1", status, "", limit)
			if err != nil || len(page) != limit || next == "" {
				t.Errorf("%d items, next %q, %v", len(page), next, err)
			}
			return m.Units()
		}
		a, b := read(few), read(many)
		t.Logf("items, status %t: %+v at N, %+v at 10 N", status != nil, a, b)
		if a != b || a.Read == 0 {
			t.Errorf("items, status %t: %+v at N, %+v at 10 N", status != nil, a, b)
		}
	}
}
