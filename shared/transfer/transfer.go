// Package transfer moves records into and out of a company: it is the part of `workspace import`
// and `workspace export` that is the same for all types of record. Each area declares its types.
package transfer

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"growthworkspace/shared/schema"
	"growthworkspace/shared/timestamp"
)

// Type is one type of record, as a line of an import names it.
type Type struct {
	Name   string
	Prefix string       // of its ids; empty: it has none of its own
	Record reflect.Type // of a line

	rules   []schema.Rules
	check   func(text json.RawMessage, rules []schema.Rules) (any, []string)
	unique  func(record any) []Claim
	verify  func(ctx context.Context, companyID string, records []any) ([]string, error)
	parent  func(record any) (name, problem string)
	orphans func(ctx context.Context, companyID string, records []any) ([]bool, error)
	lane    func(record any) string
	exist   func(ctx context.Context, companyID string, records []any) ([]bool, error)
	add     func(ctx context.Context, companyID string, records []any, file File) (int, error)
	names   func(record any) (own, rival string)
	rivals  func(ctx context.Context, companyID string, records []any) ([]string, error)
	file    File
	write   func(ctx context.Context, companyID string, records []any, file File) error
	export  func(ctx context.Context, companyID string, emit func(any) error) error
}

// noCompany is ignored: an import goes to the company that the operator names, whatever the file
// contains. noID is ignored for a Derived record.
const (
	noCompany = "record.companyId: is required"
	noID      = "record.id: is required"
)

// Derived is a record whose line may leave out the id. DeriveID then sets it from other fields, or
// returns the problem.
type Derived interface{ DeriveID() (problem string) }

// Define declares a type of record.
//
//   - prefix is the prefix of the ids, which an import keeps: `prefix_` and 1 to 40 of [0-9a-z]. Empty if the record has no
//     id field, or check validates it.
//   - check returns the problems of a record; it may also complete the record. The strict decoding (unknown properties,
//     types, closed lists, timestamps) comes before it. nil: there is nothing else to check.
//   - write stores records, and replaces those with the same identity. It gets at most a few hundred at once, all of this
//     type and in the order of the file, and sets companyId. The last one of several with the same identity wins. See Put. It
//     returns Refused for records that a rule keeps out which others have broken since the file was checked.
//   - each visits every record of the company in a stable order, with flat memory. See Each and Only.
func Define[T any](name, prefix string, check func(*T) []string,
	write func(ctx context.Context, companyID string, records []T) error,
	each func(ctx context.Context, companyID string, visit func(T) error) error,
) Type {
	return Type{
		Name: name, Prefix: prefix, Record: reflect.TypeFor[T](),
		check: func(text json.RawMessage, rules []schema.Rules) (any, []string) {
			var record T
			problems := slices.DeleteFunc(schema.DecodeRecord(text, &record, rules...), func(p string) bool { return p == noCompany })
			derived, derives := any(&record).(Derived)
			if derives && slices.Equal(problems, []string{noID}) {
				problems = nil
				if problem := derived.DeriveID(); problem != "" {
					problems = []string{problem}
				}
			}
			if prefix != "" && len(problems) == 0 {
				problems = CheckID("id", prefix, new(reflect.ValueOf(record).FieldByName("ID").String()))
			}
			if check != nil && len(problems) == 0 {
				problems = check(&record)
			}
			return record, problems
		},
		write: func(ctx context.Context, companyID string, records []any, _ File) error {
			return write(ctx, companyID, as[T](records))
		},
		export: func(ctx context.Context, companyID string, emit func(any) error) error {
			return each(ctx, companyID, func(record T) error { return emit(record) })
		},
	}
}

// Keep adds the rules of the body of an operation, whose input is In, but for some properties: what
// the API refuses in a body, an import refuses in a record, with the same message. See
// schema.Rules.
func Keep[In any](t Type, except ...string) Type {
	t.rules = append(slices.Clone(t.rules), schema.NewRules(t.Record, reflect.TypeFor[In](), except...))
	return t
}

// Claim is a text that belongs to one record of a file, such as a slug on a board. A second record
// that claims it is rejected, unless it has the same owner. An empty owner is the same as no other.
type Claim struct{ Text, Owner string }

// Unique adds what records claim, besides the identity of a record. The last of several records
// with the same identity wins. An import remembers the digests of all claims.
func Unique[T any](t Type, claims func(T) []Claim) Type {
	t.unique = func(record any) []Claim { return claims(record.(T)) }
	return t
}

// Named gives the records of a type a name among the records of all types, for the rule of Child.
func Named[T any](t Type, name func(T) string) Type {
	t.names = func(record any) (string, string) { return name(record.(T)), "" }
	return t
}

// Child adds the rule that a record has a parent, which is stored or in the same file. parent
// returns the name of the parent (see Named), and the problem of a record without one. orphans gets
// a few hundred records at once and reports for each whether no parent is stored. The write
// functions must make the rule a condition of their writes, because others delete parents
// (table.Unit). Records with the same parent are written one batch after the other, so that they do
// not compete for its count.
func Child[T any](t Type, parent func(T) (name, problem string), orphans func(ctx context.Context, companyID string, records []T) ([]bool, error)) Type {
	t.parent = func(record any) (string, string) { return parent(record.(T)) }
	t.lane = func(record any) string { name, _ := parent(record.(T)); return name }
	t.orphans = func(ctx context.Context, companyID string, records []any) ([]bool, error) {
		return orphans(ctx, companyID, as[T](records))
	}
	return t
}

// Refused is the error of a write or add that stored all records but these: the problems of the
// others by their index. It is for rules that held when the file was checked and that another
// caller's write has broken since.
type Refused map[int]string

func (r Refused) Error() string {
	first := slices.Min(slices.Collect(maps.Keys(r)))
	return fmt.Sprintf("%d records were not stored, such as that with the index %d: %s", len(r), first, r[first])
}

// Err returns r as an error, nil if it is empty.
func (r Refused) Err() error {
	if len(r) == 0 {
		return nil
	}
	return r
}

// aheadMax is how far updatedAt of a record may be ahead of the clock of an import.
const aheadMax = 24 * time.Hour

// NotAhead adds a check that updatedAt of a record, if it has one, is at most a day after now.
// updatedAt never goes back, so each change of a record from the far future would be a millisecond
// after that future.
func NotAhead(t Type, now func() time.Time) Type {
	check := t.check
	t.check = func(text json.RawMessage, rules []schema.Rules) (any, []string) {
		record, problems := check(text, rules)
		if len(problems) > 0 {
			return record, problems
		}
		if latest := timestamp.Format(now().Add(aheadMax)); updatedAt(record) > latest {
			problems = []string{"record.updatedAt: must be at most a day ahead, " + latest}
		}
		return record, problems
	}
	return t
}

// updatedAt returns the field of a record, empty if it has none.
func updatedAt(record any) string {
	field := reflect.ValueOf(record).FieldByName("UpdatedAt")
	if !field.IsValid() {
		return ""
	}
	at, _ := field.Interface().(*string)
	if at == nil {
		return ""
	}
	return *at
}

// Verify adds a check against the stored records. verify gets a few hundred records at once and
// returns one text per record, empty if the record has no problem.
func Verify[T any](t Type, verify func(ctx context.Context, companyID string, records []T) ([]string, error)) Type {
	t.verify = func(ctx context.Context, companyID string, records []any) ([]string, error) {
		return verify(ctx, companyID, as[T](records))
	}
	return t
}

// Existing adds the rule of an import that skips what the company has. exist gets a few hundred
// records at once and reports for each whether there is one with its identity. See ByKey. add
// stores records for which there was none, and returns how many were skipped because there is one
// now. It must make that a condition of its writes: it never replaces a record.
func Existing[T any](t Type, exist func(ctx context.Context, companyID string, records []T) ([]bool, error),
	add func(ctx context.Context, companyID string, records []T, file File) (skipped int, err error),
) Type {
	t.exist = func(ctx context.Context, companyID string, records []any) ([]bool, error) {
		return exist(ctx, companyID, as[T](records))
	}
	t.add = func(ctx context.Context, companyID string, records []any, file File) (int, error) {
		return add(ctx, companyID, as[T](records), file)
	}
	return t
}

// Add stores records that New has returned, and returns how many it skipped because another caller
// has created them since. The error may be Refused, as of Write.
func (t Type) Add(ctx context.Context, companyID string, records []any) (skipped int, err error) {
	return t.add(ctx, companyID, records, t.file)
}

// New returns the records whose identity the company does not have, in their order, and their
// indexes. It returns an error for a type without Existing.
func (t Type) New(ctx context.Context, companyID string, records []any) (fresh []any, indexes []int, err error) {
	if t.exist == nil {
		return nil, nil, fmt.Errorf("records of type %s have no identity to skip by", t.Name)
	}
	known, err := t.exist(ctx, companyID, records)
	if err != nil {
		return nil, nil, err
	}
	for n, r := range records {
		if !known[n] {
			fresh, indexes = append(fresh, r), append(indexes, n)
		}
	}
	return fresh, indexes, nil
}

// File reports whether a line of the file that is being imported has a name. See Rivals.
type File func(name string) bool

// Rivals adds a rule between two names of one thing: a record is not stored beside a record with
// its rival's name, unless the file has both names. names returns the name of a record and that of
// its rival, empty if it has none; they are names among the records of all types. verify returns
// the problem of each record as Verify does; it counts unless the file has the rival's name. write
// replaces the write function of Define. It must make the rule a condition of its writes, because
// others write too.
func Rivals[T any](t Type, names func(T) (own, rival string), verify func(ctx context.Context, companyID string, records []T) ([]string, error),
	write func(ctx context.Context, companyID string, records []T, file File) error,
) Type {
	t.names = func(record any) (string, string) { return names(record.(T)) }
	t.rivals = func(ctx context.Context, companyID string, records []any) ([]string, error) {
		return verify(ctx, companyID, as[T](records))
	}
	t.write = func(ctx context.Context, companyID string, records []any, file File) error {
		return write(ctx, companyID, as[T](records), file)
	}
	return t
}

// Names returns the name of a record and that of its rival; empty if the type has no such rule.
func (t Type) Names(record any) (own, rival string) {
	if t.names == nil {
		return "", ""
	}
	return t.names(record)
}

// In returns the type for the import of a file.
func (t Type) In(file File) Type {
	t.file = file
	return t
}

func as[T any](records []any) []T {
	typed := make([]T, len(records))
	for i, r := range records {
		typed[i] = r.(T)
	}
	return typed
}

// Unique returns what a record claims in its file; nil if the type has no such rule.
func (t Type) Unique(record any) []Claim {
	if t.unique == nil {
		return nil
	}
	return t.unique(record)
}

// Parent returns the name of the parent of a record, and the problem if it is missing; empty if the
// type has no such rule.
func (t Type) Parent(record any) (name, problem string) {
	if t.parent == nil {
		return "", ""
	}
	return t.parent(record)
}

// Orphans reports for each record whether its parent is not stored; nil if the type has no such
// rule.
func (t Type) Orphans(ctx context.Context, companyID string, records []any) ([]bool, error) {
	if t.parent == nil {
		return nil, nil
	}
	return t.orphans(ctx, companyID, records)
}

// Lane returns a text that is the same for all records that must be written in their order: those
// with the same parent, with the same metric, or with the same id. It is empty for a record without
// any of them.
func (t Type) Lane(record any) string {
	if t.lane != nil {
		return t.lane(record)
	}
	v := reflect.ValueOf(record)
	for _, name := range []string{"MetricKey", "Key", "ID"} {
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
			return f.String()
		}
	}
	return ""
}

// Verify returns the problem of each record compared with the stored ones, in the order of records;
// nil if the type has no such check.
func (t Type) Verify(ctx context.Context, companyID string, records []any) ([]string, error) {
	if t.verify == nil {
		return nil, nil
	}
	return t.verify(ctx, companyID, records)
}

// VerifyRivals returns the problem of each record that counts unless the file has its rival's name;
// nil if the type has no such rule.
func (t Type) VerifyRivals(ctx context.Context, companyID string, records []any) ([]string, error) {
	if t.rivals == nil {
		return nil, nil
	}
	return t.rivals(ctx, companyID, records)
}

// Check decodes a record strictly. problems is empty if the record can be written.
func (t Type) Check(text json.RawMessage) (record any, problems []string) {
	return t.check(text, t.rules)
}

// Write stores records that Check has returned. Without a file (In), the records are the file. It
// returns Refused when it stored all records but some.
func (t Type) Write(ctx context.Context, companyID string, records []any) error {
	if t.file != nil || t.names == nil {
		return t.write(ctx, companyID, records, t.file)
	}
	own := make(map[string]bool, len(records))
	for _, r := range records {
		name, _ := t.names(r)
		own[name] = true
	}
	return t.write(ctx, companyID, records, func(name string) bool { return own[name] })
}

// Export calls emit with every record of the company. Each encodes to the JSON of a response.
func (t Type) Export(ctx context.Context, companyID string, emit func(any) error) error {
	return t.export(ctx, companyID, emit)
}
