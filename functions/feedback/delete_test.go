package feedback_test

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// storedSortKeys returns the sort keys in a company's feedback partition that start with prefix,
// such as feedback# or ext#.
func storedSortKeys(t *testing.T, s *apitest.Service, prefix string) []string {
	t.Helper()
	type key struct {
		SK string `store:"sk"`
	}
	found, err := table.ReadAll[key](t.Context(), s.Table, table.Collection{Partition: table.Partition(s.CompanyID, "feedback"), Prefix: prefix, Consistent: true})
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{}
	for _, k := range found {
		keys = append(keys, k.SK)
	}
	return keys
}

func deleteFeedback(t *testing.T, s *apitest.Service, key, feedbackID string) apitest.Response {
	t.Helper()
	return s.Call(t, key, "delete_feedback", map[string]any{"feedbackId": feedbackID})
}

// Ensure a record can be deleted unless its reply has the status posting. No read or list may
// return a deleted record.
func TestDelete(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	for _, status := range append(statusValues(), "") {
		f := recordWithReply(status, "Thanks")
		f.Source, f.Sentiment = new(feedback.Source("reddit")), new(feedback.Sentiment("neutral"))
		importRecords(t, s, f, newReview(2))
		before := s.Send(t, key, "GET", pushPath+"/fbk_0001", "")
		r := deleteFeedback(t, s, key, "fbk_0001")
		if status == feedback.ReplyStatusPosting {
			if _, messages := r.Messages(t); r.Status != http.StatusConflict || messages[0] != "the reply is being posted; delete the record once the reply is posted or failed" {
				t.Errorf("%s: status %d, want 409 and that the reply is being posted: %s", status, r.Status, r.Body)
			}
			requireEqual(t, "the record whose reply is posting", s.Send(t, key, "GET", pushPath+"/fbk_0001", "").Body, before.Body)
			continue
		}
		if r.Status != http.StatusOK || r.Body != `{"id":"fbk_0001","deleted":true}` {
			t.Errorf("%s: status %d, want 200 with the id: %s", status, r.Status, r.Body)
		}
		again := deleteFeedback(t, s, key, "fbk_0001")
		missing := deleteFeedback(t, s, key, "fbk_none")
		if again.Status != http.StatusNotFound || again.Body != missing.Body || s.Send(t, key, "GET", pushPath+"/fbk_0001", "").Status != http.StatusNotFound {
			t.Errorf("%s: again: %d %s", status, again.Status, again.Body)
		}
		for name, query := range map[string]string{"all": "", "source": "?source=reddit", "queue": "?replyStatus=" + cmp.Or(string(status), "none"), "voice": "?source=reddit&sentiment=neutral"} {
			for _, f := range s.Send(t, key, "GET", pushPath+query, "").Items(t) {
				if f["id"] == "fbk_0001" {
					t.Errorf("%s: the list %s has the deleted record", status, name)
				}
			}
		}
		requireEqual(t, "stored", storedSortKeys(t, s, ""), []string{"feedback#fbk_0002"})
	}
}

// Ensure a review that is pushed or imported again after its deletion gets a new record, whether
// the deleted record's id was derived or came from an import. A delete must remove the reference
// from the review to its record only if the reference points to the deleted record.
func TestRecreateAfterDelete(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.IssueKey(t)
	const sent = `{"source":"reddit","externalId":"A","title":"T"}`
	derived := derivedID(t, s, key, "A")

	mustPush(t, s, key, sent)
	s.Send(t, key, "PATCH", pushPath+"/"+derived+"/reply", `{"replyBody":"Thanks","replyStatus":"draft"}`)
	if r := deleteFeedback(t, s, key, derived); r.Status != http.StatusOK {
		t.Fatalf("delete: status %d, want 200: %s", r.Status, r.Body)
	}
	s.Clock.Advance(minute)
	requireEqual(t, "pushed again", mustPush(t, s, key, sent), pushCounts{1, 1, 0})
	if f := listRecords(t, s)[0]; f["createdAt"] != minuteLater || f["replyBody"] != nil || f["replyStatus"] != "none" {
		t.Errorf("created at %v with the reply %v (%v); want %s without a reply (none)", f["createdAt"], f["replyBody"], f["replyStatus"], minuteLater)
	}
	deleteFeedback(t, s, key, derived)

	importLines(t, s, s.CompanyID, `{"id":"fbk_own","source":"reddit","externalId":"A","replyStatus":"draft","replyBody":"Thanks"}`)
	if refs := storedSortKeys(t, s, "ext#"); len(refs) != 1 {
		t.Fatalf("references %q, want one", refs)
	}
	deleteFeedback(t, s, key, "fbk_own")
	requireEqual(t, "stored after the deletion of an imported record", storedSortKeys(t, s, ""), []string{})
	requireEqual(t, "pushed after that", mustPush(t, s, key, sent), pushCounts{1, 1, 0})
	requireEqual(t, "stored then", storedSortKeys(t, s, ""), []string{"feedback#" + derived})
	deleteFeedback(t, s, key, derived)
	importLines(t, s, s.CompanyID, `{"source":"reddit","externalId":"A"}`)
	requireEqual(t, "imported after that", storedSortKeys(t, s, ""), []string{"feedback#" + derived})
	deleteFeedback(t, s, key, derived)

	// If two records are of the same review, the reference points to the second one.
	importLines(t, s, s.CompanyID, `{"id":"fbk_one","source":"reddit","externalId":"A"}`)
	reference := storedSortKeys(t, s, "ext#")[0]
	if err := s.Table.BatchDelete(t.Context(), []table.Key{{PK: table.Partition(s.CompanyID, "feedback"), SK: reference}}); err != nil {
		t.Fatal(err)
	}
	importLines(t, s, s.CompanyID, `{"id":"fbk_two","source":"reddit","externalId":"A"}`)
	deleteFeedback(t, s, key, "fbk_one")
	if refs := storedSortKeys(t, s, "ext#"); len(refs) != 1 {
		t.Fatalf("the reference to another record was deleted: %v", refs)
	}
	requireEqual(t, "a push of the one that is left", mustPush(t, s, key, sent), pushCounts{1, 0, 1})
	deleteFeedback(t, s, key, "fbk_two")

	// A record without a source has no reference. A record whose identity was changed by an import
	// has two.
	importLines(t, s, s.CompanyID, `{"id":"fbk_none","externalId":"A"}`, `{"id":"fbk_moved","source":"reddit","externalId":"B"}`)
	importLines(t, s, s.CompanyID, `{"id":"fbk_moved","source":"reddit","externalId":"C"}`)
	deleteFeedback(t, s, key, "fbk_none")
	deleteFeedback(t, s, key, "fbk_moved")
	requireEqual(t, "pushes of both identities", mustPush(t, s, key, `{"source":"reddit","externalId":"B"}`, `{"source":"reddit","externalId":"C"}`), pushCounts{2, 2, 0})
}

// Ensure a deletion leaves the record either complete or gone, even if it races with an edit of the
// reply, a push of the same review, a claim of the reply or a second deletion. A reply that a
// worker may be posting must never be deleted.
func TestDeleteRaces(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	s := start(t)
	store := feedback.NewStore(s.Table)
	key := rotatingKeys(t, s)
	const line = `{"id":"fbk_0001","source":"reddit","externalId":"A","title":"old","replyStatus":"approved","replyBody":"Thanks"}`
	for range rounds {
		importLines(t, s, s.CompanyID, line)
		k := key()
		var deleted, second, edited, pushResponse apitest.Response
		var claimErr error
		var wait sync.WaitGroup
		wait.Go(func() { deleted = deleteFeedback(t, s, k, "fbk_0001") })
		wait.Go(func() { second = deleteFeedback(t, s, k, "fbk_0001") })
		wait.Go(func() { edited = s.Send(t, k, "PATCH", replyPath, `{"replyStatus":"needs_review"}`) })
		wait.Go(func() { pushResponse = push(t, s, k, `{"source":"reddit","externalId":"A","title":"new"}`) })
		wait.Go(func() { _, claimErr = store.ClaimReply(t.Context(), s.CompanyID, "fbk_0001", nil) })
		wait.Wait()
		won := 0
		for _, r := range []apitest.Response{deleted, second} {
			switch r.Status {
			case http.StatusOK:
				won++
			case http.StatusNotFound, http.StatusConflict:
			default:
				t.Errorf("a deletion: %d %s", r.Status, r.Body)
			}
		}
		var count pushCounts
		pushResponse.Decode(t, &count)
		left := listRecords(t, s)
		outcome := fmt.Sprintf("push %d %s; %d deletions; claim %v; edit %d; left %v", pushResponse.Status, pushResponse.Body, won, claimErr, edited.Status, left)
		switch {
		case pushResponse.Status != http.StatusOK:
			t.Fatalf("the push failed: %s", outcome)
		case len(left) != 1 && (count.Created > 0 || won == 0):
			t.Fatalf("%d records, want 1: %s", len(left), outcome)
		case won > 1:
			t.Fatalf("two deletions succeeded: %s", outcome)
		case claimErr == nil && won > 0:
			t.Fatalf("a claimed reply was deleted: %s", outcome)
		}
		if claimErr != nil && codeOf(claimErr) != fault.Conflict && codeOf(claimErr) != fault.NotFound {
			t.Errorf("claim: error %v, want none, a conflict or not found", claimErr)
		}
		if len(left) == 1 {
			if sameID := left[0]["id"] == "fbk_0001"; sameID == (won > 0) || left[0]["title"] != "new" || sameID == (len(storedSortKeys(t, s, "ext#")) == 0) {
				t.Fatalf("%d deletions left %v, references %v", won, left[0], storedSortKeys(t, s, "ext#"))
			}
			if left[0]["replyStatus"] == "posting" {
				importRecords(t, s, recordWithReply("posted", "Thanks")) // so that it can be deleted
			}
			if r := deleteFeedback(t, s, k, left[0]["id"].(string)); r.Status != http.StatusOK {
				t.Fatalf("delete of what is left: status %d, want 200: %s", r.Status, r.Body)
			}
		}
		if rest := storedSortKeys(t, s, "feedback#"); len(rest) != 0 {
			t.Fatalf("records %q, want none", rest)
		}
	}
}
