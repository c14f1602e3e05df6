package tabular

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// rowBytesMax is the maximum size of a row. Without a limit, an unclosed quote would read the rest
// of the file into memory. A record may be 350 KB long.
const rowBytesMax = 1 << 20

// Source passes the lines of a file to a csv.Reader. It replaces lines that are not part of a table
// with empty ones, so that the reader's line numbers match the file's.
type Source struct {
	Separator byte
	Encoding  string // the encoding that the user has named; empty for UTF-8 and UTF-16
	Comment   string // lines with this prefix are not part of a table; if empty, there are none
	Skip      int    // the number of lines before the table
	HasTables bool   // whether the file may have several tables, each of which ends at an empty line or a comment
	OnComment func(line string)

	IsLazy     bool                                     // whether a quote inside a cell is an ordinary character, as in rows that were copied from a spreadsheet
	IsRagged   bool                                     // whether rows may have fewer cells than the header
	NamesFlags bool                                     // whether messages name the flags of the command line
	Nearest    func(name string, names []string) string // the name that the user may have meant; may be nil

	in       *bufio.Reader
	row      int // the row of the current line, from 1; a row may have several lines
	isUTF16  bool
	isSample bool   // whether bytes that are not UTF-8 are accepted
	line     int    // the number of the current line, from 1
	text     []byte // the part of the current line that Read has not returned yet
	err      error
	isQuoted bool // whether the current line ends inside a quoted cell
	started  bool // whether a line of the current table was read
	ended    bool // whether the current table has ended

	rowBytes  int // the length of the current row
	cell      int // the index of the cell in which the current line ends
	quoteCell int // the index of the cell with the last opening quote
}

// NewSource returns a source that reads UTF-8 from in.
func NewSource(in io.Reader) *Source {
	content := in
	if wrapped, ok := in.(carriageReturnReader); ok {
		content = wrapped.in
	}
	_, isUTF16 := content.(utf16Text)
	return &Source{in: bufio.NewReaderSize(in, 64<<10), Separator: ',', isUTF16: isUTF16}
}

// nearest returns the name that the user may have meant, or an empty string.
func (s *Source) nearest(name string, names []string) string {
	if s.Nearest == nil {
		return ""
	}
	return s.Nearest(name, names)
}

// NextTable continues after the end of a table. It reports whether there may be another table.
func (s *Source) NextTable() bool {
	if s.err != nil {
		return false
	}
	s.started, s.ended = false, false
	return true
}

// Read implements io.Reader. It returns at most one line, and io.EOF at the end of a table.
func (s *Source) Read(p []byte) (int, error) {
	for len(s.text) == 0 {
		if s.ended {
			return 0, io.EOF
		}
		if s.err != nil {
			return 0, s.err
		}
		s.readLine()
	}
	n := copy(p, s.text)
	s.text = s.text[n:]
	return n, nil
}

var emptyLine = []byte("\n")

// readLine reads the next line into text, or sets err or ended.
func (s *Source) readLine() {
	raw, err := s.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(raw)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= rowBytesMax {
			raw, err = s.in.ReadSlice('\n')
			long = append(long, raw...)
		}
		raw = long
	}
	if len(raw) == 0 {
		s.err = err
		if errors.Is(err, io.EOF) && s.isQuoted {
			s.err = s.quoteProblem("has a quote that is never closed")
		}
		return
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		s.err = err
		return
	}
	if s.line++; s.line == 1 {
		raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")) // a byte order mark, for example of a file in an archive
	}
	if !s.isQuoted {
		s.row++
		if s.skipIfOutside(raw) {
			return
		}
		s.rowBytes, s.cell = 0, 0
	}
	s.started = true
	at := indexInvalidUTF8(raw)
	if at < 0 && s.Encoding != "" {
		at = bytes.Index(raw, []byte("\ufffd")) // the decoder replaces bytes that are invalid in the encoding with this character
	}
	if at >= 0 && !s.isSample {
		s.err = s.encodingProblem(raw, at)
		return
	}
	s.scanQuotes(raw)
	if s.rowBytes += len(raw); s.rowBytes > rowBytesMax {
		s.err = Problem{Row: s.row, Message: "is longer than 1 MB"}
		if s.isQuoted {
			s.err = s.quoteProblem("has a quote that is not closed within 1 MB")
		}
		return
	}
	s.text = raw
}

// skipIfOutside skips a line that begins outside quotes if it is not part of a table, and reports
// whether it did. Read then returns an empty line in its place, or the table ends there.
func (s *Source) skipIfOutside(raw []byte) bool {
	text := bytes.TrimRight(raw, "\r\n")
	isComment := s.Comment != "" && bytes.HasPrefix(text, []byte(s.Comment))
	if isComment && s.OnComment != nil {
		s.OnComment(string(text[len(s.Comment):]))
	}
	isEmpty := len(bytes.Trim(text, " \t,;")) == 0
	if s.line > s.Skip && !isComment && !isEmpty {
		return false
	}
	if s.HasTables && s.started {
		s.ended = true
		return true
	}
	s.text = emptyLine
	return true
}

// scanQuotes tracks the quotes in a line, to know in which cell a quoted part begins.
func (s *Source) scanQuotes(raw []byte) {
	if !s.isQuoted && bytes.IndexByte(raw, '"') < 0 {
		return
	}
	for i, c := range raw {
		switch {
		case c == '"' && s.IsLazy && !s.isQuoted && i > 0 && raw[i-1] != s.Separator: // an ordinary character
		case c == '"':
			if s.isQuoted = !s.isQuoted; s.isQuoted {
				s.quoteCell = s.cell
			}
		case c == s.Separator && !s.isQuoted:
			s.cell++
		}
	}
}

// cellProblem is a problem that makes the table unreadable at a cell. It contains the cell's index;
// table.explain replaces the index with the heading.
type cellProblem struct {
	row, cell int
	message   string
}

func (p cellProblem) Error() string { return p.message }

func (s *Source) quoteProblem(message string) error {
	return cellProblem{s.row, s.quoteCell, message}
}

// indexInvalidUTF8 returns the index of the first byte that is not valid UTF-8, or -1.
func indexInvalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// encodingProblem returns the problem for a line that is not valid UTF-8, or not valid in the
// encoding that the user has named. at is the index of the first invalid byte. Without a
// named encoding, the message shows the word at that byte decoded from Windows-1252, the most common other
// encoding, so that the user can judge whether that is the right one.
func (s *Source) encodingProblem(raw []byte, at int) error {
	s.scanQuotes(raw[:at])
	cell := s.cell
	if bytes.IndexByte(raw[:at], '"') < 0 {
		cell += bytes.Count(raw[:at], []byte{s.Separator})
	}
	if s.Encoding != "" {
		return cellProblem{s.row, cell, fmt.Sprintf("has bytes that are invalid in --encoding %s: choose another encoding", s.Encoding)}
	}
	isWord := func(c byte) bool { return c >= utf8.RuneSelf || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	from, to := at, at+1
	for from > 0 && at-from < 20 && isWord(raw[from-1]) {
		from--
	}
	for to < len(raw) && to-at < 20 && isWord(raw[to]) {
		to++
	}
	if raw[at] == 0xff && s.isUTF16 {
		return cellProblem{s.row, cell, "has half a surrogate pair, which is no character of UTF-16"}
	}
	if !s.NamesFlags {
		return cellProblem{s.row, cell, EncodingMessage}
	}
	message := "is not UTF-8: name the encoding with --encoding"
	if word, err := charmap.Windows1252.NewDecoder().Bytes(raw[from:to]); err == nil && !bytes.ContainsRune(word, utf8.RuneError) {
		message = fmt.Sprintf("is not UTF-8: name the encoding, for example --encoding windows-1252, in which a word of the cell reads %q", word)
	}
	return cellProblem{s.row, cell, message}
}

// OpenText returns a reader that decodes a file to UTF-8 without a byte order mark. name is the
// file's encoding. If it is empty, the file must be UTF-16 or UTF-8, and source checks that its
// content is valid.
func OpenText(in Input, name string) (io.Reader, error) {
	head := make([]byte, min(in.Size, 4096))
	if _, err := in.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read: %w", err)
	}
	switch {
	case bytes.HasPrefix(head, []byte(ZipMagic)):
		return nil, errors.New("is a workbook or a zip archive: save the sheet as CSV")
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0")):
		return nil, errors.New("is a workbook of Excel: save the sheet as CSV")
	case in.Size == 0:
		return nil, errors.New("is empty")
	}
	if name != "" {
		known, err := htmlindex.Get(name)
		if err != nil {
			return nil, fmt.Errorf("--encoding %s: is not the name of an encoding, such as windows-1252, windows-1250, shift_jis or utf-16le", name)
		}
		return normaliseLineEndings(transform.NewReader(in.Reader(), unicode.BOMOverride(known.NewDecoder())), head), nil
	}
	text, err := in.uncheckedText()
	if err != nil {
		return nil, err
	}
	return normaliseLineEndings(text, head), nil
}

// ZipMagic is the start of every zip archive.
const ZipMagic = "PK\x03\x04"

// normaliseLineEndings converts carriage returns to newlines if the lines of a file end with only a
// carriage return, as in files from old programs. head is the beginning of the file.
func normaliseLineEndings(in io.Reader, head []byte) io.Reader {
	head = bytes.TrimSuffix(head, []byte("\r")) // a line feed may follow a carriage return at the end of head
	if bytes.IndexByte(head, '\n') >= 0 || bytes.IndexByte(head, '\r') < 0 {
		return in
	}
	return carriageReturnReader{in}
}

type carriageReturnReader struct{ in io.Reader }

func (r carriageReturnReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	for i, c := range p[:n] {
		if c == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}
