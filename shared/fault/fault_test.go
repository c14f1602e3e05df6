package fault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"growthworkspace/shared/fault"
)

// Ensure the codes and their statuses match scripts/docs/reference/errors.md.
func TestCodes(t *testing.T) {
	want := map[fault.Code]int{
		"bad_request": 400, "unauthorised": 401, "not_found": 404, "method_not_allowed": 405, "rate_limited": 429, "internal": 500,
		"forbidden": 403, "not_implemented": 501, "conflict": 409, "precondition_failed": 412, "payload_too_large": 413,
		"unavailable": 503,
	}
	codes := fault.Codes()
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	codes["bad_request"] = 0
	if fault.BadRequest.Status() != 400 {
		t.Error("callers of Codes can change the statuses")
	}
	if fault.Code("typo").Status() != 500 {
		t.Error("an unknown code must have the status 500")
	}
}

func TestErrors(t *testing.T) {
	err := fault.Invalid("body.status", "must be %d%%", 5)
	if err.Code != fault.BadRequest || err.Messages[0] != "body.status: must be 5%" || err.Error() != "bad_request: body.status: must be 5%" {
		t.Errorf("%s %q, want bad_request and body.status: must be 5%%", err.Code, err.Messages)
	}
	if literal := fault.Invalid("body.%s", "is bad"); literal.Messages[0] != "body.%s: is bad" {
		t.Errorf("the path was used as a format: %s", literal)
	}
	if wrapped := fmt.Errorf("get item: %w", fault.ErrNotFound); !errors.Is(wrapped, fault.ErrNotFound) || fault.ErrNotFound.Code.Status() != 404 {
		t.Errorf("%v, want %v with the status 404", wrapped, fault.ErrNotFound)
	}
	if two := (&fault.Error{Code: fault.Conflict, Messages: []string{"a", "b"}}); two.Error() != "conflict: a; b" {
		t.Errorf("%v, want conflict: a; b", two)
	}
}

// Ensure callers see the messages of a public error, however it is wrapped, and that a deadline was
// missed. For any other error, they must see only that the service failed.
func TestPublic(t *testing.T) {
	conflict := fault.New(fault.Conflict, "taken")
	for err, want := range map[error]*fault.Error{
		conflict:                           conflict,
		fmt.Errorf("create: %w", conflict): conflict,
		fmt.Errorf("transact: %w", context.DeadlineExceeded):                       fault.ErrTimeout,
		fmt.Errorf("wait: %w: %w", fault.ErrUnavailable, context.DeadlineExceeded): fault.ErrUnavailable,
		errors.New("secret"):                fault.ErrInternal,
		fault.New(fault.Internal, "secret"): fault.ErrInternal,
		fault.New("typo", "secret"):         fault.ErrInternal,
		&fault.Error{Code: fault.Conflict}:  fault.ErrInternal,
	} {
		if got := fault.PublicError(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
