package main

import (
	"testing"

	"growthworkspace/shared/change"
)

// Ensure `changes enable` finds that new companies have a feed, and begins one for a company
// without.
func TestEnableChanges(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	company, _ := runJSON(t, data, "", "company", "create", "--name", "One")["companyId"].(string)
	runJSON(t, data, "", "company", "create", "--name", "Two")
	requireFeeds := func(companies, begun float64, args ...string) {
		t.Helper()
		got := runJSON(t, data, "", append([]string{"changes", "enable"}, args...)...)
		if got["companies"] != companies || got["begun"] != begun {
			t.Errorf("changes enable %v: %v, want %v companies, %v begun", args, got, companies, begun)
		}
	}
	requireFeeds(2, 0)
	requireFeeds(1, 0, "--company", company)
	if err := change.RemoveCounter(t.Context(), openTable(t, data), company); err != nil {
		t.Fatal(err)
	}
	requireFeeds(2, 1)
	requireFeeds(2, 0)
}
