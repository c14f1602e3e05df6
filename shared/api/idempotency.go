package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/entity"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/refusal"
	"growthworkspace/shared/route"
	"growthworkspace/shared/schema"
)

// Attempt is a request that carries an Idempotency-Key (decisions.md §12).
type Attempt struct {
	CompanyID, KeyID string
	Area             string // of the operation: whose partition remembers
	Operation        string
	Key              string
	Request          [sha256.Size]byte // digest of what was asked for
	Seal             [32]byte          // what the answer is sealed with, because an answer may hold a secret
}

// Remembered is how an attempt ended.
type Remembered struct {
	Request [sha256.Size]byte
	Status  int
	Body    []byte // JSON, as the current version spells it
	Tag     string // entity tag; empty: none
}

// Memory keeps how attempts ended. Package idempotency is the one that serves.
type Memory interface {
	// Recall returns how the attempt ended, nil when nothing is known of it.
	Recall(ctx context.Context, a Attempt) (*Remembered, error)
	// Attach returns a context in which the change of the operation's function and the memory of its answer are one
	// transaction.
	Attach(ctx context.Context, a Attempt) context.Context
	// Remember keeps the end of an attempt whose function has made no such transaction, unless one is kept already, which it
	// returns. ctx is that of Attach.
	Remember(ctx context.Context, r Remembered) (*Remembered, error)
}

// ErrAnswered says that another request with the same Idempotency-Key was faster: its answer is the answer.
var ErrAnswered = errors.New("the attempt has been answered")

// errReplayed holds back the writes of a request that was answered before.
var errReplayed = errors.New("the request was answered before")

// attempt returns what a call with an Idempotency-Key is known by, nil for a call without one.
func attempt(c Call, token auth.Token, in bound) (*Attempt, error) {
	f := c.Operation.field(schema.InHeader, "Idempotency-Key")
	if f == nil || in.err != nil || in.missing {
		return nil, nil
	}
	key, _ := f.Of(in.input).Interface().(*string)
	if key == nil {
		return nil, nil
	}
	request, err := json.Marshal(in.input.Interface())
	if err != nil {
		return nil, fmt.Errorf("digest of a request: %w", err)
	}
	seal, err := auth.Derive(c.Authorization, "answer of "+c.Operation.ID+" "+*key)
	if err != nil {
		return nil, err
	}
	return &Attempt{
		CompanyID: token.CompanyID, KeyID: token.KeyID, Area: area(c.Operation.Path), Operation: c.Operation.ID, Key: *key,
		Request: sha256.Sum256(request), Seal: seal,
	}, nil
}

// area is the path segment after the company's id. What has none, and the keys, whose partition only authentication
// reaches, belong to the company.
func area(path string) string {
	if segments := route.Segments(path); len(segments) > 3 && segments[3] != "keys" {
		return segments[3]
	}
	return "company"
}

// remember ends an attempt: with its own answer, or with that of a twin that was faster. A fault of ours is not kept, because
// it is safe to retry, and neither is a lost race.
func (a *API) remember(ctx context.Context, at *Attempt, result Answer, failure error, record *logRecord) Answer {
	if errors.Is(failure, ErrAnswered) {
		kept, err := a.memory.Recall(ctx, *at)
		if err == nil && kept == nil {
			err = failure
		}
		if err != nil {
			return a.refuse(err, record)
		}
		return a.replay(at, *kept, record)
	}
	var public *fault.Error
	if result.Status >= http.StatusInternalServerError || errors.As(failure, &public) && public.Transient {
		return result
	}
	kept, err := a.memory.Remember(ctx, Remembered{at.Request, result.Status, result.current, result.tag})
	switch {
	case err != nil:
		return a.refuse(fmt.Errorf("remember the answer: %w", err), record)
	case kept != nil:
		return a.replay(at, *kept, record)
	}
	return result
}

// replay answers as the first time. Another request under the same key is a mistake of the caller.
func (a *API) replay(at *Attempt, kept Remembered, record *logRecord) Answer {
	if kept.Request != at.Request {
		return a.refuse(fault.Invalid("header.Idempotency-Key", "was sent before with another request; use a new one"), record)
	}
	var out Answer
	if kept.Status == http.StatusOK {
		record.err = nil // of the twin that lost
		out = a.spell(kept.Body, kept.Tag, record)
	} else {
		refused, err := refusal.Parse(kept.Body)
		if err != nil {
			return a.refuse(err, record)
		}
		out = a.refuse(refused, record)
	}
	out.Header.Set("Idempotent-Replayed", "true")
	return out
}

// tagOf returns the entity tag of an answer that has one.
func tagOf(op *Operation, v any, body []byte) string {
	if _, own := v.(entity.Tagged); own || op.Tagged() {
		return entity.Tag(v, body)
	}
	return ""
}
