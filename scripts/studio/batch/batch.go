// Package batch sends the calls of a report in parallel, and records what could not be read. A
// failed call leaves a gap in the report instead of aborting it. The package uses only the public
// API.
package batch

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"growthworkspace/shared/client"
)

// Reader sends the calls of one report.
type Reader struct {
	API *client.Client

	ctx     context.Context
	key     *client.Key // nil if the service does not report the key's scopes
	running sync.WaitGroup
	mu      sync.Mutex
	gaps    []Gap
	sent    int // the number of calls, not counting the one that reads the key
}

// Gap is a part of a report that could not be read.
type Gap struct {
	Part   string `json:"part"`            // what is missing, such as "channels"
	Scope  string `json:"scope,omitempty"` // the scope that the key lacks; empty if the call failed or the list is too long
	Reason string `json:"reason"`          // why it is missing, in words
	Failed bool   `json:"failed"`          // the call failed
}

// NewReader returns a reader. It sends one call to read the key's scopes. It returns an error
// if the service rejects the key or cannot be reached.
func NewReader(ctx context.Context, api *client.Client) (*Reader, error) {
	r := &Reader{API: api, ctx: ctx}
	key, err := api.GetCurrentKey(ctx)
	var refused *client.Error
	switch {
	case err == nil:
		r.key = &key
	case !errors.As(err, &refused) || refused.Status != http.StatusNotFound || refused.Code == "":
		// A 404 from the service means that it does not have this operation. A 404 without the
		// service's error code is from another server.
		return nil, err
	}
	return r, nil
}

// May reports whether the key has a scope or a wider one that contains it. It returns true if the
// key's scopes are unknown.
func (r *Reader) May(scope string) bool {
	return r.key == nil || r.key.Allows(scope)
}

// Result is the result of a call. It is complete once Wait has returned.
type Result[T any] struct {
	Value T
	Known bool  // the call succeeded
	Err   error // nil if the call succeeded or was not sent
}

// Start starts a call for a part of the report. If the key lacks the scope, or if the call fails,
// Start adds a gap for that part.
func Start[T any](r *Reader, part, scope string, call func(ctx context.Context) (T, error)) *Result[T] {
	out := &Result[T]{}
	if !r.May(scope) {
		r.AddGap(missingScope(part, scope))
		return out
	}
	r.CountCall()
	r.running.Go(func() {
		out.Value, out.Err = call(r.ctx)
		if out.Known = out.Err == nil; !out.Known {
			r.AddGap(gapOf(part, scope, out.Err))
		}
	})
	return out
}

// Try is like Start, but adds no gap if the call fails. The caller handles the error.
func Try[T any](r *Reader, call func(ctx context.Context) (T, error)) *Result[T] {
	out := &Result[T]{}
	r.CountCall()
	r.running.Go(func() {
		out.Value, out.Err = call(r.ctx)
		out.Known = out.Err == nil
	})
	return out
}

// CountCall counts a call. Start and Try count one call for each function that they run. A function
// that makes further calls, such as one for the next page of a list, must count them itself.
func (r *Reader) CountCall() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent++
}

// Wait waits for all calls that were started.
func (r *Reader) Wait() { r.running.Wait() }

// AddGap adds a gap, unless the part already has one. The gap of a failed call replaces a gap of a
// different kind, such as one for a list that is too long. Otherwise, the part would count as
// complete although a call failed.
func (r *Reader) AddGap(g Gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch i := slices.IndexFunc(r.gaps, func(other Gap) bool { return other.Part == g.Part }); {
	case i < 0:
		r.gaps = append(r.gaps, g)
	case g.Failed && !r.gaps[i].Failed:
		r.gaps[i] = g
	}
}

// AddFailure adds a gap for a part whose call failed.
func (r *Reader) AddFailure(part string, err error) { r.AddGap(gapOf(part, "", err)) }

// Gaps returns what could not be read, ordered by the names of the parts. The slice is not nil.
func (r *Reader) Gaps() []Gap {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := append([]Gap{}, r.gaps...)
	slices.SortFunc(out, func(a, b Gap) int { return strings.Compare(a.Part, b.Part) })
	return out
}

// Sent returns the number of calls, not counting the call of NewReader.
func (r *Reader) Sent() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent
}

// missingScope returns the gap of a part whose scope the key lacks.
func missingScope(part, scope string) Gap {
	return Gap{Part: part, Scope: scope, Reason: "the key lacks the scope " + scope}
}

// gapOf describes a failed call. If the key's scopes are unknown, only the error shows that a scope
// is missing.
func gapOf(part, scope string, err error) Gap {
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusUnauthorized && scope != "" && strings.Contains(strings.Join(refused.Messages, " "), scope) {
		return missingScope(part, scope)
	}
	return Gap{Part: part, Reason: reasonOf(err), Failed: true}
}

// reasonOf describes an error without the address of the request, because the address is long and
// says nothing about the cause.
func reasonOf(err error) string {
	var refused *client.Error
	if errors.As(err, &refused) {
		return strings.Join(refused.Messages, "; ")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "the service did not respond in time"
	}
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	return err.Error()
}
