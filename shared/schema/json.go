package schema

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// encoding/json accepts what this API must reject: repeated keys (the last one wins), keys in another letter case, invalid UTF-8
// and lone surrogates (both replaced), and null for an absent value. So this file reads a body into a tree, and the fields are
// filled from the tree by their exact names.

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

// ParseObject reads a JSON object. Problems begin with root. The object is nil when the text as a whole is invalid; then there is
// one problem. Else there is one problem for each
// repeated key and for each text with the character NUL.
func ParseObject(text []byte, root string) (Object, []string) {
	if !utf8.Valid(text) {
		return nil, []string{root + ": is not valid UTF-8"}
	}
	if !json.Valid(text) {
		return nil, []string{root + ": is not valid JSON: " + syntaxError(text)}
	}
	if loneSurrogate(text) {
		return nil, []string{root + ": " + halfSurrogate}
	}
	p := parser{decoder: json.NewDecoder(bytes.NewReader(text)), root: root, nul: bytes.Contains(text, []byte(`\u0000`))}
	p.decoder.UseNumber()
	o, ok := p.value().(Object)
	if !ok {
		return nil, []string{root + ": must be a JSON object"}
	}
	return o, p.problems
}

const halfSurrogate = "is not valid Unicode: it has half of a surrogate pair"

func syntaxError(text []byte) string {
	var ignored json.RawMessage
	if err := json.Unmarshal(text, &ignored); err != nil {
		return err.Error()
	}
	return "unknown"
}

// parser reads a tree. It builds the path of a member only for a problem, because a deep object has many long paths.
type parser struct {
	decoder  *json.Decoder
	root     string
	path     []string // to the current value: names, and "" for the element of an array
	indexes  []int    // of the array elements in path
	problems []string
	nul      bool // a text may have the character NUL, which JSON can only say as \u0000
}

// hasNUL is the problem of a text with the character NUL. It ends a text in many programs that read one.
const hasNUL = "must not have the character U+0000"

// smallObject is the largest number of members that is searched without a set of names.
const smallObject = 16

// value reads one value of a text that json.Valid has accepted, so no token can fail.
func (p *parser) value() any {
	token, err := p.decoder.Token()
	if err != nil {
		return nil
	}
	switch token {
	case json.Delim('{'):
		return p.object()
	case json.Delim('['):
		list := []any{}
		p.path = append(p.path, "")
		for p.decoder.More() {
			p.indexes = append(p.indexes, len(list))
			list = append(list, p.value())
			p.indexes = p.indexes[:len(p.indexes)-1]
		}
		p.path = p.path[:len(p.path)-1]
		_, _ = p.decoder.Token()
		return list
	}
	if s, ok := token.(string); ok {
		p.checkNUL(s)
	}
	return token
}

func (p *parser) checkNUL(s string) {
	if p.nul && strings.ContainsRune(s, 0) {
		p.problems = note(p.problems, p.location(), hasNUL)
	}
}

// object reads the members of an object. A repeated member is a problem; the first one is kept.
func (p *parser) object() Object {
	o, names := Object{}, map[string]bool(nil)
	for p.decoder.More() {
		token, _ := p.decoder.Token()
		name, _ := token.(string)
		twice := false
		switch {
		case len(o) < smallObject:
			_, twice = o.Get(name)
		case names == nil:
			names = make(map[string]bool, 4*smallObject)
			for _, m := range o {
				names[m.name] = true
			}
			fallthrough
		default:
			twice, names[name] = names[name], true
		}
		p.path = append(p.path, "."+name)
		p.checkNUL(name)
		if twice {
			p.problems = note(p.problems, p.location(), "is repeated")
		}
		value := p.value()
		p.path = p.path[:len(p.path)-1]
		if !twice {
			o = append(o, member{name, value})
		}
	}
	_, _ = p.decoder.Token() // the closing brace
	return o
}

// location returns the path of the current value, at most slightly longer than messages show it.
func (p *parser) location() string {
	var out strings.Builder
	out.WriteString(p.root)
	indexes := p.indexes
	for _, step := range p.path {
		if out.Len() > pathBytes {
			break
		}
		if step == "" {
			step, indexes = "["+strconv.Itoa(indexes[0])+"]", indexes[1:]
		}
		out.WriteString(step[:min(len(step), pathBytes+1)])
	}
	return out.String()
}

// loneSurrogate reports whether a \u escape is half of a surrogate pair, which encoding/json replaces silently.
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
