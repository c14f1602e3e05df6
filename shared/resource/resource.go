// Package resource declares the operations of a kind of record that is only created, listed, read,
// updated and deleted. The tags of the record say what requests may set (schema.Body), and its kind
// says where the operations are (record.Kind). An area gives each operation its id and description.
// An operation that differs is declared with api.Define, like any other.
package resource

import (
	"context"
	"math"
	"net/http"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
)

// Store has the records of a kind. A record.Store is one.
type Store[T any] interface {
	// Page returns the page of records after a position.
	Page(ctx context.Context, companyID, after string, limit int) (table.Page[T], error)
	// Get returns a record, or fault.ErrNotFound.
	Get(ctx context.Context, companyID, id string) (T, error)
	// Insert stores a new record and returns it with its id, company and times.
	Insert(ctx context.Context, companyID string, r T) (T, error)
	// Modify changes a record by compare-and-set. It returns fault.ErrNotFound if there is none.
	Modify(ctx context.Context, companyID, id string, change func(*T) error) (T, error)
	// Remove deletes a record unless check returns an error. It returns fault.ErrNotFound if there
	// is none.
	Remove(ctx context.Context, companyID, id string, check func(T) error) error
}

// Operations declares the operations of a kind. Paths, methods, scopes, effects and errors follow
// from it.
type Operations[T any] struct {
	kind record.Kind[T]
	of   func(parentID string) Store[T]
}

// Of returns the operations of a kind whose records belong to the company.
func Of[T any](kind record.Kind[T], s Store[T]) Operations[T] {
	return Operations[T]{kind, func(string) Store[T] { return s }}
}

// Under returns the operations of a kind whose records belong to another record, its parent. of
// returns the records of a parent. The store must return fault.ErrNotFound if the parent does not
// exist or a record does not belong to it.
func Under[T any](kind record.Kind[T], of func(parentID string) Store[T]) Operations[T] {
	return Operations[T]{kind, of}
}

// The arguments of the paths, which package api names. An operation without a parent has no
// ParentID.
type (
	ofParent struct {
		ParentID string `path:"{parentId}"`
	}
	one struct {
		ofParent
		ID string `path:"{id}"`
	}
)

// page is the input of a list with a limit.
type page interface {
	bounds() (parentID, after string, limit int)
}

type pageInput struct {
	ofParent
	Limit  int64      `query:"limit" default:"50" min:"1" max:"200"`
	Cursor api.Cursor `query:"cursor"`
}

func (in pageInput) bounds() (parentID, after string, limit int) {
	return in.ParentID, string(in.Cursor), int(in.Limit)
}

type shortPageInput struct {
	ofParent
	Limit  int64      `query:"limit" default:"25" min:"1" max:"100"`
	Cursor api.Cursor `query:"cursor"`
}

func (in shortPageInput) bounds() (parentID, after string, limit int) {
	return in.ParentID, string(in.Cursor), int(in.Limit)
}

type wholeInput struct {
	ofParent
	Cursor api.Cursor `query:"cursor"`
}

func (in wholeInput) bounds() (parentID, after string, limit int) {
	return in.ParentID, string(in.Cursor), math.MaxInt
}

// Page lists the records, 50 to a page unless the caller wants up to 200.
func (o Operations[T]) Page(id, summary, description string) api.Operation {
	return list[pageInput](o, id, summary, description)
}

// ShortPage lists the records, 25 to a page unless the caller wants up to 100. It is for large
// records.
func (o Operations[T]) ShortPage(id, summary, description string) api.Operation {
	return list[shortPageInput](o, id, summary, description)
}

// Whole lists all records on one page, if they fit into a response.
func (o Operations[T]) Whole(id, summary, description string) api.Operation {
	return list[wholeInput](o, id, summary, description)
}

func list[In page, T any](o Operations[T], id, summary, description string) api.Operation {
	return api.Define(o.read(o.path(), id, summary, description), func(ctx context.Context, caller api.Caller, in In) (api.List[T], error) {
		parentID, after, limit := in.bounds()
		records, err := o.of(parentID).Page(ctx, caller.CompanyID, after, limit)
		if err != nil {
			return api.List[T]{}, err
		}
		return api.NewList(records), nil
	})
}

// Get returns a record.
func (o Operations[T]) Get(id, summary, description string) api.Operation {
	return api.Define(o.read(o.onePath(), id, summary, description), func(ctx context.Context, caller api.Caller, in one) (T, error) {
		return o.of(in.ParentID).Get(ctx, caller.CompanyID, in.ID)
	})
}

// Create creates a record. The error is conflict when there are as many as the limit of the kind.
func (o Operations[T]) Create(id, summary, description string) api.Operation {
	type input struct {
		api.CreateBody[T]
		ofParent
	}
	spec := o.write(http.MethodPost, o.path(), api.Create, id, summary, description)
	if o.kind.Limit > 0 {
		spec.Errors = []fault.Code{fault.Conflict}
	}
	return api.Define(spec, func(ctx context.Context, caller api.Caller, in input) (T, error) {
		return o.of(in.ParentID).Insert(ctx, caller.CompanyID, in.Record)
	})
}

// Update changes the fields of a record that were sent.
func (o Operations[T]) Update(id, summary, description string) api.Operation {
	type input struct {
		api.UpdateBody[T]
		one
	}
	spec := o.write(http.MethodPatch, o.onePath(), api.Write, id, summary, description)
	return api.Define(spec, func(ctx context.Context, caller api.Caller, in input) (T, error) {
		return o.of(in.ParentID).Modify(ctx, caller.CompanyID, in.ID, in.Change)
	})
}

// Delete deletes a record. errors are the codes that only the store of this kind returns.
func (o Operations[T]) Delete(id, summary, description string, errors ...fault.Code) api.Operation {
	type input struct {
		api.Condition
		one
	}
	spec := o.write(http.MethodDelete, o.onePath(), api.Destructive, id, summary, description)
	spec.Errors = errors
	return api.Define(spec, func(ctx context.Context, caller api.Caller, in input) (api.Deleted, error) {
		err := o.of(in.ParentID).Remove(ctx, caller.CompanyID, in.ID, func(r T) error { return in.Condition.RequireMatch(r) })
		return api.Deleted{ID: in.ID, Deleted: true}, err
	})
}

func (o Operations[T]) path() string { return "/v1/companies/{companyId}/" + o.kind.Path }

func (o Operations[T]) onePath() string { return o.path() + "/{" + o.kind.Parameter + "}" }

func (o Operations[T]) read(path, id, summary, description string) api.Spec {
	return api.Spec{
		ID: id, Method: http.MethodGet, Path: path, Scope: auth.Scope(o.kind.Area() + ":read"), Summary: summary, Description: description,
	}
}

func (o Operations[T]) write(method, path string, effect api.Effect, id, summary, description string) api.Spec {
	return api.Spec{
		ID: id, Method: method, Path: path, Scope: auth.Scope(o.kind.Area() + ":write"), Effect: effect, Summary: summary, Description: description,
	}
}
