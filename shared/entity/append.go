package entity

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// AppendFloat appends the text of a number. An error for one that JSON has no text for.
func AppendFloat(out []byte, f float64) ([]byte, error) {
	if f != 0 && !(1e-6 <= f && f < 1e21 || -1e21 < f && f <= -1e-6) { // with an exponent, whose form is encoding/json's
		return byLibrary(out, reflect.ValueOf(f))
	}
	return strconv.AppendFloat(out, f, 'f', -1, 64), nil
}

// AppendRaw appends a JSON text without the spaces between its values; nil is null. An error for what is no JSON.
func AppendRaw(out []byte, text json.RawMessage) ([]byte, error) {
	if text == nil {
		return append(out, "null"...), nil
	}
	if bytes.ContainsAny(text, " \t\r\n") || !json.Valid(text) {
		return byLibrary(out, reflect.ValueOf(text))
	}
	return append(out, text...), nil
}

// AppendString appends a text in quotes.
func AppendString(out []byte, text string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for {
		n := clean(text)
		out = append(out, text[:n]...)
		if text = text[n:]; text == "" {
			return append(out, '"')
		}
		c, size := text[0], 1
		switch r, long := utf8.DecodeRuneInString(text); {
		case c < utf8.RuneSelf && short[c] != 0:
			out = append(out, '\\', short[c])
		case c < utf8.RuneSelf:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case r == utf8.RuneError && long == 1:
			out = append(out, `\ufffd`...)
		case r == '\u2028' || r == '\u2029': // which JavaScript once took for ends of lines
			out, size = append(out, `\u202`...), long
			out = append(out, hex[r&15])
		default:
			out, size = append(out, text[:long]...), long
		}
		text = text[size:]
	}
}

// short are the characters after the backslash of the escapes that have one.
var short = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// clean returns the length of the longest beginning that stands for itself: ASCII that needs no escape. It looks at eight bytes
// at a time.
func clean(text string) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	at := 0
	for ; at+8 <= len(text); at += 8 {
		s := text[at : at+8]
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		quote, backslash := word^'"'*ones, word^'\\'*ones
		if ((word-' '*ones)&^word|(quote-ones)&^quote|(backslash-ones)&^backslash|word)&high != 0 {
			break
		}
	}
	for ; at < len(text); at++ {
		if c := text[at]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return at
}
