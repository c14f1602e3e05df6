// Package transfer moves records into and out of a company. It contains what `workspace import` and
// `workspace export` do for all record types. Each area declares its types as a Kind.
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

// Kind imports and exports the records of type T. An import passes at most a few hundred records at
// once, in the order of the file. See Stored.
type Kind[T any] interface {
	// Check returns the problems with a record; it may also complete the record. It runs after the
	// strict decoding, which checks for unknown properties and validates types, enums and
	// timestamps.
	Check(record *T) (problems []string)

	// Exist reports, for each record, whether a record with the same identity is stored.
	Exist(ctx context.Context, companyID string, records []T) ([]bool, error)

	// Import stores records and sets their companyId. It replaces stored records with the same
	// identity. With Mode.OnlyNew, it skips them instead and returns how many it skipped; its
	// writes are then conditional, so that it never replaces a record. If several records have the
	// same identity, the last one is stored. If other callers' writes since the file was checked
	// have made records invalid, Import returns RefusedRecords.
	Import(ctx context.Context, companyID string, records []T, m Mode) (skipped int, err error)

	// Export visits every record of the company in a stable order, with constant memory.
	Export(ctx context.Context, companyID string, visit func(T) error) error
}

// The optional methods of a Kind.
type (
	lister[T any] interface {
		// Entry returns what an import remembers of a record.
		Entry(record T) Entry
	}
	verifier[T any] interface {
		// Verify checks records against the stored ones. Import must make the same rules conditions
		// of its writes, because other callers may write at the same time.
		Verify(ctx context.Context, companyID string, records []T) ([]Problem, error)
	}
	merger[T any] interface {
		// Merge merges records into the stored ones instead of replacing them, and returns what it
		// did with each record. Like Import, it can return RefusedRecords; the outcomes for refused
		// records are then meaningless.
		Merge(ctx context.Context, companyID string, records []T) ([]Merged, error)
	}
)

// Mode says how an import stores records.
type Mode struct {
	OnlyNew bool // whether to skip records that are stored already

	// FileHasName reports whether any line of the imported file has the given name; see Entry.
	FileHasName func(name string) bool
}

// Entry is what an import remembers of a record until the end of the file.
type Entry struct {
	Name   string       // the name by which a Problem refers to the record; empty if none does. All types share one namespace
	Unique []UniqueText // the import keeps their digests in memory

	// Batches of records with the same group are written one after another. A kind sets it to the
	// parent, so that records do not contend for the parent's count. If it is empty, the metric or
	// the id is used.
	Group string
}

// UniqueText is a string that only one record in a file can have, such as a slug on a board. A
// second record with the same Text is rejected, unless both have the same non-empty Owner.
type UniqueText struct{ Text, Owner string }

// Problem is a problem of one record with the stored ones.
type Problem struct {
	Index       int // of the record
	Text        string
	UnlessNamed string // there is no problem if the file contains a record with this name; may be empty
}

// RefusedRecords is the error of an import or merge that did not store some of the records. It maps
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

// Type is a type of record in an import file. Each line of the file names its type.
type Type struct {
	Name   string
	Prefix string       // prefix of the ids; empty if the type has no ids of its own
	Record reflect.Type // Go type of the record on a line

	// Now is the clock for Check, which then refuses a record whose updatedAt is more than a day
	// ahead. updatedAt never decreases, so every change to such a record would only add a
	// millisecond to it. If Now is nil, updatedAt is not compared with a clock.
	Now func() time.Time

	rules       []schema.Rules
	kind        untypedKind
	fileHasName func(name string) bool
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

// RulesOf returns the rules for the request body of an operation with input In, except for the
// properties in except. An import that enforces them refuses the same values as the API, with the
// same messages. See schema.Rules.
func RulesOf[T, In any](except ...string) schema.Rules {
	return schema.NewRules(reflect.TypeFor[T](), reflect.TypeFor[In](), except...)
}

// Define declares a type of record. prefix is the prefix of the ids, which an import keeps:
// `prefix_` and 1 to 40 of [0-9a-z]. It is empty if the record has no id field, or if the kind's
// Check validates the id.
func Define[T any](name, prefix string, kind Kind[T], rules ...schema.Rules) Type {
	return Type{Name: name, Prefix: prefix, Record: reflect.TypeFor[T](), rules: rules, kind: adapter[T]{kind}}
}

// ForFile returns the type for importing one file. fileHasName is the function in Mode.
func (t Type) ForFile(fileHasName func(name string) bool) Type {
	t.fileHasName = fileHasName
	return t
}

// clockSkewMax is how far a record's updatedAt may be ahead of the clock during an import.
const clockSkewMax = 24 * time.Hour

// Check decodes a record strictly. problems is empty if the record can be written.
func (t Type) Check(text json.RawMessage) (record any, problems []string) {
	pointer := reflect.New(t.Record)
	isIgnored := func(problem string) bool { return problem == companyMissing }
	problems = slices.DeleteFunc(schema.DecodeRecord(text, pointer.Interface(), t.rules...), isIgnored)
	deriver, ok := pointer.Interface().(IDDeriver)
	if ok && slices.Equal(problems, []string{idMissing}) {
		problems = nil
		if problem := deriver.DeriveID(); problem != "" {
			problems = []string{problem}
		}
	}
	if t.Prefix != "" && len(problems) == 0 {
		problems = CheckID("id", t.Prefix, new(pointer.Elem().FieldByName("ID").String()))
	}
	if len(problems) == 0 {
		problems = t.kind.check(pointer.Interface())
	}
	if len(problems) == 0 && t.Now != nil {
		if latest := timestamp.Format(t.Now().Add(clockSkewMax)); updatedAt(pointer.Elem()) > latest {
			problems = []string{"record.updatedAt: must be at most a day ahead, " + latest}
		}
	}
	return pointer.Elem().Interface(), problems
}

func updatedAt(record reflect.Value) string {
	field := record.FieldByName("UpdatedAt")
	if !field.IsValid() {
		return ""
	}
	at, _ := field.Interface().(*string)
	if at == nil {
		return ""
	}
	return *at
}

// Entry returns what an import remembers of a record that Check has returned. Its Group is always
// set if the record has a metric, a key or an id.
func (t Type) Entry(record any) Entry {
	e := t.kind.entry(record)
	for _, name := range [...]string{"MetricKey", "Key", "ID"} {
		if f := reflect.ValueOf(record).FieldByName(name); e.Group == "" && f.IsValid() && f.Kind() == reflect.String {
			e.Group = f.String()
		}
	}
	return e
}

// Verify checks records against the stored ones.
func (t Type) Verify(ctx context.Context, companyID string, records []any) ([]Problem, error) {
	return t.kind.verify(ctx, companyID, records)
}

// FilterNew returns the records that do not exist in the company, in the same order, and their
// indexes.
func (t Type) FilterNew(ctx context.Context, companyID string, records []any) (fresh []any, indexes []int, err error) {
	known, err := t.kind.exist(ctx, companyID, records)
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

// Add stores records that FilterNew has returned, and returns how many it skipped because another
// caller has created them since. Like Write, it can return RefusedRecords.
func (t Type) Add(ctx context.Context, companyID string, records []any) (skipped int, err error) {
	return t.kind.store(ctx, companyID, records, t.mode(records, true))
}

// Write stores records that Check has returned. Without ForFile, it assumes that the file contains
// exactly these records. Write returns RefusedRecords if some records were not stored.
func (t Type) Write(ctx context.Context, companyID string, records []any) error {
	_, err := t.kind.store(ctx, companyID, records, t.mode(records, false))
	return err
}

func (t Type) mode(records []any, onlyNew bool) Mode {
	if t.fileHasName != nil {
		return Mode{onlyNew, t.fileHasName}
	}
	names := make(map[string]bool, len(records))
	for _, r := range records {
		names[t.kind.entry(r).Name] = true
	}
	return Mode{onlyNew, func(name string) bool { return names[name] }}
}

// CanMerge reports whether the kind has a Merge method.
func (t Type) CanMerge() bool { return t.kind.canMerge() }

// Merge merges records that Check has returned into the stored ones. CanMerge must be true.
func (t Type) Merge(ctx context.Context, companyID string, records []any) ([]Merged, error) {
	return t.kind.merge(ctx, companyID, records)
}

// Export calls emit with every record of the company. Encoded as JSON, a record has the same form
// as in a response.
func (t Type) Export(ctx context.Context, companyID string, emit func(any) error) error {
	return t.kind.export(ctx, companyID, emit)
}
