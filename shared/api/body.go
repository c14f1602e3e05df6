package api

import (
	"growthworkspace/shared/fault"
	"growthworkspace/shared/schema"
)

// CreateBody is the input of an operation that creates a record of type T. It has the fields that a
// create sets according to the tags of T (schema.Body). An operation with more arguments embeds it.
type CreateBody[T any] struct {
	Idempotent
	schema.Body[T] `body:"create"`
}

// Check implements Checker with the rules of the record.
func (in *CreateBody[T]) Check() []string { return in.Problems(in.Record) }

// UpdateBody is the part of the input of an operation that updates a record of type T. It has the
// fields that an update sets according to the tags of T (schema.Body).
type UpdateBody[T any] struct {
	Condition
	schema.Body[T] `body:"update"`
}

// Change is a change function for table.Modify. It checks the condition and then calls Edit.
func (in *UpdateBody[T]) Change(record *T) error {
	if err := in.Condition.RequireMatch(record); err != nil {
		return err
	}
	return in.Edit(record)
}

// Edit applies the sent fields to a record and checks the rules of the record. It returns
// bad_request with the rules that the record now breaks.
func (in *UpdateBody[T]) Edit(record *T) error {
	in.Apply(record)
	return refusal(in.Problems(*record))
}

func refusal(problems []string) error {
	if len(problems) > 0 {
		return &fault.Error{Code: fault.BadRequest, Messages: problems}
	}
	return nil
}
