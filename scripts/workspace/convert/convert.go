// Package convert turns files that other programs export into the records of an import: app store
// reviews, Lighthouse reports, and tables of numbers.
//
// A Kind is one format. Its Converter reads one file and passes each record to an Output. The
// Output checks the record with the rules of an import and writes it to a private temporary file.
// Convert reads all files before it returns a Result, so no record is passed on if any of the files
// is invalid.
//
// The formats are in the packages below this one; package kinds lists them.
package convert

import (
	"context"
	"time"

	"growthworkspace/shared/tabular"
)

// Kind is a format that can be converted.
type Kind struct {
	Name    string   // the value of --from
	Summary string   // a description of the files, for the help text
	Types   []string // the types of the records that it produces
	Flags   []string // the names of the flags that apply to it
	Convert Converter
}

// Converter reads one file. It returns an error if the whole file is unreadable, for example
// because it is truncated. If the error concerns a certain row or column, it is a Problem. If only
// a row is invalid, the Converter passes the problem to Output.Report. It reports rows that it
// leaves out on purpose with Output.Skip.
//
// A Converter must not keep the file in memory, because a file can be hundreds of megabytes long.
// It may read an Input several times.
type Converter func(ctx context.Context, in Input, out *Output) error

// Record is a record in the format of an import, and the place where it was read.
type Record struct {
	Type   string         // for example feedback
	Fields map[string]any // properties of the record; an absent property is unknown, not empty
	Row    int            // the row number in the file, from 1; see Problem.Row
	// Columns maps properties to the columns from which they were read. Messages name the column,
	// or the property if it is not in the map. Records can share a map.
	Columns map[string]string

	// Identity is the same for all versions of one record. Only the record with the latest Version
	// is kept. If several records have that Version, the last of them is kept. If Identity is
	// empty, the record is always kept.
	Identity string
	Version  time.Time
}

// Problem is a problem with a row of a file.
type Problem = tabular.Problem
