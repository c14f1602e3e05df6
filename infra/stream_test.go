package infra_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"growthworkspace/infra"
)

// resourceOf returns a resource of the model.
func resourceOf(t *testing.T, id string) map[string]any {
	t.Helper()
	r, ok := infra.JSON(infra.New().PlainResources()).(map[string]any)[id].(map[string]any)
	if !ok {
		t.Fatalf("no resource %s", id)
	}
	return r
}

// Ensure the stack has the mapping, and the recorder's role the statement about the stream, only if
// the stack knows a stream.
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

// Ensure the mapping has the settings on which the recorder relies: it needs the shard's id, which
// comes only with a window, one batch of a shard at a time, and every record until it succeeds.
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
