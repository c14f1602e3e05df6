// Package fault defines the errors that a caller sees: the codes, the error type, the envelope and
// the response. If an error is or wraps an *Error, the caller sees only the *Error, and the
// wrapping messages go only to the log. For any other error, the caller sees ErrInternal.
// PublicError makes this decision.
package fault

import (
	"fmt"
	"strings"
)

// Code is the stable part of an error. Clients branch on it.
type Code string

// The codes. The first six codes are from the specification; the others are additions.
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
	Unavailable        Code = "unavailable"
	NotImplemented     Code = "not_implemented"
)

// RetryAfterSeconds is the default Retry-After value of a 5xx response. A throttled partition of
// the table, or a server that sheds load, has capacity again after about a second.
const RetryAfterSeconds = 1

var statuses = map[Code]int{
	BadRequest: 400, Unauthorised: 401, Forbidden: 403, NotFound: 404, MethodNotAllowed: 405, Conflict: 409,
	PreconditionFailed: 412, PayloadTooLarge: 413, RateLimited: 429, Internal: 500, Unavailable: 503, NotImplemented: 501,
}

// Status returns the HTTP status of a code, or 500 for an unknown code.
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

// Error is an error for the caller: one code and one or more messages. Each message becomes an
// entry in the envelope. Messages are lower case, without a full stop. Messages of bad_request
// begin with the path of the invalid field.
type Error struct {
	Code     Code
	Messages []string
	// Transient means that the request lost a race: nothing was written, and a retry may succeed.
	// Such an error is not stored under an Idempotency-Key.
	Transient bool
	// RetryAfterSeconds is the Retry-After value of a 5xx response. If it is 0, the constant
	// RetryAfterSeconds applies.
	RetryAfterSeconds int
}

// New returns an error with one formatted message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Messages: []string{fmt.Sprintf(format, args...)}}
}

// Invalid returns a bad_request error about one field. field is its path in the request, such as
// `body.status`.
func Invalid(field, format string, args ...any) *Error {
	return New(BadRequest, "%s: %s", field, fmt.Sprintf(format, args...))
}

// RetryableConflict returns a conflict error for a request that may succeed if it is retried.
func RetryableConflict(format string, args ...any) *Error {
	e := New(Conflict, format, args...)
	e.Transient = true
	return e
}

func (e *Error) Error() string { return string(e.Code) + ": " + strings.Join(e.Messages, "; ") }

// ErrNotFound is the error both for a record that does not exist and for one that the key cannot
// access, so that callers cannot distinguish the two.
var ErrNotFound = New(NotFound, "no such record")

// ErrInternal is the error that a caller sees when the service itself fails.
var ErrInternal = New(Internal, "internal error; safe to retry")

// ErrUnavailable is the error that a caller sees when the service or the table is overloaded.
var ErrUnavailable = New(Unavailable, "too many requests at the moment; retry after the seconds in Retry-After")

// ErrTimeout is the error that a caller sees when the request was not finished by its deadline.
// Unlike after ErrUnavailable, a write may have been made.
var ErrTimeout = New(Unavailable, "the service took too long; retry after the seconds in Retry-After")

// ErrReadOnly is returned by every operation that is not a read while the operator has turned off
// writes. Writes stay off for minutes, so a client that retried every second would only use up its
// quota.
var ErrReadOnly = &Error{
	Code: Unavailable, RetryAfterSeconds: 30,
	Messages: []string{"the service does not accept writes at the moment; reads work; retry after the seconds in Retry-After"},
}
