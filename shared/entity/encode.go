package entity

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Encode spells an answer: the text that encoding/json makes of it, byte for byte (FuzzEncode), HTML characters as they
// are, because the content is JSON and no page. Records and lists of them are spelled by plans that are made once per
// type, which takes a third of the time; whatever has no plan, and every text that needs more than the usual escapes, is
// left to encoding/json, and so are all errors.
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
	if cap(out) <= scratchMost {
		select {
		case scratches <- out:
		default:
		}
	}
	return bytes.Clone(out), nil
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
	if t == raw {
		return spellRaw
	}
	for _, own := range []reflect.Type{marshaler, texter} {
		if t.Implements(own) || reflect.PointerTo(t).Implements(own) {
			return byLibrary
		}
	}
	switch t.Kind() {
	case reflect.String:
		if t != reflect.TypeFor[json.Number]() {
			return spellString
		}
	case reflect.Int64:
		return spellInt
	case reflect.Float64:
		return spellFloat
	case reflect.Bool:
		return spellBool
	case reflect.Pointer:
		return pointer(made.plan(t.Elem()))
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return list(made.plan(t.Elem()))
		}
	case reflect.Struct:
		if fields, ok := made.fields(t, nil, map[string]bool{}); ok {
			return object(fields)
		}
	}
	return byLibrary
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

// field is a field of an object; begin is what stands before its value.
type field struct {
	begin string
	index []int
	plan  *plan
}

func object(fields []field) speller {
	return func(out []byte, v reflect.Value) (_ []byte, err error) {
		for _, f := range fields {
			out = append(out, f.begin...)
			at := v
			for _, i := range f.index {
				at = at.Field(i)
			}
			if out, err = f.plan.spell(out, at); err != nil {
				return nil, err
			}
		}
		if len(fields) == 0 {
			out = append(out, '{')
		}
		return append(out, '}'), nil
	}
}

// fields returns the fields of a struct and of those embedded in it. ok is false for a struct that is more than plain
// names and values.
func (made planner) fields(t reflect.Type, at []int, names map[string]bool) (fields []field, ok bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), at...), i)
		name, tagged := f.Tag.Lookup("json")
		switch {
		case f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct:
			inner, ok := made.fields(f.Type, index, names)
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
		fields = append(fields, field{begin, index, made.plan(f.Type)})
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

func spellBool(out []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendBool(out, v.Bool()), nil
}

func spellInt(out []byte, v reflect.Value) ([]byte, error) {
	return strconv.AppendInt(out, v.Int(), 10), nil
}

// spellFloat spells what needs no exponent; encoding/json has the rules for the rest.
func spellFloat(out []byte, v reflect.Value) ([]byte, error) {
	f := v.Float()
	if f != 0 && !(1e-6 <= f && f < 1e21 || -1e21 < f && f <= -1e-6) {
		return byLibrary(out, v)
	}
	return strconv.AppendFloat(out, f, 'f', -1, 64), nil
}

// spellRaw copies a JSON value that has no spaces to take out.
func spellRaw(out []byte, v reflect.Value) ([]byte, error) {
	text := v.Bytes()
	if text == nil {
		return append(out, "null"...), nil
	}
	if bytes.ContainsAny(text, " \t\r\n") || !json.Valid(text) {
		return byLibrary(out, v)
	}
	return append(out, text...), nil
}

func spellString(out []byte, v reflect.Value) ([]byte, error) {
	const hex = "0123456789abcdef"
	text := v.String()
	out = append(out, '"')
	for {
		n := clean(text)
		out = append(out, text[:n]...)
		if text = text[n:]; text == "" {
			return append(out, '"'), nil
		}
		c, size := text[0], 1
		switch r, long := utf8.DecodeRuneInString(text); {
		case c < utf8.RuneSelf && short[c] != 0:
			out = append(out, '\\', short[c])
		case c < utf8.RuneSelf:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case r == utf8.RuneError && long == 1:
			out = append(out, `\ufffd`...)
		case r == '\u2028' || r == '\u2029': // which JavaScript once took for ends of lines
			out, size = append(out, `\u202`...), long
			out = append(out, hex[r&15])
		default:
			out, size = append(out, text[:long]...), long
		}
		text = text[size:]
	}
}

// short are the characters after the backslash of the escapes that have one.
var short = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// clean returns the length of the longest beginning that stands for itself: ASCII that needs no escape. It looks at eight bytes
// at a time.
func clean(text string) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	at := 0
	for ; at+8 <= len(text); at += 8 {
		s := text[at : at+8]
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		quote, backslash := word^'"'*ones, word^'\\'*ones
		if ((word-' '*ones)&^word|(quote-ones)&^quote|(backslash-ones)&^backslash|word)&high != 0 {
			break
		}
	}
	for ; at < len(text); at++ {
		if c := text[at]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return at
}
