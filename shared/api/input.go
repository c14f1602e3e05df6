package api

import (
	"reflect"

	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// Arguments are the arguments of a call as its transport receives them: in an HTTP request, or as
// the arguments of a tool.
type Arguments interface {
	// bind reads the arguments of an operation.
	bind(op *Operation) input
	// needsAuthFirst reports whether the arguments may be so large that the key must be verified
	// before they are read.
	needsAuthFirst(op *Operation) bool
}

// input is the validated input of an operation's function.
type input struct {
	value  reflect.Value
	err    error          // bad_request with every problem, payload_too_large, or not_found; if set, value must not be used
	binder *schema.Binder // computes the digest of the arguments, and encodes the cursor of the next page

	sentFilters []string // names of the list filters in the call; set only for a tool call
	hasCursor   bool     // whether the call contains a cursor; set only for a tool call
}

// finishBinding completes a binding for any transport. It calls the input's Check method, if it has
// one, and turns the problems into an error.
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
// lists these messages together with the problems with single fields. Check must therefore also
// work if a field is invalid, and must not report the problem with that field again.
type Checker interface{ Check() []string }
