package feedback_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
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
	key := s.Key(t)
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

// beforeCallTransport is a transport that runs a function just before it sends the n-th call.
type beforeCallTransport struct {
	calls, callNumber atomic.Int64
	beforeCall        func()
}

func (b *beforeCallTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.calls.Add(1) == b.callNumber.Load() {
		b.beforeCall()
	}
	return apitest.Transport.RoundTrip(r)
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
	own, theirs, none := line(`"id":"fbk_own",`), line(`"id":"fbk_theirs",`), line("")
	imports := func(record string) func(s, over *apitest.Service, key string) {
		return func(s, over *apitest.Service, _ string) {
			checked, problems := transferType(over).Check(json.RawMessage(record))
			if len(problems) > 0 {
				t.Fatalf("record %s: problems %q, want none", record, problems)
			}
			if err := transferType(over).Write(t.Context(), s.CompanyID, []any{checked}); err != nil {
				t.Error(err)
			}
		}
	}
	pushes := func(s, over *apitest.Service, key string) {
		if r := over.Send(t, key, "POST", pushPath, `{"records":[`+sent+`]}`); r.Status != http.StatusOK {
			t.Errorf("push: status %d, want 200: %s", r.Status, r.Body)
		}
	}
	deletes := func(s, _ *apitest.Service, key string) {
		for _, f := range listRecords(t, s) {
			deleteFeedback(t, s, key, f["id"].(string))
		}
	}
	for name, race := range map[string]struct {
		before     []string
		slow, fast func(s, over *apitest.Service, key string)
	}{
		"an import, and a push":                      {nil, imports(own), pushes},
		"an import without an id, and a push":        {nil, imports(none), pushes},
		"a push, and an import":                      {nil, pushes, imports(own)},
		"a push, and an import without an id":        {nil, pushes, imports(none)},
		"two imports":                                {nil, imports(own), imports(theirs)},
		"an import without an id, and an import":     {nil, imports(none), imports(own)},
		"an import, and an import without an id":     {nil, imports(own), imports(none)},
		"an import, and a delete of what was pushed": {[]string{none}, imports(own), deletes},
		"an import, and a delete and a new import":   {[]string{theirs}, imports(own), func(s, over *apitest.Service, key string) { deletes(s, over, key); imports(none)(s, s, key) }},
		"a push, and a delete and a new import":      {[]string{none}, pushes, func(s, over *apitest.Service, key string) { deletes(s, over, key); imports(own)(s, s, key) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, reached := int64(1), true; reached; at++ {
				other := &beforeCallTransport{}
				over := apitest.NewOver(t, feedback.Operations, other)
				s := apitest.New(t, feedback.Operations)
				s.CompanyID = over.CompanyID
				key := s.Key(t)
				importLines(t, s, s.CompanyID, race.before...)
				other.beforeCall = func() { race.fast(s, s, key) }
				other.callNumber.Store(at)
				race.slow(s, over, key)
				reached = other.calls.Load() >= at
				if got := listRecords(t, s); len(got) != 1 {
					t.Errorf("before call %d: %v", at, got)
				}
				requireEqual(t, "a push then", mustPush(t, s, key, `{"source":"reddit","externalId":"A","title":"Last"}`), pushCounts{1, 0, 1})
			}
		})
	}
}
