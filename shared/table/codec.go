package table

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item maps the attribute names of a stored record to their values.
type Item = map[string]types.AttributeValue

// A record is a struct with fields of these types: string, int64, float64 and bool, pointers to
// them, []string, []byte and json.RawMessage. A json.RawMessage may be any JSON value. It is stored
// as one string, because DynamoDB rejects numbers of more than 38 digits and deep nesting.
//
// nil means null and is stored as an absent attribute. An empty list is stored. The json tag names
// the attribute. If clients never see the field, the store tag names it. With the option "silent"
// in the store tag, a change to only this attribute does not change updatedAt. Embedded structs are
// flattened. The SDK's codec is not used, because it stores nulls and does not support raw JSON.

var (
	rawJSONType = reflect.TypeFor[json.RawMessage]()
	bytesType   = reflect.TypeFor[[]byte]()
)

type recordType struct {
	fields       []field
	byName       map[string]int    // maps an attribute name to its index in fields
	projection   string            // the attributes, for a ProjectionExpression
	placeholders map[string]string // used in projection
}

type field struct {
	name   string // name of the field's attribute
	index  []int
	inJSON bool // clients see it
	silent bool // a change to only this field does not change updatedAt
}

var recordTypes sync.Map // reflect.Type → *recordType

// recordTypeOf returns the recordType of a struct type. It panics on a type that is not a record,
// so that every test that uses a wrongly declared struct fails.
func recordTypeOf(t reflect.Type) *recordType {
	found, ok := recordTypes.Load(t)
	if !ok {
		found, _ = recordTypes.LoadOrStore(t, newRecordType(t))
	}
	return found.(*recordType)
}

func newRecordType(t reflect.Type) *recordType {
	p := &recordType{byName: map[string]int{}, placeholders: map[string]string{}}
	p.addFields(t, nil)
	placeholders := make([]string, len(p.fields))
	for i, f := range p.fields {
		if _, known := p.byName[f.name]; known {
			panic(fmt.Sprintf("table: %s has two fields that are stored as %s", t, f.name))
		}
		p.byName[f.name] = i
		placeholders[i] = "#p" + strconv.Itoa(i) // a placeholder, because many attribute names are reserved words
		p.placeholders[placeholders[i]] = f.name
	}
	p.projection = strings.Join(placeholders, ",")
	return p
}

func (r *recordType) addFields(t reflect.Type, parentIndex []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), parentIndex...), i)
		jsonName, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		name := jsonName
		storeName, option, _ := strings.Cut(f.Tag.Get("store"), ",")
		if storeName != "" {
			name = storeName
		}
		switch {
		case f.Anonymous:
			r.addFields(f.Type, index)
		case name == "-" || name == "":
			continue
		case !isStorable(f.Type):
			panic(fmt.Sprintf("table: %s.%s: a record cannot hold a %s", t, f.Name, f.Type))
		case option != "" && option != "silent":
			panic(fmt.Sprintf("table: %s.%s: no option %s", t, f.Name, option))
		default:
			r.fields = append(r.fields, field{name, index, jsonName != "" && jsonName != "-", option != ""})
		}
	}
}

func isStorable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Int64, reflect.Float64, reflect.Bool:
		return true
	case reflect.Slice:
		return t == rawJSONType || t == bytesType || t.Elem().Kind() == reflect.String
	case reflect.Pointer:
		return t.Elem().Kind() != reflect.Pointer && t.Elem().Kind() != reflect.Slice && isStorable(t.Elem())
	}
	return false
}

// projectQuery limits a query to the attributes of a record and, if sortKey is not empty, the sort
// key. The index keys, up to eight per record, make up two fifths of a response. Leaving them out
// saves no capacity units, but it saves the time to send and parse them.
func (r *recordType) projectQuery(in *dynamodb.QueryInput, sortKey string) {
	expression := r.projection
	maps.Copy(in.ExpressionAttributeNames, r.placeholders)
	if _, isField := r.byName[sortKey]; sortKey != "" && !isField {
		expression += ",#sk"
		in.ExpressionAttributeNames["#sk"] = sortKey
	}
	in.ProjectionExpression = &expression
}

// changesVisibly reports whether two items of a record differ in a field that is not silent.
func (r *recordType) changesVisibly(from, to Item) bool {
	return slices.ContainsFunc(r.fields, func(f field) bool { return !f.silent && !equalAttribute(from[f.name], to[f.name]) })
}

// jsonSizes returns the minimum size of each item's JSON in bytes: the total length of the strings
// that clients see.
func (r *recordType) jsonSizes(items []Item) []int {
	sizes := make([]int, len(items))
	for i, item := range items {
		for _, f := range r.fields {
			if f.inJSON {
				sizes[i] += textBytes(item[f.name])
			}
		}
	}
	return sizes
}

func textBytes(a types.AttributeValue) (bytes int) {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		return len(a.Value)
	case *types.AttributeValueMemberL:
		for _, element := range a.Value {
			bytes += textBytes(element)
		}
	}
	return bytes
}

// Encode returns the attributes of a record, without its keys. It panics on a type that is not a
// record.
func Encode(record any) Item {
	v := reflect.Indirect(reflect.ValueOf(record))
	p := recordTypeOf(v.Type())
	out := make(Item, len(p.fields)+10)
	for _, f := range p.fields {
		if a := encode(v.FieldByIndex(f.index)); a != nil {
			out[f.name] = a
		}
	}
	return out
}

// Decode fills a record from its attributes. It ignores attributes without a field. It returns
// ErrUnreadable if an attribute does not have its field's type, because this program did not write
// such a record.
func Decode(item Item, record any) error {
	v := reflect.ValueOf(record).Elem()
	for _, f := range recordTypeOf(v.Type()).fields {
		if a, ok := item[f.name]; ok && !decode(a, v.FieldByIndex(f.index)) {
			return fmt.Errorf("%w: decode %s: attribute %s has an unexpected type", ErrUnreadable, v.Type(), f.name)
		}
	}
	return nil
}

func decodeAll[T any](items []Item) ([]T, error) {
	records := make([]T, len(items))
	for i, item := range items {
		if err := Decode(item, &records[i]); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// encode returns the attribute for a value, or nil for null. It switches on the kind, so that a
// named type (`type Status string`) is encoded as a string.
func encode(v reflect.Value) types.AttributeValue {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return encode(v.Elem())
	case reflect.Int64:
		return Number(v.Int())
	case reflect.Float64:
		return Float(v.Float())
	case reflect.Bool:
		return &types.AttributeValueMemberBOOL{Value: v.Bool()}
	case reflect.String:
		return String(v.String())
	}
	switch {
	case v.IsNil():
		return nil
	case v.Type() == rawJSONType:
		return String(string(v.Bytes()))
	case v.Type() == bytesType:
		return &types.AttributeValueMemberB{Value: v.Bytes()}
	}
	list := make([]types.AttributeValue, v.Len())
	for i := range list {
		list[i] = String(v.Index(i).String())
	}
	return &types.AttributeValueMemberL{Value: list}
}

// decode sets a value from an attribute, and reports whether the attribute has the value's kind.
func decode(a types.AttributeValue, v reflect.Value) (ok bool) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return decode(a, v.Elem())
	}
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		if v.Type() == rawJSONType {
			v.SetBytes([]byte(a.Value))
			return true
		}
		if v.Kind() == reflect.String {
			v.SetString(a.Value)
			return true
		}
	case *types.AttributeValueMemberN:
		if v.Kind() == reflect.Int64 {
			n, err := strconv.ParseInt(a.Value, 10, 64)
			v.SetInt(n)
			return err == nil
		}
		if v.Kind() == reflect.Float64 {
			f, err := strconv.ParseFloat(a.Value, 64)
			v.SetFloat(f)
			return err == nil
		}
	case *types.AttributeValueMemberBOOL:
		if v.Kind() == reflect.Bool {
			v.SetBool(a.Value)
			return true
		}
	case *types.AttributeValueMemberB:
		if v.Type() == bytesType {
			v.SetBytes(a.Value)
			return true
		}
	case *types.AttributeValueMemberL:
		return v.Kind() == reflect.Slice && decodeList(a.Value, v)
	}
	return false
}

func decodeList(list []types.AttributeValue, v reflect.Value) (ok bool) {
	if v.Type().Elem().Kind() != reflect.String {
		return false
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
	for i, element := range list {
		if !decode(element, v.Index(i)) {
			return false
		}
	}
	return true
}

// String returns a string attribute.
func String(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number returns a whole-number attribute.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// Float returns a number attribute for a number that package schema accepts. DynamoDB has no -0, so
// Float stores 0 instead: a record then reads the same before and after it is stored.
func Float(f float64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatFloat(f+0, 'g', -1, 64)}
}
