package tabular

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// Input is a file. It can be read several times and at any position.
type Input struct {
	io.ReaderAt

	Name string // the name that the user gave, for messages
	Size int64
}

// NewInput returns an Input whose content is in memory.
func NewInput(name string, content []byte) Input {
	return Input{bytes.NewReader(content), name, int64(len(content))}
}

// Reader returns a reader that starts at the beginning of the file.
func (in Input) Reader() io.Reader { return io.NewSectionReader(in, 0, in.Size) }

// The byte order marks.
var (
	markUTF8    = []byte{0xef, 0xbb, 0xbf}
	markUTF16LE = []byte{0xff, 0xfe}
	markUTF16BE = []byte{0xfe, 0xff}
)

// Text returns a reader of the file as UTF-8 without a byte order mark. It recognises UTF-16 by its
// byte order mark, or by zero bytes among the first characters. Any other file must be UTF-8: the
// reader returns an error at the first invalid byte.
func (in Input) Text() (io.Reader, error) {
	r, err := in.uncheckedText()
	if err != nil {
		return nil, err
	}
	return transform.NewReader(r, encoding.UTF8Validator), nil
}

// uncheckedText is like Text, but the caller must check that the text is valid UTF-8. Half a
// surrogate pair of UTF-16 becomes a byte that is not.
func (in Input) uncheckedText() (text io.Reader, err error) {
	head := make([]byte, min(in.Size, 64))
	if _, err := in.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read: %w", err)
	}
	r := in.Reader()
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(head, markUTF8):
		_, err := io.CopyN(io.Discard, r, int64(len(markUTF8)))
		return r, err
	case bytes.HasPrefix(head, markUTF16LE), countZeroBytes(head, 1) > len(head)/4:
		order = binary.LittleEndian
	case bytes.HasPrefix(head, markUTF16BE), countZeroBytes(head, 0) > len(head)/4:
		order = binary.BigEndian
	default:
		return r, nil
	}
	if in.Size%2 != 0 {
		return nil, errors.New("is truncated: UTF-16 has an even number of bytes")
	}
	return &utf16Reader{in: bufio.NewReaderSize(r, 64<<10), order: order}, nil
}

// utf16Reader decodes UTF-16 to UTF-8. It drops byte order marks, and half a surrogate pair becomes
// the byte 0xff, so that whoever checks the text knows its place.
type utf16Reader struct {
	in     *bufio.Reader
	order  binary.ByteOrder
	rest   []byte // decoded bytes that did not fit
	buffer [utf8.UTFMax]byte
}

func (r *utf16Reader) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		if len(r.rest) == 0 {
			r.rest, err = r.next()
		}
		copied := copy(p[n:], r.rest)
		n, r.rest = n+copied, r.rest[copied:]
		if r.in.Buffered() == 0 && n > 0 {
			break
		}
	}
	return n, err
}

// next decodes a character.
func (r *utf16Reader) next() ([]byte, error) {
	unit, err := r.in.Peek(2)
	if err != nil {
		return nil, err
	}
	c := rune(r.order.Uint16(unit))
	_, _ = r.in.Discard(2) // cannot fail after Peek
	if utf16.IsSurrogate(c) {
		second, err := r.in.Peek(2)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		pair := utf8.RuneError
		if len(second) == 2 {
			pair = utf16.DecodeRune(c, rune(r.order.Uint16(second)))
		}
		if pair == utf8.RuneError {
			return []byte{0xff}, nil
		}
		_, _ = r.in.Discard(2)
		c = pair
	}
	if c == 0xfeff {
		return nil, nil
	}
	return utf8.AppendRune(r.buffer[:0], c), nil
}

// countZeroBytes counts the zero bytes at the odd positions of text if parity is 1, or at the even
// positions if parity is 0. In UTF-16, one of the two bytes of a Latin character is zero.
func countZeroBytes(text []byte, parity int) (n int) {
	for i := parity; i < len(text); i += 2 {
		if text[i] == 0 {
			n++
		}
	}
	return n
}

// IsEncodingError reports whether an error from the reader that Text returns means that the file
// has a different encoding.
func IsEncodingError(err error) bool { return errors.Is(err, encoding.ErrInvalidUTF8) }

// EncodingMessage is the message for a file in an unknown encoding.
const EncodingMessage = "is neither UTF-8 nor UTF-16"
