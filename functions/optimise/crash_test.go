package optimise_test

import (
	"slices"
	"strings"
	"testing"

	"growthworkspace/functions/optimise"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// forEachCrash calls an operation in a process that crashes at its first table call, then in one
// that crashes at its second table call, and so on, until a process does not crash. Each time, it
// then repeats the call in a process that does not crash, and passes both responses to `check`.
// Each round has its own company, to which `prepare` adds records.
func forEachCrash(t *testing.T, op string, prepare func(s *apitest.Service) map[string]any, check func(s *apitest.Service, first, retry apitest.Response)) {
	t.Helper()
	for calls := 0; ; calls++ {
		s := start(t)
		key, args := s.IssueKey(t), prepare(s)
		m := &apitest.CrashingTransport{}
		m.CrashAfter(calls, false)
		crashing := apitest.NewWithTransport(t, optimise.Operations, m)
		crashing.CompanyID = s.CompanyID
		first := crashing.Call(t, key, op, args)
		check(s, first, s.Call(t, key, op, args))
		if t.Failed() {
			t.Fatalf("the process died after %d calls", calls)
		}
		if !m.Crashed() {
			if calls < 3 {
				t.Fatalf("%s makes %d calls", op, calls)
			}
			return
		}
	}
}

// sortKeysIn returns the sort keys in a partition of the area, except those of responses stored for
// an Idempotency-Key.
func sortKeysIn(t *testing.T, s *apitest.Service, moreParts ...string) (out []string) {
	t.Helper()
	collection := table.Collection{Partition: table.Partition(s.CompanyID, "optimise", moreParts...), Consistent: true}
	all, err := table.ReadAll[struct {
		SK string `store:"sk"`
	}](t.Context(), s.Table, collection)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if !strings.HasPrefix(r.SK, "idempotency#") {
			out = append(out, r.SK)
		}
	}
	return out
}

// countPrefix returns how many of the strings begin with the prefix.
func countPrefix(texts []string, prefix string) int {
	return len(slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return !strings.HasPrefix(s, prefix) }))
}
