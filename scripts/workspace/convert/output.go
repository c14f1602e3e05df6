package convert

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"growthworkspace/functions"
	"growthworkspace/shared/id"
	"growthworkspace/shared/transfer"
)

// Output receives the records and the problems of a Converter.
type Output struct {
	file         int // the index of the file that is being read
	names        []string
	kind         Kind
	types        map[string]transfer.Type
	records      *spool
	problems     *spool
	rows         int // the number of records written, including superseded ones
	problemCount int
	head         []byte // the part of a line before the record; reused

	counts     map[string]int
	skipped    map[string]int
	latest     map[[16]byte]newestVersion
	superseded map[int]bool // the indexes of the records that have a newer version
}

// newestVersion is the newest record so far with a given identity.
type newestVersion struct {
	index int
	at    int64
}

// spool is a temporary file that is written first and then read, possibly several times.
type spool struct {
	file *os.File
	out  *bufio.Writer
}

func newSpool() (*spool, error) {
	f, err := newTempFile()
	if err != nil {
		return nil, err
	}
	return &spool{f, bufio.NewWriterSize(f, 64<<10)}, nil
}

// importTypes returns the record types that an import accepts. They have no table, because checking
// a record needs none.
var importTypes = sync.OnceValue(func() []transfer.Type { return functions.Transfers(nil) })

// reader returns a reader of the whole spool. Several readers can be in use at the same time.
func (s *spool) reader() io.Reader { return io.NewSectionReader(s.file, 0, 1<<62) }

func newOutput(kind Kind) (*Output, error) {
	records, err := newSpool()
	if err != nil {
		return nil, err
	}
	problems, err := newSpool()
	if err != nil {
		closeTempFile(records.file)
		return nil, err
	}
	o := &Output{
		kind: kind, types: map[string]transfer.Type{}, records: records, problems: problems,
		counts: map[string]int{}, skipped: map[string]int{}, latest: map[[16]byte]newestVersion{}, superseded: map[int]bool{},
	}
	for _, t := range importTypes() {
		if slices.Contains(kind.Types, t.Name) {
			o.types[t.Name] = t
		}
	}
	return o, nil
}

// Emit adds a record. If an import would refuse the record, Emit reports its problems instead. An
// error means that the temporary file cannot be written, or that the kind does not declare the
// record's type.
func (o *Output) Emit(r Record) error {
	t, known := o.types[r.Type]
	if !known {
		return fmt.Errorf("convert: kind %s does not declare the record type %q", o.kind.Name, r.Type)
	}
	text, err := Encode(r.Fields)
	if err != nil {
		return o.Report(Problem{Row: r.Row, Message: err.Error()})
	}
	if _, problems := t.Check(text); len(problems) > 0 {
		return o.reportRecord(r, problems)
	}
	if r.Identity != "" {
		sum := sha256.Sum256([]byte(r.Type + "\n" + r.Identity))
		key, candidate := [16]byte(sum[:16]), newestVersion{o.rows, r.Version.UnixMilli()}
		if r.Version.IsZero() {
			candidate.at = 0
		}
		before, repeated := o.latest[key]
		switch {
		case !repeated:
			o.latest[key] = candidate
		case before.at > candidate.at:
			o.Skip(reasonSuperseded)
			return nil
		default:
			o.latest[key] = candidate
			o.superseded[before.index] = true
			o.counts[r.Type]--
			o.Skip(reasonSuperseded)
		}
	}
	return o.EmitChecked(r.Type, r.Row, text)
}

// EmitChecked adds a record that Emit would accept and that has no other version. Checking a record
// takes longer than reading it, so a Converter checks one record of many that differ only in values
// that cannot be invalid. record is the record as JSON, with sorted keys.
func (o *Output) EmitChecked(recordType string, row int, record []byte) error {
	o.rows++
	o.counts[recordType]++
	head := append(strconv.AppendInt(append(strconv.AppendInt(o.head[:0], int64(o.file), 10), ' '), int64(row), 10), ` {"type":"`...)
	o.head = append(append(head, recordType...), `","record":`...)
	_, err1 := o.records.out.Write(o.head)
	_, err2 := o.records.out.Write(record)
	_, err3 := o.records.out.WriteString("}\n")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return fmt.Errorf("write a temporary file: %w", err)
	}
	return nil
}

// Problems returns the number of problems so far.
func (o *Output) Problems() int { return o.problemCount }

// reasonSuperseded is the reason for skipping a record if the files contain a newer version of it.
const reasonSuperseded = "an older version of a record that is in the files again"

// reportRecord reports the problems for which an import would refuse a record.
func (o *Output) reportRecord(r Record, problems []string) error {
	if len(problems) > 1 { // do not report a missing id, because an import derives it once the other fields are valid
		problems = slices.DeleteFunc(problems, func(p string) bool { return p == "record.id: is required" })
	}
	for i, problem := range problems {
		p := Problem{Row: r.Row, Message: problem}
		if path, message, ok := strings.Cut(problem, ": "); ok && strings.HasPrefix(path, "record") {
			field := strings.TrimPrefix(strings.TrimPrefix(path, "record"), ".")
			p.Column, p.Message = field, message
			if column := r.Columns[field]; column != "" {
				p.Column = column
			}
		}
		if i == 0 {
			p.Text = r.Fields
		}
		if err := o.Report(p); err != nil {
			return err
		}
	}
	return nil
}

// Report adds a problem with a row. The row is left out, and the command fails unless --skip-bad is
// set.
func (o *Output) Report(p Problem) error {
	p.File = o.names[o.file]
	o.problemCount++
	text, err := Encode(p)
	if err == nil {
		_, err = o.problems.out.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write a temporary file: %w", err)
	}
	return nil
}

// Skip counts a row that is left out on purpose. The reason completes "skipped 3: …", such as
// "ratings without a text".
func (o *Output) Skip(reason string) { o.SkipMany(reason, 1) }

// SkipMany is like Skip, for several rows.
func (o *Output) SkipMany(reason string, count int) { o.skipped[reason] += count }

// Encode encodes a value as compact JSON. It keeps the characters <, > and & as they are.
func Encode(v any) ([]byte, error) {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a record: %w", err)
	}
	return []byte(strings.TrimSuffix(out.String(), "\n")), nil
}

// FormatTime formats a time for a field of a record, in UTC with milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// DeriveID returns an id for a record that has none in its file. The id is a digest of parts, so
// the same file always gives the same ids.
func DeriveID(prefix string, parts ...string) string {
	digest := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(digest, "%d %s\n", len(part), part) // without the lengths, "a", "b" and "ab", "" would have the same digest
	}
	return id.FromBytes(prefix, [16]byte(digest.Sum(nil)[:16]))
}
