package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Body is the part of an input that is a record of type T. Inputs embed it with the tag
// body:"create" or body:"update". Requests may set a field of T only if it has a `set` or `default`
// tag, and these tags say how. The other tags say which values are accepted; see Field.
//
//	set:"required"  a create must contain the field; null does not clear it
//	set:"optional"  a create may leave it out; null clears it
//	set:"filled"    a create may leave it out, and the operation fills it; null does not clear it
//	default         a create may leave it out, and it then has this value; null does not clear it
//
// The value of the `set` tag may list further options, separated by commas. With the option
// "create" or "update", only that kind of operation may set the field. With the option "first", the
// field comes before the other fields in descriptions. Fields with neither tag are set only by the
// service.
//
// An unknown tag causes a panic, so that a misspelled tag cannot silently make a field read-only.
type Body[T any] struct {
	Record T // the values that were sent and, in a create, the defaults
	Properties
}

// Properties records which properties of the record a request contains.
type Properties struct{ sent []*Field }

// RecordValidator is a record with rules that concern several fields. Problems returns one message
// for each violation. Each message begins with the path of a property in the request (`body.endsAt:
// …`). For a create, Problems is called with the fields of the request, even if some are invalid,
// so it must not report problems with single fields again. For an update, it is called with the
// changed record. sent reports whether the request contains a property. Problems needs it because
// an imported record may already break a rule, and its other properties must still be changeable.
type RecordValidator interface {
	Problems(sent func(property string) bool) []string
}

// RequestEnum is the enum type of a record field for which a request can use only some of the
// values. RequestType returns the zero value of the enum type that requests use instead.
type RequestEnum interface{ RequestType() Enum }

// ElementTyper is a record with fields that can contain any JSON in an import, but only a list of
// objects in a request. ElementType returns the type of the objects, or nil for any other field. It
// must work on the zero value of the record.
type ElementTyper interface {
	ElementType(property string) reflect.Type
}

// Sent reports whether the request contains a property. It returns false for a null that means the
// same as leaving the property out.
func (p *Properties) Sent(property string) bool {
	return slices.ContainsFunc(p.sent, func(f *Field) bool { return f.Name == property })
}

// Empty reports whether the request contains no property of the record.
func (p *Properties) Empty() bool { return len(p.sent) == 0 }

// Changes returns the names of the properties that the request contains and whose values differ
// from those in the given record.
func (b *Body[T]) Changes(record T) []string { return b.changes(&b.Record, &record) }

func (p *Properties) changes(sent, record any) (names []string) {
	from, to := reflect.ValueOf(sent).Elem(), reflect.ValueOf(record).Elem()
	for _, f := range p.sent {
		if !reflect.DeepEqual(from.FieldByIndex(f.record).Interface(), to.FieldByIndex(f.record).Interface()) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Apply copies the request's fields to a record.
func (b *Body[T]) Apply(to *T) { b.applyTo(&b.Record, to) }

func (p *Properties) applyTo(record, to any) {
	from, target := reflect.ValueOf(record).Elem(), reflect.ValueOf(to).Elem()
	for _, f := range p.sent {
		target.FieldByIndex(f.record).Set(from.FieldByIndex(f.record))
	}
}

// Problems returns the problems that record.Problems finds, if the record is a RecordValidator.
func (b *Body[T]) Problems(record T) []string { return b.recordProblems(&record) }

func (p *Properties) recordProblems(record any) []string {
	if validator, ok := record.(RecordValidator); ok {
		return validator.Problems(p.Sent)
	}
	return nil
}

// recordOf returns the record type of a Body. ok is false for any other type. Body is the only type
// with a second field of type Properties.
func recordOf(t reflect.Type) (record reflect.Type, ok bool) {
	if t.Kind() != reflect.Struct || t.NumField() != 2 || t.Field(1).Type != reflect.TypeFor[Properties]() {
		return nil, false
	}
	return t.Field(0).Type, true
}

// markPropertySent records in the input's Body that the request contains a property.
func (b *Binder) markPropertySent(f *Field) {
	body := b.Input.FieldByIndex(f.index[:len(f.index)-len(f.record)-1])
	properties := body.Field(1).Addr().Interface().(*Properties)
	properties.sent = append(properties.sent, f)
}

// The values of the body tag.
const (
	bodyOfCreate = "create"
	bodyOfUpdate = "update"
)

// replacesListText is the end of the description of a list field in an update. In a tool, it is the
// whole description unless the field has a tool tag, because the tool for the create already says
// what the list is.
const replacesListText = "replaces the list"

// appendBody appends the fields of a record that a create or an update may set. parentIndex is the
// field index of the Body in the input. appendBody panics if a tag of the record is invalid.
func appendBody(out []Field, record reflect.Type, operation string, parentIndex []int) []Field {
	if operation != bodyOfCreate && operation != bodyOfUpdate {
		panic(fmt.Sprintf("schema: the body of %s is neither of a create nor of an update", record))
	}
	out, insertIndex := slices.Grow(out, record.NumField()), len(out)
	eachField(record, nil, func(s reflect.StructField) {
		options := fieldOptionsOf(record, s)
		if options.setBy != "" && options.setBy != operation || !options.settable() {
			return
		}
		f := Field{In: InBody, index: slices.Concat(parentIndex, []int{0}, s.Index), record: s.Index, Doc: s.Tag.Get("doc"), ToolDoc: s.Tag.Get("tool")}
		f.Name, _, _ = strings.Cut(s.Tag.Get("json"), ",")
		if typer, ok := reflect.Zero(record).Interface().(ElementTyper); ok {
			if element := typer.ElementType(f.Name); element != nil {
				s.Type = reflect.SliceOf(element)
			}
		}
		f.describe(s)
		AcceptNull(f.Fields) // an update replaces the whole list, so the new objects have no stored values that null could clear
		f.restrictToRequestValues(s)
		f.Required = operation == bodyOfCreate && options.mode == "required"
		if operation == bodyOfUpdate {
			f.Default = ""
			if options.mode == "optional" {
				f.Null = NullClears
			}
			if f.Kind == Array {
				f.ToolDoc = strings.TrimPrefix(f.ToolDoc+"; "+replacesListText, "; ")
				f.Doc += "; " + replacesListText
			}
		}
		if !options.first {
			out = append(out, f)
			return
		}
		out = slices.Insert(out, insertIndex, f)
		insertIndex++
	})
	return out
}

// eachField calls visit with each field of a record, including those of embedded structs. The Index
// of each field is relative to the record, even for a field of an embedded struct. parentIndex is
// the field index of t in the record; it is nil for the record itself.
func eachField(t reflect.Type, parentIndex []int, visit func(reflect.StructField)) {
	for i := range t.NumField() {
		if f := fieldAt(t, parentIndex, i); f.Anonymous {
			eachField(f.Type, f.Index, visit)
		} else {
			visit(f)
		}
	}
}

// fieldAt returns the i-th field of the struct t. parentIndex is the field index of t in an outer
// struct that embeds it. The Index of the result is relative to the outer struct. fieldAt panics on
// an invalid tag.
func fieldAt(t reflect.Type, parentIndex []int, i int) reflect.StructField {
	f := t.Field(i)
	checkTags(t, f)
	if len(parentIndex) > 0 {
		f.Index = append(slices.Clip(parentIndex), i)
	}
	return f
}

// CreateFields returns the fields of a record that a create with a Body can set.
func CreateFields(record reflect.Type) []Field { return appendBody(nil, record, bodyOfCreate, nil) }

// fieldOptions holds the options in a field's set and default tags.
type fieldOptions struct {
	mode       string // "required", "optional", "filled" or ""
	setBy      string // bodyOfCreate or bodyOfUpdate; empty if both may set the field
	first      bool
	hasDefault bool
}

func (f fieldOptions) settable() bool { return f.mode != "" || f.hasDefault }

// fieldOptionsOf returns the options in a field's tags. It panics on unknown or conflicting
// options.
func fieldOptionsOf(record reflect.Type, s reflect.StructField) (out fieldOptions) {
	refuse := func(why string) { panic(fmt.Sprintf("schema: %s.%s: %s", record, s.Name, why)) }
	out.hasDefault = s.Tag.Get("default") != ""
	tag, tagged := s.Tag.Lookup("set")
	if !tagged {
		return out
	}
	for option := range strings.SplitSeq(tag, ",") {
		field := &out.mode
		switch option {
		case "required", "optional", "filled":
		case bodyOfCreate, bodyOfUpdate:
			field = &out.setBy
		case "first":
			out.first = true
			continue
		default:
			refuse("set has no option " + option)
		}
		if *field != "" {
			refuse("set has " + *field + " and " + option)
		}
		*field = option
	}
	switch {
	case !out.settable():
		refuse("set says neither how the field is set, nor is there a default")
	case out.hasDefault && out.mode != "":
		refuse("a field with a default is not " + out.mode)
	case out.mode == "optional" && s.Type.Kind() != reflect.Pointer && s.Type.Kind() != reflect.Slice:
		refuse("a field that null clears is a pointer or a slice")
	}
	return out
}

// restrictToRequestValues replaces the enum values that a record may have with those that requests
// may send.
func (f *Field) restrictToRequestValues(s reflect.StructField) {
	if n, ok := reflect.Zero(f.Type).Interface().(RequestEnum); ok {
		f.Type = reflect.TypeOf(n.RequestType())
		f.setEnum()
	}
	f.check(s)
}

// knownTags are the keys of all tags of records and inputs.
var knownTags = []string{
	"path", "query", "header", "json", "store", "body", "set", "doc", "tool", "default", "min", "max", "items", "each", "pattern", "ref", "format",
	"required", "null", transferTag,
}

// checkTags panics on a tag with an unknown key, which would have no effect, and on a tag that does
// not have the conventional key:"value" form.
func checkTags(t reflect.Type, s reflect.StructField) {
	for rest := string(s.Tag); rest != ""; {
		key, after, found := strings.Cut(strings.TrimLeft(rest, " "), ":")
		value, err := strconv.QuotedPrefix(after)
		if !found || err != nil || !slices.Contains(knownTags, key) {
			panic(fmt.Sprintf("schema: %s.%s has an unknown tag %q", t, s.Name, rest))
		}
		rest = after[len(value):]
	}
}
