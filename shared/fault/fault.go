// Package fault is what a caller reads when a request fails: the codes, the error type and the envelope. An error has two
// halves. The *Error is the half for the caller; whatever wraps it, and every other error, is for the log. Public joins
// the two: it alone decides what leaves the service.
package fault

import (
	"fmt"
	"strings"
)

// Code is the stable part of an error. Clients branch on it.
type Code string

// The codes. The first six are those of the specification; the others were added where it is silent.
const (
	BadRequest       Code = "bad_request"
	Unauthorised     Code = "unauthorised"
	NotFound         Code = "not_found"
	MethodNotAllowed Code = "method_not_allowed"
	RateLimited      Code = "rate_limited"
	Internal         Code = "internal"

	Forbidden          Code = "forbidden"
	Conflict           Code = "conflict"
	PreconditionFailed Code = "precondition_failed"
	PayloadTooLarge    Code = "payload_too_large"
)

var statuses = map[Code]int{
	BadRequest: 400, Unauthorised: 401, Forbidden: 403, NotFound: 404, MethodNotAllowed: 405, Conflict: 409,
	PreconditionFailed: 412, PayloadTooLarge: 413, RateLimited: 429, Internal: 500,
}

// Status returns the HTTP status of a code, 500 for an unknown one.
func (c Code) Status() int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return statuses[Internal]
}

// Codes returns every code with its HTTP status.
func Codes() map[Code]int {
	out := make(map[Code]int, len(statuses))
	for c, s := range statuses {
		out[c] = s
	}
	return out
}

// Error is what the caller reads: one code and one or more messages, each an entry of the envelope.
// Messages are lower case, without a full stop; those of bad_request begin with the field at fault.
type Error struct {
	Code     Code
	Messages []string
	// Transient marks a lost race: nothing was written, and the same request may succeed a moment later. Such an error is
	// not remembered under an Idempotency-Key.
	Transient bool
}

// New returns an error with one formatted message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Messages: []string{fmt.Sprintf(format, args...)}}
}

// Invalid returns a bad_request error about one field. field is its path in the request: `body.status`.
func Invalid(field, format string, args ...any) *Error {
	return New(BadRequest, "%s: %s", field, fmt.Sprintf(format, args...))
}

// Busy returns a conflict that a retry resolves.
func Busy(format string, args ...any) *Error {
	e := New(Conflict, format, args...)
	e.Transient = true
	return e
}

func (e *Error) Error() string { return string(e.Code) + ": " + strings.Join(e.Messages, "; ") }

// ErrNotFound is the error for a record that does not exist and for one that the key cannot reach. It is one value, so
// that the two cases cannot differ.
var ErrNotFound = New(NotFound, "no such record")

// ErrInternal is all that a caller reads of a failure on our side.
var ErrInternal = New(Internal, "internal error; safe to retry")
