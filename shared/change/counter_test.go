package change_test

import (
	"errors"
	"testing"

	"growthworkspace/shared/api"
	"growthworkspace/shared/change"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

func noOperations(*table.Client) []api.Operation { return nil }

// Ensure that WriteCounter creates a company's counter and does not replace it, and that
// RemoveCounter deletes it.
func TestCounter(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, noOperations)
	exists := func() bool {
		t.Helper()
		_, err := table.Get[struct{}](t.Context(), s.Table, change.CounterKey(s.CompanyID))
		if err != nil && !errors.Is(err, fault.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	if exists() {
		t.Error("there is a counter before it is created")
	}
	if err := s.Table.Transact(t.Context(), change.WriteCounter(s.Table, s.CompanyID)); err != nil || !exists() {
		t.Errorf("WriteCounter creates no counter: %v", err)
	}
	var canceled *table.CanceledError
	if err := s.Table.Transact(t.Context(), change.WriteCounter(s.Table, s.CompanyID)); !errors.As(err, &canceled) {
		t.Errorf("WriteCounter replaces a counter: %v", err)
	}
	for range 2 {
		if err := change.RemoveCounter(t.Context(), s.Table, s.CompanyID); err != nil || exists() {
			t.Errorf("the counter is left: %v", err)
		}
	}
}
