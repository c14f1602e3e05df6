// Package transfer moves records in and out of a company: what `workspace import` and `workspace export` do for each
// type of record. An area declares its types; the commands know nothing of records.
package transfer

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"growthworkspace/shared/schema"
)

// Type is one type of record as a line of an import names it.
type Type struct {
	Name   string
	Prefix string       // of its ids; empty: it has none of its own
	Record reflect.Type // of a line

	check  func(text json.RawMessage) (any, []string)
	unique func(record any) string
	verify func(ctx context.Context, companyID string, records []any) ([]string, error)
	write  func(ctx context.Context, companyID string, records []any) error
	export func(ctx context.Context, companyID string, emit func(any) error) error
}

// noCompany is no problem: an import goes to the company that the operator names, whatever the file says.
const noCompany = "record.companyId: is required"

// Define declares a type of record.
//
//   - prefix is that of its ids, which are kept: `prefix_` and 1 to 40 of [0-9a-z]. Empty: the record has no id field,
//     or one that check deals with.
//   - check says what else is wrong with a record; it may also complete it. The strict decoding (unknown properties,
//     types, closed lists, timestamps) has been done. nil: nothing else can be wrong.
//   - write stores records, replacing those with the same identity (upsert). It gets at most a few hundred at once, all
//     of this type, in the order of the file, and sets companyId itself. Of several with one identity the last one stays.
//     See Put.
//   - each visits every record of the company, in any stable order, with flat memory. See Each and Only.
func Define[T any](name, prefix string, check func(*T) []string,
	write func(ctx context.Context, companyID string, records []T) error,
	each func(ctx context.Context, companyID string, visit func(T) error) error,
) Type {
	return Type{
		Name: name, Prefix: prefix, Record: reflect.TypeFor[T](),
		check: func(text json.RawMessage) (any, []string) {
			var record T
			problems := slices.DeleteFunc(schema.DecodeRecord(text, &record), func(p string) bool { return p == noCompany })
			if prefix != "" && len(problems) == 0 {
				problems = CheckID("id", prefix, new(reflect.ValueOf(record).FieldByName("ID").String()))
			}
			if check != nil && len(problems) == 0 {
				problems = check(&record)
			}
			return record, problems
		},
		write: func(ctx context.Context, companyID string, records []any) error {
			return write(ctx, companyID, as[T](records))
		},
		export: func(ctx context.Context, companyID string, emit func(any) error) error {
			return each(ctx, companyID, func(record T) error { return emit(record) })
		},
	}
}

// Unique adds what may be only once in a file, beside the identity of a record, of which the last one stays: for
// instance the slug on a board. Records with the same text are refused.
func Unique[T any](t Type, text func(T) string) Type {
	t.unique = func(record any) string { return text(record.(T)) }
	return t
}

// Verify adds what must hold against the records that are stored. The function gets a few hundred records at once and
// returns one text per record, empty when nothing is wrong with it.
func Verify[T any](t Type, verify func(ctx context.Context, companyID string, records []T) ([]string, error)) Type {
	t.verify = func(ctx context.Context, companyID string, records []any) ([]string, error) {
		return verify(ctx, companyID, as[T](records))
	}
	return t
}

func as[T any](records []any) []T {
	typed := make([]T, len(records))
	for i, r := range records {
		typed[i] = r.(T)
	}
	return typed
}

// Unique returns what may be only once in a file; empty when the type has no such rule.
func (t Type) Unique(record any) string {
	if t.unique == nil {
		return ""
	}
	return t.unique(record)
}

// Verify returns what is wrong with each record against those that are stored, in the order of records; nil when the
// type has no such rule.
func (t Type) Verify(ctx context.Context, companyID string, records []any) ([]string, error) {
	if t.verify == nil {
		return nil, nil
	}
	return t.verify(ctx, companyID, records)
}

// Check reads a record strictly. problems is empty when the record can be written.
func (t Type) Check(text json.RawMessage) (record any, problems []string) { return t.check(text) }

// Write stores records that Check has returned.
func (t Type) Write(ctx context.Context, companyID string, records []any) error {
	return t.write(ctx, companyID, records)
}

// Export visits every record of the company; each encodes as the JSON of a response.
func (t Type) Export(ctx context.Context, companyID string, emit func(any) error) error {
	return t.export(ctx, companyID, emit)
}
