package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"growthworkspace/shared/id"
)

// Place is the location of an argument in an HTTP request. The arguments of a tool form one flat
// object, so an operation's arguments must have different names even if they are in different
// locations.
type Place string

// The locations, as messages name them.
const (
	InPath   Place = "path"
	InQuery  Place = "query"
	InHeader Place = "header"
	InBody   Place = "body"
)

// Kind is the JSON type of a field.
type Kind string

// The kinds of fields. The elements of an array are strings or objects. Map is a flat map from
// strings to strings.
const (
	String  Kind = "string"
	Integer Kind = "integer"
	Number  Kind = "number"
	Boolean Kind = "boolean"
	Array   Kind = "array"
	Map     Kind = "object"
	Any     Kind = "any" // any JSON value, bound as raw JSON
)

// Field describes one argument. Fields derives it from a struct field and its tags:
//
//	path, query, header, json  the name and the location; exactly one of them
//	doc                        the description for people and agents; limit and cursor have a default description
//	tool                       the description as an argument of a tool, if it differs from doc
//	default                    the value when a query parameter is absent
//	min, max                   bounds of a number, or of a string's length in characters; for any JSON, max is the maximum number of bytes
//	items, each                maximum number of elements of an array; maximum length of an element
//	pattern                    the name of the pattern (see patterns) of a string or of each element of an array
//	ref                        the id prefix of the records to which a string, or each element of an array, refers
//	format                     the name of the format (see formats) of a string or of each element of an array; a date-time is converted to UTC
//	required                   "true" for a required array
//	null                       "never" for an optional property that must not be null even in a POST
//
// A field is required unless it is a pointer, a slice, a map, a Clearable or a header, or has a
// default. A type with a Values method is an enum. Every field is validated before an operation's
// function runs, and all problems are reported.
type Field struct {
	Name         string
	In           Place
	Kind         Kind
	Required     bool
	Default      string
	Enum         []string     // the allowed values of the string, or of each string in the array
	Drafts       []string     // the values of Enum that are not decisions; see DraftEnum
	Type         reflect.Type // the type of the value or, for an array, of its elements; schemas of enums and objects are named after it
	Min, Max     *float64     // bounds of the value, or of the length of a string
	ItemsMax     int          // maximum number of elements; 0 if the field is not an array
	ItemCharsMax int          // maximum length of an element
	Pattern      string
	Ref          string // the id prefix of the records to which the field refers
	Format       string
	Doc          string
	ToolDoc      string  // the description as an argument of a tool; if empty, Doc is used
	Fields       []Field // the fields of the objects in an array
	Null         Null

	rejectsNull bool // whether null is rejected even in a POST
	index       []int
	record      []int // the field's index in the record, if it is a field of a Body
}

// Enum is a string type with a fixed set of values. Values must work on the zero value.
type Enum interface{ Values() []string }

// DraftEnum is an Enum some of whose values are decisions, such as an approval. Drafts returns the
// other values: the only ones that a draft-only key can set (api.Spec.DraftScope). Drafts must work
// on the zero value.
type DraftEnum interface {
	Enum
	Drafts() []string
}

// setEnum sets Enum and Drafts if the field's type is an enum.
func (f *Field) setEnum() {
	zero := reflect.Zero(f.Type).Interface()
	if e, ok := zero.(Enum); ok {
		f.Enum = e.Values()
	}
	if e, ok := zero.(DraftEnum); ok {
		f.Drafts = e.Drafts()
	}
}

// Cursor is the position at which a list continues. Package api replaces the opaque string that a
// caller sends with the position that the list returned.
type Cursor string

// CursorCharsMax is the maximum length of a cursor. A cursor encodes a sort key, which has at most
// 1,024 bytes in DynamoDB.
const CursorCharsMax = 1600

// SafeIntegerMax is the largest whole number that every JSON parser reads without loss of
// precision.
const SafeIntegerMax = 1<<53 - 1

// ValueIn returns the settable value of the field in an input.
func (f *Field) ValueIn(input reflect.Value) reflect.Value { return input.FieldByIndex(f.index) }

// Fields returns the fields of an input struct. The caller may change the fields, but not the
// values that their slices and pointers refer to, which later calls share. Fields panics on a
// struct that is not a valid input. In an input with a Body, the properties of the body come after
// the other arguments, wherever the Body is embedded.
func Fields(t reflect.Type) []Field {
	cached, ok := fieldsByInput.Load(t)
	if !ok {
		cached, _ = fieldsByInput.LoadOrStore(t, deriveFields(t))
	}
	return cloneFields(cached.([]Field))
}

// fieldsByInput caches the results of deriveFields, because a program that serves all operations
// declares each of them several times.
var fieldsByInput sync.Map

func cloneFields(fields []Field) []Field {
	out := slices.Clone(fields)
	for i := range out {
		out[i].Fields = cloneFields(out[i].Fields)
	}
	return out
}

func deriveFields(t reflect.Type) []Field {
	out := appendFields(make([]Field, 0, t.NumField()), t, nil)
	if slices.ContainsFunc(out, func(f Field) bool { return f.record != nil }) {
		ordered := make([]Field, 0, len(out))
		for _, inBody := range []bool{false, true} {
			for i := range out {
				if (out[i].In == InBody) == inBody {
					ordered = append(ordered, out[i])
				}
			}
		}
		out = ordered
	}
	for i := range out {
		for n := range i {
			if out[n].Name == out[i].Name {
				panic(fmt.Sprintf("schema: %s has two fields %s", t, out[i].Name))
			}
		}
	}
	return out
}

// placesByTag lists the tags that contain a field's name, with the location that each tag stands
// for.
var placesByTag = []struct {
	in  Place
	tag string
}{{InPath, "path"}, {InQuery, "query"}, {InHeader, "header"}, {InBody, "json"}}

// appendFields appends the fields of the struct t, which is the input or is embedded in it.
// parentIndex is the field index of t in the input; it is nil for the input itself.
func appendFields(out []Field, t reflect.Type, parentIndex []int) []Field {
	for i := range t.NumField() {
		f := fieldAt(t, parentIndex, i)
		if f.Anonymous {
			if record, ok := recordOf(f.Type); ok {
				out = appendBody(out, record, f.Tag.Get("body"), f.Index)
			} else {
				out = appendFields(out, f.Type, f.Index)
			}
			continue
		}
		field := Field{index: f.Index, Doc: f.Tag.Get("doc"), ToolDoc: f.Tag.Get("tool")}
		for _, p := range placesByTag {
			if name, _, _ := strings.Cut(f.Tag.Get(p.tag), ","); name != "" {
				if field.Name != "" {
					panic(fmt.Sprintf("schema: %s.%s has two locations", t, f.Name))
				}
				field.In, field.Name = p.in, name
			}
		}
		if field.Name == "" || !f.IsExported() {
			panic(fmt.Sprintf("schema: %s.%s has no name or is not exported", t, f.Name))
		}
		field.describe(f)
		out = append(out, field)
	}
	return out
}

func (f *Field) describe(s reflect.StructField) {
	t, isClearable := fieldValueType(s.Type)
	f.Default = s.Tag.Get("default")
	f.Required = f.In == InPath || (f.In != InHeader && t.Kind() != reflect.Pointer && t.Kind() != reflect.Slice && t.Kind() != reflect.Map && f.Default == "")
	if s.Tag.Get("required") == "true" {
		f.Required = true
	}
	f.rejectsNull = s.Tag.Get("null") == "never"
	switch {
	case isClearable:
		f.Null = NullClears
	case !f.Required && f.In != InBody:
		f.Null = NullAbsent
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	f.Type = t
	f.setEnum()
	f.Pattern, f.Format = s.Tag.Get("pattern"), s.Tag.Get("format")
	f.Min, f.Max = parseBound(s, "min"), parseBound(s, "max")
	f.ItemsMax, f.ItemCharsMax = parseCount(s, "items"), parseCount(s, "each")
	f.setReference(s)
	switch t.Kind() {
	case reflect.String:
		f.Kind = String
		if t == reflect.TypeFor[Cursor]() {
			f.Doc, f.ToolDoc = cmp.Or(f.Doc, "cursor of the next page, from the previous response"), cmp.Or(f.ToolDoc, "nextCursor of the last result")
			f.Required, f.Min, f.Max, f.Null = false, pointerTo(1), pointerTo(CursorCharsMax), NullAbsent
			if f.In != InQuery || f.Name != "cursor" || s.Type != t {
				panic("schema: a cursor is the query parameter cursor, no pointer: " + s.Name)
			}
		}
	case reflect.Int64:
		f.setInteger()
		if f.In == InQuery && f.Name == "limit" {
			f.Doc, f.ToolDoc = cmp.Or(f.Doc, "maximum number of records per page"), cmp.Or(f.ToolDoc, f.Doc, "records per page")
		}
	case reflect.Float64:
		f.Kind = Number
	case reflect.Bool:
		f.Kind = Boolean
	case reflect.Map:
		f.Kind = Map
		if t != reflect.TypeFor[map[string]string]() {
			panic("schema: an object is a map of strings: " + s.Name)
		}
	case reflect.Slice:
		if t == anyJSON {
			f.Kind = Any
			break
		}
		f.Kind = Array
		if f.ItemsMax == 0 {
			panic("schema: an array needs the tag items: " + s.Name)
		}
		f.setElement(t.Elem(), s.Name)
	default:
		panic(fmt.Sprintf("schema: an input cannot hold a %s: %s", t, s.Name))
	}
	if f.Pattern != "" && patterns[f.Pattern] == nil || f.Format != "" && formats[f.Format].check == nil {
		panic("schema: no such pattern or format: " + s.Name)
	}
	if f.Kind == String && f.In == InBody && f.Max == nil && f.Enum == nil && (f.Format == "" || f.Format == "web") {
		panic("schema: a string needs the tag max: " + s.Name)
	}
	f.check(s)
}

// idCharsMax is the maximum length of an id in a request. Every id is shorter.
const idCharsMax = 50

// setReference limits the length of a field that refers to another record. The record need not
// exist.
func (f *Field) setReference(s reflect.StructField) {
	f.Ref = s.Tag.Get("ref")
	switch {
	case f.Ref == "":
	case !id.Valid(f.Ref, f.Ref+"_0"):
		panic("schema: ref is the prefix of an id: " + s.Name)
	case f.Pattern != "" || f.Format != "":
		panic("schema: a reference has no other form: " + s.Name)
	case f.ItemsMax > 0:
		f.ItemCharsMax = idCharsMax
	default:
		f.Max = pointerTo(idCharsMax)
	}
}

// setInteger describes a whole number. By default, it is limited to the numbers that every JSON
// parser reads without loss of precision.
func (f *Field) setInteger() {
	f.Kind = Integer
	if f.Min == nil {
		f.Min = pointerTo(-SafeIntegerMax)
	}
	if f.Max == nil {
		f.Max = pointerTo(SafeIntegerMax)
	}
}

var anyJSON = reflect.TypeFor[json.RawMessage]()

// RawProperties returns the names of the properties of kind Any; see ParseObjectWithRaw.
func RawProperties(fields []Field) (names []string) {
	for _, f := range fields {
		if f.Kind == Any {
			names = append(names, f.Name)
		}
	}
	return names
}

// setElement describes the elements of an array: strings, or objects whose fields have json tags.
func (f *Field) setElement(t reflect.Type, name string) {
	f.Type = t
	switch t.Kind() {
	case reflect.String:
		f.setEnum()
	case reflect.Struct:
		f.Fields = Fields(t)
		if slices.ContainsFunc(f.Fields, func(inner Field) bool { return inner.In != InBody }) {
			panic("schema: an object in an array has properties only: " + name)
		}
	default:
		panic(fmt.Sprintf("schema: an array cannot hold a %s: %s", t, name))
	}
}

// check panics on a field that could never be bound, or would be bound incorrectly.
func (f *Field) check(s reflect.StructField) {
	switch {
	case f.In == InPath && f.Kind != String:
		panic("schema: an id is a string: " + s.Name)
	case f.In != InBody && (f.Kind == Array || f.Kind == Map || f.Kind == Any):
		panic("schema: only a body has arrays, objects and any JSON: " + s.Name)
	case f.Kind == Any && (f.Required || f.Max == nil):
		panic("schema: any JSON is optional and needs the tag max: " + s.Name)
	case f.Null == NullClears && (f.In != InBody || f.Required || f.Default != "" || f.rejectsNull):
		panic("schema: null clears an optional property without a default: " + s.Name)
	case f.Enum != nil && f.Kind != String && f.Kind != Array:
		panic("schema: a closed list is of strings: " + s.Name)
	case f.Min != nil && f.Max != nil && *f.Min > *f.Max:
		panic("schema: min is above max: " + s.Name)
	}
	if f.Default != "" {
		b := Binder{}
		b.assign(f, s.Name, reflect.New(s.Type).Elem(), argument{text: f.Default, isRaw: true})
		if len(b.Problems) > 0 {
			panic("schema: invalid default: " + b.Problems[0])
		}
	}
}

func parseBound(s reflect.StructField, tag string) *float64 {
	if n, ok := parseNumberTag(s, tag); ok {
		return pointerTo(n)
	}
	return nil
}

func parseCount(s reflect.StructField, tag string) int {
	n, _ := parseNumberTag(s, tag)
	return int(n)
}

func parseNumberTag(s reflect.StructField, tag string) (n float64, ok bool) {
	text, ok := s.Tag.Lookup(tag)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("schema: %s of %s: %v", tag, s.Name, err))
	}
	return n, true
}

func pointerTo(n float64) *float64 { return &n }
