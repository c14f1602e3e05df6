package modeltext

import (
	"fmt"
	"strconv"
	"strings"

	"growthworkspace/shared/schema"
)

// A pointer is a JSON Pointer (RFC 6901): it is empty for the whole record, and otherwise consists
// of tokens, each of which follows a slash. Within a token, ~1 stands for a slash and ~0 for a
// tilde. As an extension, the last token may be a slice such as 20-39, which includes both ends. A
// slice selects entries of an array, characters of a string, or members of an object. If an object
// has a member with that name, the token selects the member instead. The token ~:20-39 always
// selects the slice: a tilde in a name is written ~0, so no name begins like this.

var (
	tokenEscaper   = strings.NewReplacer("~", "~0", "/", "~1")
	tokenUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

func escapeToken(name string) string { return tokenEscaper.Replace(name) }

func sliceToken(first, last int) string { return fmt.Sprintf("%d-%d", first, last) }

// markedSlice is the prefix of a slice that shares its name with a member of the object.
const markedSlice = "~:"

// sliceTokenOf returns the token of a slice of this value.
func sliceTokenOf(value []byte, first, last int) string {
	token := sliceToken(first, last)
	for name := range members(value) {
		if unquote(name) == token {
			return markedSlice + token
		}
	}
	return token
}

// slice is a range of the entries of an array, the characters of a string or the members of an
// object.
type slice struct {
	first, last, length int
	unit                string // "entries" or "characters"
	parent              string // the pointer to the whole value
	value               []byte // the whole value
}

// repeatedPointerMax is a length in bytes. String does not repeat a pointer that is longer.
const repeatedPointerMax = 300

// String returns a sentence that says which part of the value the slice is, and which slice of the
// same length comes next.
func (s slice) String() string {
	token := sliceTokenOf(s.value, s.last+1, min(2*s.last-s.first+1, s.length-1))
	next := fmt.Sprintf("at %q", s.parent+"/"+token)
	if len(s.parent) > repeatedPointerMax {
		next = token + ", after the same pointer"
	}
	return fmt.Sprintf("These are %s %d to %d of %d; the next: %s.", s.unit, s.first, s.last, s.length, next)
}

// parseIndex parses an index. It rejects signs and leading zeros.
func parseIndex(token string) (n int, ok bool) {
	n, err := strconv.Atoi(token)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == token
}

// parseSlice parses a token such as 20-39.
func parseSlice(token string) (s slice, ok bool) {
	first, last, _ := strings.Cut(token, "-")
	s.first, ok = parseIndex(first)
	if ok {
		s.last, ok = parseIndex(last)
	}
	return s, ok
}

// resolve returns the value at a pointer. If the pointer ends with a slice, selection describes the
// slice. The error says which token matches nothing, and what is there instead.
func resolve(value []byte, pointer string) (found []byte, selection *slice, err error) {
	tokens := strings.Split(pointer, "/")[1:]
	at := ""
	for i, token := range tokens {
		name, isMarked := strings.CutPrefix(token, markedSlice)
		name = tokenUnescaper.Replace(name)
		next, isThere := child(value, name)
		if isMarked || !isThere {
			s, isSlice := parseSlice(name)
			if !isSlice || value[0] != '[' && value[0] != '{' && value[0] != '"' {
				return nil, nil, notFoundError(value, at, name)
			}
			if i < len(tokens)-1 {
				return nil, nil, fmt.Errorf("%.100q is a slice, which must be the last part of the pointer", name)
			}
			next, s, err = cut(value, s)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", quoteAt(at), err)
			}
			s.parent, s.value = at, value
			return next, &s, nil
		}
		value, at = next, at+"/"+token
	}
	return value, nil, nil
}

// child returns the member with the given name, or the entry with that index.
func child(value []byte, name string) (found []byte, ok bool) {
	for key, value := range members(value) {
		if unquote(key) == name {
			return value, true
		}
	}
	index, isIndex := parseIndex(name)
	for n, value := range entries(value) {
		if isIndex && n == index {
			return value, true
		}
	}
	return nil, false
}

// cut returns a slice of a value. If the slice extends beyond the end of the value, cut shortens
// it.
func cut(value []byte, s slice) ([]byte, slice, error) {
	var text []rune
	if s.unit = "entries"; value[0] == '"' {
		text = []rune(unquote(value))
		s.unit, s.length = "characters", len(text)
	} else {
		s.length = count(value)
	}
	switch {
	case s.first > s.last:
		return nil, s, fmt.Errorf("the slice %s ends before it begins", sliceToken(s.first, s.last))
	case s.first >= s.length:
		return nil, s, fmt.Errorf("the slice %s is outside: there are %d %s, counted from 0", sliceToken(s.first, s.last), s.length, s.unit)
	}
	s.last = min(s.last, s.length-1)
	if value[0] == '"' {
		return encodeText(string(text[s.first : s.last+1])), s, nil
	}
	var shown []part
	n := 0
	for p := range partsOf(value) {
		if n >= s.first {
			shown = append(shown, p)
		}
		if n++; n > s.last {
			break
		}
	}
	return join(value[0], shown), s, nil
}

// The search for a similar name compares each pair of letters, so it is limited. An error suggests
// one of the first suggestedNamesMax names in an object. It suggests none if the requested name has
// more than suggestedBytesMax bytes.
const (
	suggestedNamesMax = 200
	suggestedBytesMax = 100
)

// notFoundError returns the error for a name that the value at a pointer does not contain. The
// error says what the value does contain.
func notFoundError(value []byte, at, name string) error {
	hint := ""
	switch value[0] {
	case '{':
		var names []string
		for key := range members(value) {
			if names = append(names, unquote(key)); len(names) == suggestedNamesMax {
				break
			}
		}
		hint = "; it has no entries"
		if len(names) > 0 {
			hint = "; it has " + quoteNames(names, count(value))
		}
		if len(name) <= suggestedBytesMax {
			if nearest := schema.Nearest(name, names); nearest != "" {
				hint = fmt.Sprintf("; did you mean %.100q?", nearest)
			}
		}
		return fmt.Errorf("%s is an object without %.100q%s", quoteAt(at), name, hint)
	case '[':
		return fmt.Errorf("%s is an array of %d entries without %.100q; take an index from 0 or a slice such as 0-19", quoteAt(at), count(value), name)
	case '"':
		return fmt.Errorf("%s is a string of %d characters without %.100q; take a slice such as 0-9999", quoteAt(at), len([]rune(unquote(value))), name)
	}
	return fmt.Errorf("%s is %.100s, which has no part %.100q", quoteAt(at), value, name)
}

func quoteAt(pointer string) string {
	if pointer == "" {
		return "the record"
	}
	return fmt.Sprintf("%.300q", pointer)
}

// quoteNames lists the first outlineKeysMax names, and says how many more there are. The parameter
// all is the total number of names in the object.
func quoteNames(names []string, all int) string {
	var out []string
	for _, name := range names[:min(len(names), outlineKeysMax)] {
		out = append(out, fmt.Sprintf("%.60q", name))
	}
	if more := all - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}
