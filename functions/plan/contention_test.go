package plan_test

import (
	"fmt"
	"sync"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure items that are created concurrently with the same title get distinct slugs, and that no
// concurrent change to an item is lost.
func TestManyWritersAtOnce(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, key := start(t)
	item := createItem(t, s, key, map[string]any{"title": "Item"})["id"].(string)
	store := plan.NewStore(s.Table)
	var wait sync.WaitGroup
	slugs := make([]string, 60)
	for n := range slugs {
		wait.Go(func() {
			created, err := store.Items.InsertWithFreeSlug(t.Context(), s.CompanyID, plan.Item{ID: fmt.Sprintf("itm_c%d", n), CompanyID: s.CompanyID, RoadmapID: "brd_1", Title: "Same"}, "same")
			if err != nil {
				t.Error(err)
			}
			slugs[n] = created.Slug
		})
		wait.Go(func() {
			_, err := store.Items.Modify(t.Context(), s.CompanyID, item, func(i *plan.Item) error {
				i.CategoryIDs = append(i.CategoryIDs, fmt.Sprint(n))
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	seen := map[string]bool{}
	for _, slug := range slugs {
		if seen[slug] || slug == "" {
			t.Errorf("the slug %q was given twice", slug)
		}
		seen[slug] = true
	}
	if got := callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": item})["categoryIds"].([]any); len(got) != len(slugs) {
		t.Errorf("%d of %d changes were kept", len(got), len(slugs))
	}
}
