package broadcast_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/testkit/apitest"
)

const (
	unknownClaimID = "clm_of1another" // no post in these tests has this claim
	failureReason  = "the account is locked"
)

func isConflict(err error) bool { return codeOf(err) == fault.Conflict }

func codeOf(err error) fault.Code {
	var refused *fault.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// mustTransition returns a function that unwraps the result of a transition, or stops the test if
// the transition failed.
func mustTransition(t *testing.T) func(broadcast.ClaimedPost, error) broadcast.ClaimedPost {
	t.Helper()
	return func(d broadcast.ClaimedPost, err error) broadcast.ClaimedPost {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
}

// Ensure every transition by the dispatcher is accepted or rejected as described in
// scripts/docs/reference/states.md. The test tries each transition from every state: with the valid
// claim, with a different claim and without a claim. A rejected transition must change nothing.
func TestDispatchTransitions(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	s := start(t)
	store := broadcast.NewStore(s.Table)
	const id, conflict = "pst_1", "conflict"
	storePost := func(status any, scheduledFor any) {
		storeUnchecked(t, s, "post", record{"id": id, "platform": "x", "body": "B", "status": status, "scheduledFor": scheduledFor})
	}
	claim := func() string { return *mustTransition(t)(store.ClaimPost(t.Context(), s.CompanyID, id)).ClaimID }
	publish := func(claimID string) string {
		mustTransition(t)(store.ReportPublished(t.Context(), s.CompanyID, id, claimID, broadcast.Outcome{}))
		return claimID
	}
	fail := func(claimID string) string {
		mustTransition(t)(store.ReportFailed(t.Context(), s.CompanyID, id, claimID, failureReason))
		return claimID
	}
	retry := func(claimID string) string {
		mustTransition(t)(store.RetryPost(t.Context(), s.CompanyID, id, claimID))
		return claimID
	}
	for _, tc := range []struct {
		name string
		make func() (claimID string) // creates the state and returns the claim id to use for the transitions
		// The expected status after each transition, or "conflict" if the transition must be
		// rejected.
		claim, published, failed, retry string
	}{
		{"no status", func() string { storePost(nil, earlierTime); return "" }, conflict, conflict, conflict, conflict},
		{"draft", func() string { storePost("draft", earlierTime); return "" }, conflict, conflict, conflict, conflict},
		{"scheduled, due", func() string { storePost("scheduled", earlierTime); return unknownClaimID }, "publishing", conflict, conflict, conflict},
		{"scheduled, due now", func() string { storePost("scheduled", s.Table.Now()); return unknownClaimID }, "publishing", conflict, conflict, conflict},
		{"scheduled, due later", func() string { storePost("scheduled", laterTime); return "" }, conflict, conflict, conflict, conflict},
		{"scheduled, no time", func() string { storePost("scheduled", nil); return "" }, conflict, conflict, conflict, conflict},
		{"publishing", func() string { storePost("scheduled", earlierTime); return claim() }, conflict, "published", "failed", "scheduled"},
		{"publishing, another claim", func() string { storePost("scheduled", earlierTime); claim(); return unknownClaimID }, conflict, conflict, conflict, conflict},
		{"publishing, no claim given", func() string { storePost("scheduled", earlierTime); claim(); return "" }, conflict, conflict, conflict, conflict},
		{"publishing, imported", func() string { storePost("publishing", earlierTime); return "" }, conflict, "published", "failed", "scheduled"},
		{"published, imported", func() string { storePost("published", earlierTime); return "" }, conflict, conflict, conflict, conflict},
		{"failed, imported", func() string { storePost("failed", earlierTime); return "" }, "publishing", conflict, conflict, conflict},
		{"publishing, imported, claim given", func() string { storePost("publishing", earlierTime); return unknownClaimID }, conflict, conflict, conflict, conflict},
		{"publishing, no time", func() string { storePost("failed", nil); return claim() }, conflict, "published", "failed", conflict},
		{"published", func() string { storePost("scheduled", earlierTime); return publish(claim()) }, conflict, "published", conflict, conflict},
		{"published, another claim", func() string { storePost("scheduled", earlierTime); publish(claim()); return unknownClaimID }, conflict, conflict, conflict, conflict},
		{"failed", func() string { storePost("scheduled", earlierTime); return fail(claim()) }, "publishing", conflict, "failed", conflict},
		{"failed, another claim", func() string { storePost("scheduled", earlierTime); fail(claim()); return unknownClaimID }, "publishing", conflict, conflict, conflict},
		{"failed, due later", func() string { storePost("failed", laterTime); return unknownClaimID }, conflict, conflict, conflict, conflict},
		{"scheduled again", func() string { storePost("scheduled", earlierTime); return retry(claim()) }, "publishing", conflict, conflict, "scheduled"},
		{"claimed again by another", func() string { storePost("scheduled", earlierTime); first := retry(claim()); claim(); return first }, conflict, conflict, conflict, conflict},
	} {
		for move, want := range map[string]string{"claim": tc.claim, "published": tc.published, "failed": tc.failed, "retry": tc.retry} {
			t.Run(tc.name+" "+move, func(t *testing.T) {
				claimID := tc.make()
				before, err := store.Posts.Get(t.Context(), s.CompanyID, id)
				if err != nil {
					t.Fatal(err)
				}
				s.Clock.Advance(time.Second)
				var got broadcast.ClaimedPost
				switch move {
				case "claim":
					got, err = store.ClaimPost(t.Context(), s.CompanyID, id)
				case "published":
					got, err = store.ReportPublished(t.Context(), s.CompanyID, id, claimID, broadcast.Outcome{})
				case "failed":
					got, err = store.ReportFailed(t.Context(), s.CompanyID, id, claimID, failureReason)
				case "retry":
					got, err = store.RetryPost(t.Context(), s.CompanyID, id, claimID)
				}
				after, readErr := store.Posts.Get(t.Context(), s.CompanyID, id)
				if readErr != nil {
					t.Fatal(readErr)
				}
				untouched := fmt.Sprint(deref(before.UpdatedAt), statusText(before.Status)) == fmt.Sprint(deref(after.UpdatedAt), statusText(after.Status))
				if want == conflict {
					if !isConflict(err) || !untouched {
						t.Errorf("%v; %s became %s", err, statusText(before.Status), statusText(after.Status))
					}
					return
				}
				if err != nil || statusText(got.Status) != want || statusText(after.Status) != want {
					t.Errorf("%v; %s became %s, the result is %s", err, statusText(before.Status), statusText(after.Status), statusText(got.Status))
				}
				if repeated := statusText(before.Status) == want; repeated != untouched {
					t.Errorf("a repeated report: %t; nothing was written: %t", repeated, untouched)
				}
				if hasReason := got.FailureReason != nil; hasReason != (want == "failed") {
					t.Errorf("%s with the reason %v", want, got.FailureReason)
				}
			})
		}
	}
}

func statusText(status *broadcast.PostStatus) string { return deref((*string)(status)) }

func deref(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// Ensure DuePosts lists exactly the due posts of all platforms, earliest first.
func TestDuePosts(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := broadcast.NewStore(s.Table)
	at := func(d time.Duration) string { return apitest.Epoch.Add(d).Format("2006-01-02T15:04:05.000Z") }
	storeUnchecked(t, s, "post",
		record{"id": "pst_now", "platform": "x", "status": "scheduled", "scheduledFor": at(0)},
		record{"id": "pst_old", "platform": "push", "status": "scheduled", "scheduledFor": at(-48 * time.Hour)},
		record{"id": "pst_odd", "platform": nil, "status": "scheduled", "scheduledFor": at(-time.Hour)},
		record{"id": "pst_mid", "platform": "x", "status": "scheduled", "scheduledFor": at(-24 * time.Hour), "createdAt": at(-time.Minute)},
		record{"id": "pst_soon", "platform": "x", "status": "scheduled", "scheduledFor": at(time.Millisecond)},
		record{"id": "pst_made", "platform": "reddit", "status": "scheduled", "createdAt": at(-36 * time.Hour)},
		record{"id": "pst_never", "platform": "x", "status": "scheduled"},
		record{"id": "pst_draft", "platform": "x", "status": "draft", "scheduledFor": at(-time.Hour)},
		record{"id": "pst_gone", "platform": "x", "status": "published", "scheduledFor": at(-time.Hour)},
		record{"id": "pst_bad", "platform": "x", "status": "failed", "scheduledFor": at(-time.Hour)},
	)
	want := []string{"pst_old", "pst_mid", "pst_odd", "pst_now"}
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		for after, pages := "", 1; ; pages++ {
			page, err := store.DuePosts(t.Context(), s.CompanyID, nil, after, limit)
			if err != nil || len(page.Records) > limit || page.Next != "" && len(page.Records) < limit {
				t.Fatalf("limit %d: %d posts, next %q, %v", limit, len(page.Records), page.Next, err)
			}
			for _, p := range page.Records {
				got = append(got, p.ID)
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
	s.Clock.Advance(time.Millisecond)
	page, err := store.DuePosts(t.Context(), s.CompanyID, nil, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	if due := page.Records; len(due) != 5 || due[4].ID != "pst_soon" {
		t.Errorf("due posts %+v, want 5 with pst_soon last", due)
	}
	other := start(t)
	page, err = broadcast.NewStore(other.Table).DuePosts(t.Context(), other.CompanyID, nil, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	if page.Records == nil || len(page.Records) != 0 || page.Next != "" {
		t.Errorf("due posts %#v, next %q; want an empty list, not nil, and no next page", page.Records, page.Next)
	}
}

// Ensure every transition returns not_found for an unknown id, a malformed id, and another
// company's post.
func TestDispatchNoSuchPost(t *testing.T) {
	t.Parallel()
	s, other := start(t), start(t)
	importRecords(t, other, "post", record{"id": "pst_1", "platform": "x", "status": "scheduled", "scheduledFor": earlierTime})
	importRecords(t, s, "content-idea", record{"id": "ida_1"})
	store := broadcast.NewStore(s.Table)
	for _, id := range []string{"pst_1", "pst_none", "ida_1", "", "pst_1#x", "idea#ida_1"} {
		_, claimErr := store.ClaimPost(t.Context(), s.CompanyID, id)
		_, publishErr := store.ReportPublished(t.Context(), s.CompanyID, id, "", broadcast.Outcome{})
		_, failErr := store.ReportFailed(t.Context(), s.CompanyID, id, "", "r")
		_, retryErr := store.RetryPost(t.Context(), s.CompanyID, id, "")
		for _, err := range []error{claimErr, publishErr, failErr, retryErr} {
			if !errors.Is(err, fault.ErrNotFound) {
				t.Errorf("id %q: error %v, want %v", id, err, fault.ErrNotFound)
			}
		}
	}
	if due, err := store.DuePosts(t.Context(), s.CompanyID, nil, "", 10); err != nil || len(due.Records) != 0 {
		t.Errorf("%d due posts, want none: %v", len(due.Records), err)
	}
}
