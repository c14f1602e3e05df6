package claim_test

import (
	"errors"
	"testing"

	"growthworkspace/shared/claim"
	"growthworkspace/shared/fault"
)

type testJob struct {
	claim.Claim

	status string
}

var testJobs = claim.Kind[testJob]{Name: "job", ClaimedStatus: "running", Status: func(j testJob) string { return j.status }}

func claimedJob(status, claimID string) testJob {
	if claimID == "" {
		return testJob{status: status}
	}
	return testJob{claim.Claim{ClaimID: &claimID}, status}
}

// Ensure a claim locks a record if and only if it is the latest claim on that record and the
// record's status is ClaimedStatus.
func TestIsHeldBy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		record testJob
		want   bool
	}{
		{claimedJob("running", "clm_1"), true}, {claimedJob("running", "clm_2"), false}, {claimedJob("running", ""), false}, {claimedJob("ready", "clm_1"), false}, {claimedJob("done", "clm_1"), false},
	} {
		if got := testJobs.IsHeldBy(c.record, claim.Claim{ClaimID: new("clm_1")}); got != c.want {
			t.Errorf("%+v has the claim: %t, want %t", c.record, got, c.want)
		}
	}
}

// Ensure that a report succeeds only with the claim that locks the record, that it can be repeated
// with that claim, and that any other report is a conflict.
func TestCheckReport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		record   testJob
		claimID  string
		repeated bool
		want     string
	}{
		{claimedJob("running", "clm_1"), "clm_1", false, ""},
		{claimedJob("running", ""), "", false, ""}, // a record that was imported while claimed
		{claimedJob("done", "clm_1"), "clm_1", true, ""},
		{claimedJob("done", ""), "", false, "conflict: the job is done; the claim no longer locks it"},
		{claimedJob("done", "clm_2"), "clm_1", false, "conflict: the job is done; the claim no longer locks it"},
		{claimedJob("failed", "clm_1"), "clm_1", false, "conflict: the job is failed; the claim no longer locks it"},
		{claimedJob("running", "clm_2"), "clm_1", false, "conflict: another claim locks the job"},
		{claimedJob("running", "clm_2"), "", false, "conflict: another claim locks the job"},
		{claimedJob("running", ""), "clm_1", false, "conflict: another claim locks the job"},
	} {
		repeated, err := testJobs.CheckReport(c.record, c.claimID, "done")
		got := ""
		if err != nil {
			got = err.Error()
		}
		if repeated != c.repeated || got != c.want {
			t.Errorf("%s with %v, reported by %q: %v, %v", c.record.status, c.record.ClaimID, c.claimID, repeated, err)
		}
		if public := (*fault.Error)(nil); err != nil && !errors.As(err, &public) {
			t.Errorf("not for callers: %v", err)
		}
	}
}
