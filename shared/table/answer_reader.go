package table

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// answerReader is a place in a JSON text. Its methods read a value at it and tell whether there was one.
type answerReader struct {
	text    string
	at      int
	size    int                           // attributes that the last record had
	strings []types.AttributeValueMemberS // to hand out one by one: a record has many, and one allocation each would cost more
	numbers []types.AttributeValueMemberN
	list    []string // the elements of the list that is being read
}

func (r *answerReader) space() {
	for r.at < len(r.text) && r.text[r.at] == ' ' {
		r.at++
	}
}

// is reads the next character that is no space, if it is this one.
func (r *answerReader) is(c byte) bool {
	r.space()
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

// object reads an object; value reads the value of each name.
func (r *answerReader) object(value func(name string) bool) bool {
	if !r.is('{') {
		return false
	}
	if r.is('}') {
		return true
	}
	for {
		name, ok := r.name()
		if !ok || !r.is(':') || !value(name) {
			return false
		}
		if !r.is(',') {
			return r.is('}')
		}
	}
}

func (r *answerReader) array(value func() bool) bool {
	if !r.is('[') {
		return false
	}
	if r.is(']') {
		return true
	}
	for {
		if !value() {
			return false
		}
		if !r.is(',') {
			return r.is(']')
		}
	}
}

// name reads the name of a property. It is short, so one byte after the other is faster than two searches.
func (r *answerReader) name() (string, bool) {
	r.space()
	for end := r.at + 1; end < len(r.text) && r.text[r.at] == '"'; end++ {
		switch r.text[end] {
		case '"':
			name := r.text[r.at+1 : end]
			r.at = end + 1
			return name, true
		case '\\':
			return r.string()
		}
	}
	return "", false
}

func (r *answerReader) string() (string, bool) {
	text, _, ok := r.raw()
	return text, ok
}

// raw also tells whether the string stands as it is in the answer, without an escape.
func (r *answerReader) raw() (text string, whole, ok bool) {
	if !r.is('"') {
		return "", false, false
	}
	end := strings.IndexByte(r.text[r.at:], '"')
	if end < 0 {
		return "", false, false
	}
	text = r.text[r.at : r.at+end]
	if escape := strings.IndexByte(text, '\\'); escape >= 0 {
		text, ok = r.escaped(escape)
		return text, false, ok
	}
	r.at += end + 1
	return text, true, true
}

// escapes are what stands for itself after a backslash, and what another character stands for.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped reads the rest of a string whose first backslash is so many bytes ahead.
func (r *answerReader) escaped(ahead int) (string, bool) {
	start := r.at
	out := append(make([]byte, 0, ahead+64), r.text[start:start+ahead]...)
	coded := false // as \u…, which encoding/json reads
	for r.at = start + ahead; r.at < len(r.text); r.at++ {
		c := r.text[r.at]
		switch c {
		case '"':
			r.at++
			if coded {
				var s string
				err := json.Unmarshal([]byte(r.text[start-1:r.at]), &s)
				return s, err == nil
			}
			return string(out), true
		case '\\':
			if r.at++; r.at == len(r.text) {
				return "", false
			}
			if coded = coded || r.text[r.at] == 'u'; !coded && escapes[r.text[r.at]] == 0 {
				return "", false
			}
			c = escapes[r.text[r.at]]
		}
		out = append(out, c)
	}
	return "", false
}

// number returns the text of a number.
func (r *answerReader) number() string {
	r.space()
	start := r.at
	for r.at < len(r.text) && (r.text[r.at] >= '0' && r.text[r.at] <= '9' || r.text[r.at] == '.' || r.text[r.at] == '-') {
		r.at++ // an exponent, which no count has, is for the SDK
	}
	return r.text[start:r.at]
}

func (r *answerReader) int32(into *int32) bool {
	text := r.number()
	n, err := strconv.ParseInt(text, 10, 32)
	*into = int32(n)
	return err == nil && text == strconv.FormatInt(n, 10) // JSON knows no 01
}

func (r *answerReader) capacity(into *types.ConsumedCapacity) bool {
	return r.object(func(name string) bool {
		switch name {
		case "TableName":
			s, ok := r.string()
			into.TableName = &s
			return ok
		case "CapacityUnits":
			text := r.number()
			f, err := strconv.ParseFloat(text, 64)
			into.CapacityUnits = &f
			return err == nil && json.Valid([]byte(text))
		}
		return false
	})
}

func (r *answerReader) itemInto(item *Item) (ok bool) {
	*item, ok = r.item()
	return ok
}

func (r *answerReader) itemsInto(items *[]Item) bool {
	*items = []Item{}
	return r.array(func() bool {
		item, ok := r.item()
		*items = append(*items, item)
		return ok
	})
}

func (r *answerReader) item() (Item, bool) {
	item := make(Item, r.size)
	ok := r.object(func(name string) bool {
		var ok bool
		item[name], ok = r.attribute()
		return ok
	})
	r.size = len(item)
	return item, ok
}

// attribute reads one value, such as {"S":"text"}.
func (r *answerReader) attribute() (types.AttributeValue, bool) {
	kind, ok := r.kind()
	if !ok {
		return nil, false
	}
	value, ok := r.value(kind)
	return value, ok && r.is('}')
}

// kind reads what a value begins with, {"S": of {"S":"text"}.
func (r *answerReader) kind() (string, bool) {
	if rest := r.text[r.at:]; len(rest) > 5 && rest[:2] == `{"` && rest[3:5] == `":` {
		r.at += 5
		return rest[2:3], true
	}
	if !r.is('{') {
		return "", false
	}
	kind, ok := r.name()
	return kind, ok && r.is(':')
}

func (r *answerReader) value(kind string) (types.AttributeValue, bool) {
	switch kind {
	case "S":
		s, ok := r.string()
		return r.newString(s), ok
	case "N":
		s, ok := r.string()
		return r.newNumber(s), ok
	case "BOOL":
		b, ok := r.bool()
		return &types.AttributeValueMemberBOOL{Value: b}, ok
	case "B":
		s, ok := r.string()
		bytes, err := base64.StdEncoding.Strict().DecodeString(s)
		return &types.AttributeValueMemberB{Value: bytes}, ok && err == nil
	case "L":
		list := []types.AttributeValue{}
		ok := r.array(func() bool {
			value, ok := r.attribute()
			list = append(list, value)
			return ok
		})
		return &types.AttributeValueMemberL{Value: list}, ok
	}
	return nil, false // kinds that records of ours never have
}

// skip reads an attribute's value of a kind, which nobody wants.
func (r *answerReader) skip(kind string) bool {
	if kind == "S" || kind == "N" {
		_, ok := r.string()
		return ok
	}
	_, ok := r.value(kind)
	return ok
}

func (r *answerReader) bool() (value, ok bool) {
	r.space()
	rest := r.text[r.at:]
	switch {
	case strings.HasPrefix(rest, "true"):
		r.at += len("true")
		return true, true
	case strings.HasPrefix(rest, "false"):
		r.at += len("false")
		return false, true
	}
	return false, false
}

// atOnce is how many attributes are made at once.
const atOnce = 64

func (r *answerReader) newString(s string) types.AttributeValue {
	if len(r.strings) == 0 {
		r.strings = make([]types.AttributeValueMemberS, atOnce)
	}
	a := &r.strings[0]
	r.strings = r.strings[1:]
	a.Value = s
	return a
}

func (r *answerReader) newNumber(s string) types.AttributeValue {
	if len(r.numbers) == 0 {
		r.numbers = make([]types.AttributeValueMemberN, atOnce/4)
	}
	a := &r.numbers[0]
	r.numbers = r.numbers[1:]
	a.Value = s
	return a
}
