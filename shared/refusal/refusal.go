// Package refusal joins the two halves of an error: what its caller reads, and what only the log keeps.
package refusal

import (
	"encoding/json"
	"errors"
	"net/http"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/ratelimit"
	"growthworkspace/shared/schema"
)

// Of returns the half for the caller. An error that is not made for a caller to read is `internal`, and nothing of it leaves.
func Of(err error) *fault.Error {
	var public *fault.Error
	var scope *auth.MissingScopeError
	var exceeded *ratelimit.ExceededError
	switch {
	case errors.As(err, &public) && public.Code.Status() < http.StatusInternalServerError && len(public.Messages) > 0:
		return public
	case errors.As(err, &scope):
		return fault.New(fault.Unauthorised, "the key lacks the scope %s", scope.Scope)
	case errors.Is(err, auth.ErrPublishable):
		return fault.New(fault.Unauthorised, "a publishable key opens nothing here; send a secret key, which begins with %s", auth.SecretPrefix)
	case errors.Is(err, auth.ErrUnauthorised):
		return fault.New(fault.Unauthorised, "missing, unknown or revoked key; send Authorization: Bearer <secret key>")
	case errors.Is(err, auth.ErrSuspended):
		return fault.New(fault.Forbidden, "the company or the key is suspended by the operator")
	case errors.As(err, &exceeded):
		return fault.New(fault.RateLimited, "too many requests of the class %s; try again after the seconds of Retry-After", exceeded.Class)
	}
	return fault.New(fault.Internal, "internal error; safe to retry")
}

type envelope struct {
	Errors []entry `json:"errors"`
}

type entry struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// Envelope spells an error as spec.md, Errors, has it.
func Envelope(err *fault.Error) []byte {
	e := envelope{make([]entry, len(err.Messages))}
	for i, message := range err.Messages {
		e.Errors[i] = entry{err.Code, message}
	}
	body, failed := schema.Encode(e)
	if failed != nil {
		panic("refusal: an envelope of strings does not encode: " + failed.Error())
	}
	return body
}

// Parse reads an envelope.
func Parse(body []byte) (*fault.Error, error) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil || len(e.Errors) == 0 {
		return nil, errors.Join(errors.New("not an envelope"), err)
	}
	out := &fault.Error{Code: e.Errors[0].Code}
	for _, e := range e.Errors {
		out.Messages = append(out.Messages, e.Message)
	}
	return out, nil
}
