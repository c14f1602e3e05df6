package functions_test

import (
	"slices"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/shared/testkit/apitest"
)

// Ensure an import recognises stored records of every type, so that it can skip them. It must find
// the fixture company's records in that company only.
func TestExistingRecords(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	other := apitest.New(t, functions.Operations)
	types := functions.Transfers(s.Table)
	seen := map[string]bool{}
	for _, line := range fixtureLines(t) {
		kind := typeNamed(t, types, line.Type)
		seen[kind.Name] = true
		record := mustCheck(t, kind, string(line.Record))
		if fresh, _, err := kind.FilterNew(t.Context(), s.CompanyID, []any{record, record}); err != nil || len(fresh) != 0 {
			t.Errorf("%s: %d of 2 stored records are new: %v", kind.Name, len(fresh), err)
		}
		if fresh, indexes, err := kind.FilterNew(t.Context(), other.CompanyID, []any{record, record}); err != nil || len(fresh) != 2 || !slices.Equal(indexes, []int{0, 1}) {
			t.Errorf("%s: %d of 2 records of an empty company are new: %v", kind.Name, len(fresh), err)
		}
	}
	for _, kind := range types {
		if !seen[kind.Name] {
			t.Errorf("no %s in the fixture company", kind.Name)
		}
	}
}

// Ensure an import finds stored records by their identity, not by their id alone.
func TestExistingByIdentity(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	types := functions.Transfers(s.Table)
	for _, c := range []struct {
		kind, record string
		exists       bool
	}{
		{"feedback", `{"id":"fbk_other","source":"app_store","externalId":"100"}`, true},
		{"feedback", `{"source":"app_store","externalId":"100"}`, true},
		{"feedback", `{"id":"fbk_1","source":"reddit","externalId":"new"}`, true},
		{"feedback", `{"id":"fbk_other","source":"reddit","externalId":"100"}`, false},
		{"feedback", `{"id":"fbk_other","externalId":"100"}`, false},
		{"brand-kit", `{"id":"kit_other"}`, true},
		{"metric-definition", `{"id":"mdf_other","key":"growth.signups"}`, true},
		{"metric-definition", `{"id":"mdf_1","key":"growth.other"}`, false},
		{"metric-point", `{"metricKey":"growth.signups","ts":"2026-08-10T09:00:00Z","dims":{"country":"de"},"value":1}`, true},
		{"metric-point", `{"metricKey":"growth.signups","ts":"2026-08-09T00:00:00Z","dims":{"country":"de"},"value":1}`, false},
		{"metric-point", `{"metricKey":"growth.signups","ts":"2026-08-10T00:00:00Z","dims":{"country":"de"},"grain":"month","value":1}`, false},
		{"metric-point", `{"metricKey":"growth.signups","ts":"2026-08-10T00:00:00Z","value":1}`, false},
	} {
		kind := typeNamed(t, types, c.kind)
		record := mustCheck(t, kind, c.record)
		if fresh, _, err := kind.FilterNew(t.Context(), s.CompanyID, []any{record}); err != nil || (len(fresh) == 0) != c.exists {
			t.Errorf("%s %s is new: %v, %v", c.kind, c.record, len(fresh) > 0, err)
		}
	}
}
