package table

import (
	"encoding/base64"
	"reflect"
	"strconv"
)

// readField reads the value of an attribute of a kind, the text of {"S":"text"}, into a field: what decode makes of what
// answerReader makes of it. ok is false for whatever either would not take, and for what it does not know.
type readField func(a *answerReader, kind string, v reflect.Value, s *slab) (ok bool)

func readString(a *answerReader, kind string, v reflect.Value, _ *slab) bool {
	text, ok := a.string()
	v.SetString(text)
	return ok && kind == "S"
}

func readInt(a *answerReader, kind string, v reflect.Value, _ *slab) bool {
	text, ok := a.string()
	n, err := strconv.ParseInt(text, 10, 64)
	v.SetInt(n)
	return ok && kind == "N" && err == nil
}

func readFloat(a *answerReader, kind string, v reflect.Value, _ *slab) bool {
	text, ok := a.string()
	f, err := strconv.ParseFloat(text, 64)
	v.SetFloat(f)
	return ok && kind == "N" && err == nil
}

func readBool(a *answerReader, kind string, v reflect.Value, _ *slab) bool {
	b, ok := a.bool()
	v.SetBool(b)
	return ok && kind == "BOOL"
}

func readList(a *answerReader, kind string, v reflect.Value, _ *slab) bool {
	a.list = a.list[:0]
	ok := a.array(func() bool {
		kind, ok := a.kind()
		if !ok || kind != "S" {
			return false
		}
		text, ok := a.string()
		a.list = append(a.list, text)
		return ok && a.is('}')
	})
	v.Set(reflect.MakeSlice(v.Type(), len(a.list), len(a.list)))
	for i, text := range a.list {
		v.Index(i).SetString(text)
	}
	return ok && kind == "L"
}

func readJSON(a *answerReader, kind string, v reflect.Value, _ *slab) bool {
	text, ok := a.string()
	v.SetBytes([]byte(text))
	return ok && kind == "S"
}

func readBytes(a *answerReader, kind string, v reflect.Value, _ *slab) bool {
	text, ok := a.string()
	bytes, err := base64.StdEncoding.Strict().DecodeString(text)
	v.SetBytes(bytes)
	return ok && kind == "B" && err == nil
}

func readPointer(t reflect.Type, read readField) readField {
	switch t.Elem().Kind() {
	case reflect.String:
		return func(a *answerReader, kind string, v reflect.Value, s *slab) bool {
			text, ok := a.string()
			p := s.strings.add(text)
			if into, isString := v.Addr().Interface().(**string); isString {
				*into = p
			} else {
				v.Set(reflect.ValueOf(p).Convert(t))
			}
			return ok && kind == "S"
		}
	case reflect.Float64:
		return func(a *answerReader, kind string, v reflect.Value, s *slab) bool {
			text, ok := a.string()
			f, err := strconv.ParseFloat(text, 64)
			v.Set(reflect.ValueOf(s.floats.add(f)).Convert(t))
			return ok && kind == "N" && err == nil
		}
	}
	return func(a *answerReader, kind string, v reflect.Value, _ *slab) bool {
		v.Set(reflect.New(t.Elem()))
		return read(a, kind, v.Elem(), nil)
	}
}
