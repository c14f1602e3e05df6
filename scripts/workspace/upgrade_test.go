package main

import (
	"strings"
	"testing"
)

// Ensure an upgrade reports its result for one company and for all, shows its progress, and can be
// repeated. The upgrade of a company itself is tested in functions/feedback.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	data := folder(t)
	company, _ := answer(t, data, "", "company", "create", "--name", "One")["companyId"].(string)
	answer(t, data, "", "company", "create", "--name", "Two")
	lines := `{"type":"feedback","record":{"source":"reddit","externalId":"1","postedAt":"2026-08-01T00:00:00Z"}}`
	answer(t, data, lines, "import", "--company", company, "-")
	for _, args := range []string{"upgrade", "upgrade --again", "upgrade --again --company " + company} {
		got := answer(t, data, "", strings.Fields(args)...)
		want := 2.0
		if strings.Contains(args, company) {
			want = 1
		}
		if got["companies"] != want || got["filled"] != 0.0 {
			t.Errorf("%s: %v, want %v companies and nothing filled", args, got, want)
		}
	}
	r := call(t, "", "upgrade", "--again", "--company", company, "--data", data)
	want(t, r.err, "company 1 of 1, "+company+": checked reviews: 1")
	want(t, r.out, "companies that are up to date: 1; reviews put into the index: 0")
}
