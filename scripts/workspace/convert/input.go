package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Input is a file to convert. It can be read several times and at any position.
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
	r, err := in.UncheckedText()
	if err != nil {
		return nil, err
	}
	return transform.NewReader(r, encoding.UTF8Validator), nil
}

// UncheckedText is like Text, but the caller must check that the text is valid UTF-8.
func (in Input) UncheckedText() (io.Reader, error) {
	head := make([]byte, min(in.Size, 64))
	if _, err := in.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read: %w", err)
	}
	r := in.Reader()
	var utf16Encoding encoding.Encoding
	switch {
	case bytes.HasPrefix(head, markUTF8):
		_, err := io.CopyN(io.Discard, r, int64(len(markUTF8)))
		return r, err
	case bytes.HasPrefix(head, markUTF16LE), bytes.HasPrefix(head, markUTF16BE):
		utf16Encoding = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	case countZeroBytes(head, 1) > len(head)/4:
		utf16Encoding = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case countZeroBytes(head, 0) > len(head)/4:
		utf16Encoding = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	default:
		return r, nil
	}
	if in.Size%2 != 0 {
		return nil, errors.New("is truncated: UTF-16 has an even number of bytes")
	}
	return transform.NewReader(r, utf16Encoding.NewDecoder()), nil
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

// Inputs are the open files of a command.
type Inputs struct {
	List  []Input
	Bytes int64 // the total size of the files

	files  []*os.File // the user's files
	spools []*os.File // temporary copies of inputs that can be read only once
}

// OpenInputs opens files. The name "-" stands for standard input. OpenInputs copies standard input
// and pipes to private temporary files.
func OpenInputs(names []string, stdin io.Reader) (*Inputs, error) {
	inputs := &Inputs{}
	for _, name := range names {
		var err error
		if name == "-" {
			err = inputs.spool("standard input", stdin)
		} else {
			err = inputs.open(name)
		}
		if err != nil {
			inputs.Close()
			return nil, err
		}
	}
	return inputs, nil
}

func (i *Inputs) open(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	i.files = append(i.files, f)
	st, err := f.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	case st.IsDir():
		return fmt.Errorf("%s is a folder: name its files", name)
	case !st.Mode().IsRegular(): // a pipe can be read only once
		return i.spool(name, f)
	}
	i.add(Input{f, name, st.Size()})
	return nil
}

// spool copies an input to a temporary file.
func (i *Inputs) spool(name string, in io.Reader) error {
	f, err := newTempFile()
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	i.spools = append(i.spools, f)
	size, err := io.Copy(f, in)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	i.add(Input{f, name, size})
	return nil
}

func (i *Inputs) add(in Input) {
	i.List = append(i.List, in)
	i.Bytes += in.Size
}

// Close closes all files and removes the temporary ones.
func (i *Inputs) Close() {
	for _, f := range i.files {
		_ = f.Close() // ignore the error, because the file was only read
	}
	for _, f := range i.spools {
		closeTempFile(f)
	}
}
