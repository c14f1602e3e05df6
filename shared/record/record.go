// Package record stores the records of one kind in the table. It is the common part of the areas'
// stores. A kind is declared once (Kind), next to the struct of its records. Store has its
// operations, its import and its export.
//
// An area embeds a Store in a type of its own to replace a method. Rules about the content of a
// record are not the concern of this package; see schema.Body.
package record

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Kind says where the records of a kind are stored. T is the struct of a record. It has the fields
// ID and CompanyID, which are strings, and CreatedAt and UpdatedAt, which are pointers to strings.
type Kind[T any] struct {
	Name       string // in the lines of an import: brand-goal
	Plural     string // in messages: brand goals
	Prefix     string // of the ids: bgl
	Path       string // of the list, below the company's path: context/goals. The first segment is the area
	Parameter  string // of the path of one record: goalId
	SortPrefix string // the first part of the sort keys: goal
	Limit      int    // how many a company may create; 0: any number. An import may exceed it
	Consistent bool   // Page and the count of Insert read with strong consistency, at twice the price

	Order   func(T) string     // the position of a record in Page; nil: its id
	Indexes func(T) table.Keys // the keys in the indexes; nil: none
}

// Area returns the area of the records, which is part of their partition key.
func (k Kind[T]) Area() string {
	area, _, _ := strings.Cut(k.Path, "/")
	return area
}

// Key returns the key of a record.
func (k Kind[T]) Key(companyID, id string) table.Key {
	return table.Key{PK: table.Partition(companyID, k.Area()), SK: table.Join(k.SortPrefix, id)}
}

// Keys returns the keys of a record in the table and its indexes.
func (k Kind[T]) Keys(r T) (keys table.Keys) {
	if k.Indexes != nil {
		keys = k.Indexes(r)
	}
	v := reflect.ValueOf(&r).Elem()
	keys.Key = k.Key(v.FieldByName("CompanyID").String(), v.FieldByName("ID").String())
	return keys
}

// Collection returns all records of a company, ordered by id.
func (k Kind[T]) Collection(companyID string) table.Collection {
	return table.Collection{
		Partition: table.Partition(companyID, k.Area()), Prefix: table.Join(k.SortPrefix, ""), Consistent: k.Consistent,
	}
}

// Store stores the records of a kind.
type Store[T any] struct {
	Kind[T]

	table *table.Client
}

// Store returns the store of a kind. It panics when T lacks a field that every record has.
func (k Kind[T]) Store(t *table.Client) Store[T] {
	record, text := reflect.TypeFor[T](), reflect.TypeFor[string]()
	for _, required := range []struct {
		name string
		of   reflect.Type
	}{{"ID", text}, {"CompanyID", text}, {"CreatedAt", reflect.PointerTo(text)}, {"UpdatedAt", reflect.PointerTo(text)}} {
		if f, has := record.FieldByName(required.name); !has || f.Type != required.of {
			panic(fmt.Sprintf("record: %s has no field %s of type %s", record, required.name, required.of))
		}
	}
	return Store[T]{k, t}
}

// Page returns a page of a company's records, sorted by Order. It reads all of them, so the kind
// must be bounded.
func (s Store[T]) Page(ctx context.Context, companyID, after string, limit int) (table.Page[T], error) {
	all, err := table.ReadAll[T](ctx, s.table, s.Collection(companyID))
	return table.PageOf(all, s.position, after, limit), err
}

func (s Store[T]) position(r T) string {
	if s.Order != nil {
		return s.Order(r)
	}
	return reflect.ValueOf(&r).Elem().FieldByName("ID").String()
}

// Get returns a record, or fault.ErrNotFound.
func (s Store[T]) Get(ctx context.Context, companyID, id string) (T, error) {
	return table.Get[T](ctx, s.table, s.Key(companyID, id))
}

// Insert stores a new record and returns it with its id, company and times. It returns
// fault.Conflict when the company has Limit records.
func (s Store[T]) Insert(ctx context.Context, companyID string, r T) (T, error) {
	if s.Limit > 0 {
		if err := table.CheckLimit(ctx, s.table, s.Collection(companyID), s.Limit, s.Plural); err != nil {
			var none T
			return none, err
		}
	}
	s.SetIdentity(companyID, &r)
	return r, idempotency.Insert(ctx, s.table, r, s.Keys(r), r)
}

// SetIdentity gives a new record its id, its company and its times.
func (s Store[T]) SetIdentity(companyID string, r *T) {
	now, v := s.table.Now(), reflect.ValueOf(r).Elem()
	v.FieldByName("ID").SetString(s.table.NewID(s.Prefix))
	v.FieldByName("CompanyID").SetString(companyID)
	v.FieldByName("CreatedAt").Set(reflect.ValueOf(&now))
	v.FieldByName("UpdatedAt").Set(reflect.ValueOf(&now))
}

// Modify changes a record by compare-and-set, as table.Modify does.
func (s Store[T]) Modify(ctx context.Context, companyID, id string, change func(*T) error) (T, error) {
	return table.Modify(ctx, s.table, s.Key(companyID, id), s.Keys, change)
}

// Remove deletes a record unless check returns an error, as table.Remove does.
func (s Store[T]) Remove(ctx context.Context, companyID, id string, check func(T) error) error {
	_, err := table.Remove(ctx, s.table, s.Key(companyID, id), check)
	return err
}

// Transfer returns the type of record for imports and exports. An import applies the rules of a
// create, also checks the tag format of fields that no request sets, and stores a record unchanged,
// under its id.
func (s Store[T]) Transfer() transfer.Type {
	owner := func(r *T) *string {
		return reflect.ValueOf(r).Elem().FieldByName("CompanyID").Addr().Interface().(*string)
	}
	stored := transfer.DefineStored(s.Name, s.Prefix, fieldProblems[T], s.table, s.Keys, owner, transfer.ExportEach[T](s.table, s.Collection))
	return transfer.KeepRules[createBody[T]](stored)
}

// createBody is the body of a create.
type createBody[T any] struct {
	schema.Body[T] `body:"create"`
}

// Check returns the problems of the rules that concern several fields.
func (c createBody[T]) Check() []string { return c.Problems(c.Record) }

// fieldProblems returns the problems of single fields of an imported record.
func fieldProblems[T any](r *T) (problems []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		value, ok := reflect.ValueOf(r).Elem().FieldByIndex(f.Index).Interface().(*string)
		format := f.Tag.Get("format")
		if _, set := f.Tag.Lookup("set"); !ok || set || format == "" || format == "date-time" { // the decoder has checked these
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		problems = append(problems, transfer.CheckFormat(name, format, value)...)
	}
	return append(problems, transfer.CheckSize(r)...)
}
