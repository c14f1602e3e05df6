package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Body is the part of an input that is a record of type T. Embed it with the tag body:"create" or
// body:"update"; package api does. The tag set of a field of T says that requests set the field,
// and the tags of Field say which values they accept:
//
//	set:"required"  a create must have it; null does not clear it
//	set:"optional"  a create may leave it out; null clears it
//	set:"filled"    a create may leave it out, and the operation fills it; null does not clear it
//	default         a create may leave it out, and the field has this value then; null does not clear it
//
// Options follow in the tag set, after commas: create or update when only such an operation sets
// the field, and first when the field comes before the others in descriptions. Fields with neither
// tag are set by the service alone.
//
// An unknown tag panics, so that a misspelled one does not make a field read-only.
type Body[T any] struct {
	Record T // what was sent; in a create also the defaults
	Properties
}

// Properties are the properties of the record that a request has.
type Properties struct{ sent []*Field }

// RecordValidator is a record with rules that concern several fields. Problems returns a message
// for each problem, which begins with the path of a property in the request (`body.endsAt: …`). For
// a create it is called with the fields of the request, valid or not, so it must not repeat the
// problems of single fields. For an update it is called with the changed record. sent reports
// whether the request has a property: a stored record may break a rule, because of an earlier
// import, and then its other properties can still be changed.
type RecordValidator interface {
	Problems(sent func(property string) bool) []string
}

// RequestEnum is the type of a text that may have more values in a record than requests may send.
// Accepts returns the zero value of the closed list of requests.
type RequestEnum interface{ Accepts() Enum }

// Sent reports whether the request has a property. A null that is the same as leaving it out does
// not count.
func (p *Properties) Sent(property string) bool {
	return slices.ContainsFunc(p.sent, func(f *Field) bool { return f.Name == property })
}

// Empty reports whether the request has no property of the record.
func (p *Properties) Empty() bool { return len(p.sent) == 0 }

// Apply assigns the sent fields to a record.
func (b *Body[T]) Apply(to *T) { b.apply(&b.Record, to) }

func (p *Properties) apply(record, to any) {
	from, target := reflect.ValueOf(record).Elem(), reflect.ValueOf(to).Elem()
	for _, f := range p.sent {
		target.FieldByIndex(f.record).Set(from.FieldByIndex(f.record))
	}
}

// Problems returns the problems of a record by its own rules, if it is RecordValidator.
func (b *Body[T]) Problems(record T) []string { return b.problems(&record) }

func (p *Properties) problems(record any) []string {
	if ruled, ok := record.(RecordValidator); ok {
		return ruled.Problems(p.Sent)
	}
	return nil
}

// recordOf returns the type of the record of a Body. No other struct has Properties.
func recordOf(t reflect.Type) (record reflect.Type, ok bool) {
	if t.Kind() != reflect.Struct || t.NumField() != 2 || t.Field(1).Type != reflect.TypeFor[Properties]() {
		return nil, false
	}
	return t.Field(0).Type, true
}

// markReceived records in the Body of an input that a property was sent.
func (b *Binder) markReceived(f *Field) {
	body := b.Input.FieldByIndex(f.index[:len(f.index)-len(f.record)-1])
	properties := body.Field(1).Addr().Interface().(*Properties)
	properties.sent = append(properties.sent, f)
}

// The values of the tag body.
const (
	bodyOfCreate = "create"
	bodyOfUpdate = "update"
)

// replacesListText is the end of the description of a list in an update. For a tool that has said
// with its create what the list is, it is all of it, unless the field has the tag tool.
const replacesListText = "replaces the list"

// appendBody appends the fields of a record that a create or an update may set. at is the index of
// the Body in the input. It panics on an invalid record.
func appendBody(out []Field, record reflect.Type, operation string, at []int) []Field {
	if operation != bodyOfCreate && operation != bodyOfUpdate {
		panic(fmt.Sprintf("schema: the body of %s is neither of a create nor of an update", record))
	}
	out, firsts := slices.Grow(out, record.NumField()), len(out)
	eachField(record, nil, func(s reflect.StructField) {
		set := settingOf(record, s)
		if set.setBy != "" && set.setBy != operation || !set.settable() {
			return
		}
		f := Field{In: InBody, index: slices.Concat(at, []int{0}, s.Index), record: s.Index, Doc: s.Tag.Get("doc"), ToolDoc: s.Tag.Get("tool")}
		f.Name, _, _ = strings.Cut(s.Tag.Get("json"), ",")
		f.describe(s)
		f.restrictToRequestValues(s)
		f.Required = operation == bodyOfCreate && set.mode == "required"
		if operation == bodyOfUpdate {
			f.Default = ""
			if set.mode == "optional" {
				f.Null = NullClears
			}
			if f.Kind == Array {
				f.ToolDoc = strings.TrimPrefix(f.ToolDoc+"; "+replacesListText, "; ")
				f.Doc += "; " + replacesListText
			}
		}
		if !set.first {
			out = append(out, f)
			return
		}
		out = slices.Insert(out, firsts, f)
		firsts++
	})
	return out
}

// eachField calls visit with each field of a record, those of embedded structs included, with its
// index in the record.
func eachField(t reflect.Type, at []int, visit func(reflect.StructField)) {
	for i := range t.NumField() {
		if f := fieldAt(t, at, i); f.Anonymous {
			eachField(f.Type, f.Index, visit)
		} else {
			visit(f)
		}
	}
}

// fieldAt returns a field of a struct that is embedded at an index, with its whole index. It panics
// on an invalid tag.
func fieldAt(t reflect.Type, at []int, i int) reflect.StructField {
	f := t.Field(i)
	checkTags(t, f)
	if len(at) > 0 {
		f.Index = append(slices.Clip(at), i)
	}
	return f
}

// CreateFields returns the fields of a record that a create sets, as in a Body.
func CreateFields(record reflect.Type) []Field { return appendBody(nil, record, bodyOfCreate, nil) }

// fieldSetting is what the tags set and default of a field say.
type fieldSetting struct {
	mode      string // required, optional, filled or empty
	setBy     string // bodyOfCreate or bodyOfUpdate; empty: both
	first     bool
	defaulted bool
}

func (s fieldSetting) settable() bool { return s.mode != "" || s.defaulted }

// settingOf returns the setting of a field. It panics on unknown or conflicting options.
func settingOf(record reflect.Type, s reflect.StructField) (out fieldSetting) {
	refuse := func(why string) { panic(fmt.Sprintf("schema: %s.%s: %s", record, s.Name, why)) }
	out.defaulted = s.Tag.Get("default") != ""
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
	case out.defaulted && out.mode != "":
		refuse("a field with a default is not " + out.mode)
	case out.mode == "optional" && s.Type.Kind() != reflect.Pointer && s.Type.Kind() != reflect.Slice:
		refuse("a field that null clears is a pointer or a slice")
	}
	return out
}

// restrictToRequestValues replaces the values of a record by those that requests may send.
func (f *Field) restrictToRequestValues(s reflect.StructField) {
	if n, ok := reflect.Zero(f.Type).Interface().(RequestEnum); ok {
		list := n.Accepts()
		f.Type, f.Enum = reflect.TypeOf(list), list.Values()
	}
	f.check(s)
}

// knownTags are the keys of all tags of records and inputs.
var knownTags = []string{
	"path", "query", "header", "json", "store", "body", "set", "doc", "tool", "default", "min", "max", "items", "each", "pattern", "ref", "format",
	"required", "null",
}

// checkTags panics on a tag with an unknown key, which would have no effect, and on one that is not
// of the conventional form.
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
