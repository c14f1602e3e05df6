package tabular

import (
	"strconv"
	"strings"
	"unicode"
)

// Problem is a problem with a row of a file. It implements error, so that a reader can return it.
type Problem struct {
	File    string `json:"file"`             // set by whoever knows it
	Row     int    `json:"row,omitempty"`    // the row number in a spreadsheet, or the number of the element in a JSON list, from 1; 0 if unknown
	Column  string `json:"column,omitempty"` // the column's heading, or the path in JSON; empty if the problem concerns the whole row
	Message string `json:"problem"`
	Text    any    `json:"text,omitempty"` // the content of the row, for the --skip-bad file
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
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) { // headings and cells are third-party text
		quoted := strconv.QuoteToGraphic(text)
		return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	}
	return text
}
