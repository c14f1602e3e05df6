// Package oracle reads the operation tables in functions/testdata, in which people have described
// each operation by hand. Tests compare the service with these tables. No part of the tables is
// generated, because a generated expectation would agree with every mistake.
package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The files with the operation tables: one for the specification's operations, and one for the
// added operations.
const (
	SpecificationFile = "functions/testdata/operations.tsv"
	AdditionsFile     = "functions/testdata/additions.tsv"
)

// Operation is a line of a table. The comment in operations.tsv explains the columns.
type Operation struct {
	File string
	Line int

	ID, Method, Path, Scope string

	DraftScope             string            // if empty, a draft-only key cannot call the operation
	SortOrder              []string          // empty if the operation is not a list, or its records cannot be imported
	Fixture                map[string]string // values by argument name
	RoundTrips             int               // 0 means the default, which is 1 for a read and 2 for a write
	ExtraRoundTripsWithKey int               // additional round trips with an Idempotency-Key
	ConsistentReads        []string          // one entry for each read: the action, followed by a space and the prefix of the sort keys if there is one
	Reader                 string            // the id of the operation that reads the changed record; empty if there is none
	CanConflict            bool
	SampleBody             map[string]any // the body; if nil, it is in the sample event
	OtherArguments         map[string]any // one argument with a different value; if nil, any string in the body can be changed
	ClearedByNull          []string       // the properties that null clears

	Query, Body, Response string // as written in the table
}

// CellLocation returns the location of a cell, for messages.
func (o Operation) CellLocation(column string) string {
	return fmt.Sprintf("%s:%d: column %s", o.File, o.Line, column)
}

// Table contains the lines of both files.
type Table []Operation

// Lookup returns the line of an operation.
func (t Table) Lookup(id string) (Operation, bool) {
	i := slices.IndexFunc(t, func(o Operation) bool { return o.ID == id })
	if i < 0 {
		return Operation{}, false
	}
	return t[i], true
}

// Load returns the tables of the module that contains the working directory. The error contains the
// file, line and column of every invalid cell.
func Load() (Table, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(root)
		if parent == root {
			return nil, errors.New("no go.mod in the working directory or above it: run this in the repository")
		}
		root = parent
	}
	texts := map[string]string{}
	for _, name := range []string{SpecificationFile, AdditionsFile} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		texts[name] = string(text)
	}
	return loadFiles(texts[SpecificationFile], texts[AdditionsFile])
}

func loadFiles(specification, additions string) (Table, error) {
	own, problems := parse(SpecificationFile, specification)
	added, more := parse(AdditionsFile, additions)
	table := append(own, added...)
	if problems = append(problems, more...); len(problems) == 0 {
		problems = table.check()
	}
	return table, errors.Join(problems...)
}

// parse parses one file: comments, a line with the names of the columns, and a line for each
// operation.
func parse(file, text string) (out Table, problems []error) {
	var header []string
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		if header == nil {
			header = cells
			if err := checkHeader(header); err != nil {
				return nil, []error{fmt.Errorf("%s:%d: %w", file, number, err)}
			}
			continue
		}
		if len(cells) != len(header) {
			problems = append(problems, fmt.Errorf("%s:%d: %s has %d columns, want %d: %s", file, number, cells[0], len(cells), len(header), strings.Join(header, ", ")))
			continue
		}
		o := Operation{File: file, Line: number}
		for _, c := range columns {
			if err := c.parse(&o, cells[slices.Index(header, c.name)]); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", o.CellLocation(c.name), err))
			}
		}
		out = append(out, o)
	}
	if header == nil {
		problems = append(problems, fmt.Errorf("%s: has no line with the names of the columns", file))
	}
	return out, problems
}

func checkHeader(header []string) error {
	var want []string
	for _, c := range columns {
		want = append(want, c.name)
	}
	for i, name := range header {
		if !slices.Contains(want, name) {
			return fmt.Errorf("unknown column %q: the columns are %s", name, strings.Join(want, ", "))
		}
		if slices.Contains(header[:i], name) {
			return fmt.Errorf("column %q is there twice", name)
		}
	}
	for _, name := range want {
		if !slices.Contains(header, name) {
			return fmt.Errorf("column %q is missing", name)
		}
	}
	return nil
}

// check returns the problems in cells that refer to another operation.
func (t Table) check() (problems []error) {
	lines := map[string]Operation{}
	for _, o := range t {
		if first, exists := lines[o.ID]; exists {
			problems = append(problems, fmt.Errorf("%s: %s has a line at %s:%d already", o.CellLocation("id"), o.ID, first.File, first.Line))
		}
		lines[o.ID] = o
	}
	for _, o := range t {
		if _, known := lines[o.Reader]; o.Reader != "" && !known {
			problems = append(problems, fmt.Errorf("%s: no operation %s: type the one that reads the record, or none", o.CellLocation("reader"), o.Reader))
		}
		if otherID, ok := strings.CutPrefix(o.Response, "as "); ok && lines[otherID].ID == "" {
			problems = append(problems, fmt.Errorf("%s: no operation %s", o.CellLocation("response"), otherID))
		}
	}
	return problems
}

// FormatRow returns a line of additions.tsv with the given cells, and the default value in the
// other columns.
func FormatRow(cells map[string]string) string {
	var out []string
	for _, c := range columns {
		if cells[c.name] == "" {
			out = append(out, emptyCell)
			continue
		}
		out = append(out, cells[c.name])
	}
	return strings.Join(out, "\t")
}

// Arguments returns the arguments of a request that succeeds on the fixture company. For a POST, it
// returns only the required ones. The body comes from the sample column or, if that is empty, from
// event, which is the operation's sample event.
func (o Operation) Arguments(event []byte) (map[string]any, error) {
	body, err := EventBody(event)
	if err != nil {
		return nil, fmt.Errorf("read the event of %s: %w", o.ID, err)
	}
	if o.Method == "POST" {
		maps.DeleteFunc(body, func(name string, _ any) bool { return !slices.Contains(requiredFields(o.Body), name) })
	}
	if o.SampleBody != nil {
		body = o.SampleBody
	}
	out := map[string]any{}
	for name, value := range o.Fixture {
		out[name] = value
	}
	maps.Copy(out, body)
	return out, nil
}

// EventBody returns the body in a sample event, or an empty map if there is none.
func EventBody(event []byte) (map[string]any, error) {
	var sample struct{ Body string }
	body := map[string]any{}
	if err := json.Unmarshal(event, &sample); err != nil || sample.Body == "" {
		return body, err
	}
	err := json.Unmarshal([]byte(sample.Body), &body)
	return body, err
}
