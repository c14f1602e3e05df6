package convert

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"growthworkspace/shared/tabular"
)

// Result contains the records and problems of the converted files.
type Result struct {
	Counts       map[string]int // the number of records, by type
	Skipped      map[string]int // the number of rows that were left out on purpose, by reason
	ProblemCount int            // the number of problems with rows

	out    *Output
	places *placeCursor // the state of PlaceOf; nil before its first call
}

// problemsMax is the maximum number of problems that an error lists.
const problemsMax = 20

// Convert converts all files. The caller must close the Result. Convert returns an error if a whole
// file is unreadable. Problems with single rows are in the Result.
func Convert(ctx context.Context, kind Kind, inputs []Input) (*Result, error) {
	out, err := newOutput(kind)
	if err != nil {
		return nil, err
	}
	r := &Result{Counts: out.counts, Skipped: out.skipped, out: out}
	for i, in := range inputs {
		out.file, out.names = i, append(out.names, in.Name)
		if err := kind.Convert(ctx, in, out); err != nil {
			r.Close()
			return nil, withFileName(in.Name, err)
		}
	}
	err = errors.Join(ctx.Err(), out.records.out.Flush(), out.problems.out.Flush())
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("convert: %w", err)
	}
	r.ProblemCount = out.problemCount
	out.latest = nil // no further version can follow, so free the memory
	for name, n := range r.Counts {
		if n == 0 {
			delete(r.Counts, name)
		}
	}
	return r, nil
}

// withFileName adds the name of the file to an error.
func withFileName(name string, err error) error {
	var p Problem
	switch {
	case errors.As(err, &p):
		p.File = name
		return p
	case tabular.IsEncodingError(err):
		return fmt.Errorf("%s: %s", name, tabular.EncodingMessage)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Close removes the temporary files.
func (r *Result) Close() {
	closeTempFile(r.out.records.file)
	closeTempFile(r.out.problems.file)
}

// Total returns the number of records.
func (r *Result) Total() (n int) {
	for _, count := range r.Counts {
		n += count
	}
	return n
}

// Line is one record as a line of an import.
type Line struct {
	File string
	Row  int
	JSON []byte // {"type": …, "record": …}; valid only until the next line is read
}

// Place returns where the line was read, such as "reviews.csv, row 12".
func (l Line) Place() string {
	if l.Row == 0 {
		return l.File
	}
	return fmt.Sprintf("%s, row %d", l.File, l.Row)
}

// Each calls the function visit for each record, in the order in which the records were read.
func (r *Result) Each(visit func(Line) error) error {
	for in := r.lineReader(); ; {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = visit(line)
		}
		if err != nil {
			return err
		}
	}
}

// lineReader reads the lines of a Result.
type lineReader struct {
	out   *Output
	in    *bufio.Reader
	index int // the index of the next record in out, counting superseded ones
}

func (r *Result) lineReader() *lineReader {
	return &lineReader{out: r.out, in: bufio.NewReaderSize(r.out.records.reader(), 256<<10)}
}

// next returns the next line, or io.EOF.
func (l *lineReader) next() (Line, error) {
	text, err := readLine(l.in)
	for ; err == nil && l.out.superseded[l.index]; l.index++ {
		text, err = readLine(l.in)
	}
	l.index++
	if errors.Is(err, io.EOF) {
		return Line{}, io.EOF
	}
	file, rest, _ := bytes.Cut(text, []byte(" "))
	row, line, _ := bytes.Cut(rest, []byte(" "))
	f, err1 := strconv.Atoi(string(file))
	n, err2 := strconv.Atoi(string(row))
	if err := cmp.Or(err, err1, err2); err != nil {
		return Line{}, fmt.Errorf("read a temporary file: %w", err)
	}
	return Line{l.out.names[f], n, line}, nil
}

// readLine returns the next line without its newline. A line may have any length. The result may be
// valid only until the next read.
func readLine(in *bufio.Reader) ([]byte, error) {
	text, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(text)
		for errors.Is(err, bufio.ErrBufferFull) {
			text, err = in.ReadSlice('\n')
			long = append(long, text...)
		}
		text = long
	}
	if err != nil {
		return nil, err
	}
	return text[:len(text)-1], nil
}

// WriteLines writes the records as import lines.
func (r *Result) WriteLines(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	err := r.Each(func(l Line) error {
		_, err := out.Write(append(l.JSON, '\n'))
		return err
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("write the records: %w", err)
	}
	return nil
}

// Lines returns a reader of the lines that WriteLines writes. The caller must close it.
func (r *Result) Lines() io.ReadCloser {
	in, out := io.Pipe()
	go func() { out.CloseWithError(r.WriteLines(out)) }()
	return in
}

// placeCursor is the state of PlaceOf.
type placeCursor struct {
	lines *lineReader
	read  int // the number of lines read
	last  Line
}

// PlaceOf returns the place in the files from which the n-th line that WriteLines writes was read.
// Calls with ascending n read the temporary file only once, which matters because a message can
// list thousands of lines.
func (r *Result) PlaceOf(n int) string {
	if r.places == nil || n < r.places.read {
		r.places = &placeCursor{lines: r.lineReader()}
	}
	p := r.places
	for ; p.read < n; p.read++ {
		line, err := p.lines.next()
		if err != nil {
			return fmt.Sprintf("line %d", n) // the line number is all that is known if the temporary file cannot be read
		}
		line.JSON = nil // JSON is valid only until the next line is read
		p.last = line
	}
	return p.last.Place()
}

// EachProblem calls visit for each problem of any row. It stops at the first error.
func (r *Result) EachProblem(visit func(Problem) error) error {
	d := json.NewDecoder(r.out.problems.reader())
	for d.More() {
		var p Problem
		if err := d.Decode(&p); err != nil {
			return fmt.Errorf("read a temporary file: %w", err)
		}
		if err := visit(p); err != nil {
			return err
		}
	}
	return nil
}

// Err returns an error that lists the first problems with rows, or nil if there are none.
func (r *Result) Err() error {
	if r.ProblemCount == 0 {
		return nil
	}
	var lines []string
	err := r.EachProblem(func(p Problem) error {
		if len(lines) == problemsMax {
			return io.EOF
		}
		lines = append(lines, p.Error())
		return nil
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if more := r.ProblemCount - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more; --dry-run lists all of them", more))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// WriteProblems writes the problems, with their rows, as lines of JSON.
func (r *Result) WriteProblems(w io.Writer) error {
	if _, err := io.Copy(w, r.out.problems.reader()); err != nil {
		return fmt.Errorf("write the rows with problems: %w", err)
	}
	return nil
}
