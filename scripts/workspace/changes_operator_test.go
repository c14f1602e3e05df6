package main

import (
	"slices"
	"testing"

	"growthworkspace/shared/change"
	"growthworkspace/shared/client"
)

// Ensure `changes gap` adds one change of each type to the feed, with the company's id as the
// record id.
func TestChangesGap(t *testing.T) {
	t.Parallel()
	data := dataFolder(t)
	s := startServer(t, data)
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
