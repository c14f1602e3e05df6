package optimise_test

import (
	"encoding/json"
	"errors"
	"testing"

	"growthworkspace/functions/optimise"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// Ensure an imported goal never outlives its site. The test deletes the site just before each table
// call of the import, and imports the goals just before each table call of the delete.
func TestImportedGoalsAndADelete(t *testing.T) {
	t.Parallel()
	write := func(s *apitest.Service, kind transfer.Type, add bool) error {
		record, problems := kind.Check(json.RawMessage(`{"id":"gol_1","siteId":"sit_1"}`))
		if len(problems) > 0 {
			t.Fatalf("problems %q, want none", problems)
		}
		if add {
			_, err := kind.Add(t.Context(), s.CompanyID, []any{record})
			return err
		}
		return kind.Write(t.Context(), s.CompanyID, []any{record})
	}
	remove := func(s *apitest.Service, intercepted *apitest.Service) error {
		return optimise.NewStore(intercepted.Table).Sites.Remove(t.Context(), s.CompanyID, "sit_1", func(optimise.Site) error { return nil })
	}
	for _, add := range []bool{false, true} {
		for _, deleteFirst := range []bool{false, true} {
			for callNumber, reached := int64(1), true; reached; callNumber++ {
				s := start(t)
				importRecords(t, s, "site", `{"id":"sit_1"}`)
				var removeErr, importErr error
				interrupt := func() { importErr = write(s, transferType(t, s, "site-goal"), add) }
				if deleteFirst {
					interrupt = func() { removeErr = remove(s, s) }
				}
				transport := apitest.NewBeforeCall(callNumber, interrupt)
				intercepted := apitest.NewWithTransport(t, optimise.Operations, transport)
				if deleteFirst {
					importErr = write(s, transferType(t, intercepted, "site-goal"), add)
				} else {
					removeErr = remove(s, intercepted)
				}
				if reached = transport.Reached(); !reached {
					continue
				}
				var refused transfer.RefusedRecords
				if importErr != nil && (!errors.As(importErr, &refused) || refused[0] != "record.siteId: there is no site sit_1") {
					t.Errorf("before call %d: the import: %v", callNumber, importErr)
				}
				if left := sortKeysIn(t, s); removeErr != nil || len(left) > 0 || deleteFirst && importErr == nil {
					t.Errorf("before call %d: the delete: %v, the import: %v, left: %v", callNumber, removeErr, importErr, left)
				}
			}
		}
	}
}
