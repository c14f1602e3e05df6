package broadcast_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure a report stores its values in the post. Repeating it with different values must be a
// conflict.
func TestReports(t *testing.T) {
	t.Parallel()
	s := start(t)
	key, store := s.IssueKey(t), broadcast.NewStore(s.Table)
	importRecords(t, s, "post", record{"id": "pst_1", "platform": "x", "body": "B", "status": "failed", "failureReason": "before", "scheduledFor": earlierTime, "ideaId": "ida_1"})
	post := func() map[string]any { return s.Call(t, key, "get_broadcast_post", record{"postId": "pst_1"}).JSON(t) }
	checkLists := func(status string) {
		t.Helper()
		for _, args := range []record{{"status": status}, {"status": status, "platform": "x"}, {"status": status, "ideaId": "ida_1"}} {
			if got := idsOf(s.Call(t, key, "list_broadcast_posts", args).Items(t)); !slices.Equal(got, []string{"pst_1"}) {
				t.Errorf("list with %v: posts %v, want pst_1", args, got)
			}
		}
	}

	d := mustTransition(t)(store.ClaimPost(t.Context(), s.CompanyID, "pst_1"))
	p := post()
	wantClaimed := record{"status": "publishing", "failureReason": nil, "claimedAt": "2026-08-11T09:30:00.000Z", "body": "B"}
	if diff := cmp.Diff(wantClaimed, record{"status": p["status"], "failureReason": p["failureReason"], "claimedAt": *d.ClaimedAt, "body": deref(d.Body)}); diff != "" {
		t.Errorf("the claimed post (-want +got):\n%s", diff)
	}
	checkLists("publishing")
	mustTransition(t)(store.ReportFailed(t.Context(), s.CompanyID, "pst_1", *d.ClaimID, failureReason))
	if p := post(); p["status"] != "failed" || p["failureReason"] != failureReason || p["publishedAt"] != nil {
		t.Errorf("status %v, reason %v, published at %v; want failed, %s and never", p["status"], p["failureReason"], p["publishedAt"], failureReason)
	}
	checkLists("failed")
	if _, err := store.ReportFailed(t.Context(), s.CompanyID, "pst_1", *d.ClaimID, "another"); !isConflict(err) {
		t.Errorf("another reason: error %v, want a conflict", err)
	}

	d = mustTransition(t)(store.ClaimPost(t.Context(), s.CompanyID, "pst_1"))
	outcome := broadcast.Outcome{ExternalID: new("1790"), ExternalURL: new("https://x.example/1790"), PublishedAt: new("2026-08-11T11:31:00+02:00")}
	for range 2 {
		s.Clock.Advance(time.Hour)
		mustTransition(t)(store.ReportPublished(t.Context(), s.CompanyID, "pst_1", *d.ClaimID, outcome))
		mustTransition(t)(store.ReportPublished(t.Context(), s.CompanyID, "pst_1", *d.ClaimID, broadcast.Outcome{}))
		p := post()
		want := record{"status": "published", "externalId": "1790", "externalUrl": "https://x.example/1790", "publishedAt": "2026-08-11T09:31:00.000Z",
			"failureReason": nil, "updatedAt": "2026-08-11T10:30:00.000Z"}
		got := record{}
		for name := range want {
			got[name] = p[name]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the published post (-want +got):\n%s", diff)
		}
	}
	checkLists("published")
	for _, other := range []broadcast.Outcome{{ExternalID: new("1791")}, {ExternalURL: new("https://x.example/1791")}, {PublishedAt: new("2026-08-11T09:32:00Z")}} {
		if _, err := store.ReportPublished(t.Context(), s.CompanyID, "pst_1", *d.ClaimID, other); !isConflict(err) {
			t.Errorf("another outcome: error %v, want a conflict", err)
		}
	}
	if code, _ := s.Call(t, key, "update_broadcast_post", record{"postId": "pst_1", "title": "T"}).Messages(t); code != "conflict" {
		t.Errorf("update of a published post: code %q, want conflict", code)
	}
}

// Ensure the error for an invalid report contains the name of the invalid field. The post must not
// change.
func TestReportLimits(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := broadcast.NewStore(s.Table)
	importRecords(t, s, "post", record{"id": "pst_1", "platform": "x", "status": "scheduled", "scheduledFor": earlierTime})
	claimID := *mustTransition(t)(store.ClaimPost(t.Context(), s.CompanyID, "pst_1")).ClaimID
	for field, o := range map[string]broadcast.Outcome{
		"externalId":  {ExternalID: new(strings.Repeat("é", 201))},
		"externalUrl": {ExternalURL: new("javascript:alert(1)")},
		"publishedAt": {PublishedAt: new("yesterday")},
	} {
		_, err := store.ReportPublished(t.Context(), s.CompanyID, "pst_1", claimID, o)
		if codeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), field+": must") {
			t.Errorf("invalid %s: error %v, want a bad request that names it", field, err)
		}
	}
	for _, long := range []string{"https://x.example/" + strings.Repeat("a", 1983), "x.example/1", "https://", "http://", "https:///1", "javascript://x.example/%0aalert(1)", "ftp://x.example"} {
		if err := (broadcast.Outcome{ExternalURL: &long}).Check(); codeOf(err) != fault.BadRequest {
			t.Errorf("externalUrl %.30s: error %v, want a bad request", long, err)
		}
	}
	for _, reason := range []string{"", strings.Repeat("é", 2001)} {
		if _, err := store.ReportFailed(t.Context(), s.CompanyID, "pst_1", claimID, reason); codeOf(err) != fault.BadRequest {
			t.Errorf("a reason of %d bytes: error %v, want a bad request", len(reason), err)
		}
	}
	p, err := store.Posts.Get(t.Context(), s.CompanyID, "pst_1")
	if err != nil {
		t.Fatal(err)
	}
	if *p.Status != broadcast.PostStatusPublishing {
		t.Errorf("stored status %s, want %s", *p.Status, broadcast.PostStatusPublishing)
	}
	longest := broadcast.Outcome{ExternalID: new(strings.Repeat("é", 200)), ExternalURL: new("https://x.example/" + strings.Repeat("a", 1982))}
	mustTransition(t)(store.ReportPublished(t.Context(), s.CompanyID, "pst_1", claimID, longest))
}

// Ensure report_broadcast_post refuses each field that does not fit the outcome, and a failure
// without a reason.
func TestReportFieldsFitTheOutcome(t *testing.T) {
	t.Parallel()
	s := start(t)
	importRecords(t, s, "post", record{"id": "pst_1", "status": "publishing"})
	fields := record{"externalId": "1791", "externalUrl": "https://x.example/1791", "publishedAt": earlierTime, "failureReason": failureReason}
	var scenarios []apitest.Scenario
	refuse := func(outcome, field, message string, args record) {
		args["postId"], args["outcome"], args["claimId"] = "pst_1", outcome, nil
		scenarios = append(scenarios, apitest.Scenario{
			Name: outcome + " " + field, Op: "report_broadcast_post", Args: args, Want: 400, WantMessage: "body." + field + ": " + message,
		})
	}
	refuse("failed", "failureReason", "is required when outcome is failed", record{})
	for field, value := range fields {
		if field == "failureReason" {
			refuse("published", field, "is allowed only when outcome is failed", record{field: value})
			refuse("retry", field, "is allowed only when outcome is failed", record{field: value})
			continue
		}
		refuse("failed", field, "is allowed only when outcome is published", record{field: value, "failureReason": failureReason})
		refuse("retry", field, "is allowed only when outcome is published", record{field: value})
	}
	s.Run(t, scenarios)
	if p, err := broadcast.NewStore(s.Table).Posts.Get(t.Context(), s.CompanyID, "pst_1"); err != nil || *p.Status != broadcast.PostStatusPublishing {
		t.Errorf("the post is %v with error %v, want it unchanged", p, err)
	}
}

// Ensure an import releases a claim: the dispatcher's report must then be rejected.
func TestImportEndsClaim(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := broadcast.NewStore(s.Table)
	post := record{"id": "pst_1", "platform": "x", "status": "scheduled", "scheduledFor": earlierTime}
	importRecords(t, s, "post", post)
	claimID := *mustTransition(t)(store.ClaimPost(t.Context(), s.CompanyID, "pst_1")).ClaimID
	for _, status := range []string{"draft", "publishing"} {
		post["status"] = status
		importRecords(t, s, "post", post)
		if _, err := store.ReportPublished(t.Context(), s.CompanyID, "pst_1", claimID, broadcast.Outcome{}); !isConflict(err) {
			t.Errorf("report after an import as %s: error %v, want a conflict", status, err)
		}
	}
}
