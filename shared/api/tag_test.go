package api

import (
	"errors"
	"testing"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

type etagRecord struct {
	ID string `json:"id"`
}

// Ensure If-Match uses the strong comparison and If-None-Match the weak one (RFC 9110, 13.1), for a
// single tag, a list of tags and *.
func TestETagComparison(t *testing.T) {
	for header, want := range map[string][2]bool{
		`"a"`: {true, true}, `W/"a"`: {false, true}, `*`: {true, true}, `"b", "a"`: {true, true}, `"b",W/"a"`: {false, true},
		`a`: {false, false}, `"A"`: {false, false}, ``: {false, false}, `"b"`: {false, false}, `"a`: {false, false},
	} {
		if got := [2]bool{IfMatchHas(header, "a"), ifNoneMatchHas(header, `"a"`)}; got != want {
			t.Errorf("%s: %v, want %v", header, got, want)
		}
	}
}

// Ensure an If-Match condition is true only for the revision of the record that was read.
func TestCondition(t *testing.T) {
	body, err := schema.Encode(etagRecord{"a<b"})
	if err != nil || string(body) != `{"id":"a<b"}` {
		t.Fatalf("body %s, want the id a<b: %v", body, err)
	}
	known := `"` + etagOf(etagRecord{"a<b"}, body) + `"`
	if err := (Condition{}).RequireMatch(etagRecord{"c"}); err != nil {
		t.Errorf("no condition: %v", err)
	}
	if err := (Condition{IfMatch: &known}).RequireMatch(etagRecord{"a<b"}); err != nil {
		t.Errorf("the same record: %v", err)
	}
	var refused *fault.Error
	if err := (Condition{IfMatch: &known}).RequireMatch(etagRecord{"c"}); !errors.As(err, &refused) || refused.Code != fault.PreconditionFailed {
		t.Errorf("another record: %v", err)
	}
	star := "*"
	if err := (Condition{IfMatch: &star}).RequireAbsent(); !errors.As(err, &refused) || refused.Code != fault.PreconditionFailed {
		t.Errorf("no record: %v", err)
	}
	if err := (Condition{}).RequireAbsent(); err != nil {
		t.Error(err)
	}
	if err := (Condition{IfMatch: &known}).RequireMatch(make(chan int)); err == nil || errors.As(err, &refused) && refused.Code == "" {
		t.Errorf("a value without JSON: %v", err)
	}
}
