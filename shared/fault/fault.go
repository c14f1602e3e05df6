// Package fault is the one error type that a caller of the API may read, and the codes it can have. Every other error
// is for the log: the pipeline shows it as `internal` and nothing else (package api joins the two halves).
package fault

import (
	"fmt"
	"strings"
)

// Code is the stable part of an error, on which clients branch (spec.md, Errors; decisions.md §11).
type Code string

// The codes of spec.md, then those of decisions.md §11.
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

// Status returns the HTTP status of a code, 500 for one that is none.
func (c Code) Status() int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return statuses[Internal]
}

// Codes returns every code and its status.
func Codes() map[Code]int {
	out := make(map[Code]int, len(statuses))
	for c, s := range statuses {
		out[c] = s
	}
	return out
}

// Error is what the caller reads: one code and one or more messages, each an entry of the envelope.
// Messages are lower case, without a full stop; those of bad_request begin with the place of the field at fault.
type Error struct {
	Code     Code
	Messages []string
	// Transient says that nothing was done and that the same request may succeed a moment later: it lost a race, not an
	// argument. It is not remembered under an Idempotency-Key.
	Transient bool
}

// Busy returns a conflict that passes by itself.
func Busy(format string, args ...any) *Error {
	e := New(Conflict, format, args...)
	e.Transient = true
	return e
}

func (e *Error) Error() string { return string(e.Code) + ": " + strings.Join(e.Messages, "; ") }

// New returns an error with a formatted message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Messages: []string{fmt.Sprintf(format, args...)}}
}

// ErrNotFound is the answer for a record that does not exist and for one that the key cannot reach: one value, so that
// the two cannot differ (spec.md, Errors).
var ErrNotFound = New(NotFound, "no such record")

// Invalid says what is wrong with one field of the request. place is where the field is: `body.status`.
func Invalid(place, format string, args ...any) *Error {
	return New(BadRequest, "%s: %s", place, fmt.Sprintf(format, args...))
}
