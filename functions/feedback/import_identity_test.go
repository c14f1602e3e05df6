package feedback_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure importing a review that is already stored under a different id replaces the stored record
// and keeps its id, whichever of the two ids is derived. This makes it possible to restore an old
// export while a feed is running, without creating duplicates.
func TestImportReplacesStoredReview(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	mustPush(t, s, key, `{"source":"reddit","externalId":"A","title":"Pushed","body":"Text"}`)
	derived := derivedID(t, s, key, "A")
	ours := func(id, external string) string {
		return fmt.Sprintf(`{"id":%q,"source":"reddit","externalId":%q,"title":"Imported","replyStatus":"posted","replyBody":"Thanks"}`, id, external)
	}
	importLines(t, s, s.CompanyID, ours("fbk_own", "A"))
	requireEqual(t, "stored", storedSortKeys(t, s, ""), []string{"feedback#" + derived})
	if f := listRecords(t, s)[0]; f["title"] != "Imported" || f["body"] != nil || f["replyStatus"] != "posted" {
		t.Errorf("title %v, body %v, status %v; want Imported, null and posted", f["title"], f["body"], f["replyStatus"])
	}
	importLines(t, s, s.CompanyID, ours("fbk_first", "B"))
	importLines(t, s, s.CompanyID, ours("fbk_second", "B"))
	requireEqual(t, "records with an id of their own", len(storedSortKeys(t, s, "feedback#")), 2)
	if refs := storedSortKeys(t, s, "ext#"); len(refs) != 1 {
		t.Errorf("references %q, want one", refs)
	}
	requireEqual(t, "a push", mustPush(t, s, key, `{"source":"reddit","externalId":"B","title":"New"}`), pushCounts{1, 0, 1})
	if r := s.Send(t, key, "GET", pushPath+"/fbk_first", ""); r.JSON(t)["title"] != "New" || r.JSON(t)["replyBody"] != "Thanks" {
		t.Errorf("body %s, want the title New and the reply Thanks", r.Body)
	}
}

// Ensure a review ends up with exactly one record when two callers write it at the same time. The
// first caller imports or pushes the review. Just before one of that caller's table calls, the
// second caller pushes it, imports it or deletes the stored record. An imported record either has
// an id in its file or gets the derived id.
func TestImportOfAReviewDuringWrites(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	const sent = `{"source":"reddit","externalId":"A","title":"Pushed"}`
	line := func(id string) string { return `{` + id + `"source":"reddit","externalId":"A","title":"Imported"}` }
	own, theirs, recordWithoutID := line(`"id":"fbk_own",`), line(`"id":"fbk_theirs",`), line("")
	importer := func(record string) func(s, hookedService *apitest.Service, key string) {
		return func(s, hookedService *apitest.Service, _ string) {
			checked, problems := transferType(hookedService).Check(json.RawMessage(record))
			if len(problems) > 0 {
				t.Fatalf("record %s: problems %q, want none", record, problems)
			}
			if err := transferType(hookedService).Write(t.Context(), s.CompanyID, []any{checked}); err != nil {
				t.Error(err)
			}
		}
	}
	pushReview := func(s, hookedService *apitest.Service, key string) {
		if r := hookedService.Send(t, key, "POST", pushPath, `{"records":[`+sent+`]}`); r.Status != http.StatusOK {
			t.Errorf("push: status %d, want 200: %s", r.Status, r.Body)
		}
	}
	deleteAll := func(s, _ *apitest.Service, key string) {
		for _, f := range listRecords(t, s) {
			deleteFeedback(t, s, key, f["id"].(string))
		}
	}
	for name, race := range map[string]struct {
		before     []string
		slow, fast func(s, hookedService *apitest.Service, key string)
	}{
		"an import, and a push":                      {nil, importer(own), pushReview},
		"an import without an id, and a push":        {nil, importer(recordWithoutID), pushReview},
		"a push, and an import":                      {nil, pushReview, importer(own)},
		"a push, and an import without an id":        {nil, pushReview, importer(recordWithoutID)},
		"two imports":                                {nil, importer(own), importer(theirs)},
		"an import without an id, and an import":     {nil, importer(recordWithoutID), importer(own)},
		"an import, and an import without an id":     {nil, importer(own), importer(recordWithoutID)},
		"an import, and a delete of what was pushed": {[]string{recordWithoutID}, importer(own), deleteAll},
		"an import, and a delete and a new import": {[]string{theirs}, importer(own), func(s, hookedService *apitest.Service, key string) {
			deleteAll(s, hookedService, key)
			importer(recordWithoutID)(s, s, key)
		}},
		"a push, and a delete and a new import": {[]string{recordWithoutID}, pushReview, func(s, hookedService *apitest.Service, key string) {
			deleteAll(s, hookedService, key)
			importer(own)(s, s, key)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, reached := int64(1), true; reached; at++ {
				s := start(t)
				key := s.IssueKey(t)
				transport := apitest.NewBeforeCall(at, func() { race.fast(s, s, key) })
				hookedService := apitest.NewWithTransport(t, feedback.Operations, transport)
				hookedService.CompanyID = s.CompanyID
				importLines(t, s, s.CompanyID, race.before...)
				race.slow(s, hookedService, key)
				reached = transport.Reached()
				if got := listRecords(t, s); len(got) != 1 {
					t.Errorf("before call %d: %v", at, got)
				}
				requireEqual(t, "a push then", mustPush(t, s, key, `{"source":"reddit","externalId":"A","title":"Last"}`), pushCounts{1, 0, 1})
			}
		})
	}
}
