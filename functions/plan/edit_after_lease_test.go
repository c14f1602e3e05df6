package plan_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/testkit/apitest"
)

// afterLease returns a transport that calls run after each table call that leases a board.
func afterLease(run func()) apitest.Intercept {
	return func(c apitest.Call) (*http.Response, error) {
		response, err := c.Send()
		if apitest.IsTransaction(c) && strings.Contains(c.Body, "SET claim") {
			run()
		}
		return response, err
	}
}

// Ensure a publish that is overtaken by an edit fails if it cannot delete the snapshot that it will
// never commit, and that the error says that the deletion failed. The failed publish must change
// nothing that visitors see and must release its lease. The next publish must succeed.
func TestPublishCannotDeleteItsSnapshot(t *testing.T) {
	t.Parallel()
	for name, refusedCalls := range map[string][]string{
		"the snapshot cannot be read":    {".Query", "snapshot#brd_1"},
		"the snapshot cannot be deleted": {".BatchWriteItem", "DeleteRequest", "snapshot#brd_1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, key := start(t)
			createItem(t, s, key, map[string]any{"title": "First", "status": "published"})
			var edited, refused atomic.Bool
			afterFirstLease := afterLease(func() {
				if edited.CompareAndSwap(false, true) {
					createItem(t, s, key, map[string]any{"title": "Second", "status": "published"})
				}
			})
			o := apitest.Intercept(func(c apitest.Call) (*http.Response, error) {
				isOther := func(word string) bool { return !strings.Contains("."+c.Action+c.Body, word) }
				if edited.Load() && !slices.ContainsFunc(refusedCalls, isOther) && refused.CompareAndSwap(false, true) {
					return c.Refuse()
				}
				return afterFirstLease(c)
			})
			_, err := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, o).Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest)
			if !refused.Load() {
				t.Fatal("the publish was not overtaken")
			}
			if err == nil || !strings.Contains(err.Error(), "drop chunks") {
				t.Errorf("the publish returns %v", err)
			}
			board := callOperation(t, s, key, "get_plan_board", map[string]any{"boardId": "brd_1"})
			if c := leaseOf(t, s); c != nil || board["publishedVersion"] != nil {
				t.Errorf("the board has the lease %v and the version %v", c, board["publishedVersion"])
			}
			done, err := plan.NewStore(s.Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest)
			if err != nil || done.PublishedVersion != 1 || done.ItemCount != 2 {
				t.Errorf("the next publish: %+v, %v", done, err)
			}
		})
	}
}
