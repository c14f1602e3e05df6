package table

import (
	"encoding/base64"
	"reflect"
	"strconv"
)

// readField reads the value of an attribute, such as {"S":"text"}, into a field: what decode makes of what answerReader
// makes of it. ok is false for whatever either would not take, and for what it does not know.
type readField func(a *answerReader, v reflect.Value, s *slab) (ok bool)

func readString(a *answerReader, v reflect.Value, _ *slab) bool {
	text, ok := a.scalar("S")
	v.SetString(text)
	return ok
}

func readInt(a *answerReader, v reflect.Value, _ *slab) bool {
	text, ok := a.scalar("N")
	n, err := strconv.ParseInt(text, 10, 64)
	v.SetInt(n)
	return ok && err == nil
}

func readFloat(a *answerReader, v reflect.Value, _ *slab) bool {
	text, ok := a.scalar("N")
	f, err := strconv.ParseFloat(text, 64)
	v.SetFloat(f)
	return ok && err == nil
}

func readBool(a *answerReader, v reflect.Value, _ *slab) bool {
	if !a.isText(`{"BOOL":`) {
		return false
	}
	b, ok := a.bool()
	v.SetBool(b)
	return ok && a.is('}')
}

func readList(a *answerReader, v reflect.Value, _ *slab) bool {
	if !a.isText(`{"L":`) {
		return false
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	ok := a.array(func() bool {
		text, ok := a.scalar("S")
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		v.Index(n).SetString(text)
		return ok
	})
	return ok && a.is('}')
}

func readJSON(a *answerReader, v reflect.Value, _ *slab) bool {
	text, ok := a.scalar("S")
	v.SetBytes([]byte(text))
	return ok
}

func readBytes(a *answerReader, v reflect.Value, _ *slab) bool {
	text, ok := a.scalar("B")
	bytes, err := base64.StdEncoding.Strict().DecodeString(text)
	v.SetBytes(bytes)
	return ok && err == nil
}

func readPointer(read readField) readField {
	return func(a *answerReader, v reflect.Value, s *slab) bool {
		v.Set(s.new(v.Type().Elem()))
		return read(a, v.Elem(), nil)
	}
}
