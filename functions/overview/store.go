package overview

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/parallel"
	"growthworkspace/shared/table"
)

// Store reads the records of other areas, as the caller who sends the request may read them. It has
// no partition of its own.
type Store struct {
	sources Sources
	now     func() time.Time
}

// NewStore returns a store over the sources.
func NewStore(t *table.Client, sources Sources) Store {
	// The clock is read for each request, because t is nil when operations are only described.
	return Store{sources, func() time.Time { return t.Clock()() }}
}

// operations returns the sources' operations with the given ids. It panics if there is no such
// operation.
func (s Store) operations(ids []string) (out []api.Operation) {
	for _, id := range ids {
		out = append(out, s.operation(id))
	}
	return out
}

func (s Store) operation(id string) api.Operation {
	i := slices.IndexFunc(s.sources.Operations, func(op api.Operation) bool { return op.ID == id })
	if i < 0 {
		panic("overview: no operation " + id)
	}
	return s.sources.Operations[i]
}

// countMax is the number at which counts stop.
const countMax = 1000

// pageMax is the number of records that one call of a list returns at most.
const pageMax = 200

// reader makes the reads of one request side by side.
type reader struct {
	Store
	ctx    context.Context
	caller api.Caller
	at     time.Time

	calls   []func() error
	mu      sync.Mutex
	missing map[auth.Scope]bool
}

func (s Store) reader(ctx context.Context, caller api.Caller) *reader {
	return &reader{Store: s, ctx: ctx, caller: caller, at: s.now().UTC(), missing: map[auth.Scope]bool{}}
}

// now returns the time of the request.
func (r *reader) now() time.Time { return r.at }

// wait makes the calls that were started, and returns when they have ended.
func (r *reader) wait() error {
	calls := r.calls
	r.calls = nil
	return parallel.Do(len(calls), max(1, len(calls)), func(n int) error { return calls[n]() })
}

// may reports whether the key has a scope. If not, the response says that the scope is missing.
// The first calls read while the key is being verified, and what they read is dropped if may then
// returns false.
func (r *reader) may(scope auth.Scope) bool {
	if r.caller.Has(scope) {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing[scope] = true
	return false
}

// missingScopes returns the scopes that the key lacks, in the order of auth.Scopes.
func (r *reader) missingScopes() []auth.Scope {
	out := []auth.Scope{}
	for _, scope := range auth.Scopes() {
		if r.missing[scope] {
			out = append(out, scope)
		}
	}
	return out
}

// records are the records that a read has found. They are complete after reader.wait.
type records[T any] struct {
	all  []T
	more bool // there are more than all
	read bool // false if the key lacks the scope

	allow func(error) bool // see allowing; nil accepts no error
}

// fetchPage returns a page of records and the position after it, which is empty at the end.
type fetchPage func(after string) (items []json.RawMessage, next string, err error)

// allowing makes a read accept errors for which allow returns true: there are then no records.
func (r *records[T]) allowing(allow func(error) bool) *records[T] {
	r.allow = allow
	return r
}

// startPages starts reading a list until most records are kept. keep may be nil, to keep all.
func startPages[T any](r *reader, scope auth.Scope, most int, keep func(T) bool, fetch fetchPage) *records[T] {
	out := &records[T]{}
	r.calls = append(r.calls, func() error {
		for after := ""; ; {
			items, next, err := fetch(after)
			if !r.may(scope) {
				return nil
			}
			out.read = true
			if err != nil && out.allow != nil && out.allow(err) {
				return nil
			}
			if err != nil {
				return err
			}
			for _, item := range items {
				var record T
				if err := json.Unmarshal(item, &record); err != nil {
					return fmt.Errorf("decode a record: %w", err)
				}
				if keep != nil && !keep(record) {
					continue
				}
				if len(out.all) == most {
					out.more = true
					return nil
				}
				out.all = append(out.all, record)
			}
			if after = next; after == "" {
				return nil
			}
			if len(out.all) == most && keep == nil {
				out.more = true
				return nil
			}
		}
	})
	return out
}

// startList starts reading a list of another area, at most `most` records of it.
func startList[T any](r *reader, id string, arguments map[string]any, most int, keep func(T) bool) *records[T] {
	op := r.operation(id)
	return startPages(r, op.Scope, most, keep, func(after string) ([]json.RawMessage, string, error) {
		if after != "" {
			arguments["cursor"] = after
		}
		page, err := r.caller.Read(r.ctx, op, arguments)
		if err != nil {
			return nil, "", err
		}
		var body struct{ Items []json.RawMessage }
		err = json.Unmarshal(page.Body, &body)
		return body.Items, page.Next, err
	})
}

// startRecord starts reading one record of another area.
func startRecord[T any](r *reader, id string, arguments map[string]any) *records[T] {
	op := r.operation(id)
	return startPages[T](r, op.Scope, 1, nil, func(string) ([]json.RawMessage, string, error) {
		page, err := r.caller.Read(r.ctx, op, arguments)
		return []json.RawMessage{page.Body}, "", err
	})
}

// startDraftedPosts starts reading the draft posts that a key that may only draft wrote.
func startDraftedPosts(r *reader) *records[post] {
	return startPages[post](r, r.operation("list_broadcast_posts").Scope, countMax, nil,
		func(after string) ([]json.RawMessage, string, error) {
			page, err := r.sources.DraftedPosts(r.ctx, r.caller.CompanyID, after, pageMax)
			return page.Records, page.Next, err
		})
}
