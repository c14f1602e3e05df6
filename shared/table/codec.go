package table

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is a stored record: its attributes by name.
type Item = map[string]types.AttributeValue

// Records are structs whose fields are of these kinds: string, int64, float64 and bool, pointers to them, []string, []byte and
// json.RawMessage, the last for fields that hold any JSON value, stored as one text because DynamoDB refuses numbers of
// more than 38 digits and deep nesting. nil is null and is stored as an absent attribute; an empty list is stored.
// The attribute is named by the json tag, or by a store tag for what clients never see. Embedded structs are flattened.
// This codec is ours because the SDK's stores nulls, knows no raw JSON and decodes several times slower.

type fieldPlan struct {
	codec
	name  string
	index []int
}

var plans memo[reflect.Type, []fieldPlan]

// Encode returns the attributes of a record, without keys. It panics on a type that is no record: that is a mistake in
// the declaration of a struct, which every test of it shows.
func Encode(record any) Item {
	v := reflect.Indirect(reflect.ValueOf(record))
	fields := planOf(v.Type())
	out := make(Item, len(fields)+10)
	for _, f := range fields {
		if a := f.encode(v.FieldByIndex(f.index)); a != nil {
			out[f.name] = a
		}
	}
	return out
}

// Decode fills a record from its attributes. Attributes that it has no field for are left alone; an attribute of
// another type than its field's is an error, because the table then holds what this program did not write.
func Decode(item Item, record any) error {
	v := reflect.ValueOf(record).Elem()
	for _, f := range planOf(v.Type()) {
		if a, ok := item[f.name]; ok && !f.decode(a, v.FieldByIndex(f.index)) {
			return fmt.Errorf("decode %s: attribute %s has an unexpected type", v.Type(), f.name)
		}
	}
	return nil
}

func planOf(t reflect.Type) []fieldPlan { return plans.get(t, newPlan) }

func newPlan(t reflect.Type) []fieldPlan {
	plan := makePlan(t, nil)
	known := map[string]bool{}
	for _, f := range plan {
		if known[f.name] {
			panic(fmt.Sprintf("table: %s has two fields that are stored as %s", t, f.name))
		}
		known[f.name] = true
	}
	return plan
}

// memo keeps what is made once for each key, such as the plan of a type.
type memo[K comparable, V any] struct{ made sync.Map }

func (m *memo[K, V]) get(key K, make func(K) V) V {
	found, ok := m.made.Load(key)
	if !ok {
		found, _ = m.made.LoadOrStore(key, make(key))
	}
	return found.(V)
}

func makePlan(t reflect.Type, at []int) []fieldPlan {
	var out []fieldPlan
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), at...), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if stored := f.Tag.Get("store"); stored != "" {
			name = stored
		}
		switch {
		case f.Anonymous:
			out = append(out, makePlan(f.Type, index)...)
		case name == "-" || name == "":
			continue
		default:
			c, ok := codecOf(f.Type)
			if !ok {
				panic(fmt.Sprintf("table: %s.%s: a record cannot hold a %s", t, f.Name, f.Type))
			}
			out = append(out, fieldPlan{c, name, index})
		}
	}
	return out
}

type codec struct {
	encode func(reflect.Value) types.AttributeValue // nil result: absent
	decode func(types.AttributeValue, reflect.Value) bool
	read   readField
}

// codecOf goes by kind, so that the closed lists of the areas (`type Status string`) are strings here.
func codecOf(t reflect.Type) (codec, bool) {
	if t == reflect.TypeFor[json.RawMessage]() {
		return codec{encodeJSON, decodeJSON, readJSON}, true
	}
	if t == reflect.TypeFor[[]byte]() {
		return codec{encodeBytes, decodeBytes, readBytes}, true
	}
	switch t.Kind() {
	case reflect.String:
		return codec{encodeString, decodeString, readString}, true
	case reflect.Int64:
		return codec{encodeInt, decodeInt, readInt}, true
	case reflect.Float64:
		return codec{encodeFloat, decodeFloat, readFloat}, true
	case reflect.Bool:
		return codec{encodeBool, decodeBool, readBool}, true
	case reflect.Slice:
		return codec{encodeList, decodeList, readList}, t.Elem().Kind() == reflect.String
	case reflect.Pointer:
		if t.Elem().Kind() == reflect.Pointer || t.Elem().Kind() == reflect.Slice {
			return codec{}, false
		}
		c, ok := codecOf(t.Elem())
		return codec{pointer(c.encode), allocate(c.decode), readPointer(t, c.read)}, ok
	}
	return codec{}, false
}

func pointer(encode func(reflect.Value) types.AttributeValue) func(reflect.Value) types.AttributeValue {
	return func(v reflect.Value) types.AttributeValue {
		if v.IsNil() {
			return nil
		}
		return encode(v.Elem())
	}
}

func allocate(decode func(types.AttributeValue, reflect.Value) bool) func(types.AttributeValue, reflect.Value) bool {
	return func(a types.AttributeValue, v reflect.Value) bool {
		v.Set(reflect.New(v.Type().Elem()))
		return decode(a, v.Elem())
	}
}

func encodeString(v reflect.Value) types.AttributeValue { return String(v.String()) }

func decodeString(a types.AttributeValue, v reflect.Value) bool {
	s, ok := a.(*types.AttributeValueMemberS)
	if ok {
		v.SetString(s.Value)
	}
	return ok
}

func encodeInt(v reflect.Value) types.AttributeValue { return Number(v.Int()) }

func decodeInt(a types.AttributeValue, v reflect.Value) bool {
	s, ok := a.(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	n, err := strconv.ParseInt(s.Value, 10, 64)
	v.SetInt(n)
	return err == nil
}

func encodeFloat(v reflect.Value) types.AttributeValue { return Float(v.Float()) }

// Float is a number attribute. DynamoDB's numbers span 1e-130 to 9.99e125; what JSON allows beyond that becomes a text.
// They have no -0 either: it becomes 0 here, so that a record reads the same before and after it is stored.
func Float(f float64) types.AttributeValue {
	f += 0
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if abs := math.Abs(f); abs != 0 && (abs < 1e-129 || abs > 1e125) {
		return String(text)
	}
	return &types.AttributeValueMemberN{Value: text}
}

func decodeFloat(a types.AttributeValue, v reflect.Value) bool {
	var text string
	switch a := a.(type) {
	case *types.AttributeValueMemberN:
		text = a.Value
	case *types.AttributeValueMemberS:
		text = a.Value
	}
	f, err := strconv.ParseFloat(text, 64)
	v.SetFloat(f)
	return err == nil
}

func encodeBool(v reflect.Value) types.AttributeValue {
	return &types.AttributeValueMemberBOOL{Value: v.Bool()}
}

func decodeBool(a types.AttributeValue, v reflect.Value) bool {
	b, ok := a.(*types.AttributeValueMemberBOOL)
	if ok {
		v.SetBool(b.Value)
	}
	return ok
}

func encodeList(v reflect.Value) types.AttributeValue {
	if v.IsNil() {
		return nil
	}
	out := make([]types.AttributeValue, v.Len())
	for i := range out {
		out[i] = String(v.Index(i).String())
	}
	return &types.AttributeValueMemberL{Value: out}
}

func decodeList(a types.AttributeValue, v reflect.Value) bool {
	l, ok := a.(*types.AttributeValueMemberL)
	if !ok {
		return false
	}
	out := reflect.MakeSlice(v.Type(), len(l.Value), len(l.Value))
	for i, e := range l.Value {
		if !decodeString(e, out.Index(i)) {
			return false
		}
	}
	v.Set(out)
	return true
}

func encodeJSON(v reflect.Value) types.AttributeValue {
	if v.IsNil() {
		return nil
	}
	return String(string(v.Bytes()))
}

func decodeJSON(a types.AttributeValue, v reflect.Value) bool {
	s, ok := a.(*types.AttributeValueMemberS)
	if ok {
		v.SetBytes([]byte(s.Value))
	}
	return ok
}

func encodeBytes(v reflect.Value) types.AttributeValue {
	if v.IsNil() {
		return nil
	}
	return &types.AttributeValueMemberB{Value: v.Bytes()}
}

func decodeBytes(a types.AttributeValue, v reflect.Value) bool {
	b, ok := a.(*types.AttributeValueMemberB)
	if ok {
		v.SetBytes(b.Value)
	}
	return ok
}

// String is a text attribute.
func String(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number is a whole-number attribute.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
