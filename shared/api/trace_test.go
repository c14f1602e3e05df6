package api_test

import (
	"strings"
	"testing"

	"growthworkspace/shared/api"
)

// Ensure that a valid traceparent is parsed according to W3C Trace Context, and that any other
// value is ignored.
func TestParseTrace(t *testing.T) {
	t.Parallel()
	id, parent := strings.Repeat("4b", 16), strings.Repeat("f0", 8)
	want := api.Trace{ID: id, ParentID: parent}
	for value, want := range map[string]api.Trace{
		"00-" + id + "-" + parent + "-01":                              want,
		"00-" + id + "-" + parent + "-ff":                              want,
		"01-" + id + "-" + parent + "-01":                              want,
		"cc-" + id + "-" + parent + "-01-what the future will be like": want,
		"00-" + id + "-" + parent + "-01-more":                         {},
		"ff-" + id + "-" + parent + "-01":                              {},
		"cc-" + id + "-" + parent + "-01.more":                         {},
		"00-" + strings.Repeat("0", 32) + "-" + parent + "-01":         {},
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01":             {},
		"00-" + strings.ToUpper(id) + "-" + parent + "-01":             {},
		"00-" + id + "-" + parent:                                      {},
		"00-" + id + "-" + parent + "-0g":                              {},
		" 00-" + id + "-" + parent + "-01":                             {},
		"00-" + id + "-" + parent + "-01\n":                            {},
		"0-" + id + "-" + parent + "-01":                               {},
		"":                                                             {},
	} {
		if got := api.ParseTrace(value); got != want {
			t.Errorf("%q: %+v, want %+v", value, got, want)
		}
	}
	valid := "00-" + id + "-" + parent + "-01"
	if got := api.ParseTrace(valid, valid); got != (api.Trace{}) {
		t.Errorf("two values: %+v, want none", got)
	}
	if got := api.ParseTrace(); got != (api.Trace{}) {
		t.Errorf("no value: %+v, want none", got)
	}
	if got := api.ParseTrace(valid); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
