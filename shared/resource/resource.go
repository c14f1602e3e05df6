// Package resource declares the operations of a kind of record that is only created, listed, read,
// updated and deleted. The tags of the record say which fields requests may set (schema.Body), and
// the kind defines the paths of the operations (record.Kind). An area gives each operation its id
// and description. Operations that do anything else are declared with api.Define.
package resource

import (
	"context"
	"math"
	"net/http"
	"reflect"

	"growthworkspace/shared/api"
	"growthworkspace/shared/auth"
	"growthworkspace/shared/change"
	"growthworkspace/shared/fault"
	"growthworkspace/shared/record"
	"growthworkspace/shared/table"
)

// Store stores the records of a kind. A record.Store implements it.
type Store[T any] interface {
	// Page returns the page of records that follows the given position.
	Page(ctx context.Context, companyID, after string, limit int) (table.Page[T], error)
	// Get returns a record, or fault.ErrNotFound.
	Get(ctx context.Context, companyID, id string) (T, error)
	// Insert stores a new record and returns it with its id, company and times.
	Insert(ctx context.Context, companyID string, r T) (T, error)
	// Modify changes a record by compare-and-set. It returns fault.ErrNotFound if there is no
	// such record.
	Modify(ctx context.Context, companyID, id string, change func(*T) error) (T, error)
	// Remove deletes a record unless check returns an error. It returns fault.ErrNotFound if there
	// is no such record.
	Remove(ctx context.Context, companyID, id string, check func(T) error) error
}

// Operations declares the operations of a kind. The paths, methods, scopes, effects and errors of
// the operations follow from the kind.
type Operations struct {
	area                              string
	noun                              api.Noun
	removedTypes                      []change.Type
	collectionPath, recordPath        string // the path of the collection, and the path of one record
	limit                             int
	list, get, create, update, remove api.Function
}

// New returns the operations of a kind whose records belong directly to the company.
func New[T any, S Store[T]](kind record.Kind[T], s S) Operations {
	return NewNested(kind, func(string) S { return s })
}

// NewNested returns the operations of a kind whose records belong to another record, its parent.
// storeOf returns the store for the records of one parent. The store must return fault.ErrNotFound
// if the parent does not exist or a record does not belong to it.
//
// Only New and NewNested have type parameters, because each instance of a generic function
// increases the size of the program.
func NewNested[T any, S Store[T]](kind record.Kind[T], storeOf func(parentID string) S) Operations {
	o := Operations{area: kind.Area(), noun: Noun(kind), removedTypes: kind.Removes, collectionPath: "/v1/companies/{companyId}/" + kind.Path, limit: kind.Limit}
	o.recordPath = o.collectionPath + "/{" + kind.Parameter + "}"
	t := reflect.TypeFor[T]()
	o.list = api.Function{Out: reflect.TypeFor[api.List[T]](), Call: func(ctx context.Context, caller api.Caller, in any) (any, error) {
		parentID, after, limit := in.(pageBounds).bounds()
		records, err := storeOf(parentID).Page(ctx, caller.CompanyID, after, limit)
		return api.NewList(records), err
	}}
	o.get = api.Function{In: reflect.TypeFor[recordParam](), Out: t, Call: func(ctx context.Context, caller api.Caller, in any) (any, error) {
		i := in.(*recordParam)
		return storeOf(i.ParentID).Get(ctx, caller.CompanyID, i.ID)
	}}
	o.create = api.Function{In: reflect.TypeFor[createInput[T]](), Out: t, Call: func(ctx context.Context, caller api.Caller, in any) (any, error) {
		i := in.(*createInput[T])
		return storeOf(i.ParentID).Insert(ctx, caller.CompanyID, i.Record)
	}}
	o.update = api.Function{In: reflect.TypeFor[updateInput[T]](), Out: t, Call: func(ctx context.Context, caller api.Caller, in any) (any, error) {
		i := in.(*updateInput[T])
		return storeOf(i.ParentID).Modify(ctx, caller.CompanyID, i.ID, i.Change)
	}}
	o.remove = api.Function{In: reflect.TypeFor[deleteInput](), Out: reflect.TypeFor[api.Deleted](), Call: func(ctx context.Context, caller api.Caller, in any) (any, error) {
		i := in.(*deleteInput)
		err := storeOf(i.ParentID).Remove(ctx, caller.CompanyID, i.ID, func(r T) error { return i.Condition.RequireMatch(&r) })
		return api.Deleted{ID: i.ID, Deleted: true}, err
	}}
	return o
}

// Noun returns the noun of a kind, for operations that are declared with api.Define.
func Noun[T any](kind record.Kind[T]) api.Noun {
	return api.Noun{
		Name: kind.Name, Plural: kind.Plural, Prefix: kind.Prefix, Columns: kind.Columns,
		Change: kind.Change, Also: kind.Also,
	}
}

// The path parameters. Package api replaces the placeholders {parentId} and {id} with the parameter
// names in the path. If the path contains no parent, ParentID is empty.
type (
	parentParam struct {
		ParentID string `path:"{parentId}"`
	}
	recordParam struct {
		parentParam
		ID string `path:"{id}"`
	}
)

// The inputs of the write operations.
type (
	createInput[T any] struct {
		api.CreateBody[T]
		parentParam
	}
	updateInput[T any] struct {
		api.UpdateBody[T]
		recordParam
	}
	deleteInput struct {
		api.Condition
		recordParam
	}
)

// pageBounds is implemented by the inputs of lists, with or without a limit.
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

// List declares the operation that lists the records. By default, a page has up to 50 records; the
// caller may ask for up to 200.
func (o Operations) List(id, summary, description string) api.Operation {
	return o.declareList(reflect.TypeFor[pageInput](), id, summary, description)
}

// ListShortPages is like List, but for large records. By default, a page has up to 25 records; the
// caller may ask for up to 100.
func (o Operations) ListShortPages(id, summary, description string) api.Operation {
	return o.declareList(reflect.TypeFor[shortPageInput](), id, summary, description)
}

// ListAll declares the operation that lists all records on one page, if they fit into a response.
func (o Operations) ListAll(id, summary, description string) api.Operation {
	return o.declareList(reflect.TypeFor[unpagedInput](), id, summary, description)
}

func (o Operations) declareList(in reflect.Type, id, summary, description string) api.Operation {
	o.list.In = in
	return api.Declare(o.readSpec(o.collectionPath, id, summary, description), o.list)
}

// Get declares the operation that returns one record.
func (o Operations) Get(id, summary, description string) api.Operation {
	return api.Declare(o.readSpec(o.recordPath, id, summary, description), o.get)
}

// Create declares the operation that creates a record. If the kind has a limit, the operation
// returns conflict once that many records exist.
func (o Operations) Create(id, summary, description string) api.Operation {
	spec := o.writeSpec(http.MethodPost, o.collectionPath, api.Create, id, summary, description)
	if o.limit > 0 {
		spec.Errors = []fault.Code{fault.Conflict}
	}
	return api.Declare(spec, o.create)
}

// Update declares the operation that changes only those fields of a record that the request sends.
func (o Operations) Update(id, summary, description string) api.Operation {
	return api.Declare(o.writeSpec(http.MethodPatch, o.recordPath, api.Write, id, summary, description), o.update)
}

// Delete declares the operation that deletes a record. errors are additional codes that the kind's
// store can return.
func (o Operations) Delete(id, summary, description string, errors ...fault.Code) api.Operation {
	spec := o.writeSpec(http.MethodDelete, o.recordPath, api.Destructive, id, summary, description)
	spec.Errors, spec.Changes = errors, append([]change.Type{o.noun.Change}, o.removedTypes...)
	return api.Declare(spec, o.remove)
}

func (o Operations) readSpec(path, id, summary, description string) api.Spec {
	return api.Spec{
		ID: id, Method: http.MethodGet, Path: path, Scope: auth.Scope(o.area + ":read"), Summary: summary, Description: description, Noun: o.noun,
	}
}

func (o Operations) writeSpec(method, path string, effect api.Effect, id, summary, description string) api.Spec {
	return api.Spec{
		ID: id, Method: method, Path: path, Scope: auth.Scope(o.area + ":write"), Effect: effect, Summary: summary, Description: description, Noun: o.noun,
	}
}
