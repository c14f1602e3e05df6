package api

import (
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// CreateBody is the input of an operation that creates a record of type T: what the tags of T say
// that a create sets (schema.Body). An operation with more arguments embeds it.
type CreateBody[T any] struct {
	Idempotent
	schema.Body[T] `body:"create"`
}

// Check implements Checker with the rules of the record.
func (in CreateBody[T]) Check() []string { return in.Problems(in.Record) }

// UpdateBody is the part of the input of an operation that updates a record of type T: what the
// tags of T say that an update sets (schema.Body).
type UpdateBody[T any] struct {
	Condition
	schema.Body[T] `body:"update"`
}

// Change is a change for table.Modify: it checks the condition, then it is Edit.
func (in *UpdateBody[T]) Change(record *T) error {
	if err := in.Condition.Check(*record); err != nil {
		return err
	}
	return in.Edit(record)
}

// Edit applies to a record what was sent, and checks the rules of the record. Returns bad_request
// with those that it breaks now.
func (in *UpdateBody[T]) Edit(record *T) error {
	in.Apply(record)
	if problems := in.Problems(*record); len(problems) > 0 {
		return &fault.Error{Code: fault.BadRequest, Messages: problems}
	}
	return nil
}
