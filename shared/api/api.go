package api

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/id"
	"growthworkspace/shared/idempotency"
)

// Config holds the settings and dependencies of an API.
type Config struct {
	Keys  Keys
	Now   func() time.Time
	NewID id.Generator // generates request ids
	Log   *slog.Logger
	// IdempotencyStore stores the responses to requests with an Idempotency-Key. It may be the zero
	// value if no operation accepts that header.
	IdempotencyStore idempotency.Store
	// Metrics selects the metrics in the log lines.
	Metrics Metrics
	// ReadOnly makes every operation that is not a read fail with fault.ErrReadOnly. A caller
	// without permission for the operation gets the usual error instead. Keys are still admitted,
	// so their quota and time of last use are still written.
	ReadOnly bool
	// BaseURL returns the scheme, host and stage of the URL that the caller used. If it is nil,
	// links use http and the host of the request.
	BaseURL func(*http.Request) string
	// Versions are the versions that callers may pin. nil means fault.Versions.
	Versions fault.SupportedVersions
	// Timeout is the maximum duration of a call. 0 means 9 seconds, which is less than the timeout
	// of a Lambda function.
	Timeout time.Duration
}

// API serves operations over HTTP and, through Call, to other code in the process.
type API struct {
	keys        Keys
	now         func() time.Time
	newID       id.Generator
	log         *slog.Logger
	idempotency idempotency.Store
	metrics     Metrics
	readOnly    bool
	baseURL     func(*http.Request) string
	versions    fault.SupportedVersions
	timeout     time.Duration
	routes      routes
}

// New returns an API that serves the operations. It panics if two operations have the same id, or
// if two have the same method and a request could match both of their paths.
func New(operations []Operation, c Config) *API {
	if c.BaseURL == nil {
		c.BaseURL = func(r *http.Request) string { return "http://" + r.Host }
	}
	a := &API{
		keys: c.Keys, now: c.Now, newID: c.NewID, log: c.Log, idempotency: c.IdempotencyStore, metrics: c.Metrics, readOnly: c.ReadOnly, baseURL: c.BaseURL,
		versions: c.Versions, timeout: cmp.Or(c.Timeout, handlerTimeout),
	}
	if a.versions == nil {
		a.versions = fault.Versions()
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

// CheckVersion checks the values of a request's Service-Version header. See
// fault.SupportedVersions.OfHeader.
func (a *API) CheckVersion(values []string) error {
	_, err := a.versions.OfHeader(values)
	return err
}

// Keys verifies keys and enforces rate limits. Package keys implements it.
type Keys interface {
	// Admit verifies the key, requires one of the scopes (or none if scopes is empty) and charges
	// one request to the rate limit of the class, all in one conditional write. The error comes
	// from package auth or from the table. If the key has none of the scopes, the error names
	// scopes[0]. auth.Admission documents which of its fields are set even if there is an error.
	Admit(ctx context.Context, token auth.Token, scopes []auth.Scope, class auth.Class) (auth.Admission, error)
	// Verify verifies the key and requires one of the scopes, like Admit, but does not charge the
	// rate limit and writes nothing. The returned quota state is set whenever the key is valid,
	// even if the key lacks the scopes.
	Verify(ctx context.Context, token auth.Token, scopes []auth.Scope, class auth.Class) (auth.QuotaState, error)
}
