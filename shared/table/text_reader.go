package table

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"growthworkspace/shared/entity"
)

// textReader reads records of one type into their texts, those that entity.Encode makes of them (FuzzTexts). A list that
// only hands on what is stored costs a third less without the structs in between. Attributes that a text does not show are
// not asked for, nor looked at.
type textReader struct {
	*textLayout
	buffer    []byte // of the texts
	scratch   []byte // of the values of a record, in the order of its attributes
	found     []span // where in scratch the value of each field is
	into      reflect.Value
	separator bool // the answer has characters that JSON knows and entity.Encode escapes
}

// textLayout is what the texts of a type have in common.
type textLayout struct {
	t      reflect.Type
	fields []textField // in the order of the text
	places attributes[int]
}

type textField struct {
	begin string // what stands before the value
	none  string // the value of an absent attribute
	spell spellAttribute
}

// spellAttribute appends the text of an attribute's value of a kind. ok is false for what another reader has to see.
type spellAttribute func(r *textReader, a *answerReader, kind string) (ok bool)

type span struct{ begin, end int }

var textLayouts memo[reflect.Type, *textLayout]

func newTextReader(t reflect.Type) *textReader {
	layout := textLayouts.get(t, newTextLayout)
	return &textReader{textLayout: layout, found: make([]span, len(layout.fields))}
}

// newTextLayout panics on a type whose text only encoding/json knows: that is a mistake in the declaration of a list, which
// every test of it shows.
func newTextLayout(t reflect.Type) *textLayout {
	l := &textLayout{t: t}
	known, ok := entity.Fields(t)
	if !ok || len(known) == 0 {
		panic(fmt.Sprintf("table: %s has no text but encoding/json's", t))
	}
	for _, f := range known {
		n := slices.IndexFunc(planOf(t), func(p fieldPlan) bool { return slices.Equal(p.index, f.Index) })
		spell, none := spellerOf(t.FieldByIndex(f.Index).Type)
		if n < 0 || spell == nil {
			panic(fmt.Sprintf("table: %s has no text but encoding/json's, because of %s", t, f.Begin))
		}
		l.places.add(planOf(t)[n].name, len(l.fields))
		l.fields = append(l.fields, textField{f.Begin, none, spell})
	}
	return l
}

// spellerOf returns how values of a type are spelled, and the text of none; nil for a type that this does not know.
func spellerOf(t reflect.Type) (spell spellAttribute, none string) {
	if t == reflect.TypeFor[json.RawMessage]() {
		return spellJSON, "null"
	}
	if entity.SpellsItself(t) {
		return nil, ""
	}
	switch t.Kind() {
	case reflect.String:
		return spellString, `""`
	case reflect.Int64:
		return spellInt, "0"
	case reflect.Float64:
		return spellFloat, "0"
	case reflect.Bool:
		return spellBool, "false"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String && !entity.SpellsItself(t.Elem()) {
			return spellList, "null"
		}
	case reflect.Pointer:
		spell, _ := spellerOf(t.Elem())
		return spell, "null"
	}
	return nil, ""
}

func (r *textReader) open(a *answerReader) {
	r.buffer = make([]byte, 0, len(a.text)-a.at) // a record's text is shorter than its attributes, or little longer
	r.separator = strings.Contains(a.text, "\u2028") || strings.Contains(a.text, "\u2029")
}

func (r *textReader) begin(into reflect.Value) {
	r.into, r.scratch = into, r.scratch[:0]
	clear(r.found)
}

func (r *textReader) attribute(a *answerReader, name, kind string) (known, ok bool) {
	n, known := r.places.find(name)
	if !known {
		return false, true
	}
	begin := len(r.scratch)
	ok = r.fields[n].spell(r, a, kind)
	r.found[n] = span{begin, len(r.scratch)}
	return true, ok
}

func (r *textReader) end() bool {
	begin := len(r.buffer)
	for n, f := range r.fields {
		r.buffer = append(r.buffer, f.begin...)
		if at := r.found[n]; at.end > 0 {
			r.buffer = append(r.buffer, r.scratch[at.begin:at.end]...)
		} else {
			r.buffer = append(r.buffer, f.none...)
		}
	}
	r.buffer = append(r.buffer, '}')
	r.into.SetBytes(r.buffer[begin:len(r.buffer):len(r.buffer)])
	return true
}

func (r *textReader) decode(item Item, into reflect.Value) error {
	record := reflect.New(r.t)
	if err := Decode(item, record.Interface()); err != nil {
		return err
	}
	text, err := entity.Encode(record.Interface())
	if err != nil {
		return fmt.Errorf("encode %s: %w", r.t, err)
	}
	into.SetBytes(text)
	return nil
}

func spellString(r *textReader, a *answerReader, kind string) bool {
	text, whole, ok := a.raw()
	switch {
	case !ok || kind != "S":
		return false
	case whole && !r.separator: // it stands in the answer as it will stand in the text
		r.scratch = append(append(append(r.scratch, '"'), text...), '"')
	default:
		r.scratch = entity.AppendString(r.scratch, text)
	}
	return true
}

func spellInt(r *textReader, a *answerReader, kind string) bool {
	text, ok := a.string()
	n, err := strconv.ParseInt(text, 10, 64)
	r.scratch = strconv.AppendInt(r.scratch, n, 10)
	return ok && kind == "N" && err == nil
}

func spellFloat(r *textReader, a *answerReader, kind string) bool {
	text, ok := a.string()
	f, err := strconv.ParseFloat(text, 64)
	if !ok || kind != "N" || err != nil {
		return false
	}
	r.scratch, err = entity.AppendFloat(r.scratch, f)
	return err == nil
}

func spellBool(r *textReader, a *answerReader, kind string) bool {
	b, ok := a.bool()
	r.scratch = strconv.AppendBool(r.scratch, b)
	return ok && kind == "BOOL"
}

func spellList(r *textReader, a *answerReader, kind string) bool {
	r.scratch = append(r.scratch, '[')
	first := true
	ok := a.array(func() bool {
		kind, ok := a.kind()
		if !first {
			r.scratch = append(r.scratch, ',')
		}
		first = false
		return ok && spellString(r, a, kind) && a.is('}')
	})
	r.scratch = append(r.scratch, ']')
	return ok && kind == "L"
}

func spellJSON(r *textReader, a *answerReader, kind string) (ok bool) {
	text, ok := a.string()
	if !ok || kind != "S" {
		return false
	}
	var err error
	r.scratch, err = entity.AppendRaw(r.scratch, []byte(text))
	return err == nil
}
