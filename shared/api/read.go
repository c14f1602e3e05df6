package api

import (
	"context"
	"fmt"

	"growthworkspace/shared/schema"
)

// ReadResult is the result of an operation that another operation has called.
type ReadResult struct {
	Body []byte // the record or the list, as JSON
	Next string // the cursor of the list's next page; empty at the end, and for a record
}

// Read calls an operation of another area, which must only read, for the caller of this one. The
// arguments are those of a tool. It spends no quota. It does not check the scope, because the key
// may not be verified yet: use the result only if Has reports that the key has the operation's
// scope. Spec.Reads of the calling operation must list the operation.
func (c Caller) Read(ctx context.Context, op Operation, arguments map[string]any) (ReadResult, error) {
	if op.Effect != Read {
		panic(fmt.Sprintf("api: %s changes records, so another operation must not call it", op.ID))
	}
	text, err := schema.Encode(arguments)
	if err != nil {
		return ReadResult{}, fmt.Errorf("arguments of %s: %w", op.ID, err)
	}
	parsed, _ := ParseToolArguments(text)
	in := parsed.bind(&op)
	if in.err != nil {
		return ReadResult{}, in.err
	}
	r, err := op.call(ctx, c, in.value, false)
	if err != nil {
		return ReadResult{}, err
	}
	out := ReadResult{Body: r.body}
	if r.next != "" {
		out.Next = in.binder.CursorScope.Encode(r.next)
	}
	return out, nil
}
