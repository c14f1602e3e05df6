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
	return utf16Text{bufio.NewReader(&utf16Reader{bufio.NewReaderSize(r, 64<<10), order})}, nil
}

// utf16Text is the text of a file in UTF-16. Its buffer always has room for a character.
type utf16Text struct{ *bufio.Reader }

// utf16Reader decodes UTF-16 to UTF-8. It drops byte order marks, and half a surrogate pair becomes
// the byte 0xff, so that whoever checks the text knows its place.
type utf16Reader struct {
	in    *bufio.Reader
	order binary.ByteOrder
}

// Read implements io.Reader. p must have room for a character.
func (r *utf16Reader) Read(p []byte) (int, error) {
	out := p[:0]
	for len(out)+utf8.UTFMax <= len(p) && (len(out) == 0 || r.in.Buffered() > 0) {
		units, err := r.in.Peek(4) // a surrogate pair
		if len(units) < 2 {
			return len(out), err
		}
		c, size := rune(r.order.Uint16(units)), 2
		if utf16.IsSurrogate(c) && len(units) == 4 {
			c, size = utf16.DecodeRune(c, rune(r.order.Uint16(units[2:]))), 4
		}
		switch {
		case utf16.IsSurrogate(c), c == utf8.RuneError && size == 4:
			out, size = append(out, 0xff), 2
		case c != 0xfeff:
			out = utf8.AppendRune(out, c)
		}
		_, _ = r.in.Discard(size) // cannot fail after Peek
	}
	return len(out), nil
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
