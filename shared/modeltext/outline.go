package modeltext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"growthworkspace/shared/schema"
)

// An outline stands for a value that does not fit. It is an object whose property "outline"
// contains the type of the value:
//
//	{"outline":"object","bytes":1226670,"entries":2,"keys":{"pages":"array of 400, 1226600 bytes","tool":"string of 10 characters, 12 bytes"}}
//	{"outline":"array","bytes":1226600,"entries":400,"of":"object","keys":{"url":"string","score":"number or null"}}
//	{"outline":"string","bytes":40002,"characters":40000}
//
// For an array, "keys" lists the keys of the objects in it.
const (
	outlineBytesMax = 2000
	outlineBytesMin = 30 // no outline is shorter
	outlineKeysMax  = 20
	outlineNameMax  = 60 // in characters; longer keys are truncated
)

// outline returns the outline of a value.
func outline(value []byte) []byte {
	out := fmt.Appendf(nil, `{"outline":"%s","bytes":%d`, typeName(value), len(value))
	switch value[0] {
	case '"':
		return fmt.Appendf(out, `,"characters":%d}`, utf8.RuneCountInString(unquote(value)))
	case '{':
		keys := keyList{text: fmt.Appendf(out, `,"entries":%d,"keys":{`, count(value))}
		for name, value := range members(value) {
			keys.add(name, describe(value))
		}
		return append(keys.text, "}}"...)
	case '[':
		shape := arrayShapeOf(value)
		keys := keyList{text: fmt.Appendf(out, `,"entries":%d,"of":"%s","keys":{`, shape.entries, shape.types)}
		for _, k := range shape.keys {
			keys.add(k.name, k.types.String())
		}
		return append(keys.text, "}}"...)
	}
	return append(out, '}')
}

// describe returns the type of a value. For an object, an array or a string, it adds the length and
// the size in bytes.
func describe(value []byte) string {
	switch kind := typeName(value); kind {
	case "object", "array":
		return fmt.Sprintf("%s of %d, %d bytes", kind, count(value), len(value))
	case "string":
		return fmt.Sprintf("string of %d characters, %d bytes", utf8.RuneCountInString(unquote(value)), len(value))
	default:
		return kind
	}
}

// keyList builds the "keys" object of an outline. text is the outline so far, and n is the number
// of keys in it.
type keyList struct {
	text []byte
	n    int
}

// add adds a key if there is room. name is a JSON string. description describes the value, in plain
// ASCII.
func (l *keyList) add(name []byte, description string) {
	if l.n == outlineKeysMax {
		return
	}
	if len(name) > outlineNameMax {
		if text := unquote(name); utf8.RuneCountInString(text) > outlineNameMax {
			name = encodeText(string([]rune(text)[:outlineNameMax]) + "…")
		}
	}
	const end = len(`,:""}}`)
	if len(l.text)+len(name)+len(description)+end > outlineBytesMax {
		l.n = outlineKeysMax
		return
	}
	if l.n++; l.n > 1 {
		l.text = append(l.text, ',')
	}
	l.text = append(append(l.text, name...), ':')
	l.text = strconv.AppendQuote(l.text, description)
}

// arrayShape describes the entries of an array.
type arrayShape struct {
	entries int
	types   typeSet
	keys    []keyTypes // the keys of those entries that are objects, in order of appearance
}

type keyTypes struct {
	name  []byte
	types typeSet
}

func arrayShapeOf(array []byte) (f arrayShape) {
	index := map[string]int{}
	for _, entry := range entries(array) {
		f.entries++
		f.types.add(typeName(entry))
		for name, value := range members(entry) {
			i, known := index[string(name)]
			if !known && len(f.keys) == outlineKeysMax {
				continue
			}
			if !known {
				i = len(f.keys)
				index[string(name)] = i
				f.keys = append(f.keys, keyTypes{name: name})
			}
			f.keys[i].types.add(typeName(value))
		}
	}
	return f
}

// typeSet is a set of JSON types, in order of appearance.
type typeSet []string

func (s *typeSet) add(name string) {
	if !slices.Contains(*s, name) {
		*s = append(*s, name)
	}
}

func (s typeSet) String() string { return strings.Join(s, " or ") }

func encodeText(text string) []byte {
	out, err := schema.Encode(text)
	if err != nil {
		panic("modeltext: " + err.Error()) // a string can always be encoded
	}
	return out
}
