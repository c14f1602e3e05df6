package brand_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"growthworkspace/shared/testkit/apitest"
)

// Ensure exactly one of two concurrent deletes of a goal or content type succeeds. A concurrent
// update must either run first or get not_found. It must never restore the record.
func TestDeleteRaces(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	for _, tt := range []struct{ kind, noun, argument, id, list string }{
		{"brand-goal", "context_goal", "goalId", "bgl_1", "list_context_goals"},
		{"content-type", "context_content_type", "contentTypeId", "cty_1", "list_context_content_types"},
	} {
		t.Run(tt.noun, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			for range rounds {
				key := s.IssueKey(t) // a new key for each round, because a key can write only 120 times a minute
				importLines(t, s, tt.kind, s.CompanyID, `{"id":"`+tt.id+`","name":"old"}`)
				var deleted atomic.Int64
				var wait sync.WaitGroup
				for range 2 {
					wait.Go(func() {
						switch r := s.Call(t, key, "delete_"+tt.noun, map[string]any{tt.argument: tt.id}); r.Status {
						case http.StatusOK:
							deleted.Add(1)
						case http.StatusNotFound:
						default:
							t.Errorf("a deletion: %d %s", r.Status, r.Body)
						}
					})
				}
				var updated apitest.Response
				wait.Go(func() { updated = s.Call(t, key, "update_"+tt.noun, map[string]any{tt.argument: tt.id, "name": "new"}) })
				wait.Wait()
				if deleted.Load() != 1 || updated.Status != http.StatusOK && updated.Status != http.StatusNotFound {
					t.Fatalf("%d deletions, the update %d %s", deleted.Load(), updated.Status, updated.Body)
				}
				if left := listAll(t, s, tt.list, 10); len(left) != 0 {
					t.Fatalf("%v came back", left)
				}
			}
		})
	}
}
