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

// encoding/json accepts what this API must reject: repeated keys (the last one wins), keys that
// match a field only if letter case is ignored, invalid UTF-8 and lone surrogates (both replaced),
// and null where it is not allowed. Therefore this file parses a body into a tree, from which the
// fields are filled by their exact names.
//
// jsontext rejects invalid UTF-8 and lone surrogates on its own. It reports only the first repeated
// key, so this file looks for repeated keys itself. jsontext will become the standard library's
// encoding/json/jsontext; only this file imports it.

// Object is a JSON object that keeps its properties in the order in which they were sent. Values
// are nil, bool, string, json.Number, []any, Object, or json.RawMessage for a value that is not
// parsed into the tree.
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

// ParseObject parses a JSON object. The path in each problem begins with root. If the JSON as a
// whole is invalid, the object is nil and there is one problem. Otherwise there is one problem for
// each repeated key and for each string that contains the character NUL.
func ParseObject(text []byte, root string) (Object, []string) {
	o, problems, _ := ParseObjectWithRaw(text, root, nil, len(text))
	return o, problems
}

// ParseObjectWithRaw is like ParseObject, but for an object in which some properties may contain
// megabytes of JSON. As a tree, that JSON would take twenty times as much memory. The values of the
// properties in rawNames are not parsed: each is a json.RawMessage without insignificant
// whitespace, or nil for null. If the JSON has more than bytesMax bytes outside these values,
// tooLarge is true, and the rest is not read.
func ParseObjectWithRaw(text []byte, root string, rawNames []string, bytesMax int) (o Object, problems []string, tooLarge bool) {
	if TooDeep(text) {
		return nil, []string{fmt.Sprintf("%s: is nested more than %d levels deep", root, NestingMax)}, false
	}
	p := parser{
		decoder: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true)),
		root:    root, rawNames: rawNames, rawBytesMax: int64(bytesMax), mayHaveNUL: bytes.Contains(text, []byte(`\u0000`)),
	}
	value, err := p.value()
	if err == nil {
		err = p.requireEnd()
	}
	switch o, isObject := value.(Object); {
	case errors.Is(err, errTooLarge), err == nil && int64(len(text))-p.rawBytes > p.rawBytesMax:
		return nil, nil, true
	case err != nil:
		return nil, []string{root + ": " + syntaxProblem(text, err)}, false
	case !isObject:
		return nil, []string{root + ": must be a JSON object"}, false
	default:
		return o, p.problems, false
	}
}

// NestingMax is the maximum nesting depth of objects and arrays in a body or in the arguments of a
// tool. Clients and the SDK of the Model Context Protocol support about 1,000 levels, and the
// result of a tool adds some.
const NestingMax = 500

// TooDeep reports whether JSON is nested deeper than NestingMax.
func TooDeep(text []byte) bool {
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) <= NestingMax {
		return false
	}
	level, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++ // skips the escaped character
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

// syntaxProblem describes what makes the JSON as a whole invalid, and where.
func syntaxProblem(text []byte, err error) string {
	syntaxErr, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !utf8.Valid(text):
		return "is not valid UTF-8"
	case ok && strings.Contains(syntaxErr.Err.Error(), "surrogate"):
		return "is not valid Unicode: it has half of a surrogate pair"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "is not valid JSON: unexpected end of JSON input"
	}
	return "is not valid JSON: " + strings.TrimPrefix(err.Error(), "jsontext: ")
}

// nulProblem is the message about a string that contains the character NUL. In many programs, NUL
// ends a string.
const nulProblem = "must not have the character U+0000"

// linearSearchMax is the number of members up to which an object is searched linearly for a
// repeated key. For larger objects, a set is used.
const linearSearchMax = 16

// parser parses JSON into a tree. It builds the path to a value only when it reports a problem,
// because a deep object has many long paths.
type parser struct {
	decoder     *jsontext.Decoder
	root        string
	rawNames    []string
	rawBytesMax int64
	rawBytes    int64    // bytes in the values that are not parsed into the tree
	path        []string // path to the current value; "" stands for an array element
	indexes     []int    // indexes of the array elements in path
	problems    []string
	mayHaveNUL  bool // whether a string may contain the character NUL, which JSON can express only as \u0000
}

// requireEnd returns an error unless the input ends here.
func (p *parser) requireEnd() error {
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
	if p.decoder.InputOffset()-p.rawBytes > p.rawBytesMax {
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

// object parses the members of an object. A repeated key is a problem, and its first value is kept.
func (p *parser) object() (Object, error) {
	o, names := Object{}, map[string]bool(nil)
	outermost := len(p.path) == 0
	for p.decoder.PeekKind() != '}' {
		token, err := p.decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		name, isRepeated := token.String(), false
		switch {
		case len(o) < linearSearchMax:
			_, isRepeated = o.Get(name)
		case names == nil:
			names = make(map[string]bool, 4*linearSearchMax)
			for _, m := range o {
				names[m.name] = true
			}
			fallthrough
		default:
			isRepeated, names[name] = names[name], true
		}
		p.path = append(p.path, "."+name)
		p.checkNUL(name)
		if isRepeated {
			p.addProblem("is repeated")
		}
		value, err := p.member(outermost && !isRepeated && slices.Contains(p.rawNames, name))
		if err != nil {
			return nil, err
		}
		p.path = p.path[:len(p.path)-1]
		if !isRepeated {
			o = append(o, member{name, value})
		}
	}
	_, err := p.decoder.ReadToken()
	return o, err
}

func (p *parser) member(isRaw bool) (any, error) {
	if isRaw && p.decoder.PeekKind() != 'n' {
		return p.readRaw()
	}
	return p.value()
}

// readRaw reads a value as raw JSON. It checks the value for repeated keys and the character NUL,
// but reports only the first problem of each kind.
func (p *parser) readRaw() (json.RawMessage, error) {
	text, err := p.decoder.ReadValue()
	if err != nil {
		return nil, err
	}
	p.rawBytes += int64(len(text))
	value := slices.Clone(text)
	if p.mayHaveNUL && hasNULText(value) {
		p.addProblem(nulProblem)
	}
	err = jsontext.NewDecoder(bytes.NewBuffer(value)).SkipValue()
	if syntaxErr, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		p.addProblem(fmt.Sprintf("has an object in which the property %.100q is repeated", syntaxErr.JSONPointer.LastToken()))
	}
	return json.RawMessage(value), value.Compact()
}

// hasNULText reports whether a string in a valid JSON value contains the character NUL.
func hasNULText(value []byte) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return false // the end of the value
		}
		if token.Kind() == '"' && strings.ContainsRune(token.String(), 0) {
			return true
		}
	}
}

func (p *parser) checkNUL(s string) {
	if p.mayHaveNUL && strings.ContainsRune(s, 0) {
		p.addProblem(nulProblem)
	}
}

func (p *parser) addProblem(text string) { p.problems = appendProblem(p.problems, p.location(), text) }

// location returns the path to the current value. It may truncate a long path, but only beyond the
// part that messages show.
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
