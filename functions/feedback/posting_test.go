package feedback_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/feedback"
	"growthworkspace/shared/fault"
)

const unknownClaimID = "clm_of1another" // no reply in these tests has this claim

func codeOf(err error) fault.Code {
	var refused *fault.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// mustTransition returns a function that fails the test if a transition returns an error.
func mustTransition(t *testing.T) func(feedback.ClaimedReply, error) feedback.ClaimedReply {
	t.Helper()
	return func(p feedback.ClaimedReply, err error) feedback.ClaimedReply {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func statusOf(f feedback.Feedback) feedback.ReplyStatus {
	if f.ReplyStatus == nil {
		return ""
	}
	return *f.ReplyStatus
}

// Ensure each transition of the posting step is allowed or rejected as specified. The test tries
// each transition from every state: with the claim that owns the reply, with a different claim and
// without a claim. A rejected transition must change nothing.
func TestPostingTransitions(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := feedback.NewStore(s.Table)
	const id, refusedStatus = "fbk_0001", feedback.ReplyStatus("refused")
	setUpImported := func(status feedback.ReplyStatus, text string, claimID string) func() string {
		return func() string { importRecords(t, s, recordWithReply(status, text)); return claimID }
	}
	setUpClaimed := func() string {
		importRecords(t, s, recordWithReply("approved", "Thanks"))
		return *mustTransition(t)(store.ClaimReply(t.Context(), s.CompanyID, id, nil)).ClaimID
	}
	setUpPosted := func() string {
		claimID := setUpClaimed()
		mustTransition(t)(store.ReportPosted(t.Context(), s.CompanyID, id, claimID))
		return claimID
	}
	setUpFailed := func() string {
		claimID := setUpClaimed()
		mustTransition(t)(store.ReportReplyFailed(t.Context(), s.CompanyID, id, claimID))
		return claimID
	}
	withClaimID := func(claimID string, setUp func() string) func() string {
		return func() string { setUp(); return claimID }
	}
	for _, tc := range []struct {
		name                  string
		setUp                 func() (claimID string) // creates the state and returns the claim id to use for the transitions
		claim, posted, failed feedback.ReplyStatus    // the state after each transition
	}{
		{"null", setUpImported("", "Thanks", ""), refusedStatus, refusedStatus, refusedStatus},
		{"none", setUpImported("none", "Thanks", ""), refusedStatus, refusedStatus, refusedStatus},
		{"draft", setUpImported("draft", "Thanks", ""), refusedStatus, refusedStatus, refusedStatus},
		{"needs_review", setUpImported("needs_review", "Thanks", ""), refusedStatus, refusedStatus, refusedStatus},
		{"skipped", setUpImported("skipped", "Thanks", ""), refusedStatus, refusedStatus, refusedStatus},
		{"approved", setUpImported("approved", "Thanks", unknownClaimID), "posting", refusedStatus, refusedStatus},
		{"approved, no text", setUpImported("approved", "", ""), refusedStatus, refusedStatus, refusedStatus},
		{"posting", setUpClaimed, refusedStatus, "posted", "failed"},
		{"posting, another's", withClaimID(unknownClaimID, setUpClaimed), refusedStatus, refusedStatus, refusedStatus},
		{"posting, no claim named", withClaimID("", setUpClaimed), refusedStatus, refusedStatus, refusedStatus},
		{"posting, imported", setUpImported("posting", "Thanks", ""), refusedStatus, "posted", "failed"},
		{"posting, imported, claim named", setUpImported("posting", "Thanks", unknownClaimID), refusedStatus, refusedStatus, refusedStatus},
		{"posted", setUpPosted, refusedStatus, "posted", refusedStatus},
		{"posted, another's", withClaimID(unknownClaimID, setUpPosted), refusedStatus, refusedStatus, refusedStatus},
		{"posted, imported", setUpImported("posted", "Thanks", ""), refusedStatus, refusedStatus, refusedStatus},
		{"failed", setUpFailed, refusedStatus, refusedStatus, "failed"},
		{"failed, another's", withClaimID(unknownClaimID, setUpFailed), refusedStatus, refusedStatus, refusedStatus},
		{"failed, imported", setUpImported("failed", "Thanks", ""), refusedStatus, refusedStatus, refusedStatus},
	} {
		for move, want := range map[string]feedback.ReplyStatus{"claim": tc.claim, "posted": tc.posted, "failed": tc.failed} {
			t.Run(tc.name+" "+move, func(t *testing.T) {
				claimID := tc.setUp()
				before, err := store.Get(t.Context(), s.CompanyID, id)
				if err != nil {
					t.Fatal(err)
				}
				s.Clock.Advance(time.Second)
				var got feedback.ClaimedReply
				switch move {
				case "claim":
					got, err = store.ClaimReply(t.Context(), s.CompanyID, id, nil)
				case "posted":
					got, err = store.ReportPosted(t.Context(), s.CompanyID, id, claimID)
				case "failed":
					got, err = store.ReportReplyFailed(t.Context(), s.CompanyID, id, claimID)
				}
				after, readErr := store.Get(t.Context(), s.CompanyID, id)
				if readErr != nil {
					t.Fatal(readErr)
				}
				untouched := *before.UpdatedAt == *after.UpdatedAt && statusOf(before) == statusOf(after)
				if want == refusedStatus {
					if codeOf(err) != fault.Conflict || !untouched {
						t.Errorf("error %v, want a conflict; %q became %q, unchanged: %t", err, statusOf(before), statusOf(after), untouched)
					}
					return
				}
				if err != nil {
					t.Errorf("%q: error %v, want none", statusOf(before), err)
				}
				type reply struct {
					Returned, Stored feedback.ReplyStatus
					Text             string
				}
				if diff := cmp.Diff(reply{want, want, "Thanks"}, reply{statusOf(got.Feedback), statusOf(after), *after.ReplyBody}); diff != "" {
					t.Errorf("%q became (-want +got):\n%s", statusOf(before), diff)
				}
				if repeated := statusOf(before) == want; repeated != untouched {
					t.Errorf("repeated report: %t; record unchanged: %t", repeated, untouched)
				}
			})
		}
	}
}

// Ensure ApprovedReplies lists exactly the approved replies that have a body, lowest priority
// number first.
func TestApprovedReplies(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := feedback.NewStore(s.Table)
	var want []string
	for n, status := range []feedback.ReplyStatus{"approved", "", "draft", "approved", "posting", "approved", "failed", "approved", "posted"} {
		f := recordWithReply(status, []string{"Thanks", ""}[n/7])
		f.ID, f.Priority = fmt.Sprintf("fbk_%04d", n), new(int64(-n))
		importRecords(t, s, f)
		if status == "approved" && *f.ReplyBody != "" {
			want = append(want, f.ID)
		}
	}
	slices.Reverse(want)
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		for after, pages := "", 1; ; pages++ {
			page, err := store.ApprovedReplies(t.Context(), s.CompanyID, nil, after, limit)
			if err != nil || len(page.Records) > limit || page.Next != "" && len(page.Records) < limit {
				t.Fatalf("limit %d: %d replies, next %q, %v", limit, len(page.Records), page.Next, err)
			}
			for _, f := range page.Records {
				got = append(got, f.ID)
			}
			if after = page.Next; after == "" {
				if pages != (len(want)+limit-1)/limit {
					t.Errorf("limit %d: %d pages", limit, pages)
				}
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %v", limit, got)
		}
	}
}

// Ensure every transition returns not_found for an unknown id and for another company's id. An
// import must release a claim.
func TestPostingNoSuchReply(t *testing.T) {
	t.Parallel()
	s, other := start(t), start(t, recordWithReply("approved", "Thanks"))
	store := feedback.NewStore(s.Table)
	for _, id := range []string{"fbk_0001", "", "pst_1", "fbk_1#x"} {
		_, claimErr := store.ClaimReply(t.Context(), s.CompanyID, id, nil)
		_, postedErr := store.ReportPosted(t.Context(), s.CompanyID, id, "")
		_, failedErr := store.ReportReplyFailed(t.Context(), s.CompanyID, id, "")
		for _, err := range []error{claimErr, postedErr, failedErr} {
			if !errors.Is(err, fault.ErrNotFound) {
				t.Errorf("id %q: error %v, want %v", id, err, fault.ErrNotFound)
			}
		}
	}
	claimID := *mustTransition(t)(store.ClaimReply(t.Context(), other.CompanyID, "fbk_0001", nil)).ClaimID
	importRecords(t, other, recordWithReply("posting", "Thanks"))
	if _, err := store.ReportPosted(t.Context(), other.CompanyID, "fbk_0001", claimID); codeOf(err) != fault.Conflict {
		t.Errorf("report after an import: error %v, want a conflict", err)
	}
}
