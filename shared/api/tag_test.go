package api

import (
	"errors"
	"testing"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

type thing struct {
	ID string `json:"id"`
}

// Ensure If-Match compares strongly and If-None-Match weakly (RFC 9110, 13.1), also for lists and
// *.
func TestComparison(t *testing.T) {
	for header, want := range map[string][2]bool{
		`"a"`: {true, true}, `W/"a"`: {false, true}, `*`: {true, true}, `"b", "a"`: {true, true}, `"b",W/"a"`: {false, true},
		`a`: {false, false}, `"A"`: {false, false}, ``: {false, false}, `"b"`: {false, false}, `"a`: {false, false},
	} {
		if got := [2]bool{IfMatchNames(header, "a"), ifNoneMatchNames(header, `"a"`)}; got != want {
			t.Errorf("%s: %v, want %v", header, got, want)
		}
	}
}

// Ensure a condition is true only for the revision that was read.
func TestCondition(t *testing.T) {
	body, err := schema.Encode(thing{"a<b"})
	if err != nil || string(body) != `{"id":"a<b"}` {
		t.Fatalf("body %s, want the id a<b: %v", body, err)
	}
	known := `"` + etagOf(thing{"a<b"}, body) + `"`
	if err := (Condition{}).Check(thing{"c"}); err != nil {
		t.Errorf("no condition: %v", err)
	}
	if err := (Condition{IfMatch: &known}).Check(thing{"a<b"}); err != nil {
		t.Errorf("the same record: %v", err)
	}
	var refused *fault.Error
	if err := (Condition{IfMatch: &known}).Check(thing{"c"}); !errors.As(err, &refused) || refused.Code != fault.PreconditionFailed {
		t.Errorf("another record: %v", err)
	}
	star := "*"
	if err := (Condition{IfMatch: &star}).Absent(); !errors.As(err, &refused) || refused.Code != fault.PreconditionFailed {
		t.Errorf("no record: %v", err)
	}
	if err := (Condition{}).Absent(); err != nil {
		t.Error(err)
	}
	if err := (Condition{IfMatch: &known}).Check(make(chan int)); err == nil || errors.As(err, &refused) && refused.Code == "" {
		t.Errorf("a value without JSON: %v", err)
	}
}
