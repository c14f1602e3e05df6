package sheet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"growthworkspace/scripts/workspace/convert"
	"growthworkspace/shared/schema"
)

// table reads the rows of one table.
type table struct {
	source     *source
	reader     *csv.Reader
	rowsBefore int    // the number of rows in the file before the table
	lineBreaks int    // the number of line breaks in cells so far
	suffix     string // appended to headings in messages, such as " of visitors.csv"

	header    []string
	headerRow int
	row       int
	cells     []string
	reopen    func() (*table, error) // opens the same table again; nil if that is impossible
	width     int                    // the number of cells in the first row after the header, including empty ones at its end
}

// openTable reads the header of the next table of a source. The error is io.EOF if the source has
// no more rows.
func openTable(s *source, suffix string) (*table, error) {
	t := &table{source: s, reader: csv.NewReader(s), rowsBefore: s.row, suffix: suffix}
	t.reader.Comma, t.reader.FieldsPerRecord, t.reader.ReuseRecord = rune(s.separator), -1, true
	if err := t.read(); err != nil {
		return nil, err
	}
	t.headerRow = t.row
	for _, cell := range t.cells {
		t.header = append(t.header, cleanHeading(cell))
	}
	for len(t.header) > 1 && t.header[len(t.header)-1] == "" { // every line may end with a separator
		t.header = t.header[:len(t.header)-1]
	}
	return t, nil
}

func cleanHeading(cell string) string { return strings.Join(strings.Fields(cell), " ") }

// read reads the next row.
func (t *table) read() error {
	cells, err := t.reader.Read()
	if err != nil {
		return t.explain(err)
	}
	t.cells = cells
	line, _ := t.reader.FieldPos(0)
	t.row = t.rowsBefore + line - t.lineBreaks
	for _, cell := range cells {
		t.lineBreaks += strings.Count(cell, "\n")
	}
	return nil
}

// next reads the next row. The row must have a cell for each heading and as many cells as the first
// row. Cells after the last heading must be empty. A different number of cells may mean that a cell
// with a separator is not quoted, so that the cells after it are shifted. The error is io.EOF after
// the last row, and a rowProblem if only this row is invalid.
func (t *table) next() error {
	if err := t.read(); err != nil {
		return err
	}
	have, want := len(t.cells), len(t.header)
	for have > want && t.cells[have-1] == "" {
		have--
	}
	if have < want || have > want {
		return rowProblem{t.problem(-1, fmt.Sprintf("has %d cells, but the header has %d; a separator or a quote is missing, or the file is truncated", have, want))}
	}
	if t.width == 0 {
		t.width = len(t.cells)
	}
	if len(t.cells) != t.width {
		return rowProblem{t.problem(-1, fmt.Sprintf("has %d cells, but the first row has %d; is a cell with a separator not quoted?", len(t.cells), t.width))}
	}
	return nil
}

// rowProblem is a problem with a single row. The rows after it can still be read.
type rowProblem struct{ convert.Problem }

// problem returns a problem with the current row. index is the index of the cell, or -1 if the
// problem concerns the whole row.
func (t *table) problem(index int, message string) convert.Problem {
	return convert.Problem{Row: t.row, Column: t.heading(index), Message: message, Text: slices.Clone(t.cells)}
}

// heading returns the name of a column for messages.
func (t *table) heading(index int) string {
	switch {
	case index < 0:
		return strings.TrimPrefix(t.suffix, " of ")
	case index < len(t.header) && t.header[index] != "":
		return t.header[index] + t.suffix
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
func (t *table) explain(err error) error {
	var cell cellProblem
	if errors.As(err, &cell) {
		return convert.Problem{Row: cell.row, Column: t.heading(cell.cell), Message: cell.message}
	}
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	p := convert.Problem{Row: t.rowsBefore + parse.StartLine - t.lineBreaks, Column: t.heading(-1)}
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

// column returns the cells of a column from the first row on, or nil if the table cannot be read
// twice.
func (t *table) column(index int) iter.Seq[string] {
	if t.reopen == nil {
		return nil
	}
	return func(yield func(string) bool) {
		again, err := t.reopen()
		for err == nil {
			var bad rowProblem
			if err = again.next(); errors.As(err, &bad) {
				err = nil
			} else if err == nil && !yield(again.cells[index]) {
				return
			}
		}
	}
}

// find returns the index of the column with the given heading. It ignores case if no heading
// matches exactly.
func (t *table) find(name string) (int, error) {
	name = cleanHeading(name)
	var found []int
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for i, h := range t.header {
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
		return 0, t.missingColumnError(name)
	}
	return 0, convert.Problem{Row: t.headerRow, Column: name + t.suffix, Message: fmt.Sprintf("is in the header twice, as columns %s and %s", columnLetters(found[0]), columnLetters(found[1]))}
}

// headingsMax is the maximum number of headings in a message.
const headingsMax = 30

// missingColumnError returns the error for a heading that the table does not have.
func (t *table) missingColumnError(name string) error {
	message := "is not in the header"
	if near := schema.Nearest(name, t.header); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	names, more := t.header, ""
	if len(names) > headingsMax {
		names, more = names[:headingsMax], ", …"
	}
	message += fmt.Sprintf("; the columns are %s%s", strings.Join(names, ", "), more)
	for range 20 { // search the first rows, because a sheet often has a title above its header
		if t.read() != nil {
			break
		}
		if slices.ContainsFunc(t.cells, func(cell string) bool { return strings.EqualFold(cleanHeading(cell), name) }) {
			message += fmt.Sprintf("; row %d has it: use --skip-lines %d", t.row, t.row-1)
			break
		}
	}
	return convert.Problem{Row: t.headerRow, Column: name + t.suffix, Message: message}
}

// separators are the separators that findSeparator recognises.
const separators = ",;\t|"

// sampleBytes is how much of the beginning of a file findSeparator examines.
const sampleBytes = 64 << 10

// findSeparator returns the separator of a file. It chooses the separator that finds the most
// wanted columns. On a tie, it chooses the one with which the most rows have as many cells as the
// header, and then the one with the most columns. skip is the number of lines before the table.
// skipped is the same number, or 1 if it is 0 and the file begins with a line that names the
// separator, such as Excel's "sep=;".
func findSeparator(in io.Reader, comment string, skip int, wanted []string) (separator byte, skipped int, err error) {
	sample, err := io.ReadAll(io.LimitReader(in, sampleBytes))
	if err != nil {
		return 0, 0, fmt.Errorf("read: %w", err)
	}
	first, _, _ := bytes.Cut(sample, []byte("\n"))
	if text := strings.Trim(string(first), "\"\r "); len(text) == len("sep=;") && strings.HasPrefix(text, "sep=") {
		return text[4], max(skip, 1), nil
	}
	if len(sample) == sampleBytes { // the last line may be incomplete
		sample = sample[:bytes.LastIndexByte(sample, '\n')+1]
	}
	best := []int{-1}
	separator = ','
	for i := range len(separators) {
		s := newSource(bytes.NewReader(sample))
		s.separator, s.comment, s.skip = separators[i], comment, skip
		if score := scoreSeparator(s, wanted); slices.Compare(score, best) > 0 {
			separator, best = separators[i], score
		}
	}
	return separator, skip, nil
}

// scoreSeparator returns numbers that say how well the separator of a source fits, the most
// important one first.
func scoreSeparator(s *source, wanted []string) (score []int) {
	t, err := openTable(s, "")
	if err != nil {
		return []int{-1}
	}
	found, evenRows, cells := 0, 0, len(t.header)
	for _, name := range wanted {
		if slices.ContainsFunc(t.header, func(h string) bool { return strings.EqualFold(h, cleanHeading(name)) }) {
			found++
		}
	}
	for range 50 {
		if err := t.next(); err == nil && cells > 1 {
			evenRows++
		} else if errors.Is(err, io.EOF) {
			break
		}
	}
	return []int{found, evenRows, cells}
}
