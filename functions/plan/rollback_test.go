package plan_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/plan"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/testkit/apitest"
)

func acceptAnyDigest(string) error { return nil }

// allVersions returns the versions of a board, newest first.
func allVersions(t *testing.T, s *apitest.Service, boardID string) []plan.BoardVersion {
	t.Helper()
	page, err := plan.NewStore(s.Table).Versions(t.Context(), s.CompanyID, boardID, "", 100)
	if err != nil || page.Next != "" {
		t.Fatalf("next %q: %v", page.Next, err)
	}
	return page.Records
}

// versionTitles returns the titles of the items in the given version, or in the live version if the
// argument is 0.
func versionTitles(t *testing.T, s *apitest.Service, version int64) []string {
	t.Helper()
	wanted := &version
	if version == 0 {
		wanted = nil
	}
	shown, err := plan.NewStore(s.Table).Snapshot(t.Context(), s.CompanyID, "brd_1", wanted)
	if err != nil {
		t.Fatalf("version %v: %v", version, err)
	}
	out := []string{}
	for _, i := range shown.Items {
		out = append(out, i.Title)
	}
	return out
}

// Ensure every version keeps the content with which it went live, and that a rollback publishes the
// content of an earlier version as the next version. The board, the items and the preview must then
// have the values described in scripts/docs/reference/publish.md.
func TestRollback(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	board := map[string]any{"boardId": "brd_1"}
	publish := func() {
		t.Helper()
		s.Clock.Advance(time.Hour)
		callOperation(t, s, key, "publish_plan_board", board)
	}
	getItem := func(i map[string]any) map[string]any {
		t.Helper()
		return callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": i["id"]})
	}
	change := func(i map[string]any, name string, value any) {
		t.Helper()
		callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": i["id"], name: value})
	}
	a := createItem(t, s, key, map[string]any{"title": "A", "status": "published", "sortOrder": 1, "categoryIds": []string{}, "summary": "<b>&"})
	b := createItem(t, s, key, map[string]any{"title": "B", "status": "published", "sortOrder": 2})
	c := createItem(t, s, key, map[string]any{"title": "C", "status": "published", "sortOrder": 3})
	publish() // version 1 shows A, B and C
	change(a, "title", "A2")
	change(b, "status", "archived")
	callOperation(t, s, key, "delete_plan_item", map[string]any{"itemId": c["id"]})
	d := createItem(t, s, key, map[string]any{"title": "D", "status": "published", "sortOrder": 4})
	publish() // version 2 shows A2 and D

	s.Clock.Advance(time.Hour)
	toFirst := map[string]any{"boardId": "brd_1", "version": 1}
	done := callOperation(t, s, key, "rollback_plan_board", toFirst) // version 3 shows A, B and C
	for _, list := range []string{"added", "updated", "removed"} {
		versions := []any{}
		for _, i := range done[list].([]any) {
			versions = append(versions, i.(map[string]any)["publishedVersion"])
		}
		done[list] = versions
	}
	if diff := cmp.Diff(map[string]any{
		"boardId": "brd_1", "changed": true, "publishedVersion": 3.0, "publishedAt": "2026-08-11T12:30:00.000Z", "itemCount": 3.0, "unchangedCount": 0.0,
		"added": []any{3.0, 3.0}, "updated": []any{3.0}, "removed": []any{2.0},
	}, done); diff != "" {
		t.Errorf("rollback to version 1 (-want +got):\n%s", diff)
	}
	for version, want := range map[int64][]string{0: {"A", "B", "C"}, 1: {"A", "B", "C"}, 2: {"A2", "D"}, 3: {"A", "B", "C"}} {
		if got := versionTitles(t, s, version); !slices.Equal(got, want) {
			t.Errorf("version %v: items %q, want %q", version, got, want)
		}
	}
	if got := callOperation(t, s, key, "get_plan_board", board); got["publishedVersion"] != 3.0 || got["publishedAt"] != done["publishedAt"] || got["updatedAt"] != done["publishedAt"] {
		t.Errorf("board %v, want version 3, published and updated at %s", got, done["publishedAt"])
	}
	// The items keep their edits. Their publishedVersion shows which of them are live.
	if i := getItem(a); i["title"] != "A2" || i["publishedVersion"] != 3.0 {
		t.Errorf("title %v and version %v, want A2 and 3", i["title"], i["publishedVersion"])
	}
	if i := getItem(b); i["status"] != "archived" || i["publishedVersion"] != 3.0 {
		t.Errorf("status %v and version %v, want archived and 3", i["status"], i["publishedVersion"])
	}
	if i := getItem(d); i["status"] != "published" || i["publishedVersion"] != 2.0 {
		t.Errorf("status %v and version %v, want published and 2", i["status"], i["publishedVersion"])
	}
	p := callOperation(t, s, key, "preview_plan_publish", board)
	preview := map[string]any{"hasChanges": true, "nextVersion": 4.0, "added": 1, "updated": 1, "removed": 2}
	if diff := cmp.Diff(preview, map[string]any{
		"hasChanges": p["hasChanges"], "nextVersion": p["nextVersion"], "added": len(p["added"].([]any)), "updated": len(p["updated"].([]any)), "removed": len(p["removed"].([]any)),
	}); diff != "" {
		t.Errorf("preview after the rollback (-want +got):\n%s", diff)
	}

	// Repeating the rollback changes nothing.
	again := callOperation(t, s, key, "rollback_plan_board", toFirst)
	if again["changed"] != false || again["publishedVersion"] != 3.0 || again["publishedAt"] != done["publishedAt"] {
		t.Errorf("changed %v, version %v at %v; want false, 3 at %v", again["changed"], again["publishedVersion"], again["publishedAt"], done["publishedAt"])
	}
	publish() // version 4 shows A2 and D
	if i := getItem(d); i["publishedVersion"] != 4.0 {
		t.Errorf("D has version %v, want 4", i["publishedVersion"])
	}
	if i := getItem(b); i["publishedVersion"] != 3.0 {
		t.Errorf("B has version %v, want 3", i["publishedVersion"])
	}
	if got := versionTitles(t, s, 0); !slices.Equal(got, []string{"A2", "D"}) {
		t.Errorf("live are %q, want A2 and D", got)
	}

	want := []plan.BoardVersion{
		{Version: 4, PublishedAt: "2026-08-11T13:30:00.000Z", ItemCount: 2, Live: true},
		{Version: 3, PublishedAt: "2026-08-11T12:30:00.000Z", ItemCount: 3, Restores: new(int64(1))},
		{Version: 2, PublishedAt: "2026-08-11T11:30:00.000Z", ItemCount: 2},
		{Version: 1, PublishedAt: "2026-08-11T10:30:00.000Z", ItemCount: 3},
	}
	if diff := cmp.Diff(want, allVersions(t, s, "brd_1")); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

// Ensure that after a rollback, there is nothing to publish once the items have been edited back to
// the content of the restored version.
func TestNothingToPublishAfterRollback(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	a := createItem(t, s, key, map[string]any{"title": "A", "status": "published", "categoryIds": []string{"c"}, "sortOrder": 7, "targetLabel": "Q3"})
	for _, title := range []string{"A", "A2"} {
		callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": a["id"], "title": title})
		callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	}
	callOperation(t, s, key, "rollback_plan_board", map[string]any{"boardId": "brd_1", "version": 1})
	callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": a["id"], "title": "A"})
	if p := callOperation(t, s, key, "preview_plan_publish", map[string]any{"boardId": "brd_1"}); p["hasChanges"] != false || p["currentVersion"] != 3.0 {
		t.Errorf("changes %v and version %v, want false and 3", p["hasChanges"], p["currentVersion"])
	}
}

// Ensure an unknown board or version returns not_found, and that a malformed board id never leads
// to a different record.
func TestNoSuchVersion(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	other, _ := start(t)
	store := plan.NewStore(s.Table)
	expect := func(boardID string, version int64, message string) {
		t.Helper()
		_, snapshotErr := store.Snapshot(t.Context(), s.CompanyID, boardID, &version)
		var refused *fault.Error
		if !errors.As(snapshotErr, &refused) || refused.Code != fault.NotFound || !strings.Contains(snapshotErr.Error(), message) {
			t.Errorf("board %q, version %v: error %v, want not_found: %s", boardID, version, snapshotErr, message)
		}
		if version < 1 {
			return
		}
		r := s.Call(t, key, "rollback_plan_board", map[string]any{"boardId": boardID, "version": version})
		if code, messages := r.Messages(t); r.Status != 404 || code != "not_found" || !strings.Contains(messages[0], message) {
			t.Errorf("board %q, version %v: %d %s %q, want 404, not_found and %s", boardID, version, r.Status, code, messages, message)
		}
	}
	expect("brd_1", 1, "was never published")
	if r := s.Call(t, key, "list_plan_versions", map[string]any{"boardId": "brd_1"}); r.Body != `{"items":[]}` {
		t.Errorf("versions before the first publish: %s, want none", r.Body)
	}
	callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	if got := versionTitles(t, s, 0); len(got) != 0 {
		t.Errorf("live are %q, want none", got)
	}
	for _, version := range []int64{0, -1, 2, 9_999_999_999} {
		expect("brd_1", version, "the oldest that is kept is version 1")
	}
	for _, boardID := range []string{"brd_2", "itm_1", "brd_1#x"} {
		expect(boardID, 1, "no such record")
		if r := s.Call(t, key, "list_plan_versions", map[string]any{"boardId": boardID}); r.Status != 404 {
			t.Errorf("versions of %q: status %d, want 404: %s", boardID, r.Status, r.Body)
		}
	}
	if _, err := store.Snapshot(t.Context(), other.CompanyID, "brd_1", nil); err == nil {
		t.Error("another company's board is shown")
	}
	importRecords(t, s, "board", `{"id":"brd_3","publishedVersion":5,"publishedAt":"2026-01-01T00:00:00Z"}`)
	if _, err := store.Snapshot(t.Context(), s.CompanyID, "brd_3", nil); err == nil || !strings.Contains(err.Error(), "without its snapshot") {
		t.Errorf("error %v, want that the version was imported without its snapshot", err)
	}
	expect("brd_3", 4, "none is kept")
}

// Ensure that an imported board has the imported version, and that the next publish continues from
// that version. The board must not show anything that was published under the same version numbers
// before the import.
func TestVersionsAfterImport(t *testing.T) {
	t.Parallel()
	s, key := start(t)
	a := createItem(t, s, key, map[string]any{"title": "A1", "status": "published"})
	for _, title := range []string{"A1", "A2", "A3", "A4"} {
		callOperation(t, s, key, "update_plan_item", map[string]any{"itemId": a["id"], "title": title})
		callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	}
	importRecords(t, s, "board", `{"id":"brd_1","publishedVersion":2,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[{"id":"itm_x","slug":"x","title":"X"}]}`)
	expect := func(want ...string) {
		t.Helper()
		var got []string
		for _, v := range allVersions(t, s, "brd_1") {
			got = append(got, fmt.Sprintf("%v %v %t", v.Version, versionTitles(t, s, v.Version), v.Live))
		}
		if !slices.Equal(got, want) {
			t.Errorf("versions %q, want %q", got, want)
		}
	}
	expect("2 [X] true", "1 [A1] false")
	callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	expect("3 [A4] true", "2 [X] false", "1 [A1] false")
	if done := callOperation(t, s, key, "rollback_plan_board", map[string]any{"boardId": "brd_1", "version": 2}); done["publishedVersion"] != 4.0 {
		t.Errorf("published version %v, want 4", done["publishedVersion"])
	}
	expect("4 [X] true", "3 [A4] false", "2 [X] false", "1 [A1] false")
}

// Ensure a rollback restores all items even if the snapshot spans several records and has more
// items than fit in a transaction.
func TestRollbackSizes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, key := start(t)
	const many = 450
	var records []string
	for n := range many {
		records = append(records, fmt.Sprintf(`{"id":"itm_%d","roadmapId":"brd_1","slug":"s-%d","title":"T%d","summary":%q,"status":"published"}`, n, n, n, strings.Repeat("ab", 900)))
	}
	importWithoutChecks(t, s, "item", records...)
	callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	for n := range records {
		records[n] = strings.Replace(records[n], `"published"`, `"draft"`, 1)
	}
	importWithoutChecks(t, s, "item", records...)
	callOperation(t, s, key, "publish_plan_board", map[string]any{"boardId": "brd_1"})
	done := callOperation(t, s, key, "rollback_plan_board", map[string]any{"boardId": "brd_1", "version": 1})
	if done["itemCount"] != float64(many) || len(done["added"].([]any)) != many {
		t.Errorf("%v items, %d added, want %d of both", done["itemCount"], len(done["added"].([]any)), many)
	}
	if got := versionTitles(t, s, 0); len(got) != many {
		t.Errorf("%d items are shown", len(got))
	}
	for _, i := range allItems(t, s, key) {
		if i["publishedVersion"] != 3.0 {
			t.Fatalf("%v is live and shows version %v", i["id"], i["publishedVersion"])
		}
	}
}

// Ensure a rollback with If-Match fails with precondition_failed, and publishes nothing, if the board
// is edited before any of its table calls up to the commit.
func TestRollbackOfEditedBoard(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	refused := 0
	for at, reached := int64(1), true; reached; at++ {
		s, key, _, _ := publishTwoVersions(t)
		tag := s.Call(t, key, "get_plan_board", map[string]any{"boardId": "brd_1"}).Header.Get("ETag")
		transport := apitest.NewBeforeCall(at, func() {
			callOperation(t, s, key, "update_plan_board", map[string]any{"boardId": "brd_1", "name": "Renamed"})
		})
		slow := apitest.NewWithTransport(t, plan.Operations, transport)
		slow.CompanyID = s.CompanyID
		slow.Clock.Advance(s.Clock.Now().Add(time.Hour).Sub(slow.Clock.Now())) // the edit is earlier than the commit
		r := slow.Call(t, key, "rollback_plan_board", map[string]any{"boardId": "brd_1", "version": 1, "If-Match": tag})
		if reached = transport.Reached(); !reached {
			break
		}
		b := callOperation(t, s, key, "get_plan_board", map[string]any{"boardId": "brd_1"})
		switch {
		case r.Status == 412 && b["publishedVersion"] == 2.0 && slices.Equal(versionTitles(t, s, 0), []string{"Second"}):
			refused++
		case r.Status == 200 && b["publishedVersion"] == 3.0 && refused > 0:
		default:
			t.Errorf("before call %d: status %d and version %v: %s", at, r.Status, b["publishedVersion"], r.Body)
		}
	}
	if refused < 5 {
		t.Errorf("%d rollbacks were refused, want at least 5", refused)
	}
}

// Ensure that of concurrent rollbacks and publishes each changes the live content completely or not
// at all, and that each change adds one version.
func TestConcurrentRollbacks(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s, key, first, second := publishTwoVersions(t)
	var wait sync.WaitGroup
	var changed atomic.Int64
	for n := range 6 {
		wait.Go(func() {
			op, args := "publish_plan_board", map[string]any{"boardId": "brd_1"}
			if n%2 == 0 {
				op, args["version"] = "rollback_plan_board", 1
			}
			if callOperation(t, s, key, op, args)["changed"] == true {
				changed.Add(1)
			}
		})
	}
	wait.Wait()
	versions := allVersions(t, s, "brd_1")
	if want := 2 + changed.Load(); int64(len(versions)) != want || versions[0].Version != want || !versions[0].Live {
		t.Errorf("versions %+v, want %d, of which the newest is live", versions, want)
	}
	shown := versionTitles(t, s, 0)
	for title, id := range map[string]any{"First": first, "Second": second} {
		got := callOperation(t, s, key, "get_plan_item", map[string]any{"itemId": id})["publishedVersion"]
		if (got == float64(versions[0].Version)) != slices.Contains(shown, title) || len(shown) != 1 {
			t.Errorf("%s has version %v of %d, and visitors see %q", title, got, versions[0].Version, shown)
		}
	}
}
