// Package record stores records in the table. It contains what the stores of all areas have in
// common. Each kind of record is declared once, as a Kind, next to the struct of its records. Store
// implements the operations on these records, and their import and export.
//
// To replace a method, an area embeds a Store in its own type. This package does not deal with
// rules about the content of a record; see schema.Body.
package record

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"growthworkspace/shared/change"
	"growthworkspace/shared/idempotency"
	"growthworkspace/shared/schema"
	"growthworkspace/shared/table"
	"growthworkspace/shared/transfer"
)

// Kind declares a kind of record, including where its records are stored. T is the struct of a
// record. T must have the fields ID and CompanyID, which are strings, and CreatedAt and UpdatedAt,
// which are pointers to strings.
type Kind[T any] struct {
	Name       string        // the type in an import file, such as "brand-goal"
	Plural     string        // the plural in messages, such as "brand goals"
	Prefix     string        // the prefix of the ids, such as "bgl"
	Path       string        // the path of the list below the company's path, such as "context/goals"; the first segment is the area
	Parameter  string        // the path parameter for one record, such as "goalId"
	SortPrefix string        // the first part of the sort keys, such as "goal"
	Limit      int           // maximum number of records that a company may create; 0 means no limit; an import may exceed it
	Change     change.Type   // the type of the records' changes
	Also       []change.Type // the types of other changes whose recordId is the id of a record
	Removes    []change.Type // the types of other records that are deleted together with a record
	Columns    string        // the columns of a table of records; see api.Noun
	Consistent bool          // whether Page, and the check of Limit, use strongly consistent reads, which cost twice as much

	Order   func(T) string     // the key by which Page sorts the records; nil means the id
	Indexes func(T) table.Keys // the index keys of a record; nil means none
}

// Area returns the area to which the records belong, which is part of their partition key.
func (k *Kind[T]) Area() string { return areaOf(k.Path) }

func areaOf(path string) string {
	area, _, _ := strings.Cut(path, "/")
	return area
}

// Key returns the key of a record.
func (k *Kind[T]) Key(companyID, id string) table.Key {
	return table.Key{PK: table.Partition(companyID, areaOf(k.Path)), SK: table.JoinKey(k.SortPrefix, id)}
}

// ChangeSource returns the source that recognises changes to records of the kind. The status of a
// change is the value of the record's status field, if it has one.
func (k *Kind[T]) ChangeSource() change.Source {
	return change.RecordSource(k.Change, areaOf(k.Path), k.SortPrefix, statusAttribute(reflect.TypeFor[T]()))
}

func statusAttribute(record reflect.Type) string {
	for _, f := range reflect.VisibleFields(record) {
		if f.Tag.Get("json") == "status" {
			return "status"
		}
	}
	return ""
}

// Keys returns the keys of a record in the table and its indexes.
func (k *Kind[T]) Keys(r T) (keys table.Keys) {
	if k.Indexes != nil {
		keys = k.Indexes(r)
	}
	keys.Key = k.Key(stringField(&r, companyField), stringField(&r, idField))
	return keys
}

// Collection returns the collection that contains all records of a company, ordered by id.
func (k *Kind[T]) Collection(companyID string) table.Collection {
	prefixKey := k.Key(companyID, "")
	return table.Collection{Partition: prefixKey.PK, Prefix: prefixKey.SK, Consistent: k.Consistent}
}

// The Go names of the fields that every record has.
const (
	idField      = "ID"
	companyField = "CompanyID"
	createdField = "CreatedAt"
	updatedField = "UpdatedAt"
)

// stringField returns the value of a string field. record is a pointer to the record.
func stringField(record any, field string) string {
	return reflect.ValueOf(record).Elem().FieldByName(field).String()
}

// Store stores the records of a kind.
type Store[T any] struct {
	*Kind[T]

	table *table.Client
}

// Store returns a store for the kind. It panics if T lacks a field that every record must have.
func (k Kind[T]) Store(t *table.Client) Store[T] {
	requireFields(reflect.TypeFor[T]())
	return Store[T]{&k, t}
}

func requireFields(record reflect.Type) {
	stringType := reflect.TypeFor[string]()
	for _, required := range []struct {
		name      string
		fieldType reflect.Type
	}{{idField, stringType}, {companyField, stringType}, {createdField, reflect.PointerTo(stringType)}, {updatedField, reflect.PointerTo(stringType)}} {
		if f, ok := record.FieldByName(required.name); !ok || f.Type != required.fieldType {
			panic(fmt.Sprintf("record: %s has no field %s of type %s", record, required.name, required.fieldType))
		}
	}
}

// Page returns a page of a company's records, sorted by Order. It reads all of the company's
// records on each call, so use it only for kinds with a bounded number of records.
func (s Store[T]) Page(ctx context.Context, companyID, after string, limit int) (table.Page[T], error) {
	order := s.Order
	if order == nil {
		order = func(r T) string { return stringField(&r, idField) }
	}
	all, err := table.ReadAll[T](ctx, s.table, s.Collection(companyID))
	return table.PageOf(all, order, after, limit), err
}

// Get returns a record, or fault.ErrNotFound.
func (s Store[T]) Get(ctx context.Context, companyID, id string) (T, error) {
	return table.Get[T](ctx, s.table, s.Key(companyID, id))
}

// Insert stores a new record and returns it with its id, company and times. It returns
// fault.Conflict if the company already has Limit records.
func (s Store[T]) Insert(ctx context.Context, companyID string, r T) (T, error) {
	if s.Limit > 0 {
		if err := table.CheckLimit(ctx, s.table, s.Collection(companyID), s.Limit, s.Plural); err != nil {
			return r, err
		}
	}
	s.SetIdentity(companyID, &r)
	return r, idempotency.Insert(ctx, s.table, r, s.Keys(r), r)
}

// SetIdentity gives a new record its id, its company and its times.
func (s Store[T]) SetIdentity(companyID string, r *T) { setIdentity(s.table, s.Prefix, companyID, r) }

func setIdentity(t *table.Client, prefix, companyID string, record any) {
	now, v := t.Now(), reflect.ValueOf(record).Elem()
	v.FieldByName(idField).SetString(t.NewID(prefix))
	v.FieldByName(companyField).SetString(companyID)
	v.FieldByName(createdField).Set(reflect.ValueOf(&now))
	v.FieldByName(updatedField).Set(reflect.ValueOf(&now))
}

// Modify changes a record by compare-and-set, like table.Modify. If the request has an
// Idempotency-Key, the changed record is stored as the operation's response, together with the
// change.
func (s Store[T]) Modify(ctx context.Context, companyID, id string, change func(*T) error) (T, error) {
	return idempotency.Modify(ctx, s.table, s.Key(companyID, id), s.Keys, change)
}

// Remove deletes a record unless check returns an error, like table.Remove.
func (s Store[T]) Remove(ctx context.Context, companyID, id string, check func(T) error) error {
	_, err := table.Remove(ctx, s.table, s.Key(companyID, id), check)
	return err
}

// Transfer returns the record type for imports and exports. An import applies the rules of a
// create, and also checks the format tags of fields that no request sets. It stores a record
// unchanged, under the id that the record already has.
func (s Store[T]) Transfer() transfer.Type { return s.TransferAs(s.Stored()) }

// TransferAs is Transfer with a kind other than Stored.
func (s Store[T]) TransferAs(kind transfer.Kind[T]) transfer.Type {
	return transfer.Define(s.Name, s.Prefix, kind, transfer.RulesOf[T, createBody[T]]())
}

// Stored returns the kind for imports and exports.
func (s Store[T]) Stored() transfer.Stored[T] {
	return transfer.Stored[T]{Table: s.table, KeysOf: func(companyID string, r *T) table.Keys {
		reflect.ValueOf(r).Elem().FieldByName(companyField).SetString(companyID)
		return s.Keys(*r)
	}, Extra: fieldProblems[T], Each: transfer.ExportEach[T](s.table, s.Collection)}
}

// createBody is the body of a create.
type createBody[T any] struct {
	schema.Body[T] `body:"create"`
}

// Check implements api.Checker. It returns a message for each violated rule that concerns several
// fields.
func (c *createBody[T]) Check() []string { return c.Problems(c.Record) }

// fieldProblems checks the formats of those fields of an imported record that no request sets. It
// returns the problems that it finds.
func fieldProblems[T any](r *T) (problems []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		value, ok := reflect.ValueOf(r).Elem().FieldByIndex(f.Index).Interface().(*string)
		format := f.Tag.Get("format")
		if _, set := f.Tag.Lookup("set"); !ok || set || format == "" || format == "date-time" { // the field has no format, or is checked by the decoder or by the rules of a create
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		problems = append(problems, transfer.CheckFormat(name, format, value)...)
	}
	return problems
}
