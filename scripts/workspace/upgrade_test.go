package main

import (
	"strings"
	"testing"
)

// Ensure the upgrade command reports its result for one company and for all, shows its progress,
// and can be repeated. The tests in shared/migration cover what an upgrade changes.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	company, _ := runJSON(t, data, "", "company", "create", "--name", "One")["companyId"].(string)
	runJSON(t, data, "", "company", "create", "--name", "Two")
	lines := `{"type":"feedback","record":{"source":"reddit","externalId":"1","postedAt":"2026-08-01T00:00:00Z"}}`
	runJSON(t, data, lines, "import", "--company", company, "-")
	for _, args := range []string{"upgrade", "upgrade --again", "upgrade --again --company " + company} {
		got := runJSON(t, data, "", strings.Fields(args)...)
		want := 2.0
		if strings.Contains(args, company) {
			want = 1
		}
		if got["companies"] != want || got["filled"] != 0.0 {
			t.Errorf("%s: %v, want %v companies and nothing filled", args, got, want)
		}
	}
	r := runCommand(t, "", "upgrade", "--again", "--company", company, "--data", data)
	requireContains(t, r.err, "feedback: posted: company 1 of 1, "+company+": checked records: 1")
	requireContains(t, r.out, "companies that are up to date: 1; records put into an index: 0")
	r = runCommand(t, "", "upgrade", "--check", "--data", data)
	requireContains(t, r.out, "company: registry  yes", "feedback: posted ", "feedback: work ", "broadcast: work ")
	if r := runCommand(t, "", "upgrade", "--check", "--again", "--data", data); r.code != 2 {
		t.Errorf("--check with --again: exit code %d, want 2: %s", r.code, r.err)
	}
}
