package broadcast_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions/broadcast"
	"growthworkspace/shared/fault"
)

// Ensure the post has the values of its report, and a repeated report with other values is a conflict.
func TestReports(t *testing.T) {
	t.Parallel()
	s := start(t)
	key, store := s.Key(t), broadcast.NewStore(s.Table)
	load(t, s, "post", record{"id": "pst_1", "platform": "x", "body": "B", "status": "failed", "failureReason": "before", "scheduledFor": earlier, "ideaId": "ida_1"})
	post := func() map[string]any { return s.Call(t, key, "get_broadcast_post", record{"postId": "pst_1"}).JSON(t) }
	listed := func(status string) {
		t.Helper()
		for _, args := range []record{{"status": status}, {"status": status, "platform": "x"}, {"status": status, "ideaId": "ida_1"}} {
			if got := idsOf(s.Call(t, key, "list_broadcast_posts", args).Items(t)); !slices.Equal(got, []string{"pst_1"}) {
				t.Errorf("%v: %v", args, got)
			}
		}
	}

	d := must(t)(store.ClaimPost(t.Context(), s.CompanyID, "pst_1"))
	if p := post(); p["status"] != "publishing" || p["failureReason"] != nil || *d.ClaimedAt != "2026-08-11T09:30:00.000Z" || deref(d.Body) != "B" {
		t.Errorf("%v, claimed at %s", p, *d.ClaimedAt)
	}
	listed("publishing")
	must(t)(store.ReportFailed(t.Context(), s.CompanyID, "pst_1", *d.ClaimID, whyFailed))
	if p := post(); p["status"] != "failed" || p["failureReason"] != whyFailed || p["publishedAt"] != nil {
		t.Error(p)
	}
	listed("failed")
	if _, err := store.ReportFailed(t.Context(), s.CompanyID, "pst_1", *d.ClaimID, "another"); !isConflict(err) {
		t.Error(err)
	}

	d = must(t)(store.ClaimPost(t.Context(), s.CompanyID, "pst_1"))
	outcome := broadcast.Outcome{ExternalID: new("1790"), ExternalURL: new("https://x.example/1790"), PublishedAt: new("2026-08-11T11:31:00+02:00")}
	for range 2 {
		s.Clock.Advance(time.Hour)
		must(t)(store.ReportPublished(t.Context(), s.CompanyID, "pst_1", *d.ClaimID, outcome))
		must(t)(store.ReportPublished(t.Context(), s.CompanyID, "pst_1", *d.ClaimID, broadcast.Outcome{}))
		p := post()
		if p["status"] != "published" || p["externalId"] != "1790" || p["externalUrl"] != "https://x.example/1790" || p["publishedAt"] != "2026-08-11T09:31:00.000Z" ||
			p["failureReason"] != nil || p["updatedAt"] != "2026-08-11T10:30:00.000Z" {
			t.Error(p)
		}
	}
	listed("published")
	for _, other := range []broadcast.Outcome{{ExternalID: new("1791")}, {ExternalURL: new("https://x.example/1791")}, {PublishedAt: new("2026-08-11T09:32:00Z")}} {
		if _, err := store.ReportPublished(t.Context(), s.CompanyID, "pst_1", *d.ClaimID, other); !isConflict(err) {
			t.Error(err)
		}
	}
	if code, _ := s.Call(t, key, "update_broadcast_post", record{"postId": "pst_1", "title": "T"}).Messages(t); code != "conflict" {
		t.Error(code)
	}
}

// Ensure the error of an invalid report names the field, and the post does not change.
func TestReportLimits(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := broadcast.NewStore(s.Table)
	load(t, s, "post", record{"id": "pst_1", "platform": "x", "status": "scheduled", "scheduledFor": earlier})
	claimID := *must(t)(store.ClaimPost(t.Context(), s.CompanyID, "pst_1")).ClaimID
	for field, o := range map[string]broadcast.Outcome{
		"externalId":  {ExternalID: new(strings.Repeat("é", 201))},
		"externalUrl": {ExternalURL: new("javascript:alert(1)")},
		"publishedAt": {PublishedAt: new("yesterday")},
	} {
		_, err := store.ReportPublished(t.Context(), s.CompanyID, "pst_1", claimID, o)
		if codeOf(err) != fault.BadRequest || !strings.Contains(err.Error(), field+": must") {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, long := range []string{"https://x.example/" + strings.Repeat("a", 1983), "x.example/1", "https://", "http://", "https:///1", "javascript://x.example/%0aalert(1)", "ftp://x.example"} {
		if err := (broadcast.Outcome{ExternalURL: &long}).Check(); codeOf(err) != fault.BadRequest {
			t.Errorf("%.30s: %v", long, err)
		}
	}
	for _, reason := range []string{"", strings.Repeat("é", 2001)} {
		if _, err := store.ReportFailed(t.Context(), s.CompanyID, "pst_1", claimID, reason); codeOf(err) != fault.BadRequest {
			t.Error(err)
		}
	}
	if p, err := store.Posts.Get(t.Context(), s.CompanyID, "pst_1"); err != nil || *p.Status != broadcast.PostStatusPublishing {
		t.Error(p, err)
	}
	longest := broadcast.Outcome{ExternalID: new(strings.Repeat("é", 200)), ExternalURL: new("https://x.example/" + strings.Repeat("a", 1982))}
	must(t)(store.ReportPublished(t.Context(), s.CompanyID, "pst_1", claimID, longest))
}

// Ensure posts whose dispatcher died are listed, oldest claim first, and only a report releases them.
func TestStuckPosts(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := broadcast.NewStore(s.Table)
	var records []record
	for _, id := range []string{"pst_a", "pst_b", "pst_c"} {
		records = append(records, record{"id": id, "platform": "push", "status": "scheduled", "scheduledFor": earlier})
	}
	load(t, s, "post", append(records, record{"id": "pst_imported", "status": "publishing"})...)
	claims := map[string]string{}
	for _, id := range []string{"pst_b", "pst_a", "pst_c"} {
		claims[id] = *must(t)(store.ClaimPost(t.Context(), s.CompanyID, id)).ClaimID
		s.Clock.Advance(time.Minute)
	}
	stuck := func(before string) (ids []string) {
		found, err := store.StuckPosts(t.Context(), s.CompanyID, before)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range found {
			if d.ClaimID != nil && *d.ClaimID != claims[d.ID] {
				t.Errorf("%s has the claim %s, want %s", d.ID, *d.ClaimID, claims[d.ID])
			}
			ids = append(ids, d.ID)
		}
		return ids
	}
	if got := stuck("2026-08-11T09:31:00.000Z"); !slices.Equal(got, []string{"pst_imported", "pst_b", "pst_a"}) {
		t.Error(got)
	}
	s.Clock.Advance(1000 * time.Hour)
	if due, _, err := store.DuePosts(t.Context(), s.CompanyID, "", 10); err != nil || len(due) != 0 {
		t.Errorf("claimed posts are due again: %v %v", due, err)
	}
	must(t)(store.RetryPost(t.Context(), s.CompanyID, "pst_b", claims["pst_b"]))
	must(t)(store.ReportPublished(t.Context(), s.CompanyID, "pst_imported", "", broadcast.Outcome{}))
	if got := stuck(s.Table.Now()); !slices.Equal(got, []string{"pst_a", "pst_c"}) {
		t.Error(got)
	}
}

// Ensure an import releases a claim: the dispatcher's report is then rejected.
func TestImportEndsClaim(t *testing.T) {
	t.Parallel()
	s := start(t)
	store := broadcast.NewStore(s.Table)
	post := record{"id": "pst_1", "platform": "x", "status": "scheduled", "scheduledFor": earlier}
	load(t, s, "post", post)
	claimID := *must(t)(store.ClaimPost(t.Context(), s.CompanyID, "pst_1")).ClaimID
	for _, status := range []string{"draft", "publishing"} {
		post["status"] = status
		load(t, s, "post", post)
		if _, err := store.ReportPublished(t.Context(), s.CompanyID, "pst_1", claimID, broadcast.Outcome{}); !isConflict(err) {
			t.Errorf("%s: %v", status, err)
		}
	}
}
