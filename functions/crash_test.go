package functions_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

// newProcess returns a copy of the service s that acts as a second process. Its table calls go
// through the given transport.
func newProcess(t *testing.T, s *apitest.Service, transport http.RoundTripper) *apitest.Service {
	t.Helper()
	process := *s
	process.ServingTable = table.New(apitest.Options(t, s.Clock.Now, transport))
	process.Handler = functions.Handler(process.ServingTable, process.Config(slog.New(slog.DiscardHandler)))
	return &process
}

// forEachCrash calls the function try with processes of s that crash at progressively later points:
// before the first table call, during it, after it, during the second one, and so on. It stops once
// two processes in a row have not crashed.
func forEachCrash(t *testing.T, s *apitest.Service, try func(crashing *apitest.Service, where string)) {
	t.Helper()
	for calls := range 200 {
		died := false
		for _, duringCall := range []bool{false, true} {
			m := &apitest.CrashingTransport{}
			m.CrashAfter(calls, duringCall)
			try(newProcess(t, s, m), fmt.Sprintf("death after %d calls, during another: %v", calls, duringCall))
			died = died || m.Crashed()
		}
		if !died {
			return
		}
	}
	t.Error("the calls to the table have no end")
}

// countRecordsOf counts the company's records in the area of an operation, or the company's keys if
// the operation is about keys.
func countRecordsOf(t *testing.T, s *apitest.Service, op api.Operation) (count int) {
	t.Helper()
	for _, area := range functions.All() {
		if area.Name != op.Area {
			continue
		}
		for _, kind := range area.Transfers(s.Table) {
			if err := kind.Export(t.Context(), s.CompanyID, func(any) error { count++; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		return count
	}
	keys, err := s.Keys.List(t.Context(), s.CompanyID)
	if err != nil {
		t.Fatal(err)
	}
	return len(keys)
}

// Ensure a crash at any table call of a request with an Idempotency-Key leaves either nothing, or
// both the record and the stored response. After a retry in another process, there must be exactly
// one record. If the record was already stored, the retry gets the stored response. Some creates
// make different table calls depending on the fields of the request, so the test also sends each
// create with all properties of its sample body.
func TestIdempotencyKeyThroughCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	for _, op := range operationsWithIdempotencyKey() {
		bodies := []map[string]any{{}}
		if op.Effect == api.Create {
			bodies = append(bodies, sampleBody(t, op))
		}
		for i, more := range bodies {
			t.Run(fmt.Sprint(op.ID, i), func(t *testing.T) {
				t.Parallel()
				s, n := start(t, nil), 0
				key := s.IssueKey(t)
				forEachCrash(t, s, func(crashing *apitest.Service, where string) {
					n++
					args := argumentsForCall(t, s, key, op, n, more)
					if args["slug"] != nil {
						args["slug"] = fmt.Sprint("chosen-", n)
					}
					args["Idempotency-Key"] = fmt.Sprint("once-", n)
					retryAfterCrash(t, s, crashing, key, op, args, where)
				})
			})
		}
	}
}

// retryAfterCrash sends a request to the crashing process, and then twice to one that does not
// crash.
func retryAfterCrash(t *testing.T, s, crashing *apitest.Service, key string, op api.Operation, args map[string]any, where string) {
	t.Helper()
	s.Clock.Advance(time.Minute) // so that no rate limit is reached
	before := countRecordsOf(t, s, op)
	first := crashing.Call(t, key, op.ID, args)
	left := countRecordsOf(t, s, op) - before
	isCreate := op.Effect == api.Create
	if first.Status != http.StatusOK && first.Status < http.StatusInternalServerError || isCreate && (left > 1 || first.Status == http.StatusOK && left != 1) {
		t.Errorf("%s: the crashed request has the status %d and left %d records, want 200 and one, or 500 and at most one: %s", where, first.Status, left, first.Body)
	}
	if !isCreate { // the crashed process may have left a claim on the Idempotency-Key or the board, which must expire first
		s.Clock.Advance(15 * time.Second)
	}
	retry := s.Call(t, key, op.ID, args)
	again := s.Call(t, key, op.ID, args)
	if retry.Status != http.StatusOK || again.Status != http.StatusOK {
		t.Errorf("%s: the retries have the status %d and %d, want 200: %s, %s", where, retry.Status, again.Status, retry.Body, again.Body)
	}
	if first.Status == http.StatusOK && first.Body != retry.Body {
		t.Errorf("%s: the retry differs from the first response (-first +retry):\n%s", where, cmp.Diff(first.Body, retry.Body))
	}
	if diff := cmp.Diff(retry.Body, again.Body); diff != "" {
		t.Errorf("%s: the second retry differs from the first (-first +second):\n%s", where, diff)
	}
	replayed := retry.Header.Get("Idempotent-Replayed") == "true"
	if again.Header.Get("Idempotent-Replayed") != "true" || first.Status == http.StatusOK && !replayed || isCreate && replayed != (left == 1) {
		t.Errorf("%s: with %d records, the retry was replayed: %v", where, left, replayed)
	}
	if created := countRecordsOf(t, s, op) - before; isCreate && created != 1 {
		t.Errorf("%s: %d records after the retry", where, created)
	}
}

// dependentRecords lists, for each delete operation, records that belong to the deleted record.
// Each row contains the record's type and the record as JSON.
var dependentRecords = map[string][][2]string{
	"delete_plan_board": {
		{"board", `{"id":"brd_2","publishedVersion":1,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[{"id":"itm_9","slug":"a","title":"A"}]}`},
		{"board", `{"id":"brd_2","publishedVersion":2,"publishedAt":"2026-01-01T00:00:00Z","snapshot":[]}`},
	},
	"delete_optimise_site":  {{"site-goal", `{"id":"gol_8","siteId":"sit_2"}`}, {"site-goal", `{"id":"gol_9","siteId":"sit_2"}`}},
	"delete_optimise_audit": {{"audit", `{"id":"aud_2","status":"complete","findings":["` + strings.Repeat("x", 1000) + `"]}`}},
}

// Ensure a crash at any table call of a delete leaves the record either complete, with everything
// that belongs to it, or invisible to readers. The same delete in another process must then succeed
// and leave nothing.
func TestDeletesThroughCrashes(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	deletes := 0
	for _, op := range functions.Operations(nil) {
		if !strings.HasPrefix(op.ID, "delete_") || op.ID == "delete_metric_points" { // delete_metric_points deletes points, not whole records
			continue
		}
		deletes++
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			s := start(t, nil)
			key := s.IssueKey(t)
			refill := func() {
				s.Clock.Advance(time.Minute) // so that no rate limit is reached
				importFixture(t, s, fixtureArguments[op.ID][strings.Trim(path.Base(op.Path), "{}")].(string))
				for _, dependent := range dependentRecords[op.ID] {
					importLines(t, s, dependent[0], json.RawMessage(dependent[1]))
				}
			}
			refill()
			if r := s.Call(t, key, op.ID, fixtureArguments[op.ID]); r.Status != http.StatusOK {
				t.Fatalf("status %d, want 200: %s", r.Status, r.Body)
			}
			rest := storedKeysOf(t, s, op)
			forEachCrash(t, s, func(crashing *apitest.Service, where string) {
				refill()
				checkDelete(t, s, crashing, key, op, where, rest)
			})
		})
	}
	if deletes < 11 {
		t.Errorf("%d deletes", deletes)
	}
}

// storedKeysOf returns the sort keys of all records in the area of an operation, including
// findings.
func storedKeysOf(t *testing.T, s *apitest.Service, op api.Operation) (keys []string) {
	t.Helper()
	type record struct {
		SK string `store:"sk"`
	}
	for _, partition := range []string{table.Partition(s.CompanyID, op.Area), table.Partition(s.CompanyID, op.Area, "findings", "aud_2")} {
		all, err := table.ReadAll[record](t.Context(), s.Table, table.Collection{Partition: partition, Consistent: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			keys = append(keys, r.SK)
		}
	}
	return keys
}

// checkDelete deletes a record in the crashing process, and again in one that does not crash.
// Afterwards the stored sort keys must be exactly those listed in rest.
func checkDelete(t *testing.T, s, crashing *apitest.Service, key string, op api.Operation, where string, rest []string) {
	t.Helper()
	args, before := fixtureArguments[op.ID], storedKeysOf(t, s, op)
	if len(before) <= len(rest) {
		t.Fatalf("nothing to delete: %q, then %q", before, rest)
	}
	first := crashing.Call(t, key, op.ID, args)
	left, found := storedKeysOf(t, s, op), s.Call(t, key, strings.Replace(op.ID, "delete_", "get_", 1), args)
	gone := found.Status == http.StatusNotFound
	if !gone && (found.Status != http.StatusOK || !slices.Equal(left, before)) {
		t.Errorf("%s: the record is there (%d), with %q of %q", where, found.Status, left, before)
	}
	if first.Status < http.StatusInternalServerError && (first.Status != http.StatusOK || !gone || !slices.Equal(left, rest)) {
		t.Errorf("%s: %d %s, and %q is stored", where, first.Status, first.Body, left)
	}
	again := s.Call(t, key, op.ID, args)
	if again.Status != http.StatusOK && !(again.Status == http.StatusNotFound && slices.Equal(left, rest)) {
		t.Errorf("%s: the next delete: %d %s, with %q stored", where, again.Status, again.Body, left)
	}
	if after := storedKeysOf(t, s, op); !slices.Equal(after, rest) {
		t.Errorf("%s: the next delete leaves %q, want %q", where, after, rest)
	}
}
