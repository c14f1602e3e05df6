package api

import (
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// CreateBody is the input of an operation that creates a record of type T. Its fields are the
// fields of T that a create may set, according to their tags (schema.Body). An operation with more
// arguments embeds it.
type CreateBody[T any] struct {
	Idempotent
	schema.Body[T] `body:"create"`
}

// Check implements Checker. It applies the record's own validation rules.
func (in *CreateBody[T]) Check() []string { return in.Problems(in.Record) }

// UpdateBody is the part of the input of an operation that updates a record of type T. Its fields
// are the fields of T that an update may set, according to their tags (schema.Body).
type UpdateBody[T any] struct {
	Condition
	schema.Body[T] `body:"update"`
}

// Change is a change function that can be passed to table.Modify. It checks the If-Match condition
// and then calls Edit.
func (in *UpdateBody[T]) Change(record *T) error {
	if err := in.Condition.RequireMatch(record); err != nil {
		return err
	}
	return in.Edit(record)
}

// Edit copies the request's fields to a record and checks the record's own rules. It returns
// bad_request with one message for each rule that the changed record breaks.
func (in *UpdateBody[T]) Edit(record *T) error {
	in.Apply(record)
	return problemsError(in.Problems(*record))
}

func problemsError(problems []string) error {
	if len(problems) > 0 {
		return &fault.Error{Code: fault.BadRequest, Messages: problems}
	}
	return nil
}
