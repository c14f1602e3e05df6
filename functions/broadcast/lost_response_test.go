package broadcast_test

import (
	"testing"
	"time"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a transition whose response is lost happens only once. Its retry must succeed. The retry
// of a claim must return the same claim.
func TestTransitionsSurviveLostResponses(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	transport := &apitest.UpdateLosingTransport{}
	s := apitest.NewWithTransport(t, broadcast.Operations, transport)
	store := broadcast.NewStore(s.Table)
	importRecords(t, s, "post", record{"id": "pst_1", "platform": "x", "status": "scheduled", "scheduledFor": earlierTime})
	claim := func() string {
		transport.LossesLeft.Store(1)
		return *mustTransition(t)(store.ClaimPost(t.Context(), s.CompanyID, "pst_1")).ClaimID
	}
	first := claim()
	transport.LossesLeft.Store(1)
	mustTransition(t)(store.RetryPost(t.Context(), s.CompanyID, "pst_1", first))
	second := claim()
	transport.LossesLeft.Store(1)
	mustTransition(t)(store.ReportFailed(t.Context(), s.CompanyID, "pst_1", second, failureReason))
	third := claim()
	transport.LossesLeft.Store(1)
	mustTransition(t)(store.ReportPublished(t.Context(), s.CompanyID, "pst_1", third, broadcast.Outcome{}))
	if first == second || second == third || transport.Lost.Load() != 6 {
		t.Errorf("claims %s, %s, %s; %d responses were lost", first, second, third, transport.Lost.Load())
	}
	p, err := store.Posts.Get(t.Context(), s.CompanyID, "pst_1")
	if err != nil {
		t.Fatal(err)
	}
	if *p.Status != broadcast.PostStatusPublished {
		t.Errorf("stored status %s, want %s", *p.Status, broadcast.PostStatusPublished)
	}
}

// Ensure a claim whose responses were all lost still locks the post. An operator must be able to
// find the claim and release it.
func TestClaimWithoutResponse(t *testing.T) {
	t.Parallel()
	transport := &apitest.UpdateLosingTransport{}
	s := apitest.NewWithTransport(t, broadcast.Operations, transport)
	store := broadcast.NewStore(s.Table)
	importRecords(t, s, "post", record{"id": "pst_1", "platform": "x", "status": "scheduled", "scheduledFor": earlierTime})
	transport.LossesLeft.Store(100)
	if _, err := store.ClaimPost(t.Context(), s.CompanyID, "pst_1"); err == nil || isConflict(err) {
		t.Fatalf("a claim without a response: error %v, want one that is no conflict", err)
	}
	transport.LossesLeft.Store(0)
	if _, err := store.ClaimPost(t.Context(), s.CompanyID, "pst_1"); !isConflict(err) {
		t.Errorf("a second claim: error %v, want a conflict", err)
	}
	s.Clock.Advance(1000 * time.Hour)
	if due, err := store.DuePosts(t.Context(), s.CompanyID, nil, "", 10); err != nil || len(due.Records) != 0 {
		t.Errorf("due posts %v with error %v, want none, because a claim does not expire", due.Records, err)
	}
	claims := s.Call(t, s.IssueKey(t), "list_post_claims", nil).Items(t)
	if len(claims) != 1 || claims[0]["claimId"] == nil {
		t.Fatalf("claims %v, want one", claims)
	}
	mustTransition(t)(store.RetryPost(t.Context(), s.CompanyID, "pst_1", claims[0]["claimId"].(string)))
	mustTransition(t)(store.ClaimPost(t.Context(), s.CompanyID, "pst_1"))
}
