// Package transfer moves records into and out of a company. It contains what `workspace import` and
// `workspace export` do for all record types. Each area declares its types.
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

// Type is a type of record in an import file. Each line of the file names its type.
type Type struct {
	Name   string
	Prefix string       // prefix of the ids; empty if the type has no ids of its own
	Record reflect.Type // Go type of the record on a line

	rules          []schema.Rules
	check          func(text json.RawMessage, rules []schema.Rules) (any, []string)
	uniqueTextsOf  func(record any) []UniqueText
	verify         func(ctx context.Context, companyID string, records []any) ([]string, error)
	parentOf       func(record any) (name, problem string)
	orphans        func(ctx context.Context, companyID string, records []any) ([]bool, error)
	orderKey       func(record any) string
	exist          func(ctx context.Context, companyID string, records []any) ([]bool, error)
	add            func(ctx context.Context, companyID string, records []any, fileHasName FileHasName) (int, error)
	merge          func(ctx context.Context, companyID string, records []any) ([]Merged, error)
	aliasesOf      func(record any) (own, rival string)
	aliasConflicts func(ctx context.Context, companyID string, records []any) ([]string, error)
	hasName        FileHasName
	write          func(ctx context.Context, companyID string, records []any, fileHasName FileHasName) error
	export         func(ctx context.Context, companyID string, emit func(any) error) error
}

// Problems that are ignored. companyMissing is always ignored, because the operator chooses the
// company for an import. idMissing is ignored if the record is an IDDeriver.
const (
	companyMissing = "record.companyId: is required"
	idMissing      = "record.id: is required"
)

// IDDeriver is a record whose id is optional in an import. If a line contains no id, DeriveID
// derives it from other fields, or returns a message if that is not possible.
type IDDeriver interface{ DeriveID() (problem string) }

// Define declares a type of record.
//
//   - prefix is the prefix of the ids, which an import keeps: `prefix_` and 1 to 40 of [0-9a-z]. It
//     is empty if the record has no id field, or if check validates the id.
//   - check returns the problems with a record; it may also complete the record. It runs after the
//     strict decoding, which checks for unknown properties and validates types, enums and
//     timestamps. If check is nil, there are no further checks.
//   - write stores records, and replaces stored ones with the same identity. It gets at most a few
//     hundred at once, all of this type and in the order of the file, and sets companyId. If
//     several have the same identity, the last one wins. See PutRecords. If other callers' writes
//     since the file was checked have made records invalid, it returns RefusedRecords.
//   - forEach visits every record of the company in a stable order, with constant memory. See
//     ExportEach and ExportOne.
func Define[T any](name, prefix string, check func(*T) []string,
	write func(ctx context.Context, companyID string, records []T) error,
	forEach func(ctx context.Context, companyID string, visit func(T) error) error,
) Type {
	return Type{
		Name: name, Prefix: prefix, Record: reflect.TypeFor[T](),
		check: func(text json.RawMessage, rules []schema.Rules) (any, []string) {
			var record T
			problems := slices.DeleteFunc(schema.DecodeRecord(text, &record, rules...), func(p string) bool { return p == companyMissing })
			deriver, ok := any(&record).(IDDeriver)
			if ok && slices.Equal(problems, []string{idMissing}) {
				problems = nil
				if problem := deriver.DeriveID(); problem != "" {
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
		write: func(ctx context.Context, companyID string, records []any, _ FileHasName) error {
			return write(ctx, companyID, castAll[T](records))
		},
		export: func(ctx context.Context, companyID string, emit func(any) error) error {
			return forEach(ctx, companyID, func(record T) error { return emit(record) })
		},
	}
}

// WithRulesOf makes an import enforce the rules for the request body of an operation with input In,
// except for the properties in except. The import then refuses the same values as the API, with the
// same messages. See schema.Rules.
func WithRulesOf[In any](t Type, except ...string) Type {
	t.rules = append(slices.Clone(t.rules), schema.NewRules(t.Record, reflect.TypeFor[In](), except...))
	return t
}

// UniqueText is a string that only one record in a file can have, such as a slug on a board. A
// second record with the same Text is rejected, unless both have the same non-empty Owner.
type UniqueText struct{ Text, Owner string }

// WithUnique requires the strings that textsOf returns to be unique in a file. Of several records
// with the same identity, only the last one counts. An import keeps the digests of all these
// strings in memory.
func WithUnique[T any](t Type, textsOf func(T) []UniqueText) Type {
	t.uniqueTextsOf = func(record any) []UniqueText { return textsOf(record.(T)) }
	return t
}

// WithName gives each record of a type a name, for WithParent. Names share one namespace across all
// types.
func WithName[T any](t Type, name func(T) string) Type {
	t.aliasesOf = func(record any) (string, string) { return name(record.(T)), "" }
	return t
}

// WithParent adds the rule that the parent of each record must exist, in the table or in the same
// file. parent returns the parent's name (see WithName), and the problem to report if that parent
// does not exist. orphans gets a few hundred records at once and reports, for each, whether its
// parent is missing from the table. The write functions must make the rule a condition of their
// writes (see table.Unit), because other callers may delete parents. Batches of records with the
// same parent are written one after another, so that they do not contend for the parent's count.
func WithParent[T any](t Type, parent func(T) (name, problem string), orphans func(ctx context.Context, companyID string, records []T) ([]bool, error)) Type {
	t.parentOf = func(record any) (string, string) { return parent(record.(T)) }
	t.orderKey = func(record any) string { name, _ := parent(record.(T)); return name }
	t.orphans = func(ctx context.Context, companyID string, records []any) ([]bool, error) {
		return orphans(ctx, companyID, castAll[T](records))
	}
	return t
}

// RefusedRecords is the error of a write or add that did not store some of the records. It maps
// their indexes to their problems; all other records were stored. The refused records were valid
// when the file was checked, but another caller's write has since made them invalid.
type RefusedRecords map[int]string

func (r RefusedRecords) Error() string {
	first := slices.Min(slices.Collect(maps.Keys(r)))
	return fmt.Sprintf("%d records were not stored, such as that with the index %d: %s", len(r), first, r[first])
}

// Err returns r as an error, or nil if r is empty.
func (r RefusedRecords) Err() error {
	if len(r) == 0 {
		return nil
	}
	return r
}

// clockSkewMax is how far a record's updatedAt may be ahead of the clock during an import.
const clockSkewMax = 24 * time.Hour

// WithUpdatedAtCheck adds a check that a record's updatedAt, if any, is at most a day after now.
// updatedAt never decreases, so if it were far in the future, every change to the record would only
// add a millisecond to it.
func WithUpdatedAtCheck(t Type, now func() time.Time) Type {
	check := t.check
	t.check = func(text json.RawMessage, rules []schema.Rules) (any, []string) {
		record, problems := check(text, rules)
		if len(problems) > 0 {
			return record, problems
		}
		if latest := timestamp.Format(now().Add(clockSkewMax)); updatedAt(record) > latest {
			problems = []string{"record.updatedAt: must be at most a day ahead, " + latest}
		}
		return record, problems
	}
	return t
}

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

// WithVerify adds a check against stored records. verify gets a few hundred records at once and
// returns one message per record, which is empty if there is no problem.
func WithVerify[T any](t Type, verify func(ctx context.Context, companyID string, records []T) ([]string, error)) Type {
	t.verify = func(ctx context.Context, companyID string, records []any) ([]string, error) {
		return verify(ctx, companyID, castAll[T](records))
	}
	return t
}

// WithExisting adds the functions for an import that skips existing records. The function exist
// gets a few hundred records at once and reports, for each, whether a record with the same identity
// is stored (see ExistsByKey). The function add stores records that did not exist, and returns how
// many it skipped because they have been created since. The writes of add must be conditional, so
// that add never replaces a record.
func WithExisting[T any](t Type, exist func(ctx context.Context, companyID string, records []T) ([]bool, error),
	add func(ctx context.Context, companyID string, records []T, fileHasName FileHasName) (skipped int, err error),
) Type {
	t.exist = func(ctx context.Context, companyID string, records []any) ([]bool, error) {
		return exist(ctx, companyID, castAll[T](records))
	}
	t.add = func(ctx context.Context, companyID string, records []any, fileHasName FileHasName) (int, error) {
		return add(ctx, companyID, castAll[T](records), fileHasName)
	}
	return t
}

// Add stores records that FilterNew has returned, and returns how many it skipped because another
// caller has created them since. Like Write, it can return RefusedRecords.
func (t Type) Add(ctx context.Context, companyID string, records []any) (skipped int, err error) {
	return t.add(ctx, companyID, records, t.hasName)
}

// FilterNew returns the records that do not exist in the company, in the same order, and their
// indexes. It returns an error for a type without WithExisting.
func (t Type) FilterNew(ctx context.Context, companyID string, records []any) (fresh []any, indexes []int, err error) {
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

// FileHasName reports whether any line of the imported file has the given name. See WithAliases.
type FileHasName func(name string) bool

// WithAliases adds a rule for records that describe a thing that can have two names: a record is
// not stored under one name if the thing is already stored under the other, unless the file
// contains both names. names returns the record's own name, and the rival name: the other name of
// the same thing, or "" if there is none. Names share one namespace across all types. verify
// returns one message per record, as for WithVerify. A message is ignored if the file contains the
// rival name. write replaces the write function of Define. It must make the rule a condition of its
// writes, because other callers may write at the same time.
func WithAliases[T any](t Type, names func(T) (own, rival string), verify func(ctx context.Context, companyID string, records []T) ([]string, error),
	write func(ctx context.Context, companyID string, records []T, fileHasName FileHasName) error,
) Type {
	t.aliasesOf = func(record any) (string, string) { return names(record.(T)) }
	t.aliasConflicts = func(ctx context.Context, companyID string, records []any) ([]string, error) {
		return verify(ctx, companyID, castAll[T](records))
	}
	t.write = func(ctx context.Context, companyID string, records []any, fileHasName FileHasName) error {
		return write(ctx, companyID, castAll[T](records), fileHasName)
	}
	return t
}

// AliasesOf returns the two names of the thing that a record describes; see WithAliases. They are
// empty if the type has no such rule.
func (t Type) AliasesOf(record any) (own, rival string) {
	if t.aliasesOf == nil {
		return "", ""
	}
	return t.aliasesOf(record)
}

// ForFile returns the type for importing one file. The rule of WithAliases uses fileHasName.
func (t Type) ForFile(fileHasName FileHasName) Type {
	t.hasName = fileHasName
	return t
}

func castAll[T any](records []any) []T {
	typed := make([]T, len(records))
	for i, r := range records {
		typed[i] = r.(T)
	}
	return typed
}

// UniqueTextsOf returns the strings that make a record unique in a file, or nil if the type has no
// such rule.
func (t Type) UniqueTextsOf(record any) []UniqueText {
	if t.uniqueTextsOf == nil {
		return nil
	}
	return t.uniqueTextsOf(record)
}

// ParentOf returns the name of a record's parent, and the problem to report if that parent does not
// exist. Both are empty if the type has no such rule.
func (t Type) ParentOf(record any) (name, problem string) {
	if t.parentOf == nil {
		return "", ""
	}
	return t.parentOf(record)
}

// Orphans reports, for each record, whether its parent is missing from the table. It returns nil if
// the type has no such rule.
func (t Type) Orphans(ctx context.Context, companyID string, records []any) ([]bool, error) {
	if t.parentOf == nil {
		return nil, nil
	}
	return t.orphans(ctx, companyID, records)
}

// OrderKey returns a string that is the same for all records that must be written one after
// another: those with the same parent, metric or id. It is empty for a record that has none of
// these.
func (t Type) OrderKey(record any) string {
	if t.orderKey != nil {
		return t.orderKey(record)
	}
	v := reflect.ValueOf(record)
	for _, name := range []string{"MetricKey", "Key", "ID"} {
		if f := v.FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
			return f.String()
		}
	}
	return ""
}

// Verify checks records against the stored ones and returns one message per record, which is empty
// if there is no problem. It returns nil if the type has no such check.
func (t Type) Verify(ctx context.Context, companyID string, records []any) ([]string, error) {
	if t.verify == nil {
		return nil, nil
	}
	return t.verify(ctx, companyID, records)
}

// VerifyAliases checks the rule of WithAliases and returns one message per record, which is empty
// if there is no problem. The caller must ignore a message if the file contains the rival name.
// VerifyAliases returns nil if the type has no such rule.
func (t Type) VerifyAliases(ctx context.Context, companyID string, records []any) ([]string, error) {
	if t.aliasConflicts == nil {
		return nil, nil
	}
	return t.aliasConflicts(ctx, companyID, records)
}

// Check decodes a record strictly. problems is empty if the record can be written.
func (t Type) Check(text json.RawMessage) (record any, problems []string) {
	return t.check(text, t.rules)
}

// Write stores records that Check has returned. Without ForFile, it assumes that the file contains
// exactly these records. Write returns RefusedRecords if some records were not stored.
func (t Type) Write(ctx context.Context, companyID string, records []any) error {
	if t.hasName != nil || t.aliasesOf == nil {
		return t.write(ctx, companyID, records, t.hasName)
	}
	names := make(map[string]bool, len(records))
	for _, r := range records {
		name, _ := t.aliasesOf(r)
		names[name] = true
	}
	return t.write(ctx, companyID, records, func(name string) bool { return names[name] })
}

// Export calls emit with every record of the company. Encoded as JSON, a record has the same form
// as in a response.
func (t Type) Export(ctx context.Context, companyID string, emit func(any) error) error {
	return t.export(ctx, companyID, emit)
}

// Merged describes what a merge did with a record.
type Merged struct {
	Outcome       MergeOutcome
	NotMergedText string // a message if part of the record was deliberately not merged; otherwise empty
}

// MergeOutcome says what a merge did with a record.
type MergeOutcome string

// The outcomes of a merge. MergedOlder means that a newer version of the record is stored.
const (
	MergedCreated   MergeOutcome = "created"
	MergedUpdated   MergeOutcome = "updated"
	MergedUnchanged MergeOutcome = "unchanged"
	MergedOlder     MergeOutcome = "older"
)

// WithMerge adds the function for an import that merges records into the stored ones instead of
// replacing them. merge returns what it did with each record. Like write, it can return
// RefusedRecords; the outcomes for refused records are then meaningless.
func WithMerge[T any](t Type, merge func(ctx context.Context, companyID string, records []T) ([]Merged, error)) Type {
	t.merge = func(ctx context.Context, companyID string, records []any) ([]Merged, error) {
		return merge(ctx, companyID, castAll[T](records))
	}
	return t
}

// CanMerge reports whether the type has the function that WithMerge adds.
func (t Type) CanMerge() bool { return t.merge != nil }

// Merge merges records that Check has returned into the stored ones. CanMerge must be true.
func (t Type) Merge(ctx context.Context, companyID string, records []any) ([]Merged, error) {
	return t.merge(ctx, companyID, records)
}
