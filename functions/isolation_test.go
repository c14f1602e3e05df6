package functions_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"growthworkspace/functions"
	"growthworkspace/shared/api"
	"growthworkspace/shared/testkit/apitest"
)

// defaultRunFlags holds the default flags of package rapid: how many random worlds (see
// isolationWorld) a run explores, and the seed that selects them. 0 picks a random seed.
var defaultRunFlags = map[string]string{"rapid.checks": "8", "rapid.seed": "20260811"}

// Ensure companies are isolated. They make random calls, over HTTP and as tools, with each other's
// ids, cursors, ETags and sort keys. No response to one company may contain data of another, and no
// call may change a table row of another company. The test compares the whole table before and
// after each call.
func TestIsolation(t *testing.T) {
	apitest.SkipIfShort(t)
	set := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { set[f.Name] = true })
	for name, value := range defaultRunFlags {
		f := flag.Lookup(name)
		if before := f.Value.String(); !set[name] {
			if err := f.Value.Set(value); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Value.Set(before) }) // cannot fail, because the flag had this value before
		}
		t.Logf("-%s=%s", name, f.Value)
	}
	coverage := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		if violation := exploreWorld(t, r, nil, func(api.Operation) bool { return true }, coverage); violation != "" {
			r.Fatalf("a company sees another: %s", violation)
		}
	})
	if coverage["calls"] > 0 && coverage["status 200"] < coverage["calls"]/5 {
		t.Errorf("fewer than a fifth of the calls succeed, so the test proves little: %v", coverage)
	}
}

// Ensure TestIsolation finds leaks. In each subtest, one kind of table call uses the partition of
// another company.
func TestIsolationFindsLeaks(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	reads := func(op api.Operation) bool { return op.Effect == api.Read }
	creates := func(op api.Operation) bool { return strings.HasPrefix(op.ID, "create_") }
	updates := func(op api.Operation) bool { return strings.HasPrefix(op.ID, "update_") }
	for call, include := range map[string]func(api.Operation) bool{"GetItem": reads, "Query": reads, "UpdateItem": updates, "PutItem": creates, "TransactWriteItems": creates} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			for seed := range 20 { // fixed seeds, so that the test finds the leak every time or never
				planted := &leakTransport{action: call}
				violation := rapid.Custom(func(r *rapid.T) string { return exploreWorld(t, r, planted, include, map[string]int{}) }).Example(seed)
				if violation != "" {
					t.Logf("found with seed %d, %d calls to the table leaked: %.300s", seed, planted.leaked, violation)
					return
				}
			}
			t.Error("the leak was not found")
		})
	}
}

// exploreWorld creates a world and makes random calls, first from one company and then from all of
// them. It returns the first violation of isolation, or "".
func exploreWorld(t *testing.T, r *rapid.T, leak *leakTransport, include func(api.Operation) bool, coverage map[string]int) string {
	t.Helper()
	w := newIsolationWorld(t, rapid.IntRange(2, 3).Draw(r, "companies"), leak)
	defer w.close()
	exported := w.export(w.tenants[1].id)
	if leak != nil {
		leak.startLeak(w.tenants[0].id, w.tenants[1].id)
	}
	operations := slices.DeleteFunc(functions.Operations(w.service.Table), func(op api.Operation) bool { return !include(op) })
	before, violation := w.dumpTable()
	if violation != "" {
		return violation
	}
	soloCalls, sharedCalls := rapid.IntRange(5, 20).Draw(r, "calls alone"), rapid.IntRange(0, 20).Draw(r, "calls of all")
	for n := range soloCalls + sharedCalls {
		actor := w.tenants[0]
		if n >= soloCalls {
			actor = w.anyTenant(r, "actor")
		}
		a := generateRequest(r, w, operations, actor, before)
		got := w.execute(a)
		after, violation := w.dumpTable()
		if violation == "" {
			violation = w.findViolation(a, got, before, after)
		}
		if violation == "" {
			after, violation = w.compareWithUnknownIDs(a, got, before, after)
		}
		if violation == "" && n == soloCalls-1 && w.export(w.tenants[1].id) != exported {
			violation = "the export of another company has changed"
		}
		if violation != "" {
			return fmt.Sprintf("%s\n%v\n%d %.2000s", violation, a, got.status, got.bodyAndHeader)
		}
		countCoverage(coverage, w, a, got)
		before = w.rememberResponse(a, got, after)
	}
	return ""
}

// findViolation returns a description of how a response or the table violates the isolation of the
// other companies, or "" if neither does.
func (w *isolationWorld) findViolation(a generatedRequest, got callResult, before, after tableDump) string {
	for _, other := range w.tenants {
		if other == a.tenant {
			continue
		}
		if !maps.Equal(before.rows[other.id], after.rows[other.id]) {
			return fmt.Sprintf("table rows of %s have changed", other.marker)
		}
		if strings.Contains(got.bodyAndHeader, other.marker) || strings.Contains(got.bodyAndHeader, other.id) {
			return fmt.Sprintf("the response contains data of %s", other.marker)
		}
	}
	if a.company != "" && a.company != a.tenant.id && a.op.HasCompanyID() && got.status != http.StatusNotFound && got.status != http.StatusBadRequest && !keyRejected(got) {
		return "the call named another company, and the response is not not_found"
	}
	if got.status != http.StatusOK {
		return ""
	}
	var value any
	if err := json.Unmarshal([]byte(got.canonicalBody), &value); err != nil {
		return "the response is not JSON: " + err.Error()
	}
	return findForeignRecord(value, a, after)
}

// findForeignRecord searches a response for a record that belongs to another company or to none. It
// returns a description of that record, or "".
func findForeignRecord(value any, a generatedRequest, after tableDump) string {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			if violation := findForeignRecord(element, a, after); violation != "" {
				return violation
			}
		}
	case map[string]any:
		if company, named := v["companyId"]; named && company != a.tenant.id {
			return fmt.Sprintf("a record of %v", company)
		}
		recordID, isText := v["id"].(string)
		if _, found := slices.BinarySearch(after.ids[a.tenant.id], recordID); isText && v["deleted"] != true && !found {
			return fmt.Sprintf("the record %s, which does not belong to the caller", recordID)
		}
		if items, ok := v["items"]; ok {
			return findForeignRecord(items, a, after)
		}
	}
	return ""
}

// compareWithUnknownIDs repeats a call that used ids of other companies' records, but with ids that
// do not exist. The two responses must be indistinguishable. It returns the contents of the table
// afterwards and, if the responses differ, a description of the violation.
func (w *isolationWorld) compareWithUnknownIDs(a generatedRequest, got callResult, before, after tableDump) (tableDump, string) {
	withUnknownIDs, usesForeignIDs := a, false
	withUnknownIDs.args = maps.Clone(a.args)
	for _, f := range pathFields(a.op) {
		recordID, _ := a.args[f.Name].(string)
		if _, own := slices.BinarySearch(before.ids[a.tenant.id], recordID); own || !isKnownID(before, recordID) {
			continue
		}
		prefix, _, _ := strings.Cut(recordID, "_")
		withUnknownIDs.args[f.Name], usesForeignIDs = prefix+"_zzzzzz", true
	}
	if !usesForeignIDs || a.args["idempotencyKey"] != nil || a.args["cursor"] != nil {
		return after, "" // an Idempotency-Key and a cursor are bound to the ids, so the repeated call would be rejected for a different reason
	}
	if got.status < http.StatusBadRequest {
		return after, "the call found the record of another company"
	}
	missing := w.execute(withUnknownIDs)
	if keyRejected(missing) && !keyRejected(got) { // a rotated key may have expired between the two calls
		w.issueKeys(a.tenant)
		return w.dumpTable()
	}
	if missing.status != got.status || missing.canonicalBody != got.canonicalBody {
		return after, fmt.Sprintf("the response for a record that does not exist differs: %d %s", missing.status, missing.canonicalBody)
	}
	return w.dumpTable()
}

func isKnownID(d tableDump, id string) bool {
	for _, ids := range d.ids {
		if _, found := slices.BinarySearch(ids, id); found {
			return true
		}
	}
	return false
}

// keyRejected reports whether a response rejects the key itself, because an earlier call has
// revoked or rotated it.
func keyRejected(got callResult) bool {
	return got.status == http.StatusUnauthorized && !strings.Contains(got.canonicalBody, "lacks the scope")
}

// rememberResponse keeps the cursor and the ETag of a response for later calls. If the company's
// key was rejected, it issues new keys, which changes the table.
func (w *isolationWorld) rememberResponse(a generatedRequest, got callResult, after tableDump) tableDump {
	w.t.Helper()
	if got.next != "" {
		a.tenant.cursors = append(a.tenant.cursors, got.next)
	}
	if got.tag != "" {
		a.tenant.etags = append(a.tenant.etags, got.tag)
	}
	if keyRejected(got) {
		w.issueKeys(a.tenant)
		after, _ = w.dumpTable() // the changes that the call itself made have already been checked
	}
	return after
}

// countCoverage adds what a call covered to the counts in `coverage`.
func countCoverage(coverage map[string]int, w *isolationWorld, a generatedRequest, got callResult) {
	coverage["calls"]++
	coverage[fmt.Sprintf("status %d", got.status)]++
	if a.asTool {
		coverage["as a tool"]++
	}
	if got.status == http.StatusOK {
		coverage["done: "+a.op.ID]++
	}
	for _, f := range pathFields(a.op) {
		recordID := fmt.Sprint(a.args[f.Name])
		for i := range w.tenants {
			if strings.HasSuffix(recordID, fixtureSuffixes[i]) && fixtureMarkers[i] != a.tenant.marker {
				coverage["named a record of another"]++
			}
		}
	}
	if cursor, sent := a.args["cursor"]; sent && got.status == http.StatusOK {
		coverage["cursors taken"]++
		if !slices.Contains(a.tenant.cursors, fmt.Sprint(cursor)) {
			coverage["cursors of others, or forged, taken"]++
		}
	}
}
