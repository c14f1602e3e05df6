package functions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/testkit/apitest"
)

type tableRead struct {
	action, prefix string
	consistent     bool
}

// tableReads returns the reads since the last call of take or reset.
func tableReads(t *testing.T, calls *callRecorder) (out []tableRead) {
	t.Helper()
	for _, call := range calls.take() {
		action, body, _ := strings.Cut(call, " ")
		if !slices.Contains([]string{"GetItem", "Query", "BatchGetItem", "Scan"}, action) {
			continue
		}
		var sent struct {
			ConsistentRead            bool
			ExpressionAttributeValues map[string]map[string]any
			RequestItems              map[string]struct{ ConsistentRead bool }
		}
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatal(err)
		}
		read := tableRead{action: action, consistent: sent.ConsistentRead}
		for _, batch := range sent.RequestItems {
			read.consistent = batch.ConsistentRead
		}
		for _, name := range []string{":prefix", ":low"} {
			if text, ok := sent.ExpressionAttributeValues[name]["S"].(string); ok {
				read.prefix, _, _ = strings.Cut(text, "#")
			}
		}
		out = append(out, read)
	}
	return out
}

// String returns a read in the notation of oracle.Operation.ConsistentReads.
func (r tableRead) String() string { return strings.TrimSpace(r.action + " " + r.prefix) }

// Ensure every read by id, and every read of a stored Idempotency-Key, sees all earlier writes. The
// operation tables list the other reads that must be strongly consistent, because a write depends
// on the result or the read must not miss a record. All other reads must be eventually consistent,
// which costs half as much (scripts/docs/reference/lists.md).
func TestReadsAreConsistent(t *testing.T) {
	t.Parallel()
	apitest.SkipIfShort(t)
	calls := &callRecorder{}
	s := start(t, calls)
	key := s.IssueKey(t)
	publishFixtureBoard(t, s, key)
	for _, op := range functions.Operations(nil) {
		o, found := operationRow(t, op), map[string]bool{}
		requests := []map[string]any{fixtureArguments[op.ID], fixtureArguments[op.ID]} // the second create finds its slug already taken
		if acceptsHeader(op, "Idempotency-Key") {
			requests = append(requests, fixtureArgumentsWith(op, map[string]any{"Idempotency-Key": "once"}))
		}
		for _, args := range requests {
			s.Clock.Advance(time.Minute)
			calls.reset()
			s.Call(t, key, op.ID, args)
			for _, r := range tableReads(t, calls) {
				switch mustBeConsistent := r.action == "GetItem" || r.prefix == "idempotency"; {
				case mustBeConsistent && !r.consistent:
					t.Errorf("%s: %v must be consistent", op.ID, r)
				case !mustBeConsistent && r.consistent:
					found[r.String()] = true
				case slices.Contains(o.ConsistentReads, r.String()):
					t.Errorf("%s: %v must be consistent", op.ID, r)
				}
			}
		}
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, o.ConsistentReads) {
			t.Errorf("%s: %s reads %q with strong consistency, want %q", o.CellLocation("consistent"), op.ID, got, o.ConsistentReads)
		}
	}
}

// Ensure an export contains every earlier write.
func TestExportsAreConsistent(t *testing.T) {
	t.Parallel()
	calls := &callRecorder{}
	s := start(t, calls)
	publishFixtureBoard(t, s, s.IssueKey(t))
	for _, kind := range functions.Transfers(s.Table) {
		calls.reset()
		if err := kind.Export(t.Context(), s.CompanyID, func(any) error { return nil }); err != nil {
			t.Fatal(err)
		}
		all := tableReads(t, calls)
		for _, r := range all {
			// An audit's findings are stored in chunks. They may be read with eventual consistency,
			// because the audit's record says which chunks there are. If a chunk is missing, the
			// service reads the audit again.
			if isChunkRead := kind.Name == "audit" && r.prefix == ""; !r.consistent && !isChunkRead {
				t.Errorf("the export of %s: %v is not consistent", kind.Name, r)
			}
		}
		if len(all) == 0 {
			t.Errorf("the export of %s reads nothing", kind.Name)
		}
	}
}

// Ensure two exports of the same points are identical. Points must be ordered by time, even though
// a record stores its points as a map.
func TestExportOfPointsIsOrdered(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var sent []any
	for day := 31; day > 0; day-- {
		sent = append(sent, map[string]any{"metricKey": "custom.visits", "ts": fmt.Sprintf("2026-07-%02d", day), "value": day})
	}
	if r := s.Call(t, s.IssueKey(t), "push_metric_points", map[string]any{"points": sent}); r.Status != http.StatusOK {
		t.Fatalf("the push: status %d, want 200: %s", r.Status, r.Body)
	}
	kind := typeNamed(t, functions.Transfers(s.Table), "metric-point")
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
		t.Errorf("the days are %v, error %v; want %d in order", times, err, len(sent))
	}
}
