package schema_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"growthworkspace/shared/schema"
)

// Ensure a response has no line end, HTML characters as they are, and the order of keys that encoding/json gives it.
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
		t.Error("NaN has no JSON text, and no error")
	}
}
