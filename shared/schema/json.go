package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// encoding/json takes what this API must refuse: repeated keys (the last wins), keys in another case, invalid UTF-8 and
// lone surrogates (replaced), and null for absent. So a body is read into a tree first, by this file, and the fields
// are filled from the tree, by their exact names.

// Object is a JSON object in the order in which it was sent. Values are nil, bool, string, json.Number, []any or Object.
type Object []member

type member struct {
	name  string
	value any
}

// Get returns the value of a property.
func (o Object) Get(name string) (value any, ok bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// ParseObject reads a JSON object; place is what messages call it. What is wrong with the text as a whole is one problem; repeated keys are all named.
func ParseObject(text []byte, place string) (Object, []string) {
	if !utf8.Valid(text) {
		return nil, []string{place + ": is not valid UTF-8"}
	}
	if !json.Valid(text) {
		return nil, []string{place + ": is not valid JSON: " + syntaxError(text)}
	}
	if loneSurrogate(text) {
		return nil, []string{place + ": is not valid Unicode: it has half of a surrogate pair"}
	}
	p := parser{decoder: json.NewDecoder(bytes.NewReader(text))}
	p.decoder.UseNumber()
	o, ok := p.value(place).(Object)
	if !ok {
		return nil, []string{place + ": must be a JSON object"}
	}
	return o, p.problems
}

func syntaxError(text []byte) string {
	var ignored json.RawMessage
	if err := json.Unmarshal(text, &ignored); err != nil {
		return err.Error()
	}
	return "unknown"
}

type parser struct {
	decoder  *json.Decoder
	problems []string
}

// value reads one value of a text that json.Valid has accepted, so no token can fail.
func (p *parser) value(place string) any {
	token, err := p.decoder.Token()
	if err != nil {
		return nil
	}
	switch token {
	case json.Delim('{'):
		o := Object{}
		for p.decoder.More() {
			token, _ := p.decoder.Token()
			name, _ := token.(string)
			if _, twice := o.Get(name); twice {
				p.problems = append(p.problems, fmt.Sprintf("%s.%s: is there twice", place, name))
			}
			o = append(o, member{name, p.value(place + "." + name)})
		}
		_, _ = p.decoder.Token() // the closing brace
		return o
	case json.Delim('['):
		list := []any{}
		for p.decoder.More() {
			list = append(list, p.value(place+"["+strconv.Itoa(len(list))+"]"))
		}
		_, _ = p.decoder.Token()
		return list
	}
	return token
}

// loneSurrogate looks for a \u escape of half a character, which encoding/json replaces without a word.
func loneSurrogate(text []byte) bool {
	high := false // the escape before this one was a high surrogate
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			if high {
				return true
			}
			continue
		}
		unit := uint64(0)
		if text[i+1] == 'u' {
			unit, _ = strconv.ParseUint(string(text[i+2:i+6]), 16, 16)
			i += 4
		}
		i++
		isLow := 0xDC00 <= unit && unit <= 0xDFFF
		if high != isLow {
			return true
		}
		high = 0xD800 <= unit && unit <= 0xDBFF
	}
	return high
}
