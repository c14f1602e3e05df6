package table

import (
	"context"
	"errors"

	"github.com/aws/smithy-go/middleware"
)

// queuedMost is how much of a request's time must be left for a call to begin: that of one attempt.
// A later one would be cut off, and nobody could say whether a write was done.
const queuedMost = attemptTimeout

// errQueued is the error of a call that waited for others too long. It was never sent, so it has
// done nothing.
var errQueued = errors.New("too many calls at a time")

// queue lets a call begin when there is a place for it, which it has until its last attempt has
// ended. It is for an engine on the same machine: of more calls than it has processors for, none
// gets a response within an attempt.
func queue(places chan struct{}) func(*middleware.Stack) error {
	call := func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (out middleware.FinalizeOutput, m middleware.Metadata, err error) {
		if err := enter(ctx, places); err != nil {
			return out, m, err
		}
		defer func() { <-places }()
		return next.HandleFinalize(ctx, in)
	}
	return func(stack *middleware.Stack) error {
		return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("Queue", call), "Retry", middleware.Before)
	}
}

// enter waits for a place. It returns errQueued when there is none in time, and the context's error
// when that is cancelled.
func enter(ctx context.Context, places chan struct{}) error {
	waiting, stop := ctx, context.CancelFunc(func() {})
	if deadline, ok := ctx.Deadline(); ok {
		waiting, stop = context.WithDeadline(ctx, deadline.Add(-queuedMost))
	}
	defer stop()
	select {
	case places <- struct{}{}:
		return nil
	default:
	}
	select {
	case places <- struct{}{}:
		return nil
	case <-waiting.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) { // the client has left, or the key was refused
		return ctx.Err()
	}
	return errQueued
}
