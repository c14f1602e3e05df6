package oracle

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ReadInParts assembles a JSON value that tools return in parts, with outlines in place of values
// that do not fit. The function read returns the decoded value at a JSON Pointer. It must decode
// objects as map[string]any.
//
// ReadInParts follows the description of outlines in scripts/docs/reference/tools.md. It is
// independent of the code that writes outlines.
func ReadInParts(read func(pointer string) (any, error)) (any, error) {
	return readInParts("", read)
}

func readInParts(pointer string, read func(string) (any, error)) (any, error) {
	value, err := read(pointer)
	if err != nil {
		return nil, err
	}
	o, isOutline := outlineOf(value)
	if !isOutline {
		return readChildren(pointer, 0, value, read)
	}
	switch o.kind {
	case "string":
		return readInRanges(o.characters, pointer, read, "", func(whole, part any) (any, int) {
			return whole.(string) + part.(string), utf8.RuneCountInString(part.(string))
		})
	case "array":
		return readInRanges(o.entries, pointer, read, []any{}, func(whole, part any) (any, int) {
			return append(whole.([]any), part.([]any)...), len(part.([]any))
		})
	case "object":
		return readInRanges(o.entries, pointer, read, map[string]any{}, func(whole, part any) (any, int) {
			for name, value := range part.(map[string]any) {
				whole.(map[string]any)[name] = value
			}
			return whole, len(part.(map[string]any))
		})
	}
	return nil, fmt.Errorf("%s: an outline of type %s", pointer, o.kind)
}

// readInRanges reads a value with the given length range by range, with pointers such as /a/0-9. If
// a range does not fit, it tries one of half the size. The function add appends a range to the
// value read so far, and returns the range's length.
func readInRanges(length int, pointer string, read func(string) (any, error), whole any, add func(whole, part any) (any, int)) (any, error) {
	n := length
	for first := 0; first < length; {
		part, err := read(fmt.Sprintf("%s/%d-%d", pointer, first, first+n-1))
		if err != nil {
			return nil, err
		}
		if _, isOutline := outlineOf(part); isOutline {
			if n == 1 {
				return nil, fmt.Errorf("%s/%d-%d is outlined as a whole", pointer, first, first)
			}
			n = (n + 1) / 2
			continue
		}
		if part, err = readChildren(pointer, first, part, read); err != nil {
			return nil, err
		}
		var got int
		if whole, got = add(whole, part); got != min(n, length-first) {
			return nil, fmt.Errorf("%s/%d-%d has %d parts", pointer, first, first+n-1, got)
		}
		first += got
	}
	return whole, nil
}

// readChildren replaces the outlines in a value with the values that they describe. If value is a
// slice of an array, first is the index of its first entry.
func readChildren(pointer string, first int, value any, read func(string) (any, error)) (any, error) {
	readChild := func(token string, value any) (any, error) {
		if _, isOutline := outlineOf(value); isOutline {
			return readInParts(pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(token), read)
		}
		return value, nil
	}
	var err error
	switch value := value.(type) {
	case map[string]any:
		for name, element := range value {
			if value[name], err = readChild(name, element); err != nil {
				return nil, err
			}
		}
	case []any:
		for n, element := range value {
			if value[n], err = readChild(fmt.Sprint(first+n), element); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

type outline struct {
	kind                string
	entries, characters int
}

func outlineOf(value any) (o outline, ok bool) {
	object, _ := value.(map[string]any)
	kind, isText := object["outline"].(string)
	if _, hasBytes := object["bytes"]; !isText || !hasBytes {
		return outline{}, false
	}
	number := func(name string) (n int) {
		_, _ = fmt.Sscan(fmt.Sprint(object[name]), &n) // 0 if there is no such number
		return n
	}
	return outline{kind, number("entries"), number("characters")}, true
}
