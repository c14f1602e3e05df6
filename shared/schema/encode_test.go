package schema_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"growthworkspace/shared/schema"
)

// Ensure Encode adds no newline, does not escape HTML, and keeps the key order of encoding/json.
func TestEncode(t *testing.T) {
	for want, v := range map[string]any{
		`null`: nil, `"<&>"`: "<&>", `[]`: []string{}, `{"a":2,"b":"\u2028\n"}`: map[string]any{"b": "\u2028\n", "a": 2}, `[1,2]`: json.RawMessage("[1,\n2]"),
	} {
		if got, err := schema.Encode(v); err != nil || string(got) != want {
			t.Errorf("%v is %s, %v; want %s", v, got, err, want)
		}
	}
	var unsupported *json.UnsupportedTypeError
	if _, err := schema.Encode(map[string]any{"a": make(chan int)}); !errors.As(err, &unsupported) {
		t.Errorf("a channel: %v", err)
	}
	if _, err := schema.Encode([]float64{math.NaN()}); err == nil {
		t.Error("NaN: no error")
	}
}
