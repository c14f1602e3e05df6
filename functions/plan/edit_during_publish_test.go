package plan_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure the response to a publish matches what the board then shows, even if another caller edits
// or deletes an item just before any table call of the publish. A deleted item must stay deleted.
func TestItemsChangeDuringAPublish(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for name, interruption := range map[string]struct {
		op        string
		arguments map[string]any
	}{
		"edited":  {"update_plan_item", map[string]any{"title": "Edited"}},
		"deleted": {"delete_plan_item", map[string]any{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, reached := int64(1), true; reached; at++ {
				s, key := start(t)
				createItem(t, s, key, map[string]any{"title": "Stays", "status": "published"})
				item := createItem(t, s, key, map[string]any{"title": "Item", "status": "published"})["id"]
				arguments := map[string]any{"itemId": item}
				for name, value := range interruption.arguments {
					arguments[name] = value
				}
				transport := apitest.NewBeforeCall(at, func() { callOperation(t, s, key, interruption.op, arguments) })
				done, err := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest)
				if err != nil {
					t.Errorf("before call %d: %v", at, err)
				}
				reached = transport.Reached()
				board := callOperation(t, s, key, "get_plan_board", map[string]any{"boardId": "brd_1"})
				shown := versionTitles(t, s, 0)
				want := map[string]any{
					"boardId": "brd_1", "changed": true, "version": 1.0, "version of the board": 1.0, "publishedAt": board["publishedAt"], "items": len(shown), "added": len(shown),
				}
				got := map[string]any{
					"boardId": done.BoardID, "changed": done.Changed, "version": float64(done.PublishedVersion), "version of the board": board["publishedVersion"],
					"publishedAt": done.PublishedAt, "items": int(done.ItemCount), "added": len(done.Added),
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("before call %d: response, want what the board shows (-want +got):\n%s", at, diff)
				}
				for _, added := range done.Added {
					if !slices.Contains(shown, added.Title) {
						t.Errorf("before call %d: %s was added, the board shows %v", at, added.Title, shown)
					}
				}
				if r := s.Call(t, key, "get_plan_item", map[string]any{"itemId": item}); reached && name == "deleted" && r.Status != http.StatusNotFound {
					t.Errorf("before call %d: the deleted item is %d %s", at, r.Status, r.Body)
				}
			}
		})
	}
}

// aroundLeaseTransport is a transport that calls beforeLease just before the first transaction of a
// publish, which takes the lease, and afterLease right after it.
type aroundLeaseTransport struct {
	beforeLease, afterLease func()
	leaseSeen               atomic.Bool
}

func (a *aroundLeaseTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") || a.leaseSeen.Swap(true) {
		return apitest.Transport.RoundTrip(r)
	}
	a.beforeLease()
	out, err := apitest.Transport.RoundTrip(r)
	a.afterLease()
	return out, err
}

// Ensure the first publish to lease a board wins. Another publish that read the board before the
// lease was taken must not replace the lease: it waits, and then finds that its content is already
// live.
func TestFirstLeaseWins(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	createItem(t, s, key, map[string]any{"title": "A", "status": "published"})
	publish := func(transport http.RoundTripper) (plan.Publication, error) {
		return plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest)
	}
	leased, tried, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var first plan.Publication
	var err error
	second, secondErr := publish(&aroundLeaseTransport{
		beforeLease: func() {
			go func() {
				defer close(ended)
				first, err = publish(&aroundLeaseTransport{beforeLease: func() {}, afterLease: func() { close(leased); <-tried }})
			}()
			<-leased
		},
		afterLease: func() { close(tried) },
	})
	<-ended
	if err != nil || !first.Changed || first.PublishedVersion != 1 {
		t.Errorf("the first publish: %+v %v", first, err)
	}
	if secondErr != nil || second.Changed || second.PublishedVersion != 1 {
		t.Errorf("the second publish: %+v %v", second, secondErr)
	}
}

// Ensure that an item can be deleted whether or not its slug record exists, and that a slug record
// that points to a different item is kept.
func TestDeleteAndTheSlugRecord(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	at := table.Key{PK: table.Partition(s.CompanyID, "plan"), SK: "slug#brd_1#a"}
	reserve := func(itemID string) {
		t.Helper()
		record := struct {
			ItemID string `store:"itemId"`
		}{itemID}
		if err := s.Table.BatchPut(t.Context(), []table.Item{s.Table.NewItem(table.Keys{Key: at}, record)}); err != nil {
			t.Fatal(err)
		}
	}
	for name, prepare := range map[string]func(){
		"its own": func() {},
		"missing": func() {
			if err := s.Table.BatchDelete(t.Context(), []table.Key{at}); err != nil {
				t.Fatal(err)
			}
		},
		"of another item": func() { reserve("itm_other") },
	} {
		item := createItem(t, s, key, map[string]any{"title": "A", "slug": "a"})["id"]
		prepare()
		callOperation(t, s, key, "delete_plan_item", map[string]any{"itemId": item})
		if r := s.Call(t, key, "get_plan_item", map[string]any{"itemId": item}); r.Status != http.StatusNotFound {
			t.Errorf("%s: status of the deleted item %d, want 404: %s", name, r.Status, r.Body)
		}
		left, err := table.GetItem(t.Context(), s.Table, at)
		if err != nil || (len(left) > 0) != (name == "of another item") {
			t.Errorf("%s: the record of the slug is %v, %v", name, left, err)
		}
		if err := s.Table.BatchDelete(t.Context(), []table.Key{at}); err != nil {
			t.Fatal(err)
		}
	}
}

// Ensure that if an item is edited just before any table call of a delete, the delete's check
// function receives the edited item. If that function returns an error, the item must not be
// deleted.
func TestDeleteRacesWithAnEdit(t *testing.T) {
	t.Parallel()
	for at, reached := int64(1), true; reached; at++ {
		s, key := start(t)
		item := createItem(t, s, key, map[string]any{"title": "A"})["id"].(string)
		transport := apitest.NewBeforeCall(at, func() {
			callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": item, "title": "Edited"})
		})
		store := plan.NewStore(apitest.NewWithTransport(t, plan.Operations, transport).Table)
		err := store.Items.Remove(t.Context(), s.CompanyID, item, func(i plan.Item) error {
			if i.Title != "A" {
				return fault.New(fault.PreconditionFailed, "edited")
			}
			return nil
		})
		if reached = transport.Reached(); !reached {
			if err != nil {
				t.Error(err)
			}
			return
		}
		var refused *fault.Error
		if !errors.As(err, &refused) || refused.Code != fault.PreconditionFailed {
			t.Errorf("before call %d: the edited item was deleted: %v", at, err)
		}
		if got := callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": item}); got["title"] != "Edited" {
			t.Errorf("before call %d: %v", at, got)
		}
	}
}

// Ensure an import refuses a version that is not a whole number from 1 to 9,999,999,999. If a file
// contains two items with the same id, the import must store the last one.
func TestImportsOfPlans(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	for version, ok := range map[string]bool{"1": true, "9999999999": true, "1.5": false, "0": false, "-1": false, "10000000000": false} {
		for _, kind := range plan.Transfers(s.Table) {
			if kind.Name != "board" {
				continue
			}
			_, problems := kind.Check([]byte(fmt.Sprintf(`{"id":"brd_1","publishedVersion":%s}`, version)))
			if (len(problems) == 0) != ok || !ok && !strings.HasPrefix(problems[0], "record.publishedVersion: must be a whole number") {
				t.Errorf("version %s: problems %q, want it to be accepted: %t", version, problems, ok)
			}
		}
	}
	importWithoutChecks(t, s, "item", `{"id":"itm_1","roadmapId":"brd_1","slug":"a","title":"First"}`, `{"id":"itm_2","roadmapId":"brd_1","slug":"b","title":"Other"}`,
		`{"id":"itm_1","roadmapId":"brd_1","slug":"a","title":"Second"}`)
	if got := callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": "itm_1"}); got["title"] != "Second" {
		t.Errorf("title %v, want Second", got["title"])
	}
	if all := allItems(t, s, key); len(all) != 2 {
		t.Errorf("items %v, want 2", all)
	}
}
