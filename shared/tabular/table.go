package tabular

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// Table reads the rows of one table.
type Table struct {
	source     *Source
	reader     *csv.Reader
	rowsBefore int    // the number of rows in the file before the table
	lineBreaks int    // the number of line breaks in cells so far
	suffix     string // appended to headings in messages, such as " of visitors.csv"

	Header    []string
	HeaderRow int
	Row       int
	Cells     []string
	Reopen    func() (*Table, error) // opens the same table again; nil if that is impossible
	width     int                    // the number of cells in the first row after the header, including empty ones at its end
}

// OpenTable reads the header of the next table of a source. The error is io.EOF if the source has
// no more rows.
func OpenTable(s *Source, suffix string) (*Table, error) {
	t := &Table{source: s, reader: csv.NewReader(s), rowsBefore: s.row, suffix: suffix}
	t.reader.Comma, t.reader.LazyQuotes, t.reader.FieldsPerRecord, t.reader.ReuseRecord = rune(s.Separator), s.IsLazy, -1, true
	if err := t.Read(); err != nil {
		return nil, err
	}
	t.HeaderRow = t.Row
	for _, cell := range t.Cells {
		t.Header = append(t.Header, CleanHeading(cell))
	}
	for len(t.Header) > 1 && t.Header[len(t.Header)-1] == "" { // every line may end with a separator
		t.Header = t.Header[:len(t.Header)-1]
	}
	return t, nil
}

func CleanHeading(cell string) string { return strings.Join(strings.Fields(cell), " ") }

// Read reads the next row.
func (t *Table) Read() error {
	cells, err := t.reader.Read()
	if err != nil {
		return t.explain(err)
	}
	t.Cells = cells
	line, _ := t.reader.FieldPos(0)
	t.Row = t.rowsBefore + line - t.lineBreaks
	for _, cell := range cells {
		t.lineBreaks += strings.Count(cell, "\n")
	}
	return nil
}

// Next reads the next row. The row must have a cell for each heading and as many cells as the first
// row. Cells after the last heading must be empty. A different number of cells may mean that a cell
// with a separator is not quoted, so that the cells after it are shifted. The error is io.EOF after
// the last row, and a RowProblem if only this row is invalid.
func (t *Table) Next() error {
	if err := t.Read(); err != nil {
		return err
	}
	have, want := len(t.Cells), len(t.Header)
	if t.source.IsRagged && have < want {
		t.Cells = append(t.Cells, make([]string, want-have)...)
		return nil
	}
	for have > want && t.Cells[have-1] == "" {
		have--
	}
	if have < want || have > want {
		return RowProblem{t.Problem(-1, fmt.Sprintf("has %d cells, but the header has %d; a separator or a quote is missing, or the file is truncated", have, want))}
	}
	if t.source.IsRagged {
		return nil
	}
	if t.width == 0 {
		t.width = len(t.Cells)
	}
	if len(t.Cells) != t.width {
		return RowProblem{t.Problem(-1, fmt.Sprintf("has %d cells, but the first row has %d; is a cell with a separator not quoted?", len(t.Cells), t.width))}
	}
	return nil
}

// Each reads all rows. It calls visit for each row, or bad for a row that is invalid.
func (t *Table) Each(visit func() error, bad func(Problem) error) error {
	for {
		err := t.Next()
		var invalid RowProblem
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &invalid):
			err = bad(invalid.Problem)
		case err == nil:
			err = visit()
		}
		if err != nil {
			return err
		}
	}
}

// RowProblem is a problem with a single row. The rows after it can still be read.
type RowProblem struct{ Problem }

// Problem returns a problem with the current row. index is the index of the cell, or -1 if the
// problem concerns the whole row.
func (t *Table) Problem(index int, message string) Problem {
	return Problem{Row: t.Row, Column: t.Heading(index), Message: message, Text: slices.Clone(t.Cells)}
}

// Heading returns the name of a column for messages.
func (t *Table) Heading(index int) string {
	switch {
	case index < 0:
		return strings.TrimPrefix(t.suffix, " of ")
	case index < len(t.Header) && t.Header[index] != "":
		return t.Header[index] + t.suffix
	}
	return columnLetters(index) + t.suffix
}

// columnLetters returns the name of a column in a spreadsheet: A, B, …, Z, AA.
func columnLetters(index int) string {
	name := ""
	for n := index + 1; n > 0; n = (n - 1) / 26 {
		name = string(rune('A'+(n-1)%26)) + name
	}
	return name
}

// explain adds the row and the column to an error from the reader.
func (t *Table) explain(err error) error {
	var cell cellProblem
	if errors.As(err, &cell) {
		return Problem{Row: cell.row, Column: t.Heading(cell.cell), Message: cell.message}
	}
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	p := Problem{Row: t.rowsBefore + parse.StartLine - t.lineBreaks, Column: t.Heading(-1)}
	switch {
	case errors.Is(err, csv.ErrBareQuote):
		p.Message = fmt.Sprintf("has a quote inside a cell that is not quoted, at character %d: quote the cell, and write the quote twice", parse.Column)
	case errors.Is(err, csv.ErrQuote):
		p.Message = fmt.Sprintf("has a quoted cell that does not end, or text after its end, at character %d", parse.Column)
	default:
		return err
	}
	return p
}

// Column returns the cells of a column from the first row on, or nil if the table cannot be read
// twice.
func (t *Table) Column(index int) iter.Seq[string] {
	if t.Reopen == nil {
		return nil
	}
	return func(yield func(string) bool) {
		again, err := t.Reopen()
		for err == nil {
			var bad RowProblem
			if err = again.Next(); errors.As(err, &bad) {
				err = nil
			} else if err == nil && !yield(again.Cells[index]) {
				return
			}
		}
	}
}

// Find returns the index of the column with the given heading. It ignores case if no heading
// matches exactly.
func (t *Table) Find(name string) (int, error) {
	name = CleanHeading(name)
	var found []int
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for i, h := range t.Header {
			if same(h, name) {
				found = append(found, i)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, t.MissingColumn(name)
	}
	return 0, Problem{Row: t.HeaderRow, Column: name + t.suffix, Message: fmt.Sprintf("is in the header twice, as columns %s and %s", columnLetters(found[0]), columnLetters(found[1]))}
}

// headingsMax is the maximum number of headings in a message.
const headingsMax = 30

// MissingColumn returns the error for a heading that the table does not have.
func (t *Table) MissingColumn(name string) error {
	message := "is not in the header"
	if near := t.source.nearest(name, t.Header); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	names, more := t.Header, ""
	if len(names) > headingsMax {
		names, more = names[:headingsMax], ", …"
	}
	message += fmt.Sprintf("; the columns are %s%s", strings.Join(names, ", "), more)
	for range 20 { // search the first rows, because a sheet often has a title above its header
		if t.Read() != nil {
			break
		}
		if slices.ContainsFunc(t.Cells, func(cell string) bool { return strings.EqualFold(CleanHeading(cell), name) }) {
			message += fmt.Sprintf("; row %d has it", t.Row)
			if t.source.NamesFlags {
				message += fmt.Sprintf(": use --skip-lines %d", t.Row-1)
			}
			break
		}
	}
	return Problem{Row: t.HeaderRow, Column: name + t.suffix, Message: message}
}

// FindSeparator returns the separator of a table: the character that is most frequent in the first
// line, of those that cells can be separated by, or the one that Excel names there, such as "sep=;".
// skip is the number of lines before the table, and skipped the number of lines before its header.
func FindSeparator(in io.Reader, comment string, skip int) (separator byte, skipped int) {
	s := NewSource(in)
	s.Comment, s.Skip, s.isSample = comment, skip, true
	for s.err == nil && len(bytes.TrimSpace(s.text)) == 0 {
		s.readLine()
	}
	if text := strings.Trim(string(s.text), "\"\r\n "); len(text) == len("sep=;") && strings.HasPrefix(text, "sep=") {
		return text[4], s.line
	}
	counts, isQuoted := map[byte]int{}, false
	for _, c := range s.text {
		if isQuoted = isQuoted != (c == '"'); !isQuoted {
			counts[c]++
		}
	}
	separators := []byte("\t;|,")
	return slices.MaxFunc(separators, func(a, b byte) int { return counts[a] - counts[b] }), skip
}
