package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/table"
)

// Ensure that an operation's function starts while the key is being verified, and that its write
// waits for the verification. If the key is rejected, the write must never run.
func TestWriteWaitsForTheKey(t *testing.T) {
	for name, refusal := range map[string]error{"admitted": nil, "revoked": auth.ErrUnauthorised, "suspended": auth.ErrSuspended, "scope": errMissingScope, "table": errors.New("down")} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			hold, functionStarted, ended := make(chan struct{}), make(chan struct{}), false
			s.keys.unblock, s.keys.err = hold, refusal
			wrote := false
			var permitErr error
			s.create = func(ctx context.Context, _ api.Caller, _ createInput) (record, error) {
				defer func() { ended = true }()
				close(functionStarted) // a function may read before the key is verified
				if permitErr = waitForPermit(ctx); permitErr != nil {
					return record{}, permitErr
				}
				wrote = true
				return record{ID: "written"}, nil
			}
			go func() {
				<-functionStarted // would block forever if the function did not start until Admit had returned
				close(hold)
			}()
			a := s.do(s.request("POST", itemsPath, `{"title":"a"}`))
			if wrote != (refusal == nil) || (a.Code == 200) != (refusal == nil) || !ended {
				t.Errorf("%d, wrote %v, ended %v", a.Code, wrote, ended)
			}
			if refusal != nil && !errors.Is(permitErr, refusal) && !errors.Is(permitErr, context.Canceled) {
				t.Errorf("the function got %v", permitErr)
			}
		})
	}
}

// Ensure a rejected call cancels its function, waits until the function has returned, and does not
// use its result.
func TestRefusedCallEndsItsFunction(t *testing.T) {
	s := start(t)
	s.keys.err = auth.ErrUnauthorised
	ended := false // if the call did not wait for the function, the race detector would report this variable
	s.get = func(ctx context.Context, _ api.Caller, _ getInput) (any, error) {
		<-ctx.Done()
		ended = errors.Is(ctx.Err(), context.Canceled) // cancelled by the rejection, not by the deadline
		return record{Text: "secret of the company"}, nil
	}
	a := s.requireError(s.request("GET", itemPath, ""), 401, "missing")
	if !ended {
		t.Error("the function outlives the call")
	}
	if got := a.Body.String(); len(got) > 200 {
		t.Errorf("a body of %d bytes, want 200 at most: %s", len(got), got)
	}
}

// Ensure an operation's function does not run if its arguments, the version or the company are
// invalid.
func TestNoFunctionWithoutArguments(t *testing.T) {
	s := start(t)
	s.create = func(context.Context, api.Caller, createInput) (record, error) {
		t.Error("it ran")
		return record{}, nil
	}
	s.requireError(s.request("POST", itemsPath, `{}`), 400, "")
	s.requireError(s.request("POST", sharedRoot+"/boards/x/items", `{"title":"a"}`), 404, "")
	s.requireError(s.request("POST", "/v1/companies/co_other/boards/brd_1/items", `{"title":"a"}`), 404, "")
	s.requireError(s.request("POST", itemsPath, `{"title":"a"}`, header("Service-Version", "x")), 400, "")
	s.requireError(s.request("POST", itemsPath, `{"title":"a"}`, header("Authorization")), 401, "")
}

// Ensure that a call gets a deadline that is earlier than the gateway's, and that it responds with
// 503 when its context ends.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testDeadline)
}

func testDeadline(t *testing.T) {
	s := start(t)
	s.get = func(ctx context.Context, _ api.Caller, _ getInput) (any, error) {
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || left != 9*time.Second {
			t.Errorf("%v left", left)
		}
		return record{}, nil
	}
	s.requireError(s.request("GET", itemPath, ""), 200, "")
	s.get = func(ctx context.Context, _ api.Caller, _ getInput) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	expiredCtx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	s.requireError(s.request("GET", itemPath, "", func(r *http.Request) { *r = *r.WithContext(expiredCtx) }), 503, fault.ErrTimeout.Messages[0])
	s.keys.unblock = make(chan struct{}) // the key's verification hangs
	s.requireError(s.request("GET", itemPath, "", func(r *http.Request) { *r = *r.WithContext(expiredCtx) }), 503, fault.ErrTimeout.Messages[0])
}

// Ensure that if the verification of the key panics, the operation's function ends and its write
// does not run.
func TestPanicInKeyCheckEndsFunction(t *testing.T) {
	s := start(t)
	s.keys.shouldPanic = true
	var permitErr error
	s.create = func(ctx context.Context, _ api.Caller, _ createInput) (record, error) {
		permitErr = waitForPermit(ctx)
		return record{}, permitErr
	}
	s.requireError(s.request("POST", itemsPath, `{"title":"a"}`), 500, "internal error")
	if permitErr == nil || errors.Is(permitErr, context.DeadlineExceeded) {
		t.Errorf("the function got %v", permitErr)
	}
}

// Ensure an operation's function cannot write without the request's context. The response must have
// the code "internal", and the log must contain the reason.
func TestLostContextCannotWrite(t *testing.T) {
	s := start(t)
	s.create = func(context.Context, api.Caller, createInput) (record, error) {
		return record{ID: "written"}, waitForPermit(context.Background())
	}
	s.requireError(s.request("POST", itemsPath, `{"title":"a"}`), 500, "internal error")
	if !strings.Contains(s.logs.String(), table.ErrNoPermit.Error()) {
		t.Errorf("log %s, want %v", s.logs, table.ErrNoPermit)
	}
}
