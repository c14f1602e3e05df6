package claim_test

import (
	"errors"
	"testing"

	"growthworkspace/shared/claim"
	"growthworkspace/shared/fault"
)

type job struct {
	claim.Claim

	status string
}

var jobs = claim.Kind[job]{Name: "job", Busy: "running", Status: func(j job) string { return j.status }}

func held(status, claimID string) job {
	if claimID == "" {
		return job{status: status}
	}
	return job{claim.Claim{ClaimID: &claimID}, status}
}

// Ensure a claim locks a record exactly while it is the record's last claim and the record is busy.
func TestHas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		record job
		want   bool
	}{
		{held("running", "clm_1"), true}, {held("running", "clm_2"), false}, {held("running", ""), false}, {held("ready", "clm_1"), false}, {held("done", "clm_1"), false},
	} {
		if got := jobs.Has(c.record, claim.Claim{ClaimID: new("clm_1")}); got != c.want {
			t.Errorf("%+v has the claim: %t, want %t", c.record, got, c.want)
		}
	}
}

// Ensure a report succeeds only with the claim that locks the record, can be repeated with that
// claim, and otherwise returns a conflict.
func TestReport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		record   job
		claimID  string
		repeated bool
		want     string
	}{
		{held("running", "clm_1"), "clm_1", false, ""},
		{held("running", ""), "", false, ""}, // as an import leaves it
		{held("done", "clm_1"), "clm_1", true, ""},
		{held("done", ""), "", false, "conflict: the job is done; the claim no longer locks it"},
		{held("done", "clm_2"), "clm_1", false, "conflict: the job is done; the claim no longer locks it"},
		{held("failed", "clm_1"), "clm_1", false, "conflict: the job is failed; the claim no longer locks it"},
		{held("running", "clm_2"), "clm_1", false, "conflict: another claim locks the job"},
		{held("running", "clm_2"), "", false, "conflict: another claim locks the job"},
		{held("running", ""), "clm_1", false, "conflict: another claim locks the job"},
	} {
		repeated, err := jobs.Report(c.record, c.claimID, "done")
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
