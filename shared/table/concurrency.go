package table

import (
	"context"
	"errors"
	"time"

	"github.com/aws/smithy-go/middleware"

	"growthworkspace/shared/fairqueue"
)

// minTimeLeft is the minimum time that a request must have left for a call to begin: the time of
// one attempt. A call that begins later would be cut off, and the outcome of a write would be
// unknown.
const minTimeLeft = attemptTimeout

// errNoSlot is the error for a call that waited too long for other calls. It was never sent, so it
// had no effect.
var errNoSlot = errors.New("too many calls at a time")

// limitConcurrency lets a call begin when its company gets a slot. The call keeps the slot until its
// last attempt has ended. The limit is for an engine on the same machine: if the engine gets more
// calls than it has processors for, none gets a response before its attempt times out. A call
// without a Request, such as one of the feed's recorder, belongs to no company.
func limitConcurrency(slots *fairqueue.Pool) func(*middleware.Stack) error {
	call := func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (out middleware.FinalizeOutput, m middleware.Metadata, err error) {
		company := ""
		if r := RequestOf(ctx); r != nil {
			company = r.CompanyID
		}
		if err := acquireSlot(ctx, slots, company); err != nil {
			return out, m, err
		}
		begin := time.Now()
		defer func() { slots.ReleaseRested(company, time.Since(begin)) }()
		return next.HandleFinalize(ctx, in)
	}
	return func(stack *middleware.Stack) error {
		return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("Queue", call), "Retry", middleware.Before)
	}
}

// acquireSlot waits for a slot. It returns errNoSlot if none is free in time, and the context's
// error if the context is cancelled.
func acquireSlot(ctx context.Context, slots *fairqueue.Pool, company string) error {
	waitCtx, stop := ctx, context.CancelFunc(func() {})
	if deadline, ok := ctx.Deadline(); ok {
		waitCtx, stop = context.WithDeadline(ctx, deadline.Add(-minTimeLeft))
	}
	defer stop()
	if slots.Acquire(waitCtx, company) == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) { // the client disconnected, or the key was refused
		return ctx.Err()
	}
	return errNoSlot
}
