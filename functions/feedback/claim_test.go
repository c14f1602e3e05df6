package feedback_test

import (
	"net/http"
	"testing"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/testkit/apitest"
)

func isUpdate(c apitest.Call) bool { return c.Action == "UpdateItem" }

// Ensure only an approved reply is posted: if the reply changes between a claim's read and its
// write, the claim must fail or return the new reply. Likewise, a change must fail if the reply is
// claimed between the change's read and its write.
func TestClaimReplyAndEdit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		edit string
		want fault.Code
		text string
	}{
		{`{"replyBody":"Reworded"}`, fault.Conflict, ""},
		{`{"replyStatus":"skipped"}`, fault.Conflict, ""},
		{`{"replyBody":"Reworded","replyStatus":"approved"}`, "", "Reworded"},
	} {
		transport := &apitest.BeforeMatch{Matches: isUpdate}
		s := apitest.NewWithTransport(t, feedback.Operations, transport)
		key := s.IssueKey(t)
		importRecords(t, s, recordWithReply("approved", "Thanks"))
		edited := 0
		transport.Run = func() { edited = s.Send(t, key, "PATCH", replyPath, tc.edit).Status }
		got, err := feedback.NewStore(s.Table).ClaimReply(t.Context(), s.CompanyID, "fbk_0001", nil)
		if edited != http.StatusOK || codeOf(err) != tc.want || err == nil && *got.ReplyBody != tc.text {
			t.Errorf("%s: edited %d, %v, %v", tc.edit, edited, err, got.ReplyBody)
		}
	}
	transport := &apitest.BeforeMatch{Matches: isUpdate}
	s := apitest.NewWithTransport(t, feedback.Operations, transport)
	key := s.IssueKey(t)
	importRecords(t, s, recordWithReply("approved", "Thanks"))
	transport.Run = func() {
		mustTransition(t)(feedback.NewStore(s.Table).ClaimReply(t.Context(), s.CompanyID, "fbk_0001", nil))
	}
	if r := s.Send(t, key, "PATCH", replyPath, `{"replyBody":"Reworded"}`); r.Status != http.StatusConflict {
		t.Errorf("an edit during a claim: status %d, want 409: %s", r.Status, r.Body)
	}
}

// Ensure a transition whose response was lost can be retried successfully. A claim that no worker
// knows of must keep the reply from being posted until the operator reports an outcome.
func TestPostingSurvivesLostResponses(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	transport := &apitest.UpdateLosingTransport{}
	s := apitest.NewWithTransport(t, feedback.Operations, transport)
	store := feedback.NewStore(s.Table)
	importRecords(t, s, recordWithReply("approved", "Thanks"))
	transport.LossesLeft.Store(1)
	claimID := *mustTransition(t)(store.ClaimReply(t.Context(), s.CompanyID, "fbk_0001", nil)).ClaimID
	transport.LossesLeft.Store(1)
	mustTransition(t)(store.ReportPosted(t.Context(), s.CompanyID, "fbk_0001", claimID))
	if transport.Lost.Load() != 2 {
		t.Errorf("%d responses were lost, want 2", transport.Lost.Load())
	}

	importRecords(t, s, recordWithReply("approved", "Thanks"))
	transport.LossesLeft.Store(100)
	if _, err := store.ClaimReply(t.Context(), s.CompanyID, "fbk_0001", nil); err == nil || codeOf(err) != "" {
		t.Fatalf("a claim without a response: error %v, want one without a code", err)
	}
	transport.LossesLeft.Store(0)
	if _, err := store.ClaimReply(t.Context(), s.CompanyID, "fbk_0001", nil); codeOf(err) != fault.Conflict {
		t.Errorf("a second claim: error %v, want a conflict", err)
	}
	claims := s.Call(t, s.IssueKey(t), "list_reply_claims", nil).Items(t)
	if len(claims) != 1 {
		t.Fatalf("claims %v, want one", claims)
	}
	mustTransition(t)(store.ReportReplyFailed(t.Context(), s.CompanyID, "fbk_0001", claims[0]["claimId"].(string)))
}
