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

// ordinary has the default flags: how many worlds a run explores, and which. Another seed explores
// others; 0 draws one at random.
var ordinary = map[string]string{"rapid.checks": "8", "rapid.seed": "20260811"}

// Ensure companies are isolated. They call at random, over HTTP and as tools, with the ids,
// cursors, ETags and sort keys of each other. No response to one company contains data of another,
// and no table row of another company changes. The test compares the whole table before and after
// each call.
func TestIsolation(t *testing.T) {
	apitest.SkipIfShort(t)
	set := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { set[f.Name] = true })
	for name, value := range ordinary {
		f := flag.Lookup(name)
		if before := f.Value.String(); !set[name] {
			if err := f.Value.Set(value); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Value.Set(before) }) // cannot fail: the flag had this value
		}
		t.Logf("-%s=%s", name, f.Value)
	}
	seen := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		if wrong := explore(t, r, nil, func(api.Operation) bool { return true }, seen); wrong != "" {
			r.Fatal(wrong)
		}
	})
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%s: %d", what, seen[what])
	}
	if seen["calls"] > 0 && seen["status 200"] < seen["calls"]/5 {
		t.Errorf("fewer than a fifth of the calls succeed, so the test proves little")
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
	for call, among := range map[string]func(api.Operation) bool{"GetItem": reads, "Query": reads, "UpdateItem": updates, "PutItem": creates, "TransactWriteItems": creates} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			for seed := range 20 { // the same seeds each time: the test either finds the leak or does not
				planted := &leak{call: call}
				wrong := rapid.Custom(func(r *rapid.T) string { return explore(t, r, planted, among, map[string]int{}) }).Example(seed)
				if wrong != "" {
					t.Logf("found with seed %d, %d calls to the table leaked: %.300s", seed, planted.times, wrong)
					return
				}
			}
			t.Error("the leak was not found")
		})
	}
}

// explore creates a world, makes random calls, first by one company and then by all, and returns
// the first violation of isolation, or "".
func explore(t *testing.T, r *rapid.T, planted *leak, among func(api.Operation) bool, seen map[string]int) string {
	t.Helper()
	w := newWorld(t, rapid.IntRange(2, 3).Draw(r, "companies"), planted)
	defer w.close()
	exported := w.export(w.tenants[1].id)
	if planted != nil {
		planted.set(w.tenants[0].id, w.tenants[1].id)
	}
	operations := slices.DeleteFunc(functions.Operations(w.service.Table), func(op api.Operation) bool { return !among(op) })
	before, wrong := w.look()
	if wrong != "" {
		return wrong
	}
	alone, all := rapid.IntRange(5, 20).Draw(r, "calls alone"), rapid.IntRange(0, 20).Draw(r, "calls of all")
	for n := range alone + all {
		actor := w.tenants[0]
		if n >= alone {
			actor = w.anybody(r, "actor")
		}
		a := drawAttempt(r, w, operations, actor, before)
		got := w.make(a)
		after, wrong := w.look()
		if wrong == "" {
			wrong = w.judge(a, got, before, after)
		}
		if wrong == "" {
			after, wrong = w.compareWithMissing(a, got, before, after)
		}
		if wrong == "" && n == alone-1 && w.export(w.tenants[1].id) != exported {
			wrong = "the export of another company has changed"
		}
		if wrong != "" {
			return fmt.Sprintf("%s\n%v\n%d %.2000s", wrong, a, got.status, got.whole)
		}
		count(seen, w, a, got)
		before = w.learn(a, got, after)
	}
	return ""
}

// judge returns how a response or the table violates the isolation of the other companies, or "".
func (w *world) judge(a attempt, got outcome, before, after dump) string {
	for _, other := range w.tenants {
		if other == a.actor {
			continue
		}
		if !maps.Equal(before.rows[other.id], after.rows[other.id]) {
			return fmt.Sprintf("table rows of %s have changed", other.marker)
		}
		if strings.Contains(got.whole, other.marker) || strings.Contains(got.whole, other.id) {
			return fmt.Sprintf("the response contains data of %s", other.marker)
		}
	}
	if a.company != "" && a.company != a.actor.id && a.op.Company() && got.status != http.StatusNotFound && got.status != http.StatusBadRequest && !dead(got) {
		return "the call named another company, and the response is not not_found"
	}
	if got.status != http.StatusOK {
		return ""
	}
	var value any
	if err := json.Unmarshal([]byte(got.value), &value); err != nil {
		return "the response is not JSON: " + err.Error()
	}
	return foreign(value, a, after)
}

// foreign looks in a response for a record of another company, or of no company, and returns a
// description of it, or "".
func foreign(value any, a attempt, after dump) string {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			if wrong := foreign(element, a, after); wrong != "" {
				return wrong
			}
		}
	case map[string]any:
		if company, named := v["companyId"]; named && company != a.actor.id {
			return fmt.Sprintf("a record of %v", company)
		}
		one, isText := v["id"].(string)
		if _, found := slices.BinarySearch(after.ids[a.actor.id], one); isText && v["deleted"] != true && !found {
			return fmt.Sprintf("the record %s, which does not belong to the caller", one)
		}
		if items, ok := v["items"]; ok {
			return foreign(items, a, after)
		}
	}
	return ""
}

// compareWithMissing repeats a call that names records of other companies, with ids that do not
// exist. The two responses must be indistinguishable. It returns the contents of the table
// afterwards.
func (w *world) compareWithMissing(a attempt, got outcome, before, after dump) (dump, string) {
	again, others := a, false
	again.args = maps.Clone(a.args)
	for _, f := range pathFields(a.op) {
		one, _ := a.args[f.Name].(string)
		if _, own := slices.BinarySearch(before.ids[a.actor.id], one); own || !known(before, one) {
			continue
		}
		prefix, _, _ := strings.Cut(one, "_")
		again.args[f.Name], others = prefix+"_zzzzzz", true
	}
	if !others || a.args["idempotencyKey"] != nil || a.args["cursor"] != nil {
		return after, "" // both are bound to the ids, so the repeated call is rejected for another reason
	}
	if got.status < http.StatusBadRequest {
		return after, "the call found the record of another company"
	}
	missing := w.make(again)
	if dead(missing) && !dead(got) { // a rotated key may expire between the two calls
		w.renew(a.actor)
		return w.look()
	}
	if missing.status != got.status || missing.value != got.value {
		return after, fmt.Sprintf("the response for a record that does not exist differs: %d %s", missing.status, missing.value)
	}
	return w.look()
}

func known(d dump, one string) bool {
	for _, ids := range d.ids {
		if _, found := slices.BinarySearch(ids, one); found {
			return true
		}
	}
	return false
}

// dead reports whether a response rejects the key itself, because an earlier call has revoked or
// rotated it.
func dead(got outcome) bool {
	return got.status == http.StatusUnauthorized && !strings.Contains(got.value, "lacks the scope")
}

// learn keeps the cursor and the ETag of a response for later calls. A company whose key was
// rejected gets a new one, which changes the table.
func (w *world) learn(a attempt, got outcome, after dump) dump {
	w.t.Helper()
	if got.next != "" {
		a.actor.cursors = append(a.actor.cursors, got.next)
	}
	if got.tag != "" {
		a.actor.tags = append(a.actor.tags, got.tag)
	}
	if dead(got) {
		w.renew(a.actor)
		after, _ = w.look() // the call itself was checked before
	}
	return after
}

// count counts what a test did, to show what it covers.
func count(seen map[string]int, w *world, a attempt, got outcome) {
	seen["calls"]++
	seen[fmt.Sprintf("status %d", got.status)]++
	if a.asTool {
		seen["as a tool"]++
	}
	if got.status == http.StatusOK {
		seen["done: "+a.op.ID]++
	}
	for _, f := range pathFields(a.op) {
		one := fmt.Sprint(a.args[f.Name])
		for i := range w.tenants {
			if strings.HasSuffix(one, tags[i]) && markers[i] != a.actor.marker {
				seen["named a record of another"]++
			}
		}
	}
	if cursor, sent := a.args["cursor"]; sent && got.status == http.StatusOK {
		seen["cursors taken"]++
		if !slices.Contains(a.actor.cursors, fmt.Sprint(cursor)) {
			seen["cursors of others, or forged, taken"]++
		}
	}
}
