package infra_test

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"growthworkspace/functions"
	"growthworkspace/infra"
	"growthworkspace/shared/change"
	"growthworkspace/shared/stream"
	"growthworkspace/shared/table"
	"growthworkspace/shared/testkit/apitest"
)

func resourceOf(t *testing.T, id string) map[string]any {
	t.Helper()
	r, ok := infra.JSON(infra.New().PlainResources()).(map[string]any)[id].(map[string]any)
	if !ok {
		t.Fatalf("no resource %s", id)
	}
	return r
}

// Ensure the mapping exists only if the stack knows the ARN of a stream, and that the recorder's
// role has the statement about the stream on the same condition.
func TestStreamIsConditional(t *testing.T) {
	t.Parallel()
	const condition = "HasStream"
	mapping := resourceOf(t, "RecorderStream")
	if mapping["Condition"] != condition {
		t.Errorf("the mapping has the condition %v", mapping["Condition"])
	}
	for _, f := range infra.New().Functions {
		if !f.ReadsStream() {
			continue
		}
		conditional := 0
		for _, s := range infra.JSON(f.Policy()).(map[string]any)["Statement"].([]any) {
			if branches, ok := s.(map[string]any)["Fn::If"].([]any); ok {
				conditional++
				if branches[0] != condition || !reflect.DeepEqual(branches[1].(map[string]any)["Resource"], mapping["Properties"].(map[string]any)["EventSourceArn"]) {
					t.Errorf("%s: %v", f.Name, branches)
				}
			}
		}
		if conditional != 1 {
			t.Errorf("%s has %d conditional statements", f.Name, conditional)
		}
	}
}

// Ensure the mapping has the settings on which the recorder relies. The recorder needs the shard's
// id, which Lambda sends only with a window. It must get only one batch of a shard at a time, and
// must get each record again until it succeeds.
func TestStreamMapping(t *testing.T) {
	t.Parallel()
	properties := resourceOf(t, "RecorderStream")["Properties"].(map[string]any)
	for name, want := range map[string]any{
		"StartingPosition": "TRIM_HORIZON", "ParallelizationFactor": 1.0, "TumblingWindowInSeconds": 900.0, "BatchSize": 100.0,
		"MaximumBatchingWindowInSeconds": 1.0, "MaximumRetryAttempts": -1.0, "MaximumRecordAgeInSeconds": -1.0,
	} {
		if properties[name] != want {
			t.Errorf("%s is %v, want %v", name, properties[name], want)
		}
	}
	for _, name := range []string{"FunctionResponseTypes", "BisectBatchOnFunctionError", "DestinationConfig"} {
		if properties[name] != nil {
			t.Errorf("%s is %v", name, properties[name])
		}
	}
}

// streamPattern returns the pattern of the mapping's only filter: prefixes of the sort key.
func streamPattern(t *testing.T) (prefixes []string) {
	t.Helper()
	filters := resourceOf(t, "RecorderStream")["Properties"].(map[string]any)["FilterCriteria"].(map[string]any)["Filters"].([]any)
	var pattern struct {
		Dynamodb struct {
			Keys struct {
				SK struct{ S []struct{ Prefix string } }
			}
		}
	}
	text := filters[0].(map[string]any)["Pattern"].(string)
	if err := json.Unmarshal([]byte(text), &pattern); err != nil || len(filters) != 1 || len(text) > 4096 {
		t.Fatalf("%d filters, the first has %d bytes: %v", len(filters), len(text), err)
	}
	for _, p := range pattern.Dynamodb.Keys.SK.S {
		prefixes = append(prefixes, p.Prefix)
	}
	return prefixes
}

// Ensure the filter passes every write that a source of changes recognises, whichever operation
// makes it, and no writes of keys or remembered responses. Every type of change must occur.
func TestFilterPassesEveryChange(t *testing.T) {
	t.Parallel()
	s := newDeployedStage(t)
	o := apitest.Options(t, s.Clock.Now, nil)
	o.Name = s.Table.Name()
	if err := table.New(o).EnableStream(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.importFixture(t)
	for _, area := range functions.All() {
		for _, op := range area.Operations(nil) {
			s.Clock.Advance(time.Minute)
			e := s.event(t, op.ID)
			if op.IdempotencyKey != nil {
				e.MultiValueHeaders["Idempotency-Key"] = []string{"filter"}
			}
			if got := s.functions[area.Name](t, e); got.StatusCode != http.StatusOK {
				t.Errorf("%s: %d %s", op.ID, got.StatusCode, got.Body)
			}
		}
	}
	prefixes, found := streamPattern(t), map[change.Type]bool{}
	dropped := map[string]bool{}
	err := stream.New(o).Drain(t.Context(), func(_ context.Context, _ string, records []change.StreamRecord) error {
		for _, r := range records {
			passes := slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(r.Key.SK, p) })
			parts := strings.Split(r.Key.PK, "#")
			kind, _, _ := strings.Cut(r.Key.SK, "#")
			if parts[1] == table.KeysArea || parts[1] == change.Area || kind == "idempotency" {
				if dropped[kind] = true; passes {
					t.Errorf("the filter passes %v", r.Key)
				}
				continue
			}
			w := change.Write{CompanyID: parts[0], Area: parts[1], SubPartition: parts[2:], SK: r.Key.SK, Old: r.Old, New: r.New}
			for _, source := range functions.ChangeSources() {
				_, ok, err := source.Recognise(w)
				if err != nil {
					t.Error(err)
				}
				if found[source.Type] = found[source.Type] || ok; ok && !passes {
					t.Errorf("the filter drops %v, a change of a %s", r.Key, source.Type)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, changeType := range change.Types() {
		if !found[changeType] {
			t.Errorf("no operation and no import has made a change of a %s", changeType)
		}
	}
	if !dropped["key"] || !dropped["idempotency"] {
		t.Errorf("the stream has only %v to drop", dropped)
	}
}
