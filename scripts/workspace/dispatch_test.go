package main

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// companyWith creates a company and imports lines into it.
func companyWith(t *testing.T, data string, lines ...string) (companyID string) {
	t.Helper()
	companyID = newCompany(t, data)
	if r := runCommand(t, strings.Join(lines, "\n"), "import", "--company", companyID, "-", "--data", data); r.code != 0 {
		t.Fatalf("import: exit code %d: %s", r.code, r.err)
	}
	return companyID
}

func resultIDs(t *testing.T, answer map[string]any) (out []string) {
	t.Helper()
	for _, i := range answer["items"].([]any) {
		out = append(out, i.(map[string]any)["id"].(string))
	}
	return out
}

const duePost = `{"type":"post","record":{"id":"pst_1","platform":"x","title":"T","body":"B","status":"scheduled","scheduledFor":"2020-01-01T00:00:00Z"}}`

// Ensure a worker can dispatch a post with commands only: list due posts, claim one, and report the
// result.
func TestDue(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := companyWith(t, data, duePost, `{"type":"post","record":{"id":"pst_2","platform":"x","body":"B","status":"scheduled","scheduledFor":"2999-01-01T00:00:00Z"}}`)
	do := func(args ...string) map[string]any {
		t.Helper()
		return runJSON(t, data, "", append(append([]string{"due"}, args...), "--company", id)...)
	}
	doRefused := func(args ...string) string {
		t.Helper()
		return runRefused(t, 3, "", append(append([]string{"due"}, args...), "--company", id, "--data", data)...)
	}
	due := do("list")
	if got := resultIDs(t, due); len(got) != 1 || got[0] != "pst_1" || due["hasMore"] != false {
		t.Errorf("due posts %v, want pst_1 and no more", due)
	}
	requireContains(t, runCommand(t, "", "due", "list", "--company", id, "--data", data).out, "SCHEDULED FOR", "pst_1", id, "2020-01-01T00:00:00.000Z")

	claim := do("claim", "pst_1")
	claimID, _ := claim["claimId"].(string)
	if diff := objectDifference(map[string]any{"id": "pst_1", "status": "publishing", "body": "B"}, claim); diff != "" {
		t.Errorf("claimed post (-want +got):\n%s", diff)
	}
	if claim["claimedAt"] == nil || !strings.HasPrefix(claimID, "clm_") {
		t.Errorf("claim %q at %v, want its id and time", claimID, claim["claimedAt"])
	}
	requireContains(t, doRefused("claim", "pst_1"), "post pst_1: the post is publishing")
	requireContains(t, doRefused("claim", "pst_2"), "not due before 2999-01-01")
	if got := resultIDs(t, do("list")); len(got) != 0 {
		t.Errorf("due posts after the claim: %v, want none", got)
	}
	if stuck := do("stuck", "--older", "0s")["items"].([]any); len(stuck) != 1 || stuck[0].(map[string]any)["claimId"] != claimID {
		t.Errorf("stuck posts %v, want one with the claim %s", stuck, claimID)
	}
	if stuck := do("stuck"); len(stuck["items"].([]any)) != 0 {
		t.Errorf("stuck posts %v, want none: the claim is new", stuck)
	}
	requireContains(t, runCommand(t, "", "due", "stuck", "--older", "0s", "--company", id, "--data", data).out, "CLAIMED", "pst_1", claimID)

	if post := do("retry", "pst_1", "--claim", claimID); post["status"] != "scheduled" {
		t.Errorf("the post is %v after a retry, want scheduled", post["status"])
	}
	second := do("claim", "pst_1")["claimId"].(string)
	requireContains(t, doRefused("published", "pst_1", "--claim", claimID), "another claim locks the post")
	failed := do("failed", "pst_1", "--claim", second, "--reason", "the account is locked")
	if diff := objectDifference(map[string]any{"status": "failed", "failureReason": "the account is locked"}, failed); diff != "" {
		t.Errorf("failed post (-want +got):\n%s", diff)
	}
	third := do("claim", "pst_1")["claimId"].(string)
	report := []string{"published", "pst_1", "--claim", third, "--external-id", "1790", "--external-url", "https://x.example/1790", "--published-at", "2026-08-11T09:30:00Z"}
	published := map[string]any{"status": "published", "externalId": "1790", "externalUrl": "https://x.example/1790", "publishedAt": "2026-08-11T09:30:00.000Z"}
	for range 2 {
		if diff := objectDifference(published, do(report...)); diff != "" {
			t.Errorf("published post (-want +got):\n%s", diff)
		}
	}
	requireContains(t, doRefused("retry", "pst_1", "--claim", third), "the post is published")
	requireContains(t, runRefused(t, 1, "", "due", "claim", "pst_9", "--company", id, "--data", data), `no post "pst_9" of company `+id)
}

// Ensure exactly one of several concurrent claims of a post succeeds, and the others exit with code
// 3.
func TestDueClaimRace(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := companyWith(t, data, duePost)
	codes := make([]int, 6)
	var wait sync.WaitGroup
	for n := range codes {
		wait.Go(func() { codes[n] = runCommand(t, "", "due", "claim", "pst_1", "--company", id, "--data", data).code })
	}
	wait.Wait()
	won := 0
	for _, code := range codes {
		switch code {
		case 0:
			won++
		case 3:
		default:
			t.Errorf("exit code %d", code)
		}
	}
	if won != 1 {
		t.Errorf("%d dispatchers claimed the post", won)
	}
}

// Ensure --company all lists the due posts of every company that is not suspended. The limit
// applies to each company separately. The list of a single company contains only its own posts.
func TestDueOfAllCompanies(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	first, second, suspended := companyWith(t, data, duePost, strings.ReplaceAll(duePost, "pst_1", "pst_2")), companyWith(t, data, duePost), companyWith(t, data, duePost)
	runJSON(t, data, "", "company", "suspend", suspended)
	all := runJSON(t, data, "", "due", "list", "--company", "all", "--limit", "1")
	seen := map[any]int{}
	for _, p := range all["items"].([]any) {
		seen[p.(map[string]any)["companyId"]]++
	}
	if diff := cmp.Diff(map[any]int{first: 1, second: 1}, seen); diff != "" {
		t.Errorf("due posts of each company (-want +got):\n%s", diff)
	}
	if all["hasMore"] != true {
		t.Errorf("hasMore is %v, want true", all["hasMore"])
	}
	if got := resultIDs(t, runJSON(t, data, "", "due", "list", "--company", suspended)); len(got) != 1 {
		t.Errorf("due posts of the suspended company: %v, want one", got)
	}
	requireContains(t, runRefused(t, 1, "", "due", "list", "--company", "co_nobody", "--data", data), `no company "co_nobody"`)
}

// Ensure a command with `--claim none` can report the result for a record that was imported with
// the status "publishing" or "posting". Such a record has no claim.
func TestImportedClaims(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	id := companyWith(t, data, strings.Replace(duePost, "scheduled", "publishing", 1), `{"type":"feedback","record":{"id":"fbk_1","externalId":"1","replyBody":"R","replyStatus":"posting"}}`)
	for _, area := range []string{"due", "approved"} {
		if stuck := runJSON(t, data, "", area, "stuck", "--company", "all")["items"].([]any); len(stuck) != 1 || stuck[0].(map[string]any)["claimId"] != nil {
			t.Errorf("%s: stuck records %v, want one without a claim", area, stuck)
		}
	}
	if post := runJSON(t, data, "", "due", "retry", "pst_1", "--claim", "none", "--company", id); post["status"] != "scheduled" {
		t.Errorf("the post is %v, want scheduled", post["status"])
	}
	if reply := runJSON(t, data, "", "approved", "failed", "fbk_1", "--claim", "none", "--company", id); reply["replyStatus"] != "failed" {
		t.Errorf("the reply is %v, want failed", reply["replyStatus"])
	}
}

// Ensure a worker can post a reply with commands only: list approved replies, claim one, and report
// the result.
func TestApproved(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	var lines []string
	for _, id := range []string{"fbk_1", "fbk_2"} {
		lines = append(lines, `{"type":"feedback","record":{"id":"`+id+`","externalId":"`+id+`","source":"reddit","replyBody":"Thanks","replyStatus":"approved"}}`)
	}
	id := companyWith(t, data, lines...)
	do := func(args ...string) map[string]any {
		t.Helper()
		return runJSON(t, data, "", append(append([]string{"approved"}, args...), "--company", id)...)
	}
	doRefused := func(args ...string) string {
		t.Helper()
		return runRefused(t, 3, "", append(append([]string{"approved"}, args...), "--company", id, "--data", data)...)
	}
	if list := do("list", "--limit", "1"); len(resultIDs(t, list)) != 1 || list["hasMore"] != true {
		t.Errorf("approved replies %v, want one and more to come", list)
	}
	requireContains(t, runCommand(t, "", "approved", "list", "--company", id, "--data", data).out, "ADDRESS", "fbk_1", "fbk_2", "reddit")
	claim := do("claim", "fbk_1")
	claimID := claim["claimId"].(string)
	if diff := objectDifference(map[string]any{"replyStatus": "posting", "replyBody": "Thanks"}, claim); diff != "" || claim["claimedAt"] == nil {
		t.Errorf("claimed at %v, want a time (-want +got):\n%s", claim["claimedAt"], diff)
	}
	requireContains(t, doRefused("claim", "fbk_1"), "feedback fbk_1: the reply is posting")
	if got := resultIDs(t, do("list")); len(got) != 1 || got[0] != "fbk_2" {
		t.Errorf("approved replies after the claim: %v, want fbk_2", got)
	}
	if stuck := do("stuck", "--older", "0s")["items"].([]any); len(stuck) != 1 || stuck[0].(map[string]any)["claimId"] != claimID {
		t.Errorf("stuck replies %v, want one with the claim %s", stuck, claimID)
	}
	other := do("claim", "fbk_2")["claimId"].(string)
	requireContains(t, doRefused("posted", "fbk_1", "--claim", other), "another claim locks the reply")
	for range 2 {
		if reply := do("posted", "fbk_1", "--claim", claimID); reply["replyStatus"] != "posted" {
			t.Errorf("the reply is %v, want posted", reply["replyStatus"])
		}
	}
	requireContains(t, doRefused("failed", "fbk_1", "--claim", claimID), "the reply is posted")
	if reply := do("failed", "fbk_2", "--claim", other); reply["replyStatus"] != "failed" {
		t.Errorf("the reply is %v, want failed", reply["replyStatus"])
	}
	requireContains(t, runRefused(t, 1, "", "approved", "claim", "fbk_9", "--company", id, "--data", data), `no feedback "fbk_9"`)
}
