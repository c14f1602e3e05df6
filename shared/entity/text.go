package entity

import "reflect"

// Text is the text that Encode makes of a T. A list whose records go out as they were stored has no need of the records.
type Text[T any] []byte

// RecordType is the type that the text is one of.
func (Text[T]) RecordType() reflect.Type { return reflect.TypeFor[T]() }

// MarshalJSON is json.Marshaler.
func (t Text[T]) MarshalJSON() ([]byte, error) { return spellText(nil, reflect.ValueOf(t)) }

// Spelled is a Text.
type Spelled interface{ RecordType() reflect.Type }

var spelled = reflect.TypeFor[Spelled]()

func spellText(out []byte, v reflect.Value) ([]byte, error) {
	if v.Len() == 0 {
		return append(out, "null"...), nil
	}
	return append(out, v.Bytes()...), nil
}
