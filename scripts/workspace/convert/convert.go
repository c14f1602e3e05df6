// Package convert turns files that other programs export into the records of an import: reviews of
// the app stores, reports of Lighthouse, tables of numbers.
//
// A Kind is one format. Its Converter reads one file and passes each record to an Output, which
// checks the record with the rules of an import and copies it to a private temporary file. Convert
// reads all files before its Result can be read, so a file that is invalid leaves nothing behind.
//
// The formats are in the packages below this one; package kinds lists them.
package convert

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode"

	"growthworkspace/scripts/workspace/terminal"
)

// Kind is a format that can be converted.
type Kind struct {
	Name    string   // as in --from
	Summary string   // what the files are, for the help
	Types   []string // the record types that it yields
	Flags   []string // the names of its own flags
	Convert Converter
}

// Converter reads one file. It returns an error if the whole file is unreadable, for example
// because it is truncated; the error is a Problem if it has a place. Rows that are invalid by
// themselves go to Output.Report, and rows that are left out on purpose to Output.Skip.
//
// A Converter must not keep the file in memory, because a file can have hundreds of megabytes. An
// Input can be read several times.
type Converter func(ctx context.Context, in Input, out *Output) error

// Record is a record in the format of an import, and the place that it was read from.
type Record struct {
	Type   string         // such as feedback
	Fields map[string]any // properties of the record; an absent property is unknown, not empty
	Row    int            // in the file, counted from 1; see Problem
	// Columns maps properties to the columns of the file that they were read from. Messages name
	// these columns, or the property itself if it is not in the map. Records can share a map.
	Columns map[string]string

	// Identity is the same for all versions of one record. Only the newest one by Version is kept,
	// or the last one if their Versions are equal. If Identity is empty, the record is always kept.
	Identity string
	Version  time.Time
}

// Problem is what is wrong with a row of a file. It is an error, so that a Converter can return it.
type Problem struct {
	File    string `json:"file"`             // set by Output
	Row     int    `json:"row,omitempty"`    // as a spreadsheet counts, or the element of a list in JSON; 0 if unknown
	Column  string `json:"column,omitempty"` // the heading, or the path in JSON; empty if the whole row is wrong
	Message string `json:"problem"`
	Text    any    `json:"text,omitempty"` // the row, for the file of --skip-bad
}

// Error returns the place and the message on one line, without control characters.
func (p Problem) Error() string {
	var place []string
	if p.File != "" {
		place = append(place, p.File)
	}
	if p.Row > 0 {
		place = append(place, "row "+strconv.Itoa(p.Row))
	}
	if p.Column != "" {
		place = append(place, "column "+p.Column)
	}
	text := p.Message
	if len(place) > 0 {
		text = strings.Join(place, ", ") + ": " + text
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) { // headings and cells are text of others
		return terminal.EscapeControls(text)
	}
	return text
}
