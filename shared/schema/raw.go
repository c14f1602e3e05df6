package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// The value of a field of kind Any can have megabytes. A tree of it would have twenty times as much, so its text is cut out of the
// request and kept as it is. It is checked like the rest: no name twice in an object, no character NUL.

// ParseLarge is ParseObject for an object in which the values of some properties are not read into the tree: each is a
// json.RawMessage without insignificant space, nil for null. A valid text with more than most bytes beside these values is too large,
// and is not read: a tree of it would have many times as much.
func ParseLarge(text []byte, root string, uncut []string, most int) (o Object, problems []string, tooLarge bool) {
	whole := func() (Object, []string, bool) {
		o, problems := ParseObject(text, root)
		return o, problems, false
	}
	if len(uncut) == 0 || !utf8.Valid(text) || !json.Valid(text) { // ParseObject has the message
		return whole()
	}
	c := cutter{text: text, nul: bytes.Contains(text, []byte(`\u0000`))}
	c.space()
	if c.text[c.at] != '{' {
		if len(text) > most {
			return nil, nil, true
		}
		return whole()
	}
	values := map[string]json.RawMessage{}
	wanted := func(name string) bool {
		_, again := values[name]
		return !again && slices.Contains(uncut, name)
	}
	rest, tooLarge := c.outer(most, wanted, func(name string, value []byte, problem string) {
		values[name] = compact(value)
		if problem != "" {
			problems = note(problems, root+"."+name, problem)
		}
	})
	if tooLarge {
		return nil, nil, true
	}
	o, others := ParseObject(rest, root)
	if o == nil {
		return nil, others, false
	}
	if loneSurrogate(text) {
		return nil, []string{root + ": " + halfSurrogate}, false
	}
	for i := range o {
		if value, ok := values[o[i].name]; ok && string(value) != "null" {
			o[i].value = value
		}
	}
	return o, append(others, problems...), false
}

// compact returns a valid JSON text without insignificant space.
func compact(text []byte) json.RawMessage {
	out := bytes.NewBuffer(make([]byte, 0, len(text)))
	_ = json.Compact(out, text) // a buffer accepts everything
	return out.Bytes()
}

// cutter walks over a valid JSON text without reading it into memory. problem is the first one since it was reset.
type cutter struct {
	text    []byte
	at      int
	nul     bool // the text has an escape that may be the character NUL
	check   bool // look for problems, which takes the names of all objects
	problem string
}

// outer walks over the outermost object and calls visit with each wanted property. It returns the text with null in place of their
// values. tooLarge: the text has more than most bytes without their values.
func (c *cutter) outer(most int, wanted func(name string) bool, visit func(name string, value []byte, problem string)) (rest []byte, tooLarge bool) {
	rest, kept, cut := make([]byte, 0, 1024), 0, 0
	c.members(true, func(name string) bool {
		begin := c.at
		c.check, c.problem = wanted(name), ""
		c.value()
		if c.check {
			c.check = false
			visit(name, c.text[begin:c.at], c.problem)
			rest = append(append(rest, c.text[kept:begin]...), "null"...)
			kept, cut = c.at, cut+c.at-begin
		}
		return c.at-cut <= most
	})
	if c.at-cut > most || len(c.text)-cut > most {
		return nil, true
	}
	return append(rest, c.text[kept:]...), false
}

// members walks over an object, from its opening brace. each gets a name, empty unless read is true, at the beginning of the value. It
// walks over the value and reports whether to go on.
func (c *cutter) members(read bool, each func(name string) bool) {
	c.at++
	for c.space(); c.text[c.at] != '}'; c.space() {
		if c.text[c.at] == ',' {
			c.at++
			c.space()
		}
		name := c.string(read)
		c.space()
		c.at++ // the colon
		c.space()
		if !each(name) {
			return
		}
	}
	c.at++
}

func (c *cutter) value() {
	switch c.text[c.at] {
	case '{':
		var names nameSet
		c.members(c.check, func(name string) bool {
			if c.check && !names.add(name) && c.problem == "" {
				c.problem = fmt.Sprintf("has an object in which the property %.100q is repeated", name)
			}
			c.value()
			return true
		})
	case '[':
		c.at++
		for c.space(); c.text[c.at] != ']'; c.space() {
			if c.text[c.at] == ',' {
				c.at++
				c.space()
			}
			c.value()
		}
		c.at++
	case '"':
		c.string(c.nul && c.check)
	default:
		for c.at < len(c.text) && bytes.IndexByte([]byte(",]} \t\r\n"), c.text[c.at]) < 0 {
			c.at++
		}
	}
}

// string walks over a string. It returns its text if read is true.
func (c *cutter) string(read bool) string {
	begin, escaped := c.at, false
	for c.at++; c.text[c.at] != '"'; c.at++ {
		if c.text[c.at] == '\\' {
			escaped = true
			c.at++
		}
	}
	c.at++
	if !read {
		return ""
	}
	text := string(c.text[begin+1 : c.at-1])
	if escaped {
		_ = json.Unmarshal(c.text[begin:c.at], &text) // the text is valid
		if c.check && c.problem == "" && bytes.IndexByte([]byte(text), 0) >= 0 {
			c.problem = hasNUL
		}
	}
	return text
}

func (c *cutter) space() {
	for c.at < len(c.text) && bytes.IndexByte([]byte(" \t\r\n"), c.text[c.at]) >= 0 {
		c.at++
	}
}

// nameSet is the names of an object. Most objects have few.
type nameSet struct {
	few  []string
	many map[string]struct{}
}

// add reports whether the name is new.
func (s *nameSet) add(name string) bool {
	if s.many == nil {
		if slices.Contains(s.few, name) {
			return false
		}
		if s.few = append(s.few, name); len(s.few) < smallObject {
			return true
		}
		s.many = make(map[string]struct{}, 4*smallObject)
		for _, n := range s.few {
			s.many[n] = struct{}{}
		}
		return true
	}
	if _, known := s.many[name]; known {
		return false
	}
	s.many[name] = struct{}{}
	return true
}
