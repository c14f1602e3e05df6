package modeltext

import (
	"bytes"
	"encoding/json"
	"iter"
)

// The functions in this file split JSON into its parts without decoding it, because a record can
// contain megabytes. The JSON must be valid and must not have spaces between tokens. The pipeline
// writes such JSON.

// members returns the names and the values of an object's members, in order. Each name is a JSON
// string with its quotation marks. If value is not an object, there are none.
func members(value []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		if value[0] != '{' {
			return
		}
		for i := 1; value[i] != '}'; {
			colon := stringEnd(value, i)
			end := valueEnd(value, colon+1)
			if !yield(value[i:colon], value[colon+1:end]) {
				return
			}
			if i = end; value[i] == ',' {
				i++
			}
		}
	}
}

// entries returns the indexes and the values of an array's entries. If value is not an array, there
// are none.
func entries(value []byte) iter.Seq2[int, []byte] {
	return func(yield func(n int, value []byte) bool) {
		if value[0] != '[' {
			return
		}
		for i, n := 1, 0; value[i] != ']'; n++ {
			end := valueEnd(value, i)
			if !yield(n, value[i:end]) {
				return
			}
			if i = end; value[i] == ',' {
				i++
			}
		}
	}
}

// valueEnd returns the index just after the value that begins at text[i].
func valueEnd(text []byte, i int) int {
	switch text[i] {
	case '"':
		return stringEnd(text, i)
	case '{', '[':
		for level := 0; ; i++ {
			switch text[i] {
			case '"':
				i = stringEnd(text, i) - 1
			case '{', '[':
				level++
			case '}', ']':
				if level--; level == 0 {
					return i + 1
				}
			}
		}
	}
	if n := bytes.IndexAny(text[i:], ",]}"); n >= 0 {
		return i + n
	}
	return len(text)
}

// stringEnd returns the index just after the string that begins at text[i].
func stringEnd(text []byte, i int) int {
	for begin := i + 1; ; begin = i + 1 {
		i = begin + bytes.IndexByte(text[begin:], '"')
		backslashes := 0
		for text[i-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 { // an odd number would escape the quotation mark
			return i + 1
		}
	}
}

// count returns the number of members of an object or entries of an array. It returns 0 for other
// values.
func count(value []byte) (n int) {
	for range members(value) {
		n++
	}
	for range entries(value) {
		n++
	}
	return n
}

func unquote(quoted []byte) string {
	if !bytes.Contains(quoted, []byte(`\`)) {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		panic("modeltext: " + err.Error()) // the JSON is valid
	}
	return text
}

func typeName(value []byte) string {
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
