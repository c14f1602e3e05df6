package api

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/id"
	"growthworkspace/shared/idempotency"
)

// Config has the settings and dependencies of an API.
type Config struct {
	Keys  Keys
	Now   func() time.Time
	NewID id.Generator // of request ids
	Log   *slog.Logger
	// IdempotencyStore stores the responses of requests with an Idempotency-Key. It may be zero
	// when no operation accepts that header.
	IdempotencyStore idempotency.Store
	// Metrics selects the metrics in the log lines.
	Metrics Metrics
	// BaseURL returns the scheme, host and stage that the caller used. nil: the host of the
	// request.
	BaseURL func(*http.Request) string
	// Timeout bounds one call. 0: 9 seconds, below the timeout of a function.
	Timeout time.Duration
}

// API serves operations: over HTTP, and through Call to other code in the process.
type API struct {
	keys        Keys
	now         func() time.Time
	newID       id.Generator
	log         *slog.Logger
	idempotency idempotency.Store
	metrics     Metrics
	baseURL     func(*http.Request) string
	timeout     time.Duration
	routes      routes
}

// New returns an API that serves the operations. It panics when two of them have the same id or the
// same path.
func New(operations []Operation, c Config) *API {
	if c.BaseURL == nil {
		c.BaseURL = func(r *http.Request) string { return "http://" + r.Host }
	}
	a := &API{
		keys: c.Keys, now: c.Now, newID: c.NewID, log: c.Log, idempotency: c.IdempotencyStore, metrics: c.Metrics, baseURL: c.BaseURL,
		timeout: cmp.Or(c.Timeout, handlerTimeout),
	}
	known := make(map[string]bool, len(operations))
	for i := range operations {
		op := &operations[i]
		if known[op.ID] {
			panic("api: two operations " + op.ID)
		}
		known[op.ID] = true
		if err := a.routes.add(op); err != nil {
			panic(fmt.Sprintf("api: operation %s: %v", op.ID, err))
		}
	}
	return a
}

// Keys verifies keys and enforces rate limits. Package keys implements it.
type Keys interface {
	// Admit verifies the key, requires the scope (none when empty) and counts one request in the
	// bucket of the class, all in one conditional write. The error is one of package auth, or a
	// failure of the table. auth.Admission documents the fields that are set when there is an
	// error.
	Admit(ctx context.Context, token auth.Token, scope auth.Scope, class auth.Class) (auth.Admission, error)
	// Verify verifies the key and requires the scope (none when empty). It counts no request and
	// writes nothing. The state of the bucket is set for a valid key, even when it lacks the scope.
	Verify(ctx context.Context, token auth.Token, scope auth.Scope, class auth.Class) (auth.QuotaState, error)
}
