package functions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
	"growthworkspace/shared/transfer"
)

// readsRecorder is a transport that records the reads of the table.
type readsRecorder struct {
	mu    sync.Mutex
	reads []tableRead
}

// tableRead is one read.
type tableRead struct {
	action, index, prefix string
	consistent            bool
}

// RoundTrip implements http.RoundTripper.
func (r *readsRecorder) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	var sent struct {
		IndexName                 string
		ConsistentRead            bool
		ExpressionAttributeValues map[string]map[string]any
		RequestItems              map[string]struct{ ConsistentRead bool }
	}
	_, action, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	switch action {
	case "GetItem", "Query", "BatchGetItem", "Scan":
		if err := json.Unmarshal(body, &sent); err != nil {
			return nil, err
		}
		read := tableRead{action: action, index: sent.IndexName, consistent: sent.ConsistentRead}
		for _, batch := range sent.RequestItems {
			read.consistent = batch.ConsistentRead
		}
		for _, name := range []string{":prefix", ":low"} {
			if text, ok := sent.ExpressionAttributeValues[name]["S"].(string); ok {
				read.prefix, _, _ = strings.Cut(text, "#")
			}
		}
		r.mu.Lock()
		r.reads = append(r.reads, read)
		r.mu.Unlock()
	}
	return apitest.Transport.RoundTrip(request)
}

func (r *readsRecorder) take() []tableRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	reads := r.reads
	r.reads = nil
	return reads
}

// String returns a read as consistentReads names it.
func (r tableRead) String() string { return strings.TrimSpace(r.action + " " + r.prefix) }

// consistentReads has the reads of several records that an operation makes with strong consistency, typed by hand: those
// whose result decides about a write, or for which a missing record would be wrong. Lists read their index or their
// partition with eventual consistency, at half the price (scripts/docs/reference/lists.md).
var consistentReads = map[string][]string{
	"delete_optimise_audit": {"Query"},                                                       // findings must not be left behind
	"delete_plan_board":     {"Query item", "Query slug", "Query snapshot", "Query version"}, // nothing new must be left behind

	"preview_plan_publish":    {"Query item"},   // shows what the next publish would do
	"publish_plan_board":      {"Query item"},   // the content must be that of one moment
	"create_plan_item":        {"Query slug"},   // finds a free slug
	"push_metric_points":      {"BatchGetItem"}, // the definitions: a point goes to the series of the stored key
	"push_feedback":           {"BatchGetItem"}, // the records: a stored one must not be created again
	"get_optimise_goal":       {"BatchGetItem"}, // the goal and its site
	"update_optimise_goal":    {"BatchGetItem"},
	"delete_optimise_goal":    {"BatchGetItem"},
	"delete_optimise_site":    {"Query goal"}, // a new goal must not be left behind
	"list_keys":               {"Query key"},  // a key that leaked must not be missed
	"list_broadcast_plans":    {"Query plan"},
	"create_broadcast_plan":   {"Query plan"}, // so that it counts a plan that was just created
	"list_broadcast_channels": {"Query channel"},

	"delete_metric_points":     {"BatchGetItem", "Query pt"},
	"delete_metric_definition": {"Query def", "Query pt"}, // an id without a record; a definition with points must not be deleted
}

// Ensure every read by id sees all earlier writes, as does the memory of an Idempotency-Key, and that other reads of an
// operation do so exactly where consistentReads says.
func TestReadsAreConsistent(t *testing.T) {
	t.Parallel()
	apitest.Slow(t)
	reads := &readsRecorder{}
	s := start(t, reads)
	key := s.Key(t)
	goLive(t, s, key)
	for _, op := range functions.Operations(nil) {
		found := map[string]bool{}
		requests := []map[string]any{arguments[op.ID], arguments[op.ID]} // a second create finds its slug taken
		if accepts(op, "Idempotency-Key") {
			requests = append(requests, with(op, map[string]any{"Idempotency-Key": "once"}))
		}
		for _, args := range requests {
			s.Clock.Advance(time.Minute)
			reads.take()
			s.Call(t, key, op.ID, args)
			for _, r := range reads.take() {
				switch always := r.action == "GetItem" || r.prefix == "idempotency"; {
				case always && !r.consistent:
					t.Errorf("%s: %v must be consistent", op.ID, r)
				case !always && r.consistent:
					found[r.String()] = true
				case slices.Contains(consistentReads[op.ID], r.String()):
					t.Errorf("%s: %v must be consistent", op.ID, r)
				}
			}
		}
		if got, want := slices.Sorted(maps.Keys(found)), slices.Sorted(slices.Values(consistentReads[op.ID])); !slices.Equal(got, want) {
			t.Errorf("functions/consistency_test.go: %s reads %q with strong consistency, want %q", op.ID, got, want)
		}
	}
}

// Ensure an export has every earlier write.
func TestExportsAreConsistent(t *testing.T) {
	t.Parallel()
	reads := &readsRecorder{}
	s := start(t, reads)
	goLive(t, s, s.Key(t))
	for _, kind := range functions.Transfers(s.Table) {
		reads.take()
		if err := kind.Export(t.Context(), s.CompanyID, func(any) error { return nil }); err != nil {
			t.Fatal(err)
		}
		all := reads.take()
		for _, r := range all {
			// The chunks of findings are of a generation that the audit names; a missing one is read again.
			if chunks := kind.Name == "audit" && r.prefix == ""; !r.consistent && !chunks {
				t.Errorf("the export of %s: %v is not consistent", kind.Name, r)
			}
		}
		if len(all) == 0 {
			t.Errorf("the export of %s reads nothing", kind.Name)
		}
	}
}

// Ensure two exports of the same points are the same file: points are in the order of time, although the record that packs
// them is a map.
func TestExportOfPointsIsOrdered(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var sent []any
	for day := 31; day > 0; day-- {
		sent = append(sent, map[string]any{"metricKey": "custom.visits", "ts": fmt.Sprintf("2026-07-%02d", day), "value": day})
	}
	if r := s.Call(t, s.Key(t), "push_metric_points", map[string]any{"points": sent}); r.Status != http.StatusOK {
		t.Fatal(r.Body)
	}
	kinds := functions.Transfers(s.Table)
	kind := kinds[slices.IndexFunc(kinds, func(k transfer.Type) bool { return k.Name == "metric-point" })]
	var times []string
	err := kind.Export(t.Context(), s.CompanyID, func(record any) error {
		text, err := schema.Encode(record)
		if bytes.Contains(text, []byte(`"custom.visits"`)) {
			_, rest, _ := strings.Cut(string(text), `"ts":"`)
			times = append(times, rest[:len("2026-07-01")])
		}
		return err
	})
	if err != nil || len(times) != len(sent) || !slices.IsSorted(times) {
		t.Errorf("%v, %v", times, err)
	}
}
