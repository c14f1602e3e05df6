package main

import (
	"slices"
	"testing"

	"growthworkspace/shared/change"
	"growthworkspace/shared/client"
)

// Ensure `changes enable` starts a feed for each company that has none. A new company must have a
// feed from the start.
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

// Ensure `changes gap` adds one change of each type to the feed, with the company's id as the
// record id. If the company has no feed, the command must start one.
func TestChangesGap(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	s := startServer(t, data)
	if err := change.RemoveCounter(t.Context(), openTable(t, data), s.CompanyID); err != nil {
		t.Fatal(err)
	}
	if got := runJSON(t, data, "", "changes", "gap"); got["companies"] != 1.0 {
		t.Errorf("changes gap: %v, want 1 company", got)
	}
	page, err := s.client(t).ListChanges(t.Context(), client.ListChangesInput{})
	if err != nil {
		t.Fatal(err)
	}
	var found []change.Type
	for _, c := range page.Items {
		if c.RecordID != s.CompanyID || c.Action != client.ChangeActionUnknown || !c.KeyID.IsNull() {
			t.Errorf("change %v, want one that is unknown, of the company, without a key", c)
		}
		found = append(found, change.Type(c.Type))
	}
	if !slices.Equal(found, change.Types()) {
		t.Errorf("changes of the types %v, want %v", found, change.Types())
	}
}
