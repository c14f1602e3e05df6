package functions_test

import (
	"encoding/json"
	"strings"
	"testing"

	"growthworkspace/functions"
	"growthworkspace/functions/broadcast"
	"growthworkspace/functions/feedback"
	"growthworkspace/shared/table"
)

// readRecordsMax is the maximum Limit of one Query or Scan.
const readRecordsMax = 1000

// Ensure no call reads a collection or the table without a limit, because a local engine would then
// read the whole collection or table for each page of 1 MB.
func TestEveryReadHasALimit(t *testing.T) {
	t.Parallel()
	calls := &callRecorder{}
	s := start(t, calls)
	// checkLimits checks the calls since the last one, and returns the number of queries and scans.
	checkLimits := func() (reads int) {
		for _, call := range calls.take() {
			name, body, _ := strings.Cut(call, " ")
			if name != "Query" && name != "Scan" {
				continue
			}
			reads++
			var in struct{ Limit int }
			if err := json.Unmarshal([]byte(body), &in); err != nil || in.Limit < 1 || in.Limit > readRecordsMax {
				t.Errorf("a call without a limit of at most %d records: %v: %s", readRecordsMax, err, call)
			}
		}
		return reads
	}
	for _, kind := range functions.Transfers(s.Table) {
		if err := kind.Export(t.Context(), s.CompanyID, func(any) error { return nil }); err != nil {
			t.Errorf("export %s: %v", kind.Name, err)
		}
		if reads := checkLimits(); kind.Name != "company" && kind.Name != "brand-kit" && reads == 0 { // a company has one profile and one brand kit, so they need no list
			t.Errorf("an export of %s made no query", kind.Name)
		}
	}
	calls.reset()
	if _, err := table.RegisteredCompanies(t.Context(), s.Table); err != nil {
		t.Error(err)
	}
	if _, err := broadcast.NewStore(s.Table).DuePosts(t.Context(), s.CompanyID, nil, "", 200); err != nil {
		t.Error(err)
	}
	if _, err := feedback.NewStore(s.Table).ApprovedReplies(t.Context(), s.CompanyID, nil, "", 200); err != nil {
		t.Error(err)
	}
	if reads := checkLimits(); reads < 2+table.OperatorShards {
		t.Errorf("%d reads of companies, due posts and approved replies", reads)
	}
}
