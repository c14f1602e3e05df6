package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/idempotency"
)

// attempt begins the attempt of a call with an Idempotency-Key. nil for a call without one.
func (a *API) attempt(c Call, t *trace) (*idempotency.Attempt, error) {
	if c.Operation.idempotencyKey == nil || t.input.err != nil {
		return nil, nil
	}
	key, _ := c.Operation.idempotencyKey.Of(t.input.value).Interface().(*string)
	if key == nil {
		return nil, nil
	}
	request, err := json.Marshal(t.input.value.Interface())
	if err != nil {
		return nil, fmt.Errorf("digest of a request: %w", err)
	}
	identity := idempotency.Identity{
		CompanyID: t.token.CompanyID, KeyID: t.token.KeyID, Area: area(c.Operation.Path), Operation: c.Operation.ID, Key: *key,
		Request: sha256.Sum256(request),
	}
	identity.Seal, err = auth.Derive(c.Authorization, "answer of "+c.Operation.ID+" "+*key)
	if err != nil {
		return nil, err
	}
	attempt := a.memory.Begin(identity, func(response any) ([]byte, string, error) {
		r, err := encode(response, c.Operation.tagged)
		return r.body, r.tag, err
	})
	t.request.Attempt = attempt
	return attempt, nil
}

// area returns the path segment after the company's id. Operations without one, and those on keys, whose partition only
// authentication reaches, belong to the company.
func area(path string) string {
	if segments := PathSegments(path); len(segments) > 3 && segments[3] != "keys" {
		return segments[3]
	}
	return "company"
}

// remember keeps how an attempt ended, and returns failure, or a *replayError when another request with the same key ended first.
// An internal error is not kept, because it is safe to retry, and neither is a lost race.
func remember(ctx context.Context, attempt *idempotency.Attempt, r result, failure error) error {
	if attempt == nil {
		return failure
	}
	if errors.Is(failure, idempotency.ErrAnswered) {
		earlier, err := attempt.Recall(ctx)
		if err != nil || earlier == nil {
			return errors.Join(failure, err)
		}
		return &replayError{*earlier}
	}
	kept := idempotency.Response{Request: attempt.Request, Status: http.StatusOK, Body: r.body, Tag: r.tag}
	if failure != nil {
		public := fault.Public(failure)
		if public.Code.Status() >= http.StatusInternalServerError || public.Transient {
			return failure
		}
		kept.Status, kept.Body, kept.Tag = public.Code.Status(), fault.Envelope(public), ""
	}
	earlier, err := attempt.Remember(ctx, kept)
	switch {
	case err != nil:
		return fmt.Errorf("remember the response: %w", err)
	case earlier != nil:
		return &replayError{*earlier}
	}
	return failure
}

// replayError ends a call whose response is remembered.
type replayError struct{ earlier idempotency.Response }

func (*replayError) Error() string {
	return "an earlier request with the same Idempotency-Key was answered"
}

// replay turns a *replayError into the response that it holds. A different request under the same key is bad_request. Without a
// *replayError, the call ends in r and err.
func replay(attempt *idempotency.Attempt, t *trace, r result, err error) (result, error) {
	var found *replayError
	if !errors.As(err, &found) {
		return r, err
	}
	earlier := found.earlier
	if earlier.Request != attempt.Request {
		return result{}, fault.Invalid("header.Idempotency-Key", "was sent before with another request; use a new one")
	}
	if earlier.Status == http.StatusOK {
		t.replayed = true
		return result{body: earlier.Body, tag: earlier.Tag}, nil
	}
	refused, err := fault.Parse(earlier.Body)
	if err != nil {
		return result{}, err
	}
	t.replayed = true
	return result{}, refused
}
