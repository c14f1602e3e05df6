package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/table"
)

// Ensure a function starts beside the verification, and its write runs only after it: never when the key is refused
// .
func TestWriteWaitsForTheKey(t *testing.T) {
	for name, refusal := range map[string]error{"admitted": nil, "revoked": auth.ErrUnauthorised, "suspended": auth.ErrSuspended, "scope": errMissingScope, "table": errors.New("down")} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			hold, reading, ended := make(chan struct{}), make(chan struct{}), false
			s.keys.hold, s.keys.err = hold, refusal
			wrote := false
			var awaited error
			s.create = func(ctx context.Context, _ api.Caller, _ createInput) (record, error) {
				defer func() { ended = true }()
				close(reading) // a read runs at once
				if awaited = permit(ctx); awaited != nil {
					return record{}, awaited
				}
				wrote = true
				return record{ID: "written"}, nil
			}
			go func() {
				<-reading // were the function not started before Admit returns, this would never come
				close(hold)
			}()
			a := s.do(s.request("POST", items, `{"title":"a"}`))
			if wrote != (refusal == nil) || (a.Code == 200) != (refusal == nil) || !ended {
				t.Errorf("%d, wrote %v, ended %v", a.Code, wrote, ended)
			}
			if refusal != nil && !errors.Is(awaited, refusal) && !errors.Is(awaited, context.Canceled) {
				t.Errorf("the function was told %v", awaited)
			}
		})
	}
}

// Ensure a refused call ends its function and waits for it: nothing outlives the answer, and a result is not used.
func TestRefusedCallEndsItsFunction(t *testing.T) {
	s := start(t)
	s.keys.err = auth.ErrUnauthorised
	ended := false // the race detector tells when nobody waits
	s.get = func(ctx context.Context, _ api.Caller, _ getInput) (any, error) {
		<-ctx.Done()
		ended = errors.Is(ctx.Err(), context.Canceled) // by the refusal, not by the deadline
		return record{Text: "secret of the company"}, nil
	}
	a := s.expect(s.request("GET", item, ""), 401, "missing")
	if !ended {
		t.Error("the function outlives the call")
	}
	if got := a.Body.String(); len(got) > 200 {
		t.Error(got)
	}
}

// Ensure a function does not run on arguments that were refused, nor before the version and the company are right.
func TestNoFunctionWithoutArguments(t *testing.T) {
	s := start(t)
	s.create = func(context.Context, api.Caller, createInput) (record, error) {
		t.Error("it ran")
		return record{}, nil
	}
	s.expect(s.request("POST", items, `{}`), 400, "")
	s.expect(s.request("POST", root+"/boards/x/items", `{"title":"a"}`), 404, "")
	s.expect(s.request("POST", "/v1/companies/co_other/boards/brd_1/items", `{"title":"a"}`), 404, "")
	s.expect(s.request("POST", items, `{"title":"a"}`, header("Service-Version", "x")), 400, "")
	s.expect(s.request("POST", items, `{"title":"a"}`, header("Authorization")), 401, "")
}

// Ensure a call ends below the gateway's deadline, and a caller who goes ends it: in our envelope.
func TestDeadline(t *testing.T) {
	s := start(t)
	s.get = func(ctx context.Context, _ api.Caller, _ getInput) (any, error) {
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || left > 9*time.Second || left < 5*time.Second {
			t.Errorf("%v left", left)
		}
		return record{}, nil
	}
	s.expect(s.request("GET", item, ""), 200, "")
	s.get = func(ctx context.Context, _ api.Caller, _ getInput) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	past, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	s.expect(s.request("GET", item, "", func(r *http.Request) { *r = *r.WithContext(past) }), 500, "safe to retry")
	s.keys.hold = make(chan struct{}) // the key's verification hangs
	s.expect(s.request("GET", item, "", func(r *http.Request) { *r = *r.WithContext(past) }), 500, "safe to retry")
}

// Ensure a panic of the key's verification ends the function as a refusal does, and that its write is not made.
func TestPanicOfTheKeyEndsTheFunction(t *testing.T) {
	s := start(t)
	s.keys.panicked = true
	var awaited error
	s.create = func(ctx context.Context, _ api.Caller, _ createInput) (record, error) {
		awaited = permit(ctx)
		return record{}, awaited
	}
	s.expect(s.request("POST", items, `{"title":"a"}`), 500, "internal error")
	if awaited == nil || errors.Is(awaited, context.DeadlineExceeded) {
		t.Errorf("the function was told %v", awaited)
	}
}

// Ensure a function that loses the request's context cannot write: nothing permits it, the response is internal, and the log says
// why.
func TestLostContextCannotWrite(t *testing.T) {
	s := start(t)
	s.create = func(context.Context, api.Caller, createInput) (record, error) {
		return record{ID: "written"}, permit(context.Background())
	}
	s.expect(s.request("POST", items, `{"title":"a"}`), 500, "internal error")
	if !strings.Contains(s.logs.String(), table.ErrNoPermit.Error()) {
		t.Error(s.logs)
	}
}
