package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// encoding/json accepts what this API must reject: repeated keys (the last one wins), keys in
// another letter case, invalid UTF-8 and lone surrogates (both replaced), and null for an absent
// value. So this file reads a body into a tree, and the fields are filled from the tree by their
// exact names.
//
// jsontext rejects invalid UTF-8 and lone surrogates by itself. It reports only the first repeated
// key, so this file looks for them. The package becomes encoding/json/jsontext of the standard
// library; only this file imports it.

// Object is a JSON object in the order in which it was sent. Values are nil, bool, string,
// json.Number, []any, Object, or json.RawMessage for a value that is not read into the tree.
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

// ParseObject reads a JSON object. Problems begin with root. The object is nil when the text as a
// whole is invalid; then there is one problem. Otherwise there is one problem for each repeated key
// and for each text with the character NUL.
func ParseObject(text []byte, root string) (Object, []string) {
	o, problems, _ := ParseLarge(text, root, nil, len(text))
	return o, problems
}

// ParseLarge is ParseObject for an object in which some properties may have megabytes. A tree of
// them would take twenty times as much memory, so uncut names the properties that are not read into
// the tree: each is a json.RawMessage without insignificant space, nil for null. A text with more
// than most bytes outside these values is too large, and the rest of it is not read.
func ParseLarge(text []byte, root string, uncut []string, most int) (o Object, problems []string, tooLarge bool) {
	if TooDeep(text) {
		return nil, []string{fmt.Sprintf("%s: is nested more than %d levels deep", root, NestingMax)}, false
	}
	p := parser{
		decoder: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true)),
		root:    root, rawNames: uncut, rawBytesMax: int64(most), nul: bytes.Contains(text, []byte(`\u0000`)),
	}
	value, err := p.value()
	if err == nil {
		err = p.end()
	}
	switch o, isObject := value.(Object); {
	case errors.Is(err, errTooLarge), err == nil && int64(len(text))-p.truncated > p.rawBytesMax:
		return nil, nil, true
	case err != nil:
		return nil, []string{root + ": " + syntaxProblem(text, err)}, false
	case !isObject:
		return nil, []string{root + ": must be a JSON object"}, false
	default:
		return o, p.problems, false
	}
}

// NestingMax is how deep objects and arrays may be nested in a body or in the arguments of a tool.
// Clients and the SDK of the Model Context Protocol read about 1,000 levels, and the result of a
// tool adds some.
const NestingMax = 500

// TooDeep reports whether a JSON text is nested deeper than NestingMax.
func TooDeep(text []byte) bool {
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) <= NestingMax {
		return false
	}
	level, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++ // the escaped character
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			level++
		case c == '}' || c == ']':
			level--
		}
		if level > NestingMax {
			return true
		}
	}
	return false
}

var errTooLarge = errors.New("the text is too large")

// syntaxProblem says what is wrong with a text as a whole, and where.
func syntaxProblem(text []byte, err error) string {
	at, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !utf8.Valid(text):
		return "is not valid UTF-8"
	case ok && strings.Contains(at.Err.Error(), "surrogate"):
		return "is not valid Unicode: it has half of a surrogate pair"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "is not valid JSON: unexpected end of JSON input"
	}
	return "is not valid JSON: " + strings.TrimPrefix(err.Error(), "jsontext: ")
}

// nulProblem is the problem of a text with the character NUL, which ends a text in many programs.
const nulProblem = "must not have the character U+0000"

// linearSearchMax is the largest number of members that is searched without a set of names.
const linearSearchMax = 16

// parser reads a tree. It builds the path of a member only for a problem, because a deep object has
// many long paths.
type parser struct {
	decoder     *jsontext.Decoder
	root        string
	rawNames    []string
	rawBytesMax int64
	truncated   int64    // bytes of the values that are not in the tree
	path        []string // to the current value: names, and "" for the element of an array
	indexes     []int    // of the array elements in path
	problems    []string
	nul         bool // a text may have the character NUL, which JSON can only express as \u0000
}

// end requires the end of the text.
func (p *parser) end() error {
	_, err := p.decoder.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		err = errors.New("there is more text after the value")
	}
	return err
}

func (p *parser) value() (any, error) {
	token, err := p.decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	if p.decoder.InputOffset()-p.truncated > p.rawBytesMax {
		return nil, errTooLarge
	}
	switch token.Kind() {
	case '{':
		return p.object()
	case '[':
		return p.list()
	case '"':
		s := token.String()
		p.checkNUL(s)
		return s, nil
	case '0':
		return json.Number(token.String()), nil
	case 'n':
		return nil, nil
	}
	return token.Bool(), nil
}

func (p *parser) list() ([]any, error) {
	list := []any{}
	p.path = append(p.path, "")
	for p.decoder.PeekKind() != ']' {
		p.indexes = append(p.indexes, len(list))
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		p.indexes = p.indexes[:len(p.indexes)-1]
	}
	p.path = p.path[:len(p.path)-1]
	_, err := p.decoder.ReadToken()
	return list, err
}

// object reads the members of an object. A repeated member is a problem; the first one is kept.
func (p *parser) object() (Object, error) {
	o, names := Object{}, map[string]bool(nil)
	outermost := len(p.path) == 0
	for p.decoder.PeekKind() != '}' {
		token, err := p.decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		name, twice := token.String(), false
		switch {
		case len(o) < linearSearchMax:
			_, twice = o.Get(name)
		case names == nil:
			names = make(map[string]bool, 4*linearSearchMax)
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
			p.problem("is repeated")
		}
		value, err := p.member(outermost && !twice && slices.Contains(p.rawNames, name))
		if err != nil {
			return nil, err
		}
		p.path = p.path[:len(p.path)-1]
		if !twice {
			o = append(o, member{name, value})
		}
	}
	_, err := p.decoder.ReadToken()
	return o, err
}

func (p *parser) member(uncut bool) (any, error) {
	if uncut && p.decoder.PeekKind() != 'n' {
		return p.raw()
	}
	return p.value()
}

// raw reads a value as its text. It checks the value like the rest: no repeated name in an object,
// no character NUL. The first problem of each kind is reported.
func (p *parser) raw() (json.RawMessage, error) {
	text, err := p.decoder.ReadValue()
	if err != nil {
		return nil, err
	}
	p.truncated += int64(len(text))
	value := slices.Clone(text)
	if p.nul && hasNULText(value) {
		p.problem(nulProblem)
	}
	err = jsontext.NewDecoder(bytes.NewBuffer(value)).SkipValue()
	if at, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		p.problem(fmt.Sprintf("has an object in which the property %.100q is repeated", at.JSONPointer.LastToken()))
	}
	return json.RawMessage(value), value.Compact()
}

// hasNULText reports whether a text of a valid value has the character NUL.
func hasNULText(value []byte) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return false // the end
		}
		if token.Kind() == '"' && strings.ContainsRune(token.String(), 0) {
			return true
		}
	}
}

func (p *parser) checkNUL(s string) {
	if p.nul && strings.ContainsRune(s, 0) {
		p.problem(nulProblem)
	}
}

func (p *parser) problem(text string) { p.problems = appendProblem(p.problems, p.location(), text) }

// location returns the path of the current value, at most slightly longer than messages show it.
func (p *parser) location() string {
	var out strings.Builder
	out.WriteString(p.root)
	indexes := p.indexes
	for _, step := range p.path {
		if out.Len() > pathBytesMax {
			break
		}
		if step == "" {
			step, indexes = "["+strconv.Itoa(indexes[0])+"]", indexes[1:]
		}
		out.WriteString(step[:min(len(step), pathBytesMax+1)])
	}
	return out.String()
}
