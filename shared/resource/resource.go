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
	kind    record.Kind[T]
	storeOf func(parentID string) Store[T]
}

// New returns the operations of a kind whose records belong to the company.
func New[T any](kind record.Kind[T], s Store[T]) Operations[T] {
	return Operations[T]{kind, func(string) Store[T] { return s }}
}

// NewNested returns the operations of a kind whose records belong to another record, its parent. of
// returns the records of a parent. The store must return fault.ErrNotFound if the parent does not
// exist or a record does not belong to it.
func NewNested[T any](kind record.Kind[T], of func(parentID string) Store[T]) Operations[T] {
	return Operations[T]{kind, of}
}

// The arguments of the paths, which package api names. An operation without a parent has no
// ParentID.
type (
	parentParam struct {
		ParentID string `path:"{parentId}"`
	}
	recordParam struct {
		parentParam
		ID string `path:"{id}"`
	}
)

// pageBounds is the input of a list with a limit.
type pageBounds interface {
	bounds() (parentID, after string, limit int)
}

type pageInput struct {
	parentParam
	Limit  int64      `query:"limit" default:"50" min:"1" max:"200"`
	Cursor api.Cursor `query:"cursor"`
}

func (in pageInput) bounds() (parentID, after string, limit int) {
	return in.ParentID, string(in.Cursor), int(in.Limit)
}

type shortPageInput struct {
	parentParam
	Limit  int64      `query:"limit" default:"25" min:"1" max:"100"`
	Cursor api.Cursor `query:"cursor"`
}

func (in shortPageInput) bounds() (parentID, after string, limit int) {
	return in.ParentID, string(in.Cursor), int(in.Limit)
}

type unpagedInput struct {
	parentParam
	Cursor api.Cursor `query:"cursor"`
}

func (in unpagedInput) bounds() (parentID, after string, limit int) {
	return in.ParentID, string(in.Cursor), math.MaxInt
}

// List lists the records, 50 to a page unless the caller wants up to 200.
func (o Operations[T]) List(id, summary, description string) api.Operation {
	return listOperation[pageInput](o, id, summary, description)
}

// ListShort lists the records, 25 to a page unless the caller wants up to 100. It is for large
// records.
func (o Operations[T]) ListShort(id, summary, description string) api.Operation {
	return listOperation[shortPageInput](o, id, summary, description)
}

// ListAll lists all records on one page, if they fit into a response.
func (o Operations[T]) ListAll(id, summary, description string) api.Operation {
	return listOperation[unpagedInput](o, id, summary, description)
}

func listOperation[In pageBounds, T any](o Operations[T], id, summary, description string) api.Operation {
	return api.Define(o.readSpec(o.collectionPath(), id, summary, description), func(ctx context.Context, caller api.Caller, in In) (api.List[T], error) {
		parentID, after, limit := in.bounds()
		records, err := o.storeOf(parentID).Page(ctx, caller.CompanyID, after, limit)
		if err != nil {
			return api.List[T]{}, err
		}
		return api.NewList(records), nil
	})
}

// Get returns a record.
func (o Operations[T]) Get(id, summary, description string) api.Operation {
	return api.Define(o.readSpec(o.recordPath(), id, summary, description), func(ctx context.Context, caller api.Caller, in recordParam) (T, error) {
		return o.storeOf(in.ParentID).Get(ctx, caller.CompanyID, in.ID)
	})
}

// Create creates a record. The error is conflict when there are as many as the limit of the kind.
func (o Operations[T]) Create(id, summary, description string) api.Operation {
	type input struct {
		api.CreateBody[T]
		parentParam
	}
	spec := o.writeSpec(http.MethodPost, o.collectionPath(), api.Create, id, summary, description)
	if o.kind.Limit > 0 {
		spec.Errors = []fault.Code{fault.Conflict}
	}
	return api.Define(spec, func(ctx context.Context, caller api.Caller, in input) (T, error) {
		return o.storeOf(in.ParentID).Insert(ctx, caller.CompanyID, in.Record)
	})
}

// Update changes the fields of a record that were sent.
func (o Operations[T]) Update(id, summary, description string) api.Operation {
	type input struct {
		api.UpdateBody[T]
		recordParam
	}
	spec := o.writeSpec(http.MethodPatch, o.recordPath(), api.Write, id, summary, description)
	return api.Define(spec, func(ctx context.Context, caller api.Caller, in input) (T, error) {
		return o.storeOf(in.ParentID).Modify(ctx, caller.CompanyID, in.ID, in.Change)
	})
}

// Delete deletes a record. errors are the codes that only the store of this kind returns.
func (o Operations[T]) Delete(id, summary, description string, errors ...fault.Code) api.Operation {
	type input struct {
		api.Condition
		recordParam
	}
	spec := o.writeSpec(http.MethodDelete, o.recordPath(), api.Destructive, id, summary, description)
	spec.Errors = errors
	return api.Define(spec, func(ctx context.Context, caller api.Caller, in input) (api.Deleted, error) {
		err := o.storeOf(in.ParentID).Remove(ctx, caller.CompanyID, in.ID, func(r T) error { return in.Condition.Check(r) })
		return api.Deleted{ID: in.ID, Deleted: true}, err
	})
}

func (o Operations[T]) collectionPath() string { return "/v1/companies/{companyId}/" + o.kind.Path }

func (o Operations[T]) recordPath() string { return o.collectionPath() + "/{" + o.kind.Parameter + "}" }

func (o Operations[T]) readSpec(path, id, summary, description string) api.Spec {
	return api.Spec{
		ID: id, Method: http.MethodGet, Path: path, Scope: auth.Scope(o.kind.Area() + ":read"), Summary: summary, Description: description,
	}
}

func (o Operations[T]) writeSpec(method, path string, effect api.Effect, id, summary, description string) api.Spec {
	return api.Spec{
		ID: id, Method: method, Path: path, Scope: auth.Scope(o.kind.Area() + ":write"), Effect: effect, Summary: summary, Description: description,
	}
}
