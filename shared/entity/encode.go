// Package entity encodes responses as JSON.
package entity

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"sync"
)

// Encode spells an answer: the text that encoding/json makes of it, byte for byte (FuzzEncode), HTML characters as they
// are, because the content is JSON and no page. Records and lists of them are spelled by plans that are made once per
// type, which takes two fifths less time for 200 reviews; whatever has no plan is left to encoding/json, and so are all errors.
func Encode(v any) ([]byte, error) {
	value := reflect.ValueOf(v)
	if !value.IsValid() {
		return []byte("null"), nil
	}
	var scratch []byte
	select {
	case scratch = <-scratches:
	default:
	}
	out, err := plannedFor(value.Type()).spell(scratch[:0], value)
	if err != nil {
		return nil, err
	}
	text := bytes.Clone(out)
	if cap(out) <= scratchMost {
		select {
		case scratches <- out:
		default:
		}
	}
	return text, nil
}

// scratches are where answers are spelled, to be copied once their length is known. A function spells one at a time.
var scratches = make(chan []byte, 2)

// scratchMost is the most memory that one may keep.
const scratchMost = 1 << 20

// byLibrary is Encode of what has no plan.
func byLibrary(out []byte, v reflect.Value) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if v.CanAddr() { // as encoding/json sees it: methods of pointers count
		v = v.Addr()
	}
	if err := e.Encode(v.Interface()); err != nil {
		return nil, err
	}
	return append(out, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...), nil
}

// speller appends the text of a value.
type speller func(out []byte, v reflect.Value) ([]byte, error)

// plan is how values of a type are spelled. It is filled in after it is made, so that a type may hold itself.
type plan struct{ spell speller }

// planner makes plans.
type planner map[reflect.Type]*plan

var planned sync.Map // reflect.Type → *plan

func plannedFor(t reflect.Type) *plan {
	p, ok := planned.Load(t)
	if !ok {
		p, _ = planned.LoadOrStore(t, planner{}.plan(t))
	}
	return p.(*plan)
}

func (made planner) plan(t reflect.Type) *plan {
	if p, ok := made[t]; ok {
		return p
	}
	p := &plan{}
	made[t] = p
	p.spell = made.speller(t)
	return p
}

var (
	raw       = reflect.TypeFor[json.RawMessage]()
	marshaler = reflect.TypeFor[json.Marshaler]()
	texter    = reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()
)

func (made planner) speller(t reflect.Type) speller {
	switch {
	case t == raw:
		return func(out []byte, v reflect.Value) ([]byte, error) { return AppendRaw(out, v.Bytes()) }
	case t.Kind() == reflect.Slice && t.Implements(spelled):
		return spellText
	}
	if SpellsItself(t) {
		return byLibrary
	}
	switch t.Kind() {
	case reflect.Interface:
		return spellInterface
	case reflect.String:
		return func(out []byte, v reflect.Value) ([]byte, error) { return AppendString(out, v.String()), nil }
	case reflect.Int64:
		return spellInt
	case reflect.Float64:
		return func(out []byte, v reflect.Value) ([]byte, error) { return AppendFloat(out, v.Float()) }
	case reflect.Bool:
		return spellBool
	case reflect.Pointer:
		return pointer(made.plan(t.Elem()))
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return list(made.plan(t.Elem()))
		}
	case reflect.Struct:
		if fields, ok := Fields(t); ok {
			return made.object(t, fields)
		}
	}
	return byLibrary
}

// SpellsItself tells whether a type has a text of its own, which only encoding/json makes.
func SpellsItself(t reflect.Type) bool {
	if t == reflect.TypeFor[json.Number]() {
		return true
	}
	for _, own := range []reflect.Type{marshaler, texter} {
		if t.Implements(own) || reflect.PointerTo(t).Implements(own) {
			return true
		}
	}
	return false
}

func pointer(to *plan) speller {
	return func(out []byte, v reflect.Value) ([]byte, error) {
		if v.IsNil() {
			return append(out, "null"...), nil
		}
		return to.spell(out, v.Elem())
	}
}

func list(of *plan) speller {
	return func(out []byte, v reflect.Value) (_ []byte, err error) {
		if v.IsNil() {
			return append(out, "null"...), nil
		}
		out = append(out, '[')
		for i := range v.Len() {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = of.spell(out, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	}
}

// Field is a field of an object, as encoding/json finds it.
type Field struct {
	Begin string // what stands before its value: the brace or the comma, and its name
	Index []int  // as of reflect.Value.FieldByIndex
}

func (made planner) object(t reflect.Type, fields []Field) speller {
	plans := make([]*plan, len(fields))
	for i, f := range fields {
		plans[i] = made.plan(t.FieldByIndex(f.Index).Type)
	}
	return func(out []byte, v reflect.Value) (_ []byte, err error) {
		for n, f := range fields {
			out = append(out, f.Begin...)
			at := v
			for _, i := range f.Index {
				at = at.Field(i)
			}
			if out, err = plans[n].spell(out, at); err != nil {
				return nil, err
			}
		}
		if len(fields) == 0 {
			out = append(out, '{')
		}
		return append(out, '}'), nil
	}
}

// Fields returns the fields of a struct and of those embedded in it, in the order of its text. ok is false for a type that
// is more than plain names and values, whose text only encoding/json knows.
func Fields(t reflect.Type) (fields []Field, ok bool) {
	return fieldsOf(t, nil, map[string]bool{})
}

func fieldsOf(t reflect.Type, at []int, names map[string]bool) (fields []Field, ok bool) {
	if t.Kind() != reflect.Struct || SpellsItself(t) {
		return nil, false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), at...), i)
		name, tagged := f.Tag.Lookup("json")
		switch {
		case f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct:
			inner, ok := fieldsOf(f.Type, index, names)
			if !ok {
				return nil, false
			}
			fields = append(fields, inner...)
			continue
		case f.Anonymous:
			return nil, false
		case name == "-" || !f.IsExported():
			continue
		case !tagged || names[name] || !isName(name):
			return nil, false
		}
		names[name] = true
		begin := `,"` + name + `":`
		if len(names) == 1 {
			begin = `{"` + name + `":`
		}
		fields = append(fields, Field{begin, index})
	}
	return fields, true
}

// isName tells whether a tag is a name and nothing else.
func isName(tag string) bool {
	for _, c := range tag {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return tag != ""
}

func spellInterface(out []byte, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return append(out, "null"...), nil
	}
	return plannedFor(v.Elem().Type()).spell(out, v.Elem())
}

func spellBool(out []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendBool(out, v.Bool()), nil
}

func spellInt(out []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendInt(out, v.Int(), 10), nil
}
