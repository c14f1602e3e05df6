package main

import (
	"encoding/json"
	"strings"
	"testing"

	"growthworkspace/shared/client"
)

// Ensure the status command lists what needs a person's attention, in at most ten lines. The exit
// code must be 1 if anything does, 0 if nothing does, and 4 if that is unknown.
func TestStatus(t *testing.T) {
	s, data := startTestServer(t)
	r := runCommand(t, "", "status")
	lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	if r.code != 1 || r.err != "" || len(lines) > 10 {
		t.Errorf("exit code %d, %d lines, and on stderr %q", r.code, len(lines), r.err)
	}
	requireContains(t, r.out, "replies to approve, first: ", "2 replies that failed", "6 replies stuck in posting", "\nand ")

	r = runCommand(t, "", "status", "--json")
	var overview client.CompanyOverview
	if err := json.Unmarshal([]byte(r.out), &overview); err != nil || r.code != 1 || r.err != "" || len(overview.Attention) < 9 || len(overview.Metrics) == 0 {
		t.Errorf("exit code %d, %v, %s %s", r.code, err, r.out, r.err)
	}

	key := func(companyID, scopes string) string {
		return runJSON(t, data, "", "key", "issue", "--company", companyID, "--scopes", scopes, "--name", "status")["key"].(string)
	}
	t.Setenv(keyVariable, key(newCompany(t, data), "all"))
	if r := runCommand(t, "", "status"); r.code != 0 || r.out != "nothing needs a person\n" {
		t.Errorf("empty company: %+v", r)
	}
	t.Setenv(keyVariable, key(s.CompanyID, "plan:read"))
	r = runCommand(t, "", "status")
	requireContains(t, r.out, "1 board with unpublished changes, first: Public roadmap",
		"not checked, because the key lacks the scopes: feedback:read, metrics:read, optimise:read")
	t.Setenv(keyVariable, key(s.CompanyID, "company:read"))
	requireContains(t, runRefused(t, 4, "", "status"), "nothing was checked")
	t.Setenv(keyVariable, "made-up")
	if r := runCommand(t, "", "status"); r.code != 4 || !strings.Contains(r.err, "doctor") {
		t.Errorf("a key that does not exist: %+v", r)
	}
	if r := runCommand(t, "", "status", "--base-url", "http://127.0.0.1:1"); r.code != 4 || !strings.Contains(r.err, "does not respond") {
		t.Errorf("no service: %+v", r)
	}
	t.Setenv("WORKSPACE_PROFILE", "a b")
	if r := runCommand(t, "", "status"); r.code != 2 {
		t.Errorf("an impossible profile: %+v, want a usage error", r)
	}
}
