package api

import (
	"reflect"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// Arguments are the arguments of a call, in the form in which its transport receives them: as an
// HTTP request, or as the arguments of a tool.
type Arguments interface {
	// bind reads the arguments of an operation.
	bind(op *Operation) input
	// needsAuthFirst reports whether the key must be verified before the arguments are read,
	// because they may be large.
	needsAuthFirst(op *Operation) bool
}

// input is the validated input of an operation's function.
type input struct {
	value  reflect.Value
	err    error          // bad_request with every problem, payload_too_large, or not_found; if it is set, value must not be used
	binder *schema.Binder // computes the digest of the arguments, and encodes the cursor of the next page

	sentFilters []string // names of the sent arguments that filter a list; set only for a tool's call
	hasCursor   bool     // the call has a cursor; set only for a tool's call
}

// finishBinding completes a binding, whatever its transport. It runs the input's own Check and
// turns the problems into an error.
func finishBinding(binder *schema.Binder) input {
	in := input{value: binder.Input, binder: binder}
	if c, ok := binder.Input.Addr().Interface().(Checker); ok {
		binder.Problems = append(binder.Problems, c.Check()...)
	}
	switch {
	case len(binder.Problems) > 0:
		in.err = &fault.Error{Code: fault.BadRequest, Messages: binder.Problems}
	case binder.NotFound:
		in.err = fault.ErrNotFound
	}
	return in
}

// Checker is an input with rules that concern several fields. Check returns one message for each
// problem. Each message begins with the path of a field (`body.scheduledFor: …`). The response
// lists these messages together with the problems of single fields. So Check must also work if a
// field is invalid, and must not report that field's own problem again.
type Checker interface{ Check() []string }
