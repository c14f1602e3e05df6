package convert

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// csvRowBytesMax is the maximum size of a row. Without a limit, an unclosed quote would turn the
// rest of the file into one row.
const csvRowBytesMax = 4 << 20

// CSV reads the rows of a CSV file with bounded memory.
type CSV struct {
	reader *csv.Reader
	limit  *limitedReader
	row    int // the row number of the last record, as in a spreadsheet: line breaks in a cell do not start a new row
	line   int // the number of the line on which the last record ends
}

// NewCSV returns a CSV that reads from text. Rows may have different numbers of cells. If lazy is
// set, a quote inside an unquoted cell is an ordinary character; otherwise it is a problem.
func NewCSV(text io.Reader, separator rune, lazy bool) *CSV {
	limit := &limitedReader{in: text}
	r := csv.NewReader(limit)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = separator, lazy, -1, true
	return &CSV{reader: r, limit: limit}
}

// Read returns the cells of the next row and the row's number in a spreadsheet. It skips empty
// rows, but counts them. cells is valid until the next Read. The error is io.EOF after the last
// row, or a Problem for a row that cannot be read.
func (c *CSV) Read() (cells []string, row int, err error) {
	c.limit.left = csvRowBytesMax
	cells, err = c.reader.Read()
	var invalid *csv.ParseError
	switch {
	case err == nil:
		begin, _ := c.reader.FieldPos(0)
		c.row += begin - c.line
		c.line = begin
		for _, cell := range cells {
			c.line += strings.Count(cell, "\n")
		}
		return cells, c.row, nil
	case errors.As(err, &invalid):
		row = c.row + invalid.StartLine - c.line
		return nil, row, Problem{Row: row, Message: fmt.Sprintf(
			"a quote is missing, or there is one too many: noticed on line %d, at byte %d", invalid.Line, invalid.Column)}
	case errors.Is(err, errTooLong):
		return nil, 0, fmt.Errorf("after byte %d: a row has more than %d MB; is a quote not closed?", c.reader.InputOffset(), csvRowBytesMax>>20)
	}
	return nil, 0, err
}

var errTooLong = errors.New("the row is too long")

// limitedReader is a reader that fails when more than `left` bytes are read.
type limitedReader struct {
	in   io.Reader
	left int
}

func (r *limitedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errTooLong
	}
	n, err := r.in.Read(p)
	r.left -= n
	return n, err
}
