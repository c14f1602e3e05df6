package plan_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"testing"
	"time"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/testkit/apitest"
)

func TestPublish(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	board := map[string]any{"boardId": "brd_1"}
	a := createItem(t, s, key, map[string]any{"title": "A", "status": "published", "columnId": "now"})
	createItem(t, s, key, map[string]any{"title": "B"})
	publishedItems := func(version any) []map[string]any {
		return []map[string]any{{"id": a["id"], "slug": "a", "title": "A", "columnId": "now", "publishedVersion": version}}
	}
	none, edited := []any{}, publishedItems(1)
	edited[0]["changed"] = []string{"targetLabel"}
	s.Run(t, []apitest.Scenario{
		{Name: "preview of the first", Op: "preview_plan_publish", Args: board, WantFields: map[string]any{
			"boardId": "brd_1", "currentVersion": nil, "nextVersion": 1, "hasChanges": true, "itemCount": 1, "added": publishedItems(nil), "updated": none, "removed": none, "unchangedCount": 0,
		}},
		{Name: "preview changes nothing", Op: "get_plan_board", Args: board, WantFields: map[string]any{"publishedVersion": nil}},
		{Name: "publish", Op: "publish_plan_board", Args: board, WantFields: map[string]any{
			"boardId": "brd_1", "publishedVersion": 1, "publishedAt": "2026-08-11T09:30:00.000Z", "changed": true, "itemCount": 1, "added": publishedItems(1), "updated": none, "removed": none, "unchangedCount": 0,
		}},
		{Name: "board has the version", Op: "get_plan_board", Args: board, WantFields: map[string]any{"publishedVersion": 1, "publishedAt": "2026-08-11T09:30:00.000Z", "updatedAt": "2026-08-11T09:30:00.000Z"}},
		{Name: "item has the version", Op: "get_plan_item", Args: map[string]any{"itemId": a["id"]}, WantFields: map[string]any{"publishedVersion": 1}},
		{Name: "preview without changes", Op: "preview_plan_publish", Args: board, WantFields: map[string]any{"currentVersion": 1, "nextVersion": 1, "hasChanges": false, "unchangedCount": 1}},
		{Name: "publish without changes", Op: "publish_plan_board", Args: board, WantFields: map[string]any{"publishedVersion": 1, "changed": false, "unchangedCount": 1}},
		{Name: "an edit stays private", Op: "update_plan_item", Args: map[string]any{"itemId": a["id"], "targetLabel": "Q3"}, WantFields: map[string]any{"publishedVersion": 1}},
		{Name: "preview of the edit", Op: "preview_plan_publish", Args: board, WantFields: map[string]any{"nextVersion": 2, "updated": edited, "added": none}},
		{Name: "publish of the edit", Op: "publish_plan_board", Args: board, WantFields: map[string]any{"publishedVersion": 2, "updated": publishedItems(2)}},
		{Name: "archived, still live", Op: "update_plan_item", Args: map[string]any{"itemId": a["id"], "status": "archived"}, WantFields: map[string]any{"publishedVersion": 2}},
		{Name: "publish of the removal", Op: "publish_plan_board", Args: board, WantFields: map[string]any{"publishedVersion": 3, "removed": publishedItems(2), "itemCount": 0}},
		{Name: "a removed item keeps its last version", Op: "get_plan_item", Args: map[string]any{"itemId": a["id"]}, WantFields: map[string]any{"publishedVersion": 2}},
		{Name: "published again, not yet live", Op: "update_plan_item", Args: map[string]any{"itemId": a["id"], "status": "published"}, WantFields: map[string]any{"publishedVersion": 2}},
		{Name: "preview of the return", Op: "preview_plan_publish", Args: board, WantFields: map[string]any{"nextVersion": 4, "added": publishedItems(2)}},
		{Name: "publish of the return", Op: "publish_plan_board", Args: board, WantFields: map[string]any{"publishedVersion": 4, "added": publishedItems(4)}},
		{Name: "deleted", Op: "delete_plan_item", Args: map[string]any{"itemId": a["id"]}},
		{Name: "a deleted item is live until the next publish", Op: "preview_plan_publish", Args: board, WantFields: map[string]any{"nextVersion": 5, "removed": publishedItems(4)}},
		{Name: "publish of the deletion", Op: "publish_plan_board", Args: board, WantFields: map[string]any{"publishedVersion": 5, "removed": publishedItems(4)}},
		{Name: "unknown board", Op: "publish_plan_board", Args: map[string]any{"boardId": "brd_9"}, Want: 404},
		{Name: "preview of an unknown board", Op: "preview_plan_publish", Args: map[string]any{"boardId": "brd_9"}, Want: 404},
	})
}

// Ensure a publish with the preview's ETag in If-Match succeeds only if the content has not changed
// since the preview.
func TestPublishIfMatch(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	item := createItem(t, s, key, map[string]any{"title": "A", "status": "published"})
	tag := s.Call(t, key, "preview_plan_publish", map[string]any{"boardId": "brd_1"}).Header.Get("ETag")
	callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": item["id"], "title": "B"})
	if r := s.Call(t, key, "publish_plan_board", map[string]any{"boardId": "brd_1", "If-Match": tag}); r.Status != http.StatusPreconditionFailed {
		t.Fatalf("publish of changed content: status %d, want 412: %s", r.Status, r.Body)
	}
	if b := callOperation(t, s, key, "get_plan_board", map[string]any{"boardId": "brd_1"}); b["publishedVersion"] != nil {
		t.Error("the rejected publish changed the board")
	}
	tag = s.Call(t, key, "preview_plan_publish", map[string]any{"boardId": "brd_1"}).Header.Get("ETag")
	r := s.Call(t, key, "publish_plan_board", map[string]any{"boardId": "brd_1", "If-Match": tag})
	if r.Status != http.StatusOK || r.Header.Get("ETag") != tag || tag == "" {
		t.Errorf("%d %s, tag %q of %q", r.Status, r.Body, r.Header.Get("ETag"), tag)
	}
}

// Ensure a board can have more items than fit in a transaction, and that its snapshot can be larger
// than a record may be.
func TestPublishSizes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, key := start(t)
	summary := make([]byte, 1900)
	for i := range summary {
		summary[i] = 'a' + byte(i%26)
	}
	count := 0
	for version, size := range []int{0, 1, 99, 100, 101, 450} {
		var records []string
		for ; count < size; count++ {
			records = append(records, fmt.Sprintf(`{"id":"itm_%d","roadmapId":"brd_1","slug":"s-%d","title":"T","summary":%q,"status":"published"}`, count, count, summary))
		}
		if len(records) > 0 {
			importRecords(t, s, "item", records...)
		}
		r := callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
		if r["publishedVersion"] != float64(version+1) || r["itemCount"] != float64(size) || len(r["added"].([]any)) != len(records) {
			t.Errorf("%d items: version %v, count %v, added %d", size, r["publishedVersion"], r["itemCount"], len(r["added"].([]any)))
		}
		if p := callOperation(t, s, key, "preview_plan_publish", map[string]any{"boardId": "brd_1"}); p["hasChanges"] != false || p["unchangedCount"] != float64(size) {
			t.Errorf("%d items: the preview after the publish has changes: %v", size, p["hasChanges"])
		}
		live := 0
		for _, i := range allItems(t, s, key) {
			if i["publishedVersion"] == float64(version+1) {
				live++
			}
		}
		if live != size {
			t.Errorf("%d items: %d are live", size, live)
		}
	}
}

func allItems(t *testing.T, s *apitest.Service, key string) (out []map[string]any) {
	t.Helper()
	arguments := map[string]any{"boardId": "brd_1", "limit": 200}
	for {
		r := s.Call(t, key, "list_plan_items", arguments)
		out = append(out, r.Items(t)...)
		next, more := r.NextCursor(t)
		if !more {
			return out
		}
		arguments["cursor"] = next
	}
}

// Ensure a publish that crashes after any of its table calls leaves either the old state or the new
// one, never a mixture, and that the next publish succeeds.
func TestPublishCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	published := 0
	for calls := 0; published == 0; calls++ {
		if calls > 40 {
			t.Fatal("the publish did not finish within 40 calls")
		}
		s, key := start(t)
		live := createItem(t, s, key, map[string]any{"title": "Live", "status": "published"})
		callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
		callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": live["id"], "status": "draft"})
		fresh := createItem(t, s, key, map[string]any{"title": "New", "status": "published"})

		transport := &apitest.CrashingTransport{}
		transport.CrashAfter(calls, false)
		crashing := apitest.NewWithTransport(t, plan.Operations, transport)
		store := plan.NewStore(crashing.Table)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := store.Publish(ctx, s.CompanyID, "brd_1", func(string) error { return nil })
		cancel()
		s.Clock.Advance(time.Minute) // so that the crashed publish's lease has expired

		boardVersion := callOperation(t, s, key, "get_plan_board", map[string]any{"boardId": "brd_1"})["publishedVersion"]
		before := callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": live["id"]})["publishedVersion"]
		after := callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": fresh["id"]})["publishedVersion"]
		oldIsLive := boardVersion == 1.0 && before == 1.0 && after == nil
		newIsLive := boardVersion == 2.0 && before == 1.0 && after == 2.0
		if !oldIsLive && !newIsLive || err == nil && !newIsLive {
			t.Errorf("died after %d calls (%v): board %v, removed item %v, added item %v", calls, err, boardVersion, before, after)
		}
		if newIsLive {
			published++
		}
		// The next publish has different content from the crashed one. The live state that the
		// crashed one prepared must have no effect.
		callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": live["id"], "status": "published"})
		callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": fresh["id"], "status": "draft"})
		r := callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
		wantChanged := newIsLive // if the crashed publish committed nothing, the edits above restore the live content, so nothing changes
		if r["changed"] != wantChanged {
			t.Errorf("after %d calls: the next publish changed: %v", calls, r["changed"])
		}
		callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": live["id"], "title": "Live 2"})
		r = callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
		if got := callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": live["id"]})["publishedVersion"]; got != r["publishedVersion"] {
			t.Errorf("after %d calls: the live item shows version %v on version %v of the board", calls, got, r["publishedVersion"])
		}
		got := callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": fresh["id"]})["publishedVersion"]
		if newIsLive && got != 2.0 || oldIsLive && got != nil {
			t.Errorf("after %d calls: the item that is not live shows version %v", calls, got)
		}
	}
}

// Ensure that when 20 concurrent editors publish their edits, every publish succeeds, and that the
// board's live items then match its live version.
func TestPublishRaces(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, key := start(t)
	var itemIDs []any
	for n := range 12 {
		itemIDs = append(itemIDs, createItem(t, s, key, map[string]any{"title": fmt.Sprint("I", n), "status": "published"})["id"])
	}
	counter := &apitest.RoundTripCounter{} // the counter's fake clock keeps each publish shorter than a lease
	editors := apitest.NewWithTransport(t, plan.Operations, counter)
	editors.CompanyID = s.CompanyID
	counter.Count(t, func(t *testing.T) {
		var wait sync.WaitGroup
		for writer := range 20 {
			wait.Go(func() {
				for round := range 4 {
					status := []string{"published", "draft"}[(writer+round)%2]
					r := editors.Call(t, key, "update_plan_item", map[string]any{"itemId": itemIDs[(writer*3+round)%12], "status": status})
					if r.Status != http.StatusOK {
						t.Errorf("update: %d %s", r.Status, r.Body)
					}
					if _, err := plan.NewStore(editors.Table).Publish(t.Context(), s.CompanyID, "brd_1", acceptAnyDigest); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
	})
	final, err := plan.NewStore(s.Table).Publish(t.Context(), s.CompanyID, "brd_1", func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	live := int64(0)
	for _, i := range allItems(t, s, key) {
		isLive := i["publishedVersion"] == float64(final.PublishedVersion)
		if isLive != (i["status"] == "published") {
			t.Errorf("%s is %v and shows version %v on version %v of the board", i["id"], i["status"], i["publishedVersion"], final.PublishedVersion)
		}
		if isLive {
			live++
		}
	}
	if live != final.ItemCount {
		t.Errorf("%v items are live, the publish counted %v", live, final.ItemCount)
	}
}

// Ensure a preview lists, for each item that would stay visible, which of its public properties
// would change, in the order of the item's fields. The response to a publish must not list them.
func TestPreviewSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	board := map[string]any{"boardId": "brd_1"}
	id := createItem(t, s, key, map[string]any{"title": "A", "status": "published", "summary": "Old", "categoryIds": []string{}})["id"]
	callOperation(t, s, key, "publish_plan_board", board)
	for _, c := range []struct {
		update map[string]any
		want   []any
	}{
		{map[string]any{"title": "B"}, []any{"title"}},
		{map[string]any{"summary": nil}, []any{"summary"}},
		{map[string]any{"columnId": "now"}, []any{"columnId"}},
		{map[string]any{"categoryIds": []string{"a", "b"}}, []any{"categoryIds"}},
		{map[string]any{"categoryIds": []string{"b", "a"}}, []any{"categoryIds"}},
		{map[string]any{"sortOrder": 0}, []any{"sortOrder"}},
		{map[string]any{"targetLabel": "Q3"}, []any{"targetLabel"}},
		{map[string]any{"targetLabel": "Q4", "sortOrder": nil, "categoryIds": nil, "columnId": nil, "summary": "New", "title": "C"},
			[]any{"title", "summary", "columnId", "categoryIds", "sortOrder", "targetLabel"}},
	} {
		c.update["itemId"] = id
		callOperation(t, s, key, "update_plan_item", c.update)
		updated := callOperation(t, s, key, "preview_plan_publish", board)["updated"].([]any)
		if len(updated) != 1 || !reflect.DeepEqual(updated[0].(map[string]any)["changed"], any(c.want)) {
			t.Errorf("%v: %v, want %v", c.update, updated, c.want)
		}
		updated = callOperation(t, s, key, "publish_plan_board", board)["updated"].([]any)
		if _, hasChanged := updated[0].(map[string]any)["changed"]; len(updated) != 1 || hasChanged {
			t.Errorf("the publish: %v", updated)
		}
	}
}
